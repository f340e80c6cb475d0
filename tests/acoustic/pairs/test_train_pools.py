"""Machines of all pairs on shared centres against each pair done by itself."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.errors import ModelError
from acoustic.pairs.calibration import Calibration, quadratics
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.coupling import all_pairs, coupled_log_posteriors
from acoustic.pairs.machines import PooledMachines
from acoustic.pairs.train_pools import PoolsConfig, fit, fit_pair, fit_pools

SIGMA, RIDGE = 1.5, 1e-3
HELD_OUT = Calibration("held-out", "logistic")


def fitted(x, codes, folds, centers, counts, calibration=HELD_OUT, ridge=RIDGE, **options):
    """Return machines and curves of pools."""
    frames = LabelledFrames(x, codes, folds, np.asarray(counts, dtype=np.float64))
    return fit_pools(frames, centers, SIGMA, ridge, calibration, **options)


def kernel(x, centers):
    distances = ((x[:, None].astype(np.float64) - centers) ** 2).sum(axis=2)
    return np.exp(-distances / (2 * SIGMA**2))


def test_each_pair_is_ridge_regression_on_its_frames_and_centers(clouds):
    x, codes, folds, centers = clouds
    machines, _ = fitted(x, codes, folds, centers, [1, 1, 1])
    new = np.random.default_rng(1).normal(size=(300, 3)).astype(np.float32) + 1
    found = machines.outputs(new)
    for p, (i, j) in enumerate(all_pairs(3)):
        rows, pool = (codes == i) | (codes == j), np.concatenate([centers[i], centers[j]])
        design = np.column_stack([kernel(x[rows], pool), np.ones(rows.sum())])
        penalty = RIDGE * rows.sum() * np.diag([*np.ones(len(pool)), 0.0])
        targets = np.where(codes[rows] == i, 1.0, -1.0)
        weights = np.linalg.solve(design.T @ design + penalty, design.T @ targets)
        assert_allclose(found[:, p], kernel(new, pool) @ weights[:-1] + weights[-1], rtol=0, atol=2e-3)


@pytest.mark.parametrize("steps", [0, 1, 30])
@pytest.mark.parametrize("curve", ["gaussian", "logistic"])
@pytest.mark.parametrize("outputs", ["fitted", "loo", "held-out"])
def test_each_pair_is_fitted_by_itself(clouds, pool_pair, outputs, curve, steps):
    """What a pair's machine and its curve are is tested in test_pool_pairs."""
    x, codes, folds, centers = clouds
    counts, rule = np.array([600.0, 40.0, 50.0]), Calibration(outputs, curve)
    machines, curves = fitted(x, codes, folds, centers, counts, rule, hinge_steps=steps)
    pools = np.split(machines.weights, machines.starts[1:-1])
    for p, (i, j) in enumerate(all_pairs(3)):
        pair, _ = pool_pair(x, codes, folds, centers, i, j, SIGMA)
        alone = fit_pair(pair, counts[[i, j]], RIDGE, steps, rule)
        assert_allclose(np.append(pools[i][:, j], -pools[j][:, i]), alone.weights, rtol=1e-3, atol=1e-3)
        assert_allclose(machines.biases[p], alone.bias, rtol=1e-3, atol=1e-3)
        assert_allclose(curves[p], alone.curve, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("offset", [0.0, 100.0, 3000.0])
def test_where_the_frames_lie_does_not_matter(clouds, offset):
    x, codes, folds, centers = clouds
    expected, curves = fitted(x, codes, folds, centers, [1, 1, 1])
    moved, moved_curves = fitted(x + offset, codes, folds, [c + offset for c in centers], [1, 1, 1])
    rounding = 1e-3 + offset * 1e-6
    assert_allclose(moved.outputs(x + offset), expected.outputs(x), rtol=0, atol=rounding)
    assert_allclose(moved_curves, curves, rtol=0.01 + rounding, atol=0.01 + rounding)


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
    found, curves = fit(
        frames, SIGMA, PoolsConfig(10, ridge=RIDGE, loss=loss, choice="random"), HELD_OUT, seed=3
    )
    assert found.n_centers == 30
    centers = [found.centers[a : a + 10] for a in (0, 10, 20)]
    for k, own in enumerate(centers):
        assert {tuple(c) for c in own} <= {tuple(row) for row in x[codes == k]}
    expected, expected_curves = fitted(x, codes, folds, centers, np.ones(3), hinge_steps=steps)
    assert_array_equal(found.weights, expected.weights)
    assert_array_equal(curves, expected_curves)


@pytest.fixture(scope="module")
def many_classes():
    """Return frames of thirty classes in a row, each overlapping its neighbours."""
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(30), 40).astype(np.int32)
    x = rng.normal(size=(len(codes), 3)) + np.column_stack([1.5 * codes, np.zeros((len(codes), 2))])
    return LabelledFrames(
        x.astype(np.float32), codes, (np.arange(len(codes)) % 2).astype(np.int32), np.full(30, 40.0)
    )


class TestRivals:
    config = PoolsConfig(10, ridge=RIDGE, rivals=0.6, choice="random")

    def test_rivals_have_the_machines_that_they_have_among_all_pairs(self, many_classes):
        machines, curves = fit(many_classes, SIGMA, self.config, HELD_OUT)
        assert (machines.layout, machines.n_classes) == ("rivals", 30)
        assert len(curves) == machines.n_pairs < 200
        centers = np.split(machines.centers, machines.starts[1:-1])
        pooled, all_curves = fit_pools(many_classes, centers, SIGMA, RIDGE, HELD_OUT, hinge_steps=1)
        places = [i * (59 - i) // 2 + j - i - 1 for i, j in machines.pairs]
        assert_array_equal(curves, all_curves[places])
        assert_array_equal(machines.biases, pooled.biases[places])
        new = many_classes.x[::7]
        assert_allclose(machines.outputs(new), pooled.outputs(new)[:, places], rtol=0, atol=2e-2)

    def test_centers_and_weights_are_such_that_half_precision_holds_them(self, many_classes):
        machines, _ = fit(many_classes, SIGMA, self.config, HELD_OUT)
        halves = machines.weights.astype(np.float16)
        assert_array_equal(halves, machines.weights)
        assert_array_equal(machines.tensors()["weights"], halves)
        assert machines.tensors()["centers"].dtype == np.float16

    def test_neighbours_are_told_apart(self, many_classes):
        machines, curves = fit(many_classes, SIGMA, self.config, HELD_OUT)
        found = machines.log_posteriors(curves, many_classes.x)
        accuracy = np.mean(found.argmax(axis=1) == many_classes.codes)
        pooled, all_curves = fit(many_classes, SIGMA, replace(self.config, rivals=1), HELD_OUT)
        expected = pooled.log_posteriors(all_curves, many_classes.x).argmax(axis=1) == many_classes.codes
        assert pooled.layout == "state"
        assert accuracy > np.mean(expected) - 0.02 > 0.4

    def test_any_number_of_workers_gives_the_same_bytes(self, many_classes):
        (one, curves), (two, others) = (
            fit(many_classes, SIGMA, self.config, HELD_OUT, n_workers=n) for n in (1, 3)
        )
        assert_array_equal(one.weights, two.weights)
        assert_array_equal(curves, others)
        assert_array_equal(one.pairs, two.pairs)

    def test_few_classes_are_all_rivals(self, clouds):
        x, codes, folds, _ = clouds
        found, _ = fit(LabelledFrames(x, codes, folds, np.ones(3)), SIGMA, self.config, HELD_OUT)
        assert (found.layout, found.n_pairs) == ("state", 3)

    @pytest.mark.parametrize("share", [0.0, 1.5, np.nan])
    def test_a_share_is_above_0_and_at_most_1(self, share):
        with pytest.raises(ModelError, match="rivals: expected above 0 and at most 1, got"):
            PoolsConfig(rivals=share)
