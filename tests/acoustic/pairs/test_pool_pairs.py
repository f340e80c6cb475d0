"""One pair on its classes' centres against ridge regression and squared-hinge minimisation written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from acoustic.errors import ModelError
from acoustic.pairs.calibration import Calibration, fit_curve
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.train_pools import fit_pair

SIGMA, RIDGE = 1.5, 1e-3
FITTED = Calibration("fitted", "logistic")
GRID = np.linspace(-1.2, 1.2, 9)  # outputs
COUNTS = np.array([600.0, 40.0, 50.0])


def design_of(x, centers):
    """Return the kernel values (M, C) and a column of ones."""
    distances = ((x[:, None].astype(np.float64) - centers) ** 2).sum(axis=2)
    return np.column_stack([np.exp(-distances / (2 * SIGMA**2)), np.ones(len(x))])


def ridge_weights(design, y, n):
    """Return the minimum of (1/n) Σ (y − f)² + ridge ‖w‖² over some of n frames, the bias free."""
    penalty = RIDGE * n * np.diag([*np.ones(design.shape[1] - 1), 0.0])
    return np.linalg.solve(design.T @ design + penalty, design.T @ y)


def newton_weights(design, y, n):
    """Return the weights after one Newton step of the squared hinge from those of the ridge."""
    is_active = y * (design @ ridge_weights(design, y, n)) < 1
    return ridge_weights(design[is_active], y[is_active], n)


def hinge_weights(design, y, n):
    """Return the minimum of (1/n) Σ max(0, 1 − y f)² + ridge ‖w‖², the bias free."""

    def loss(weights):
        slack = np.maximum(1 - y * (design @ weights), 0)
        gradient = -2 / n * design.T @ (slack * y)
        gradient[:-1] += 2 * RIDGE * weights[:-1]
        return slack @ slack / n + RIDGE * weights[:-1] @ weights[:-1], gradient

    start = np.zeros(design.shape[1])
    return minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x


@pytest.fixture(params=all_pairs(3).tolist(), ids=str)
def given(request, clouds, pool_pair):
    """Return a pair of classes, its design, targets ±1 and folds, the centres of both, and their counts."""
    x, codes, folds, centers = clouds
    i, j = request.param
    pair, rows = pool_pair(x, codes, folds, centers, i, j, SIGMA)
    pool = np.concatenate([centers[i], centers[j]])
    y = np.where(codes[rows] == i, 1.0, -1.0)
    return pair, design_of(x[rows], pool), y, folds[rows], pool, COUNTS[[i, j]]


def assert_curve(found, outputs, y, counts, curve, tolerance=2e-2):
    """Assert that a curve is that of outputs (M,), those of the first class first."""
    expected = fit_curve(outputs, int(np.sum(y > 0)), tuple(counts), curve)
    assert_allclose(np.polyval(found, GRID), np.polyval(expected, GRID), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("steps", "weights", "tolerance"),
    [(0, ridge_weights, 2e-3), (1, newton_weights, 1e-2), (30, hinge_weights, 1e-2)],
)
def test_the_machine_of_a_pair(given, steps, weights, tolerance):
    pair, design, y, _, pool, counts = given
    found = fit_pair(pair, counts, RIDGE, steps, FITTED)
    expected = weights(design, y, len(y))
    new = design_of(np.random.default_rng(1).normal(size=(300, 3)) + 1, pool)
    assert_allclose(new @ np.append(found.weights, found.bias), new @ expected, rtol=0, atol=tolerance)
    assert_array_equal(
        found.curve, fit_curve(outputs_of(pair, found), int(np.sum(y > 0)), tuple(counts), "logistic")
    )


def outputs_of(pair, found):
    """Return a fitted machine's outputs (M,) in the precision of training."""
    n_first = len(pair.first.centers)
    own, other = found.weights[:n_first], found.weights[n_first:]
    first = pair.first.own @ own + pair.first_cross @ other
    second = pair.second_cross @ own + pair.second.own @ other
    return np.concatenate([first, second]) + np.float32(found.bias)


@pytest.mark.parametrize("curve", ["gaussian", "logistic"])
@pytest.mark.parametrize("steps", [0, 1])
def test_held_out_outputs_are_of_the_machine_of_the_other_folds(given, steps, curve):
    """Which frames the squared hinge counts is settled with all."""
    pair, design, y, folds, _, counts = given
    found = fit_pair(pair, counts, RIDGE, steps, Calibration("held-out", curve))
    fitted = design @ ridge_weights(design, y, len(y))
    is_active = (y * fitted < 1) if steps else np.ones(len(y), dtype=bool)
    outputs = np.empty(len(y))
    for fold in (0, 1):
        is_own = folds == fold
        used = is_active & ~is_own
        outputs[is_own] = design[is_own] @ ridge_weights(design[used], y[used], np.sum(~is_own))
    assert_curve(found.curve, outputs, y, counts, curve)


@pytest.mark.parametrize("curve", ["gaussian", "logistic"])
@pytest.mark.parametrize("steps", [0, 1])
def test_leave_one_out_outputs_are_of_the_machine_without_the_frame(given, steps, curve):
    """The ridge is kept; what the squared hinge does not count changes nothing when it is left out."""
    pair, design, y, _, _, counts = given
    found = fit_pair(pair, counts, RIDGE, steps, Calibration("loo", curve))
    n = len(y)
    is_active = (y * (design @ ridge_weights(design, y, n)) < 1) if steps else np.ones(n, dtype=bool)
    outputs = design @ ridge_weights(design[is_active], y[is_active], n)
    for row in np.flatnonzero(is_active):
        keep = is_active & (np.arange(n) != row)
        outputs[row] = design[row] @ ridge_weights(design[keep], y[keep], n)
    assert_curve(found.curve, outputs, y, counts, curve)


def test_fitted_outputs_are_held_out_ones_where_no_other_fold_has_frames(clouds, pool_pair):
    x, codes, folds, centers = clouds
    pair, _ = pool_pair(x, codes, np.zeros_like(folds), centers, 0, 1, SIGMA)
    held_out = fit_pair(pair, COUNTS[:2], RIDGE, 1, Calibration("held-out", "logistic"))
    fitted = fit_pair(pair, COUNTS[:2], RIDGE, 1, FITTED)
    assert_array_equal(held_out.curve, fitted.curve)
    assert_array_equal(held_out.weights, fitted.weights)


def test_prior_odds_are_of_the_counts(given):
    pair, *_ = given
    for curve in ("gaussian", "logistic"):
        even, odd = (
            fit_pair(pair, np.array(counts), RIDGE, 0, Calibration("fitted", curve)).curve
            for counts in ([1.0, 1.0], [7.0, 2.0])
        )
        assert_allclose(odd - even, [0.0, 0.0, np.log(7 / 2)], rtol=0, atol=1e-12)


def test_the_ridge_grows_until_equal_centres_can_be_told_apart(clouds, pool_pair):
    x, codes, folds, centers = clouds
    twice = [np.repeat(own, 2, axis=0) for own in centers]
    pair, rows = pool_pair(x, codes, folds, twice, 0, 1, SIGMA)
    found = fit_pair(pair, COUNTS[:2], 1e-30, 0, FITTED)
    y, design = np.where(codes[rows] == 0, 1.0, -1.0), design_of(x[rows], np.concatenate(twice[:2]))
    outputs = outputs_of(pair, found)
    assert_allclose(outputs.mean(), y.mean(), rtol=0, atol=1e-3)  # the bias is free
    more = design @ ridge_weights(design, y, len(y))  # of a ridge of 1e-3
    least = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert np.mean((y - least) ** 2) < np.mean((y - outputs) ** 2) < np.mean((y - more) ** 2)


def test_frames_that_are_no_numbers_are_an_error(clouds, pool_pair):
    x, codes, folds, centers = clouds
    pair, _ = pool_pair(np.full_like(x, np.nan), codes, folds, centers, 0, 1, SIGMA)
    with pytest.raises(ModelError, match="Gram matrix cannot be factorised; expected finite frames"):
        fit_pair(pair, COUNTS[:2], RIDGE, 0, FITTED)
