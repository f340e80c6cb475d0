"""Left-out outputs against leaving out and refitting."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.ridge import (
    basis_left_out_residuals,
    basis_leverages,
    left_out_residuals,
    within_reach,
)

GAUSSIAN = Kernel("gaussian", 1.0)
NPD = ForwardConfig(GAUSSIAN, (1.0,), 15)
OROLS = replace(NPD, regularize=True)


@pytest.fixture
def left_out_by_refitting(design, orthogonal):
    def outputs(x, y, path, config):
        """Return each point's output of the model fitted to the others, in the basis and with λ of all."""
        q, _ = orthogonal(design(x, path, config))
        ridge = path.ridges[path.size] * np.eye(q.shape[1])
        found = np.empty_like(y)
        for i in range(len(x)):
            others = np.delete(np.arange(len(x)), i)
            found[i] = q[i] @ np.linalg.solve(q[others].T @ q[others] + ridge, q[others].T @ y[others])
        return found

    return outputs


@pytest.mark.parametrize("config", [NPD, OROLS], ids=["npd", "orols"])
def test_left_out_is_leaving_out_and_refitting(problem, left_out_by_refitting, config):
    x, y = problem(200, n_targets=2, seed=1)
    path = forward_selection(x, y, replace(config, max_centers=25))
    assert_allclose(path.leave_one_out, left_out_by_refitting(x, y, path, config), rtol=0, atol=1e-8)


def test_left_out_of_npd_does_not_depend_on_the_basis(labels, design):
    x, y = labels(200, seed=2)
    path = forward_selection(x, y, NPD)
    k = design(x, path, NPD)
    for i in range(0, 200, 7):
        others = np.delete(np.arange(200), i)
        alpha = np.linalg.lstsq(k[others], y[others], rcond=None)[0]
        assert_allclose(path.leave_one_out[i], k[i] @ alpha, rtol=0, atol=1e-8)


def test_left_out_of_weighted_points_leaves_out_all_of_their_weight(problem, design):
    x, y = problem(60)
    weight = np.random.default_rng(0).integers(1, 4, 60) / 2.0
    path = forward_selection(x, y, NPD, sample_weight=weight)
    k, root = design(x, path, NPD), np.sqrt(weight)[:, None]
    for i in range(60):
        others = np.delete(np.arange(60), i)
        alpha = np.linalg.lstsq((k * root)[others], (y * root)[others], rcond=None)[0]
        assert_allclose(path.leave_one_out[i], k[i] @ alpha, rtol=0, atol=1e-8)


@pytest.mark.parametrize("config", [NPD, OROLS], ids=["npd", "orols"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_left_out_of_points_with_a_column_to_themselves_is_that_of_a_vanishing_ridge(
    problem, left_out_by_refitting, config, dtype
):
    """σ so small that every centre's column is nearly a unit vector: 1 − h vanishes there."""
    x, y = problem(30)
    config = replace(config, kernel=replace(GAUSSIAN, sigma=1e-3), sigmas=(1e-3,), max_centers=12)
    path = forward_selection(x.astype(dtype), y, config)
    vanishing = replace(path, ridges=path.ridges + 1e-7)
    expected = left_out_by_refitting(x, y, vanishing, config)
    assert_allclose(path.leave_one_out, expected, rtol=0, atol=1e-5)


def test_residuals_of_a_limit():
    """Of a point alone: the limit of what vanishing ridges give."""
    rng = np.random.default_rng(4)
    q, _ = np.linalg.qr(np.column_stack([np.ones(12), np.eye(12)[:, :2], rng.normal(size=(12, 2))]))
    q *= np.array([3.0, 0.5, 0.2, 1.0, 2.0])
    y = rng.normal(size=(12, 1))
    kappa, p = np.sum(q**2, axis=0), q.T @ y
    found = basis_left_out_residuals(q, kappa, p, 0.0, y - q @ (p / kappa[:, None]))
    ridge = 1e-6
    residual = y - q @ (p / (kappa + ridge)[:, None])
    expected = residual / (1.0 - basis_leverages(q, 1.0 / (kappa + ridge)))[:, None]
    assert_allclose(found[:2], expected[:2], rtol=1e-4, atol=0)
    assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_outputs_for_calibration_stay_within_three_times_the_targets():
    left_out = np.array([[-500.0, -0.7], [2.9, 0.4], [7.0, 40.0]])
    targets = np.array([[-1.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    assert_allclose(
        within_reach(left_out, targets), [[-3.0, -0.7], [2.9, 0.4], [3.0, 2.0]], rtol=1e-15, atol=0
    )


def test_the_limit_is_asked_for_points_alone_only():
    residual, leverages = np.array([[0.5], [1e-17], [1.0]]), np.array([0.5, 1.0, 0.0])
    asked = []

    def limit(points):
        asked.append(points.tolist())
        return np.array([[6.0]]), np.array([2.0])

    assert_array_equal(left_out_residuals(residual, leverages, limit), [[1.0], [3.0], [1.0]])
    assert asked == [[1]]
