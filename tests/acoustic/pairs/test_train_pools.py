"""Machines on shared centres against ridge regression and squared-hinge minimisation done pair by pair."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from acoustic.errors import ModelError
from acoustic.pairs.calibration import fit_curve, quadratics
from acoustic.pairs.coupling import all_pairs, coupled_log_posteriors
from acoustic.pairs.pooled import pooled_log_posteriors, pooled_outputs
from acoustic.pairs.train_pools import PoolConfig, fit_pools

SIGMA, RIDGE = 1.5, 1e-3
CONFIG = PoolConfig(sigma=SIGMA, ridge=RIDGE)


@pytest.fixture
def clouds():
    rng = np.random.default_rng(0)
    sizes = (60, 40, 50)
    x = np.concatenate([rng.normal(size=(n, 3)) + 1.2 * k for k, n in enumerate(sizes)]).astype(np.float32)
    codes = np.repeat(np.arange(3), sizes)
    folds = rng.integers(2, size=len(x))
    centers = [x[codes == k][:n] for k, n in enumerate((8, 5, 6))]
    order = rng.permutation(len(x))
    return x[order], codes[order], folds[order], centers


def kernel(x, centers):
    distances = ((x[:, None].astype(np.float64) - centers) ** 2).sum(axis=2)
    return np.exp(-distances / (2 * SIGMA**2))


def ridge_machine(x, y, centers):
    """Return the decision function of (1/n) Σ (y − f)² + ridge ‖w‖² with a free bias."""
    design = np.column_stack([kernel(x, centers), np.ones(len(x))])
    penalty = RIDGE * np.diag([*np.ones(len(centers)), 0.0])
    weights = np.linalg.solve(design.T @ design / len(x) + penalty, design.T @ y / len(x))
    return lambda new: kernel(new, centers) @ weights[:-1] + weights[-1]


def hinge_machine(x, y, centers):
    """Return the decision function of (1/n) Σ max(0, 1 − y f)² + ridge ‖w‖² with a free bias."""
    design = np.column_stack([kernel(x, centers), np.ones(len(x))])

    def loss(weights):
        slack = np.maximum(1 - y * (design @ weights), 0)
        gradient = -2 / len(x) * design.T @ (slack * y)
        gradient[:-1] += 2 * RIDGE * weights[:-1]
        return slack @ slack / len(x) + RIDGE * weights[:-1] @ weights[:-1], gradient

    start = np.zeros(design.shape[1])
    weights = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x
    return lambda new: kernel(new, centers) @ weights[:-1] + weights[-1]


def newton_machine(x, y, centers):
    """Return the decision function after one Newton step of the squared hinge from the ridge solution."""
    is_active = y * ridge_machine(x, y, centers)(x) < 1
    design = np.column_stack([kernel(x, centers), np.ones(len(x))])[is_active]
    penalty = RIDGE * np.diag([*np.ones(len(centers)), 0.0])
    weights = np.linalg.solve(design.T @ design / len(x) + penalty, design.T @ y[is_active] / len(x))
    return lambda new: kernel(new, centers) @ weights[:-1] + weights[-1]


def machine_of_pair(make, x, codes, centers, i, j):
    rows = (codes == i) | (codes == j)
    return make(x[rows], np.where(codes[rows] == i, 1.0, -1.0), np.concatenate([centers[i], centers[j]]))


@pytest.mark.parametrize(
    ("loss", "steps", "make", "tolerance"),
    [
        ("squared", 1, ridge_machine, 2e-3),
        ("squared-hinge", 1, newton_machine, 1e-2),
        ("squared-hinge", 30, hinge_machine, 1e-2),
    ],
)
def test_each_pair_is_the_machine_of_its_frames_and_centers(clouds, loss, steps, make, tolerance):
    x, codes, folds, centers = clouds
    config = replace(CONFIG, loss=loss, hinge_steps=steps)
    machines, _ = fit_pools(x, codes, folds, centers, [1, 1, 1], config)
    new = np.random.default_rng(1).normal(size=(300, 3)).astype(np.float32) + 1
    found = pooled_outputs(machines, new)
    for p, (i, j) in enumerate(all_pairs(3)):
        expected = machine_of_pair(make, x, codes, centers, i, j)(new)
        assert_allclose(found[:, p], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("calibration", ["gaussian", "logistic"])
@pytest.mark.parametrize("outputs", ["fitted", "held-out"])
def test_curves_come_from_the_outputs_asked_for(clouds, calibration, outputs):
    x, codes, folds, centers = clouds
    counts = np.array([600.0, 40.0, 50.0])
    config = replace(CONFIG, calibration=calibration, outputs=outputs)
    _, curves = fit_pools(x, codes, folds, centers, counts, config)
    for p, (i, j) in enumerate(all_pairs(3)):
        values = []
        for k in (i, j):
            own = np.flatnonzero(codes == k)
            found = machine_of_pair(ridge_machine, x, codes, centers, i, j)(x[own])
            if outputs == "held-out":
                for fold in (0, 1):
                    rest = folds != fold
                    machine = machine_of_pair(ridge_machine, x[rest], codes[rest], centers, i, j)
                    found[folds[own] == fold] = machine(x[own][folds[own] == fold])
            values.append(found)
        expected = fit_curve(np.concatenate(values), len(values[0]), (counts[i], counts[j]), calibration)
        grid = np.linspace(-1.2, 1.2, 9)
        assert_allclose(np.polyval(curves[p], grid), np.polyval(expected, grid), rtol=2e-2, atol=2e-2)


def test_held_out_outputs_of_the_hinge_leave_out_what_the_machine_of_all_does(clouds):
    x, codes, folds, centers = clouds
    _, curves = fit_pools(x, codes, folds, centers, [1, 1, 1], replace(CONFIG, loss="squared-hinge"))
    for p, (i, j) in enumerate(all_pairs(3)):
        rows = np.concatenate([np.flatnonzero(codes == i), np.flatnonzero(codes == j)])
        y, pool = np.where(codes[rows] == i, 1.0, -1.0), np.concatenate([centers[i], centers[j]])
        is_active = y * ridge_machine(x[rows], y, pool)(x[rows]) < 1
        found = np.empty(len(rows))
        for fold in (0, 1):
            is_own = folds[rows] == fold
            used = is_active & ~is_own
            design = np.column_stack([kernel(x[rows], pool), np.ones(len(rows))])
            penalty = RIDGE * np.sum(~is_own) * np.diag([*np.ones(len(pool)), 0.0])
            weights = np.linalg.solve(design[used].T @ design[used] + penalty, design[used].T @ y[used])
            found[is_own] = (design @ weights)[is_own]
        expected = fit_curve(found, int(np.sum(codes == i)), (1, 1), "logistic")
        grid = np.linspace(-1.2, 1.2, 9)
        assert_allclose(np.polyval(curves[p], grid), np.polyval(expected, grid), rtol=2e-2, atol=2e-2)


def test_any_number_of_workers_gives_the_same_bytes(clouds):
    x, codes, folds, centers = clouds
    one, two = (fit_pools(x, codes, folds, centers, [1, 2, 3], CONFIG, n) for n in (1, 2))
    assert_array_equal(one[0].weights, two[0].weights)
    assert_array_equal(one[1], two[1])
    new = x[:150]
    assert_array_equal(pooled_outputs(one[0], new, 1), pooled_outputs(one[0], np.tile(new, (3, 1)), 2)[:150])


@pytest.mark.parametrize("n_frames", [1, 127, 300])
def test_posteriors_are_the_coupled_outputs(clouds, n_frames):
    x, codes, folds, centers = clouds
    config = replace(CONFIG, calibration="gaussian")
    machines, curves = fit_pools(x, codes, folds, centers, [60, 40, 50], config)
    new = 1 + 3 * np.random.default_rng(2).normal(size=(n_frames, 3)).astype(np.float32)
    expected = coupled_log_posteriors(quadratics(pooled_outputs(machines, new), curves), 3)
    expected -= np.logaddexp.reduce(expected, axis=1, keepdims=True)
    found = pooled_log_posteriors(machines, curves, new, n_workers=1)
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert_array_equal(found, pooled_log_posteriors(machines, curves, new, n_workers=2))


def test_identical_centers_and_classes_stay_finite():
    x = np.zeros((40, 2), dtype=np.float32)
    codes, folds = np.arange(40) % 2, np.arange(40) // 2 % 2
    machines, curves = fit_pools(x, codes, folds, [x[:5], x[:5]], [20, 20], CONFIG)
    assert np.isfinite(machines.weights).all()
    assert np.isfinite(curves).all()
    assert_allclose(pooled_outputs(machines, x), 0.0, rtol=0, atol=1e-5)


def test_a_class_of_one_frame(clouds):
    x, codes, folds, centers = clouds
    keep = (codes != 1) | (np.cumsum(codes == 1) == 1)
    machines, curves = fit_pools(
        x[keep], codes[keep], folds[keep], [centers[0], x[codes == 1][:1], centers[2]], [60, 1, 50], CONFIG
    )
    assert np.isfinite(machines.weights).all()
    assert np.isfinite(curves).all()


def test_errors_say_what_is_wrong(clouds):
    x, codes, folds, centers = clouds
    with pytest.raises(ModelError, match=r"classes \[3\] of 4 have no frames or centres"):
        fit_pools(x, codes, folds, [*centers, centers[0]], [1] * 4, CONFIG)
    with pytest.raises(ModelError, match="one class and fold for each frame"):
        fit_pools(x, codes[:-1], folds, centers, [1] * 3, CONFIG)
    with pytest.raises(ModelError, match='loss is "hinge", expected one of: squared, squared-hinge'):
        PoolConfig(loss="hinge")
    with pytest.raises(ModelError, match="sigma and ridge are -1"):
        PoolConfig(sigma=-1)
    with pytest.raises(ModelError, match="hinge_steps: expected at least 1, got 0"):
        PoolConfig(hinge_steps=0)
    fit_pools(x, codes, folds, centers, [1] * 3, replace(CONFIG, ridge=5.0))
    with pytest.raises(ModelError, match="look for NaN"):
        fit_pools(np.full_like(x, np.nan), codes, folds, centers, [1] * 3, CONFIG)
