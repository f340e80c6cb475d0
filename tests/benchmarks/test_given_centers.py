"""Discriminants on given centres, against those that forward selection finds on the same centres."""

import numpy as np
import pytest
from given_centers import TruncatedGaussian, choice_of, fit_given, random_choice
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.kernels.forward import ForwardConfig
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.calibration import Calibration
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.train_forward import fit_pairs

SIGMA, EPSILON = 1.5, 1e-2


@pytest.fixture
def frames():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(3, dtype=np.int32), (20, 30, 25))
    x = (rng.normal(size=(75, 4)) + codes[:, None]).astype(np.float32)
    return LabelledFrames(x, codes, np.zeros(75, dtype=np.int32), np.array([200.0, 300.0, 100.0]))


def selected(frames, n_centers):
    config = ForwardConfig(Kernel("gaussian", SIGMA), (SIGMA,), n_centers, epsilon=EPSILON)
    rule = Calibration("fitted", "gaussian")
    return fit_pairs(frames.x, frames.codes, 3, config, n_workers=1, calibration=rule, counts=frames.counts)


def test_npd_on_its_own_centres(frames):
    machines, curves = selected(frames, 12)
    again, curves_again = fit_given(frames, choice_of(machines, (SIGMA,), 12), machines.kernel, EPSILON)
    assert_array_equal(np.sort(again.center_indices, axis=1), np.sort(machines.center_indices, axis=1))
    assert_allclose(again.outputs(frames.x), machines.outputs(frames.x), rtol=1e-3, atol=1e-3)
    assert_allclose(curves_again, curves, rtol=2e-2, atol=2e-2)


def test_first_centres_are_those_of_the_smaller_model(frames):
    larger, smaller = selected(frames, 12)[0], selected(frames, 5)[0]
    again, _ = fit_given(frames, choice_of(larger, (SIGMA,), 5), larger.kernel, EPSILON)
    assert_allclose(again.outputs(frames.x), smaller.outputs(frames.x), rtol=1e-3, atol=1e-3)


def test_random_centres_by_brute_force(frames):
    machines, _ = fit_given(frames, random_choice(9, SIGMA), Kernel("gaussian", SIGMA), EPSILON)
    for pair, chosen, outputs in zip(
        machines.pairs, machines.center_indices, machines.outputs(frames.x).T, strict=True
    ):
        rows = np.flatnonzero(np.isin(frames.codes, pair))
        assert len(set(chosen)) == 9
        assert set(chosen) <= set(rows)
        x = frames.x.astype(np.float64)
        kernel = np.exp(-((x[:, None] - x[chosen]) ** 2).sum(axis=2) / (2 * SIGMA**2))
        columns = np.column_stack([np.ones(len(rows)), kernel[rows] + EPSILON * (rows[:, None] == chosen)])
        targets = np.where(frames.codes[rows] == pair[0], 1.0, -1.0)
        weights, *_ = np.linalg.lstsq(columns, targets, rcond=None)
        assert_allclose(outputs, kernel @ weights[1:] + weights[0], rtol=1e-3, atol=1e-3)


def test_each_centre_in_several_widths(frames):
    machines, _ = selected(frames, 6)
    both, _ = fit_given(frames, choice_of(machines, (1.0, 2.0), 6), machines.kernel, EPSILON)
    assert both.centers_a_pair == 12
    assert_array_equal(np.unique(both.sigmas), [1.0, 2.0])
    rows = np.flatnonzero(np.isin(frames.codes, machines.pairs[0]))
    targets = np.where(frames.codes[rows] == 0, 1.0, -1.0)
    one, _ = fit_given(frames, choice_of(machines, (1.0,), 6), machines.kernel, EPSILON)
    errors = [np.sum((m.outputs(frames.x[rows])[:, 0] - targets) ** 2) for m in (one, both)]
    assert errors[1] < errors[0]


def test_truncated_gaussian():
    x = np.array([[0.0], [1.0], [2.9], [3.1], [8.0]])
    found = TruncatedGaussian("gaussian", 1.5, radius=2.0).block(x, x[:1])[:, 0]
    assert_allclose(found, [1.0, np.exp(-1 / 4.5), np.exp(-(2.9**2) / 4.5), 0.0, 0.0], rtol=1e-6, atol=0)
