"""Fits of all pairs against separate forward selections, and their curves against scipy."""

from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from acoustic.discriminants import NPDClassifier
from acoustic.errors import ModelError
from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.residual_sampling import SamplingConfig, sample_regressors
from acoustic.kernels.ridge import FARTHEST
from acoustic.pairs import train_forward
from acoustic.pairs.calibration import Calibration, fit_curve, quadratics
from acoustic.pairs.coupling import all_pairs, coupled_log_posteriors
from acoustic.pairs.machines import SparseMachines
from acoustic.pairs.train_forward import PairForwardConfig, fit_pairs

SIGMA = 2.5
CONFIG = ForwardConfig(Kernel("gaussian", SIGMA), (SIGMA,), max_centers=20)
GRID = np.linspace(-1.5, 1.5, 7)  # outputs


def rows_of(codes, i, j):
    return np.concatenate([np.flatnonzero(codes == i), np.flatnonzero(codes == j)])


def separate_path(x, codes, i, j, config, weight=None):
    rows = rows_of(codes, i, j)
    targets = np.where(codes[rows] == i, 1.0, -1.0)[:, None]
    rng = np.random.default_rng((0, i, j))
    path = forward_selection(
        x[rows], targets, config, sample_weight=None if weight is None else weight[rows], rng=rng
    )
    return rows, path


def judging(rows, centers, n_first):
    """Return which frames the curve is of: those that are no centres, if there are 30 of both classes."""
    others = ~np.isin(rows, centers)
    enough = min(others[:n_first].sum(), others[n_first:].sum()) >= 30
    return others if enough else np.full(len(rows), True)


def bayes_odds(outputs, n_first, is_judge=None):
    """Return the log odds at GRID of the Gaussians of the first and the other outputs (M,) of some frames.

    The prior odds are those of all.
    """
    prior = np.log(n_first / (len(outputs) - n_first))
    is_judge = np.full(len(outputs), True) if is_judge is None else is_judge
    first, second = outputs[:n_first][is_judge[:n_first]], outputs[n_first:][is_judge[n_first:]]
    if first.mean() <= second.mean():
        return np.full(len(GRID), prior)
    densities = (norm.logpdf(GRID, part.mean(), part.std()) for part in (first, second))
    return next(densities) - next(densities) + prior


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"regularize": True},
        {"block_size": 4},
        {"block_size": 4, "regularize": True},
        {"stopping": "tol", "tol": 0.8},
        {"stopping": "tol", "tol": 2.0},
        {"epsilon": 0.5},
        {"selection": "random"},
        {"stopping": "gcv", "regularize": True},
        {"stopping": "lambda", "regularize": True, "tol": 0.2, "patience": 3},
        {"stopping": "lambda", "regularize": True, "tol": 0.2, "patience": 3, "block_size": 2},
        {"sigmas": (1.5, 3.0)},
        {"kernel": Kernel("polynomial", SIGMA)},
    ],
    ids=str,
)
def test_each_pair_is_a_separate_forward_selection(overlapping, change):
    x, codes = overlapping([60, 45, 80, 70])
    config = replace(CONFIG, **change)
    machines, curves = fit_pairs(x, codes, 4, config)
    outputs = machines.outputs(x)
    assert_array_equal(machines.pairs, all_pairs(4))
    for p, (i, j) in enumerate(machines.pairs):
        rows, path = separate_path(x, codes, i, j, config)
        alpha, bias = path.weights()
        found = machines.center_indices[p]
        assert_array_equal(found[: path.size], rows[path.indices[: path.size]])
        assert (found[path.size :] == -1).all()
        assert (machines.weights[p, path.size :] == 0).all()
        # single precision against it: errors of 1e-7 grow with the condition of the columns
        assert_allclose(machines.weights[p, : path.size], alpha[:, 0], rtol=5e-3, atol=5e-3)
        assert_allclose(machines.biases[p], bias[0], rtol=5e-3, atol=5e-3)
        columns = config.kernel.block(
            x.astype(np.float64), x[rows[path.indices]].astype(np.float64), path.sigmas
        )
        assert_allclose(outputs[:, p], columns[:, : path.size] @ alpha[:, 0] + bias[0], rtol=0, atol=2e-4)
        left_out = np.clip(path.leave_one_out[:, 0], -FARTHEST, FARTHEST)
        judges = judging(rows, rows[path.indices[: path.size]], np.sum(codes == i))
        expected = bayes_odds(left_out, np.sum(codes == i), judges)
        assert_allclose(np.polyval(curves[p], GRID), expected, rtol=1e-3, atol=1e-3)


def test_the_paths_are_those_of_the_binary_estimator(overlapping):
    x, codes = overlapping([50, 60, 40])
    machines, _ = fit_pairs(x, codes, 3, CONFIG)
    outputs = machines.outputs(x)
    for p, (i, j) in enumerate(machines.pairs):
        rows = rows_of(codes, i, j)
        # the estimator's +1 is its second label: −codes makes that class i
        binary = NPDClassifier(SIGMA, 20, epsilon=1e-6).fit(x[rows], -codes[rows])
        assert_array_equal(rows[binary.center_indices_], machines.center_indices[p])
        assert_allclose(binary.decision_function(x), outputs[:, p], rtol=0, atol=2e-4)


def test_the_weights_are_least_squares_on_the_centres(overlapping):
    x, codes = overlapping([90, 110])
    machines, curves = fit_pairs(x, codes, 2, CONFIG)
    rows = rows_of(codes, 0, 1)
    centers = x[machines.center_indices[0]].astype(np.float64)
    squared = ((x[rows, None].astype(np.float64) - centers) ** 2).sum(axis=2)
    columns = np.column_stack([np.ones(len(rows)), np.exp(-squared / (2 * SIGMA**2))])
    columns[:, 1:] += CONFIG.epsilon * (rows[:, None] == machines.center_indices[0])
    targets = np.where(codes[rows] == 0, 1.0, -1.0)
    expected, *_ = np.linalg.lstsq(columns, targets, rcond=None)
    assert_allclose(machines.weights[0], expected[1:], rtol=1e-3, atol=1e-3)
    # the curve: refit without each point, the centres kept
    left_out = np.empty(len(rows))
    for n in range(len(rows)):
        keep = np.arange(len(rows)) != n
        left_out[n] = columns[n] @ np.linalg.lstsq(columns[keep], targets[keep], rcond=None)[0]
    judges = judging(rows, machines.center_indices[0], 90)
    expected = bayes_odds(left_out, 90, judges)
    assert_allclose(np.polyval(curves[0], GRID), expected, rtol=1e-3, atol=1e-3)


def test_fitted_outputs_may_calibrate(overlapping):
    x, codes = overlapping([60, 70])
    _, path = separate_path(x, codes, 0, 1, CONFIG)
    _, curves = fit_pairs(x, codes, 2, CONFIG, calibration=Calibration("fitted"))
    at_centers = path.fitted[:, 0].copy()  # of (K + εI)α
    at_centers[path.indices[: path.size]] -= CONFIG.epsilon * path.weights()[0][:, 0]
    assert_allclose(np.polyval(curves[0], GRID), bayes_odds(at_centers, 60), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("change", [{}, {"block_size": 4}, {"regularize": True}], ids=str)
def test_fitted_outputs_are_those_of_the_machines_in_decoding(overlapping, change):
    x, codes = overlapping([60, 70])
    config = replace(CONFIG, epsilon=0.5, **change)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=len(x))
    machines, curves = fit_pairs(x, codes, 2, config, calibration=Calibration("fitted"), sample_weight=weight)
    rows = rows_of(codes, 0, 1)
    centers = x[machines.center_indices[0]].astype(np.float64)
    squared = ((x[rows, None].astype(np.float64) - centers) ** 2).sum(axis=2)
    outputs = np.exp(-squared / (2 * SIGMA**2)) @ machines.weights[0] + machines.biases[0]  # no ε anywhere
    counts = tuple(weight[codes == k].sum() for k in range(2))
    expected = fit_curve(outputs, 60, counts, "gaussian", weight[rows], reach=np.inf)
    assert_allclose(np.polyval(curves[0], GRID), np.polyval(expected, GRID), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("change", [{}, {"block_size": 4}], ids=str)
def test_held_out_outputs_are_those_of_machines_of_the_other_folds(overlapping, change):
    x, codes = overlapping([60, 70, 3])
    folds = np.random.default_rng(1).integers(3, size=len(x))
    folds[codes == 2] = 1  # without fold 1 nothing is left of the class: fitted outputs have to do
    config = replace(CONFIG, **change)
    rule = Calibration("held-out", "gaussian")
    machines, curves = fit_pairs(x, codes, 3, config, calibration=rule, folds=folds)
    assert_array_equal(machines.weights, fit_pairs(x, codes, 3, config)[0].weights)
    for p, (i, j) in enumerate(machines.pairs):
        rows, path = separate_path(x, codes, i, j, config)
        expected = path.fitted[:, 0].copy()
        expected[path.indices] -= config.epsilon * path.weights()[0][:, 0]
        for fold in range(3):
            is_own = folds[rows] == fold
            rest = rows[~is_own]
            if len(np.unique(codes[rest])) == 2:
                of_rest = np.where(np.isin(np.arange(len(x)), rest), codes, -1)
                used, other = separate_path(x, of_rest, i, j, config)
                alpha, bias = other.weights()
                columns = config.kernel.block(x[rows[is_own]], x[used[other.indices]])
                expected[is_own] = columns @ alpha[:, 0] + bias[0]
        counts = tuple(np.bincount(codes)[[i, j]].astype(float))
        curve = fit_curve(expected, int(np.sum(codes == i)), counts, "gaussian")
        assert_allclose(np.polyval(curves[p], GRID), np.polyval(curve, GRID), rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize(
    ("tol", "regularize", "expected"),
    [(0.0, False, "size"), (0.0, True, "size"), (0.4, False, "tol"), (0.4, True, "lambda")],
)
def test_the_rule_that_ends_a_selection(tol, regularize, expected):
    found = PairForwardConfig(30, 1e-2, tol).selection(1.5, regularize=regularize)
    assert found == ForwardConfig(
        Kernel("gaussian", 1.5),
        (1.5,),
        30,
        stopping=expected,
        tol=tol,
        patience=10,
        epsilon=1e-2,
        regularize=regularize,
    )


@pytest.mark.parametrize("asked", [False, True])
def test_paths_are_kept_for_who_asks_only(overlapping, monkeypatch, asked):
    x, codes = overlapping([20, 25, 30])
    kept, gather = [], train_forward._gather
    monkeypatch.setattr(
        train_forward, "_gather", lambda *args: kept.extend(f.path for f in args[-1]) or gather(*args)
    )
    paths = [] if asked else None
    fit_pairs(x, codes, 3, CONFIG, paths=paths)
    assert [path is not None for path in kept] == [asked] * 3
    assert not asked or [path.size for path in paths] == [20, 20, 20]


def test_held_out_outputs_need_folds(overlapping):
    x, codes = overlapping([10, 10])
    with pytest.raises(ModelError, match='outputs is "held-out", expected folds'):
        fit_pairs(x, codes, 2, CONFIG, calibration=Calibration("held-out"))


def test_left_out_outputs_are_given_to_who_asks(overlapping):
    x, codes = overlapping([30, 25, 20])
    left_out = np.full((len(x), 3), np.nan)
    machines, _ = fit_pairs(x, codes, 3, CONFIG, left_out=left_out)
    for p, (i, j) in enumerate(machines.pairs):
        rows, path = separate_path(x, codes, i, j, CONFIG)
        assert_allclose(left_out[rows, p], path.leave_one_out[:, 0], rtol=0, atol=2e-3)
        assert np.isnan(left_out[~np.isin(codes, [i, j]), p]).all()


def test_a_weight_of_two_is_a_frame_twice(overlapping):
    x, codes = overlapping([40, 50, 30])
    weight = 1.0 + (np.arange(len(x)) % 3 == 0)
    weighted, curves = fit_pairs(x, codes, 3, CONFIG, sample_weight=weight, calibration=Calibration("fitted"))
    twice = np.repeat(np.arange(len(x)), weight.astype(int))
    for p, (i, j) in enumerate(weighted.pairs):
        _, path = separate_path(x, codes, i, j, CONFIG, weight)
        assert_array_equal(weighted.center_indices[p], rows_of(codes, i, j)[path.indices])
    columns = weighted.kernel.block(
        x[twice].astype(np.float64), x[weighted.center_indices[0]].astype(np.float64)
    )
    among = np.isin(codes[twice], [0, 1])
    targets = np.where(codes[twice] == 0, 1.0, -1.0)[among]
    design = np.column_stack([np.ones(len(twice)), columns])[among]
    expected, *_ = np.linalg.lstsq(design, targets, rcond=None)
    fitted = design @ expected
    odds = bayes_odds(np.concatenate([fitted[targets > 0], fitted[targets < 0]]), np.sum(targets > 0))
    assert_allclose(np.polyval(curves[0], GRID), odds, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("curve", ["gaussian", "logistic"])
def test_prior_odds_are_of_the_counts_given(overlapping, curve):
    x, codes = overlapping([40, 50, 30])
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(x))
    counts = np.array([700.0, 20.0, 90.0])
    asked = {"sample_weight": weight, "calibration": Calibration(curve=curve)}
    _, default = fit_pairs(x, codes, 3, CONFIG, **asked)
    machines, given = fit_pairs(x, codes, 3, CONFIG, counts=counts, **asked)
    own = np.bincount(codes, weight)
    i, j = machines.pairs.T
    shifts = np.log(counts[i] / counts[j]) - np.log(own[i] / own[j])
    assert_array_equal(given[:, :2], default[:, :2])
    assert_allclose(given[:, 2] - default[:, 2], shifts, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("change", [{}, {"block_size": 4}], ids=str)
@pytest.mark.parametrize("curve", ["gaussian", "logistic"])
def test_curves_of_weighted_frames_are_those_of_weighted_left_out_outputs(overlapping, curve, change):
    x, codes = overlapping([60, 90, 50], spread=1.5)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(x))
    config = replace(CONFIG, **change)
    machines, curves = fit_pairs(
        x, codes, 3, config, calibration=Calibration(curve=curve), sample_weight=weight
    )
    assert_array_equal(machines.weights, fit_pairs(x, codes, 3, config, sample_weight=weight)[0].weights)
    assert (curves[:, 1] > 0).all()
    own = np.bincount(codes, weight)
    for p, (i, j) in enumerate(machines.pairs):
        rows, path = separate_path(x, codes, i, j, config, weight)
        left_out, n_first = path.leave_one_out[:, 0], np.sum(codes == i)
        judges = judging(rows, rows[path.indices[: path.size]], n_first)
        expected = fit_curve(
            left_out[judges], np.sum(judges[:n_first]), (own[i], own[j]), curve, weight[rows][judges]
        )
        assert_allclose(curves[p], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("change", [{}, {"selection": "random"}], ids=str)
def test_the_number_of_workers_changes_nothing(overlapping, change):
    x, codes = overlapping([30] * 9)
    config = replace(CONFIG, **change)
    (one, curves), (three, others) = (fit_pairs(x, codes, 9, config, n_workers=n) for n in (1, 3))
    for field in fields(SparseMachines):
        assert_array_equal(getattr(one, field.name), getattr(three, field.name), err_msg=field.name)
    assert_array_equal(curves, others)
    assert_array_equal(one.outputs(x, n_workers=1), one.outputs(x, n_workers=3))


def test_some_pairs_are_those_of_all(overlapping):
    x, codes = overlapping([30] * 5)
    everything, curves = fit_pairs(x, codes, 5, CONFIG)
    asked = [[1, 4], [0, 2], [3, 0]]
    some, some_curves = fit_pairs(x, codes, 5, CONFIG, pairs=asked)
    for p, (i, j) in enumerate(asked[:2]):
        whole = everything.pairs.tolist().index([i, j])
        assert_array_equal(some.weights[p], everything.weights[whole])
        assert_array_equal(some.center_indices[p], everything.center_indices[whole])
        assert_array_equal(some_curves[p], curves[whole])


class TestHeldOutFrames:
    """Frames that become no centres."""

    @pytest.mark.parametrize(
        "change",
        [{}, {"regularize": True}, {"block_size": 4}, {"algorithm": "thesis"}, {"selection": "random"}],
        ids=str,
    )
    @pytest.mark.parametrize("is_weighted", [False, True])
    def test_each_pair_is_a_separate_selection_among_the_others(self, overlapping, change, is_weighted):
        x, codes = overlapping([160, 45, 180], spread=1.5)
        held_out = np.sort(np.random.default_rng(3).permutation(385)[:140])
        weight = np.random.default_rng(1).uniform(0.5, 2.0, 385) if is_weighted else None
        config, own = replace(CONFIG, **change), np.bincount(codes, weight)
        left_out = np.full((385, 3), np.nan, dtype=np.float32)
        machines, curves = fit_pairs(
            x, codes, 3, config, sample_weight=weight, held_out=held_out, left_out=left_out
        )
        assert not np.isin(machines.center_indices, held_out).any()
        for p, (i, j) in enumerate(machines.pairs):
            rows = rows_of(codes, i, j)
            is_held_out = np.isin(rows, held_out)
            path = forward_selection(
                x[rows],
                np.where(codes[rows] == i, 1.0, -1.0)[:, None],
                config,
                sample_weight=None if weight is None else weight[rows],
                rng=np.random.default_rng((0, i, j)),
                held_out=np.flatnonzero(is_held_out),
            )
            assert_array_equal(machines.center_indices[p], rows[path.indices])
            alpha, _ = path.weights()
            assert_allclose(machines.weights[p], alpha[:, 0], rtol=5e-3, atol=5e-3)
            assert_allclose(left_out[rows, p], path.leave_one_out[:, 0], rtol=5e-3, atol=5e-3)
            n_first = np.sum(codes[rows] == i)
            judges = judging(rows, rows[path.indices], n_first)
            expected = fit_curve(
                path.leave_one_out[judges, 0],
                np.sum(judges[:n_first]),
                (own[i], own[j]),
                "gaussian",
                None if weight is None else weight[rows][judges],
            )
            assert_allclose(curves[p], expected, rtol=1e-2, atol=1e-2)

    @pytest.mark.parametrize("change", [{}, {"block_size": 4}], ids=str)
    def test_curves_of_fitted_outputs_look_at_all_frames(self, overlapping, change):
        x, codes = overlapping([160, 180], spread=1.5)
        config, held_out = replace(CONFIG, **change), np.arange(0, 340, 2)
        machines, curves = fit_pairs(
            x, codes, 2, config, calibration=Calibration("fitted"), held_out=held_out
        )
        outputs = machines.outputs(x[rows_of(codes, 0, 1)])[:, 0]
        expected = fit_curve(outputs, 160, (160, 180), "gaussian", reach=np.inf)
        assert_allclose(curves[0], expected, rtol=1e-2, atol=1e-2)

    @pytest.mark.parametrize("change", [{}, {"block_size": 4}], ids=str)
    def test_of_a_class_or_a_pair_all_frames_may_be_held_out(self, overlapping, change):
        x, codes = overlapping([40, 50, 60], spread=1.5)
        held_out = np.flatnonzero(codes < 2)
        machines, curves = fit_pairs(x, codes, 3, replace(CONFIG, **change), held_out=held_out)
        assert_array_equal(np.sum(machines.slots >= 0, axis=1), [0, 20, 20])
        chosen = machines.center_indices
        assert (codes[chosen[chosen >= 0]] == 2).all()
        assert_allclose(machines.biases[0], (40 - 50) / 90, rtol=1e-5, atol=0)
        assert np.isfinite(quadratics(machines.outputs(x), curves)).all()

    def test_none_is_as_if_nothing_was_said(self, overlapping):
        x, codes = overlapping([60, 45, 80])
        machines, curves = fit_pairs(x, codes, 3, CONFIG)
        other, same = fit_pairs(x, codes, 3, CONFIG, held_out=np.zeros(0, dtype=np.int64))
        assert_array_equal(machines.weights, other.weights)
        assert_array_equal(curves, same)


@pytest.mark.parametrize("selection", ["residual", "random"])
@pytest.mark.parametrize("n_held_out", [0, 90])
def test_centres_of_pairs_may_be_drawn(overlapping, n_held_out, selection):
    x, codes = overlapping([60, 45, 80, 70], spread=1.5)
    held_out = np.arange(0, 2 * n_held_out, 2)
    config = SamplingConfig(SIGMA, 0.01, 20, 20, chooses_size=False, selection=selection)
    left_out, paths = np.full((255, 6), np.nan, dtype=np.float32), []
    machines, curves = fit_pairs(
        x, codes, 4, config, held_out=held_out, left_out=left_out, paths=paths, seed=5
    )
    outputs = machines.outputs(x)
    for p, (i, j) in enumerate(machines.pairs):
        rows = rows_of(codes, i, j)
        found = sample_regressors(
            x[rows],
            np.where(codes[rows] == i, 1.0, -1.0)[:, None],
            config,
            held_out=np.flatnonzero(np.isin(rows, held_out)),
            rng=np.random.default_rng((5, i, j)),
        )
        assert_array_equal(machines.center_indices[p], rows[found.path.indices])
        assert_array_equal(paths[p].indices, rows[found.path.indices])
        assert_allclose(machines.weights[p], found.path.weights()[0][:, 0], rtol=1e-6, atol=1e-9)
        assert_allclose(outputs[rows, p], found.path.fitted[:, 0], rtol=0, atol=1e-3)
        assert_allclose(left_out[rows, p], found.path.leave_one_out[:, 0], rtol=1e-4, atol=1e-5)
    assert np.isfinite(curves).all()
    assert not np.isin(machines.center_indices, held_out).any()


def test_duplicated_frames(overlapping):
    x, codes = overlapping([8, 9, 10])
    x, codes = np.repeat(x, 4, axis=0), np.repeat(codes, 4)
    machines, _ = fit_pairs(x, codes, 3, replace(CONFIG, max_centers=50, epsilon=0.0))
    for p, (i, j) in enumerate(machines.pairs):
        chosen = machines.center_indices[p][machines.center_indices[p] >= 0]
        assert len(chosen) <= len(np.unique(x[np.isin(codes, [i, j])], axis=0))
        assert len(np.unique(x[chosen], axis=0)) == len(chosen)
    assert np.isfinite(machines.outputs(x)).all()


def test_the_same_frames_in_two_classes(overlapping):
    x, _ = overlapping([30])
    machines, curves = fit_pairs(np.concatenate([x, x]), np.repeat([0, 1], 30), 2, CONFIG)
    outputs = machines.outputs(x)
    assert_allclose(outputs, 0, rtol=0, atol=2e-3)
    assert np.isfinite(quadratics(outputs, curves)).all()


@pytest.mark.parametrize("regularize", [False, True])
@pytest.mark.parametrize("sigma", [1e-300, 1e-30, 1e-3, 1e4, 1e300])
def test_short_classes_and_odd_widths(overlapping, regularize, sigma):
    x, codes = overlapping([1, 2, 30, 1])
    config = replace(CONFIG, sigmas=(sigma,), kernel=Kernel("gaussian", sigma), regularize=regularize)
    machines, curves = fit_pairs(x, codes, 4, config)
    odds = quadratics(machines.outputs(np.concatenate([x, 50 + x])), curves)
    assert np.isfinite(odds).all()
    assert np.isfinite(coupled_log_posteriors(odds, 4)).all()
    assert (np.sum(machines.slots >= 0, axis=1) <= [3, 20, 2, 20, 3, 20]).all()


def test_more_centres_than_frames(overlapping):
    x, codes = overlapping([6, 4, 9])
    machines, _ = fit_pairs(x, codes, 3, replace(CONFIG, max_centers=10**6))
    assert_array_equal(np.sum(machines.slots >= 0, axis=1), [9, 14, 12])  # with the bias, a basis
    targets = np.where(codes == 0, 1.0, -1.0)[codes < 2]
    assert_allclose(machines.outputs(x[codes < 2])[:, 0], targets, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("most", "n_slots", "n_centers"), [(4, 4, [4, 4, 4]), (14, 14, [13, 7, 11]), (50, 14, [13, 7, 11])]
)
def test_no_pair_has_more_slots_than_the_two_largest_classes_have_frames(
    overlapping, most, n_slots, n_centers
):
    x, codes = overlapping([5, 9, 3])
    machines, _ = fit_pairs(x, codes, 3, replace(CONFIG, max_centers=most))
    assert machines.slots.shape == machines.weights.shape == (3, n_slots)
    used = machines.slots >= 0
    assert_array_equal(used.sum(axis=1), n_centers)  # one less than the pair's frames: the bias is the last
    assert_array_equal(used, np.arange(n_slots) < np.array(n_centers)[:, None])
    assert (machines.weights[~used] == 0).all()


def test_errors_say_what_to_do(overlapping):
    x, codes = overlapping([5, 5])
    with pytest.raises(ModelError, match=r"classes \[2\] have no frames"):
        fit_pairs(x, codes, 3, CONFIG)
    with pytest.raises(ModelError, match="codes lie in 0 … 1, expected 0 … 0"):
        fit_pairs(x, codes, 1, CONFIG)
    for bad in (np.nan, np.inf, 1e300):
        with pytest.raises(ModelError, match="not finite in single precision"):
            fit_pairs(np.where(x > 0, x.astype(np.float64), bad), codes, 2, CONFIG)
    with pytest.raises(ModelError, match=r"expected \(frames, features\)"):
        fit_pairs(x, codes[1:], 2, CONFIG)
    with pytest.raises(ModelError, match="no pairs"):
        fit_pairs(x, np.zeros(10, dtype=int), 1, CONFIG)
    with pytest.raises(ModelError, match="two different classes"):
        fit_pairs(x, codes, 2, CONFIG, pairs=[[1, 1]])
    with pytest.raises(ModelError, match="sample_weight"):
        fit_pairs(x, codes, 2, CONFIG, sample_weight=np.zeros(10))
    for counts in ([1, 1, 1], [0, 1], [np.nan, 1]):
        with pytest.raises(ModelError, match=r"expected \(2,\) and finite numbers above 0"):
            fit_pairs(x, codes, 2, CONFIG, counts=counts)


def test_outputs_that_point_the_wrong_way_leave_the_prior_odds():
    # Left-out outputs of a constant model do: read as they are they name the rarer class, for certain.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 4)), np.repeat([0, 1], [30, 20])
    config = ForwardConfig(Kernel("gaussian", 1e-3), (1e-3,), 5)
    _, path = separate_path(x.astype(np.float32), y, 0, 1, config)
    assert path.leave_one_out[:30].mean() < path.leave_one_out[30:].mean()
    for curve in ("gaussian", "logistic"):
        _, curves = fit_pairs(x, y, 2, config, calibration=Calibration(curve=curve))
        assert_allclose(curves, [[0.0, 0.0, np.log(30 / 20)]], rtol=1e-12, atol=0)
