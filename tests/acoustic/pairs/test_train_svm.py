"""Support vector machines of all pairs against scikit-learn, pair by pair."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

from acoustic.pairs.calibration import Calibration, fit_curve
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.train_svm import SvmConfig, fit

COUNTS = (400, 100, 200)
HELD_OUT = Calibration("held-out", "logistic")


def fit_all(x, codes, folds, calibration=HELD_OUT, **options):
    frames = LabelledFrames(x, codes, folds, np.array(COUNTS, dtype=float))
    return fit(frames, 2.0, SvmConfig(cost=3.0), calibration, **options)


@pytest.fixture
def data(overlapping):
    x, codes = overlapping([40, 25, 30], n_dims=3)
    return x, codes, np.arange(len(x)) % 3


def machine():
    return SVC(C=3.0, gamma=0.5 / 2.0**2)


def fitted(x, codes, i, j):
    """Return the machine of a pair, positive for i."""
    own = np.isin(codes, (i, j))
    return machine().fit(x[own].astype(np.float64), np.where(codes[own] == i, 1, -1))


def test_outputs_are_those_of_scikit_learn(data):
    x, codes, folds = data
    machines, _ = fit_all(x, codes, folds)
    new = x + np.float32(0.3)
    found = machines.outputs(new)
    for p, (i, j) in enumerate(machines.pairs):
        expected = fitted(x, codes, i, j)
        assert_allclose(found[:, p], expected.decision_function(new.astype(np.float64)), rtol=1e-3, atol=1e-3)
        rows = np.flatnonzero(np.isin(codes, (i, j)))[expected.support_]
        assert set(machines.center_indices[p]) - {-1} == set(rows)


@pytest.mark.parametrize("curve", ["gaussian", "logistic"])
@pytest.mark.parametrize("outputs", ["fitted", "held-out"])
def test_curves_are_fitted_to_the_outputs_asked_for(data, curve, outputs):
    x, codes, folds = data
    machines, curves = fit_all(x, codes, folds, Calibration(outputs, curve))
    for p, (i, j) in enumerate(machines.pairs):
        rows = np.concatenate([np.flatnonzero(codes == k) for k in (i, j)])
        points, targets = x[rows].astype(np.float64), np.where(codes[rows] == i, 1, -1)
        found = machine().fit(points, targets).decision_function(points)
        if outputs == "held-out":
            for fold in range(3):
                out = folds[rows] == fold
                found[out] = machine().fit(points[~out], targets[~out]).decision_function(points[out])
        n_first = int(np.sum(codes == i))
        expected = fit_curve(found, n_first, (COUNTS[i], COUNTS[j]), curve, reach=np.inf)
        assert_allclose(curves[p], expected, rtol=1e-6, atol=1e-8)


def test_a_fold_that_holds_a_whole_class_keeps_its_fitted_outputs(data):
    x, codes, _ = data
    _, held_out = fit_all(x, codes, (codes == 0).astype(int))
    _, fitted_curves = fit_all(x, codes, np.zeros(len(x), int), Calibration("fitted", "logistic"))
    assert_array_equal(held_out[:2], fitted_curves[:2])  # pairs of class 0: none of the others in its fold


def test_the_number_of_workers_changes_nothing(data):
    x, codes, folds = data
    one, curves = fit_all(x, codes, folds, n_workers=1)
    two, same = fit_all(x, codes, folds, n_workers=2)
    assert_array_equal(one.weights, two.weights)
    assert_array_equal(one.slots, two.slots)
    assert_array_equal(curves, same)
