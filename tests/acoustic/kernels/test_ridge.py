"""λ and the score of generalised cross-validation against their definitions."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.ridge import gcv_score, next_ridge, printed_ridge, settled_ridge

GAUSSIAN = Kernel("gaussian", 1.0)
NPD = ForwardConfig(GAUSSIAN, (1.0,), 15)
OROLS = replace(NPD, regularize=True)


def test_score_is_gcv_by_definition(problem, design, orthogonal):
    x, y = problem(n_targets=2)
    path = forward_selection(x, y, OROLS)
    for size in (0, 1, 7, 15):
        q, _ = orthogonal(design(x, path, OROLS, size))
        p = np.eye(len(x)) - q @ np.linalg.solve(q.T @ q + path.ridges[size] * np.eye(size + 1), q.T)
        expected = np.sum((p @ y) ** 2) / len(x) / (np.trace(p) / len(x)) ** 2  # (3.85)
        assert_allclose(path.gcv[size], expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("seed", range(5))
def test_fixed_point_of_the_ridge_is_stationary_in_gcv(problem, seed):
    x, y = problem(seed=seed, n_targets=1 + seed % 2)
    path = forward_selection(x, y, replace(OROLS, max_centers=25))
    unexplained = np.sum(y**2) - np.sum(path.products**2 / path.kappa[:, None])
    state = path.kappa, path.products, unexplained, len(x)
    ridge = path.ridges[-1]
    for _ in range(3000):
        ridge = next_ridge(*state, ridge)
    assert ridge > 0
    assert_allclose(next_ridge(*state, ridge), ridge, rtol=1e-9, atol=0)
    step = 1e-4 * ridge
    slope = (gcv_score(*state, ridge + step) - gcv_score(*state, ridge - step)) / (2 * step)
    assert abs(slope * ridge) < 1e-7 * gcv_score(*state, ridge)
    # … and a minimum among its neighbours
    found = minimize_scalar(
        lambda log: gcv_score(*state, np.exp(log)),
        bounds=np.log([ridge / 5, ridge * 5]),
        method="bounded",
    )
    assert gcv_score(*state, ridge) <= found.fun * (1 + 1e-9)


def test_ridge_follows_the_printed_formula(problem, design, orthogonal):
    x, y = problem()
    path = forward_selection(x, y, OROLS)
    q, _ = orthogonal(design(x, path, OROLS))
    ridge, m = 0.37, q.shape[1]
    inner = np.linalg.inv(q.T @ q + ridge * np.eye(m))
    p, alpha = np.eye(len(x)) - q @ inner @ q.T, inner @ q.T @ y
    slope = np.sum(path.kappa / (ridge + path.kappa) ** 2)  # (3.89)
    expected = slope * np.sum((p @ y) ** 2) / (np.trace(p) * (alpha.T @ inner @ alpha).item())  # (3.88)
    unexplained = np.sum(y**2) - np.sum(path.products**2 / path.kappa[:, None])
    found = next_ridge(path.kappa, path.products, unexplained, len(x), ridge)
    assert_allclose(found, expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("ridge", [0.0, 0.37, 60.0])
def test_ridge_as_printed_is_the_formula_without_guard(problem, design, orthogonal, ridge):
    x, y = problem()
    path = forward_selection(x, y, OROLS)
    q, _ = orthogonal(design(x, path, OROLS))
    kappa, products = np.sum(q**2, axis=0), q.T @ y
    p = np.eye(len(x)) - q @ np.diag(1 / (kappa + ridge)) @ q.T  # (3.81)
    alpha = products[:, 0] / (kappa + ridge)  # (3.83)
    slope = np.sum(kappa / (kappa + ridge) ** 2)
    expected = slope * np.sum((p @ y) ** 2) / (np.trace(p) * np.sum(alpha**2 / (kappa + ridge)))
    found = printed_ridge(kappa, products, float(np.sum((p @ y) ** 2)), len(x), ridge)
    assert_allclose(found, expected, rtol=1e-9, atol=0)


def test_ridge_as_printed_may_run_away_but_stays_finite():
    kappa = np.array([50.0, 2.0])
    assert printed_ridge(kappa, np.array([[1e-3], [1e-4]]), 50.0, 50, 0.25) > 1e3
    assert printed_ridge(kappa, np.zeros((2, 1)), 50.0, 50, 0.25) == 0.25


def test_ridge_that_runs_away_is_refused():
    kappa, nothing = np.array([50.0, 2.0]), np.array([[1e-6], [1e-7]])
    assert next_ridge(kappa, nothing, 50.0, 50, 0.25) == 0.25
    assert next_ridge(kappa, np.zeros((2, 1)), 50.0, 50, 0.25) == 0.25


def test_pure_noise_keeps_the_ridge_below_the_largest_length():
    rng = np.random.default_rng(5)
    path = forward_selection(
        rng.normal(size=(60, 3)), rng.normal(size=(60, 1)), replace(OROLS, max_centers=40)
    )
    assert np.isfinite(path.ridges).all()
    assert (path.ridges <= path.kappa.max()).all()
    assert np.isfinite(path.fitted).all()


def test_no_ridge_where_the_error_is_zero(problem):
    x, _ = problem(20)
    path = forward_selection(x, np.full((20, 1), 3.0), replace(OROLS, max_centers=20))
    assert_allclose(path.fitted, 3.0, rtol=1e-12, atol=0)


def test_a_ridge_that_shrinks_all_away_is_left_for_the_better_minimum():
    """The bias alone asks for a large λ; eight short columns that explain 240 of 400 are lost under it."""
    kappa, products = np.r_[400.0, [0.03] * 8], np.r_[20.0, [np.sqrt(30 * 0.03)] * 8][:, None]
    state = kappa, products, 400 - np.sum(products[:, 0] ** 2 / kappa), 400
    stuck = 96.0
    for _ in range(300):
        stuck = next_ridge(*state, stuck)
    assert stuck > 100
    found = settled_ridge(*state, stuck)
    assert found < 1e-2
    assert gcv_score(*state, found) < 0.5 * gcv_score(*state, stuck)


def test_with_many_columns_the_ridge_goes_on_from_where_it_was():
    rng = np.random.default_rng(0)
    kappa, products = rng.uniform(0.1, 5.0, 12), rng.normal(size=(12, 1))
    for n_points, goes_on in ((100, True), (120, False)):
        state = kappa, products, 30.0, n_points
        steps = {}
        for start in (2.0, 0.0):
            value = start
            for _ in range(3):
                value = next_ridge(*state, value)
            steps[start] = value
        best = min(steps.values(), key=lambda ridge: gcv_score(*state, ridge))
        assert settled_ridge(*state, 2.0) == (steps[2.0] if goes_on else best)
