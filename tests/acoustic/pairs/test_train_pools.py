"""Machines on shared centres against ridge regression and squared-hinge minimisation done pair by pair."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from acoustic.errors import ModelError
from acoustic.pairs.calibration import Calibration, fit_curve, quadratics
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.coupling import all_pairs, coupled_log_posteriors
from acoustic.pairs.pooled import PooledMachines
from acoustic.pairs.train_pools import PoolsConfig, fit, fit_pools

SIGMA, RIDGE = 1.5, 1e-3
HELD_OUT = Calibration("held-out", "logistic")


def fitted(x, codes, folds, centers, counts, calibration=HELD_OUT, ridge=RIDGE, **options):
    """Return machines and curves of pools."""
    frames = LabelledFrames(x, codes, folds, np.asarray(counts, dtype=np.float64))
    return fit_pools(frames, centers, SIGMA, ridge, calibration, **options)


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
    ("steps", "make", "tolerance"),
    [(0, ridge_machine, 2e-3), (1, newton_machine, 1e-2), (30, hinge_machine, 1e-2)],
)
def test_each_pair_is_the_machine_of_its_frames_and_centers(clouds, steps, make, tolerance):
    x, codes, folds, centers = clouds
    machines, _ = fitted(x, codes, folds, centers, [1, 1, 1], hinge_steps=steps)
    new = np.random.default_rng(1).normal(size=(300, 3)).astype(np.float32) + 1
    found = machines.outputs(new)
    for p, (i, j) in enumerate(all_pairs(3)):
        expected = machine_of_pair(make, x, codes, centers, i, j)(new)
        assert_allclose(found[:, p], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("offset", [0.0, 100.0, 3000.0])
def test_where_the_frames_lie_does_not_matter(clouds, offset):
    x, codes, folds, centers = clouds
    expected, curves = fitted(x, codes, folds, centers, [1, 1, 1])
    moved, moved_curves = fitted(x + offset, codes, folds, [c + offset for c in centers], [1, 1, 1])
    rounding = 1e-3 + offset * 1e-6
    assert_allclose(moved.outputs(x + offset), expected.outputs(x), rtol=0, atol=rounding)
    assert_allclose(moved_curves, curves, rtol=0.01 + rounding, atol=0.01 + rounding)


@pytest.mark.parametrize("curve", ["gaussian", "logistic"])
@pytest.mark.parametrize("outputs", ["fitted", "loo", "held-out"])
def test_curves_come_from_the_outputs_asked_for(clouds, curve, outputs):
    x, codes, folds, centers = clouds
    counts = np.array([600.0, 40.0, 50.0])
    _, curves = fitted(x, codes, folds, centers, counts, Calibration(outputs, curve))
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
            if outputs == "loo":
                found = left_out_outputs(x, codes, centers, i, j)[own]
            values.append(found)
        expected = fit_curve(np.concatenate(values), len(values[0]), (counts[i], counts[j]), curve)
        grid = np.linspace(-1.2, 1.2, 9)
        assert_allclose(np.polyval(curves[p], grid), np.polyval(expected, grid), rtol=2e-2, atol=2e-2)


def left_out_outputs(x, codes, centers, i, j):
    """Return at each frame the output of ridge regression without it, the ridge kept."""
    rows, found = np.flatnonzero((codes == i) | (codes == j)), np.full(len(x), np.nan)
    pool = np.concatenate([centers[i], centers[j]])
    design = np.column_stack([kernel(x[rows], pool), np.ones(len(rows))])
    y = np.where(codes[rows] == i, 1.0, -1.0)
    penalty = RIDGE * len(rows) * np.diag([*np.ones(len(pool)), 0.0])
    for n, row in enumerate(rows):
        keep = np.arange(len(rows)) != n
        weights = np.linalg.solve(design[keep].T @ design[keep] + penalty, design[keep].T @ y[keep])
        found[row] = design[n] @ weights
    return found


def test_held_out_outputs_of_the_hinge_leave_out_what_the_machine_of_all_does(clouds):
    x, codes, folds, centers = clouds
    _, curves = fitted(x, codes, folds, centers, [1, 1, 1], hinge_steps=1)
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
    one, two = (fitted(x, codes, folds, centers, [1, 2, 3], n_workers=n) for n in (1, 2))
    assert_array_equal(one[0].weights, two[0].weights)
    assert_array_equal(one[1], two[1])
    new = x[:150]
    assert_array_equal(one[0].outputs(new, 1), one[0].outputs(np.tile(new, (3, 1)), 2)[:150])


@pytest.mark.parametrize("n_frames", [1, 127, 300])
def test_posteriors_are_the_coupled_outputs(clouds, n_frames):
    x, codes, folds, centers = clouds
    machines, curves = fitted(x, codes, folds, centers, [60, 40, 50], Calibration("held-out", "gaussian"))
    new = 1 + 3 * np.random.default_rng(2).normal(size=(n_frames, 3)).astype(np.float32)
    expected = coupled_log_posteriors(quadratics(machines.outputs(new), curves), 3)
    expected -= np.logaddexp.reduce(expected, axis=1, keepdims=True)
    found = machines.log_posteriors(curves, new, n_workers=1)
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert_array_equal(found, machines.log_posteriors(curves, new, n_workers=2))


def test_tensors_hold_all_that_evaluates(clouds):
    x, codes, folds, centers = clouds
    machines, _ = fitted(x, codes, folds, centers, [1, 1, 1])
    again = PooledMachines.from_tensors(machines.tensors(), machines.sigma)
    assert (again.n_classes, again.n_pairs, again.n_centers) == (3, 3, 19)
    assert_array_equal(again.outputs(x), machines.outputs(x))


def test_identical_centers_and_classes_stay_finite():
    x = np.zeros((40, 2), dtype=np.float32)
    codes, folds = np.arange(40) % 2, np.arange(40) // 2 % 2
    machines, curves = fitted(x, codes, folds, [x[:5], x[:5]], [20, 20])
    assert np.isfinite(machines.weights).all()
    assert np.isfinite(curves).all()
    assert_allclose(machines.outputs(x), 0.0, rtol=0, atol=1e-5)


@pytest.mark.parametrize("outputs", ["fitted", "loo", "held-out"])
def test_a_class_of_one_frame(clouds, outputs):
    x, codes, folds, centers = clouds
    keep = (codes != 1) | (np.cumsum(codes == 1) == 1)
    pools = [centers[0], x[codes == 1][:1], centers[2]]
    machines, curves = fitted(
        x[keep], codes[keep], folds[keep], pools, [60, 1, 50], Calibration(outputs, "logistic")
    )
    assert np.isfinite(machines.weights).all()
    assert np.isfinite(curves).all()


def test_errors_say_what_is_wrong(clouds):
    x, codes, folds, centers = clouds
    with pytest.raises(ModelError, match=r"classes \[3\] of 4 have no frames or centres"):
        fitted(x, codes, folds, [*centers, centers[0]], [1] * 4)
    with pytest.raises(ModelError, match="one class and fold for each frame"):
        fitted(x, codes[:-1], folds, centers, [1] * 3)
    with pytest.raises(ModelError, match='loss is "hinge", expected one of: squared, squared-hinge'):
        PoolsConfig(loss="hinge")
    with pytest.raises(ModelError, match="ridge is -1, expected a finite number above 0"):
        PoolsConfig(ridge=-1)
    with pytest.raises(ModelError, match="n_centers is 0, expected a whole number of at least 1"):
        PoolsConfig(n_centers=0)
    assert np.isfinite(fitted(x, codes, folds, centers, [1] * 3, ridge=5.0)[1]).all()
    with pytest.raises(ModelError, match="look for NaN"):
        fitted(np.full_like(x, np.nan), codes, folds, centers, [1] * 3)


@pytest.mark.parametrize(("loss", "steps"), [("squared", 0), ("squared-hinge", 1)])
def test_fit_draws_the_centers(clouds, loss, steps):
    x, codes, folds, _ = clouds
    frames = LabelledFrames(x, codes, folds, np.ones(3))
    found, curves = fit(frames, SIGMA, PoolsConfig(10, ridge=RIDGE, loss=loss), HELD_OUT, seed=3)
    assert found.n_centers == 30
    centers = [found.centers[a : a + 10] for a in (0, 10, 20)]
    for k, own in enumerate(centers):
        assert {tuple(c) for c in own} <= {tuple(row) for row in x[codes == k]}
    expected, expected_curves = fitted(x, codes, folds, centers, np.ones(3), hinge_steps=steps)
    assert_array_equal(found.weights, expected.weights)
    assert_array_equal(curves, expected_curves)
