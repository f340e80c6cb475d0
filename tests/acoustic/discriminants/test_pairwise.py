"""Pairwise machines against separate forward selections."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from scipy.stats import norm

from acoustic.discriminants import NPDClassifier, OROLSClassifier
from acoustic.discriminants.coupling import all_pairs, coupled_log_posteriors
from acoustic.discriminants.forward import ForwardConfig, forward_selection
from acoustic.discriminants.kernels import Kernel
from acoustic.discriminants.pairwise import (
    FARTHEST,
    fit_pairs,
    gaussian_curves,
    pair_log_odds,
    pair_log_posteriors,
    pair_outputs,
)
from acoustic.discriminants.projection import GaussianProjection
from acoustic.errors import ModelError

SIGMA = 2.5
CONFIG = ForwardConfig(Kernel("gaussian", SIGMA), (SIGMA,), max_centers=20)
FIELDS = (
    "pairs",
    "centers",
    "center_rows",
    "slots",
    "weights",
    "biases",
    "means",
    "variances",
    "class_counts",
)


def clouds(counts, n_dims=5, seed=0, spread=0.8):
    """Return overlapping classes (M, D) float32 and their codes (M,), shuffled."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    means = spread * rng.normal(size=(len(counts), n_dims))
    return (means[codes] + rng.normal(size=(len(codes), n_dims))).astype(np.float32), codes


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
        {"sigmas": (1.5, 3.0)},
        {"kernel": Kernel("polynomial", SIGMA)},
    ],
    ids=str,
)
def test_each_pair_is_a_separate_forward_selection(change):
    x, codes = clouds([60, 45, 80, 70])
    config = replace(CONFIG, **change)
    machines = fit_pairs(x, codes, 4, config)
    outputs = pair_outputs(machines, x)
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
        for k, values in enumerate(np.split(left_out, [np.sum(codes == i)])):
            assert_allclose(machines.means[p, k], values.mean(), rtol=1e-4, atol=1e-4)
            assert_allclose(machines.variances[p, k], values.var(), rtol=1e-3, atol=1e-5)


def test_the_paths_are_those_of_the_binary_estimator():
    x, codes = clouds([50, 60, 40])
    machines = fit_pairs(x, codes, 3, CONFIG)
    outputs = pair_outputs(machines, x)
    for p, (i, j) in enumerate(machines.pairs):
        rows = rows_of(codes, i, j)
        # the estimator's +1 is its second label: −codes makes that class i
        binary = NPDClassifier(SIGMA, 20).fit(x[rows], -codes[rows])
        assert_array_equal(rows[binary.center_indices_], machines.center_indices[p])
        assert_allclose(binary.decision_function(x), outputs[:, p], rtol=0, atol=2e-4)


def test_the_weights_are_least_squares_on_the_centres():
    x, codes = clouds([90, 110])
    machines = fit_pairs(x, codes, 2, CONFIG)
    rows = rows_of(codes, 0, 1)
    centers = x[machines.center_indices[0]].astype(np.float64)
    squared = ((x[rows, None].astype(np.float64) - centers) ** 2).sum(axis=2)
    columns = np.column_stack([np.ones(len(rows)), np.exp(-squared / (2 * SIGMA**2))])
    columns[:, 1:] += CONFIG.epsilon * (rows[:, None] == machines.center_indices[0])
    targets = np.where(codes[rows] == 0, 1.0, -1.0)
    expected, *_ = np.linalg.lstsq(columns, targets)
    assert_allclose(machines.weights[0], expected[1:], rtol=1e-3, atol=1e-3)
    # the leave-one-out moments: refit without each point, the centres kept
    left_out = np.empty(len(rows))
    for n in range(len(rows)):
        keep = np.arange(len(rows)) != n
        left_out[n] = columns[n] @ np.linalg.lstsq(columns[keep], targets[keep])[0]
    assert_allclose(machines.means[0], [left_out[:90].mean(), left_out[90:].mean()], rtol=0, atol=1e-4)
    assert_allclose(machines.variances[0], [left_out[:90].var(), left_out[90:].var()], rtol=1e-3, atol=0)


def test_fitted_outputs_may_calibrate():
    x, codes = clouds([60, 70])
    _, path = separate_path(x, codes, 0, 1, CONFIG)
    machines = fit_pairs(x, codes, 2, CONFIG, calibration="fitted")
    assert_allclose(machines.means[0, 0], path.fitted[:60].mean(), rtol=0, atol=1e-5)
    assert_allclose(machines.variances[0, 1], path.fitted[60:].var(), rtol=1e-4, atol=0)


def test_a_weight_of_two_is_a_frame_twice():
    x, codes = clouds([40, 50, 30])
    weight = 1.0 + (np.arange(len(x)) % 3 == 0)
    weighted = fit_pairs(x, codes, 3, CONFIG, sample_weight=weight, calibration="fitted")
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
    expected, *_ = np.linalg.lstsq(design, targets)
    fitted = design @ expected
    assert_allclose(
        weighted.means[0], [fitted[targets > 0].mean(), fitted[targets < 0].mean()], rtol=0, atol=1e-3
    )
    assert_allclose(weighted.class_counts, np.bincount(codes[twice]), rtol=1e-12, atol=0)


@pytest.mark.parametrize("change", [{}, {"selection": "random"}], ids=str)
def test_the_number_of_workers_changes_nothing(change):
    x, codes = clouds([30] * 9)
    config = replace(CONFIG, **change)
    one, three = (fit_pairs(x, codes, 9, config, n_workers=n) for n in (1, 3))
    for name in FIELDS:
        assert_array_equal(getattr(one, name), getattr(three, name), err_msg=name)
    assert_array_equal(pair_outputs(one, x, n_workers=1), pair_outputs(one, x, n_workers=3))


def test_some_pairs_are_those_of_all():
    x, codes = clouds([30] * 5)
    everything = fit_pairs(x, codes, 5, CONFIG)
    asked = [[1, 4], [0, 2], [3, 0]]
    some = fit_pairs(x, codes, 5, CONFIG, pairs=asked)
    for p, (i, j) in enumerate(asked[:2]):
        whole = everything.pairs.tolist().index([i, j])
        assert_array_equal(some.weights[p], everything.weights[whole])
        assert_array_equal(some.center_indices[p], everything.center_indices[whole])


@pytest.mark.parametrize("n_frames", [1, 127, 300])
def test_outputs_are_those_of_a_loop(n_frames):
    x, codes = clouds([150] * 8, n_dims=7)
    machines = fit_pairs(x, codes, 8, replace(CONFIG, max_centers=60))
    assert len(machines.centers) > 1024 // 2  # more than one block, not all used by all
    frames = clouds([n_frames], n_dims=7, seed=1)[0]
    found = pair_outputs(machines, frames)
    for p in range(len(machines.pairs)):
        centers = x[machines.center_indices[p]].astype(np.float64)
        squared = ((frames[:, None].astype(np.float64) - centers) ** 2).sum(axis=2)
        expected = np.exp(-squared / (2 * SIGMA**2)) @ machines.weights[p] + machines.biases[p]
        assert_allclose(found[:, p], expected, rtol=0, atol=1e-3)


def test_many_blocks_of_centres(monkeypatch):
    x, codes = clouds([40] * 6)
    whole = fit_pairs(x, codes, 6, CONFIG)
    expected = pair_outputs(whole, x)
    monkeypatch.setattr("acoustic.discriminants.pairwise._CENTERS_AT_ONCE", 7)
    monkeypatch.setattr("acoustic.discriminants.pairwise._FRAMES_AT_ONCE", 11)
    parts = fit_pairs(x, codes, 6, CONFIG)
    assert len(parts.center_blocks) > 10
    assert_allclose(pair_outputs(parts, x), expected, rtol=0, atol=1e-4)


def test_log_odds_are_those_of_scipy_and_of_the_projection():
    x, codes = clouds([40, 25, 60])
    machines = fit_pairs(x, codes, 3, CONFIG)
    outputs = pair_outputs(machines, x)
    found = pair_log_odds(machines, outputs)
    for p, (i, j) in enumerate(machines.pairs):
        deviations = np.sqrt(machines.variances[p])
        likelihoods = norm.logpdf(outputs[:, p, None].astype(np.float64), machines.means[p], deviations)
        counts = machines.class_counts[[i, j]]
        expected = likelihoods @ [1, -1] + np.log(counts[0] / counts[1])
        assert_allclose(found[:, p], expected, rtol=1e-9, atol=1e-9)
        projection = GaussianProjection.from_moments(
            machines.means[p, ::-1], machines.variances[p, ::-1], counts[::-1]
        )
        assert_allclose(expit(found[:, p]), projection.predict_proba(outputs[:, p]), rtol=1e-9, atol=1e-12)


def test_posteriors_are_the_coupled_log_odds():
    x, codes = clouds([40, 25, 60, 30])
    machines = fit_pairs(x, codes, 4, CONFIG)
    expected = coupled_log_posteriors(pair_log_odds(machines, pair_outputs(machines, x)), 4)
    expected -= np.logaddexp.reduce(expected, axis=1, keepdims=True)
    found = pair_log_posteriors(machines, gaussian_curves(machines), x)
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_duplicated_frames():
    x, codes = clouds([8, 9, 10])
    x, codes = np.repeat(x, 4, axis=0), np.repeat(codes, 4)
    machines = fit_pairs(x, codes, 3, replace(CONFIG, max_centers=50, epsilon=0.0))
    for p, (i, j) in enumerate(machines.pairs):
        chosen = machines.center_indices[p][machines.center_indices[p] >= 0]
        assert len(chosen) <= len(np.unique(x[np.isin(codes, [i, j])], axis=0))
        assert len(np.unique(x[chosen], axis=0)) == len(chosen)
    assert np.isfinite(pair_outputs(machines, x)).all()


def test_the_same_frames_in_two_classes():
    x, _ = clouds([30])
    machines = fit_pairs(np.concatenate([x, x]), np.repeat([0, 1], 30), 2, CONFIG)
    odds = pair_log_odds(machines, pair_outputs(machines, x))
    assert np.isfinite(odds).all()
    assert_allclose(pair_outputs(machines, x), 0, rtol=0, atol=2e-3)


@pytest.mark.parametrize("regularize", [False, True])
@pytest.mark.parametrize("sigma", [1e-300, 1e-30, 1e-3, 1e4, 1e300])
def test_short_classes_and_odd_widths(regularize, sigma):
    x, codes = clouds([1, 2, 30, 1])
    config = replace(CONFIG, sigmas=(sigma,), kernel=Kernel("gaussian", sigma), regularize=regularize)
    machines = fit_pairs(x, codes, 4, config)
    odds = pair_log_odds(machines, pair_outputs(machines, np.concatenate([x, 50 + x])))
    assert np.isfinite(odds).all()
    assert np.isfinite(coupled_log_posteriors(odds, 4)).all()
    assert (np.sum(machines.slots >= 0, axis=1) <= [3, 20, 2, 20, 3, 20]).all()


def test_more_centres_than_frames():
    x, codes = clouds([6, 4, 9])
    machines = fit_pairs(x, codes, 3, replace(CONFIG, max_centers=10**6))
    assert_array_equal(np.sum(machines.slots >= 0, axis=1), [9, 14, 12])  # with the bias, a basis
    targets = np.where(codes == 0, 1.0, -1.0)[codes < 2]
    assert_allclose(pair_outputs(machines, x[codes < 2])[:, 0], targets, rtol=0, atol=1e-3)


def test_errors_say_what_to_do():
    x, codes = clouds([5, 5])
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


@pytest.mark.parametrize("estimator", [NPDClassifier, OROLSClassifier])
def test_estimator_one_vs_one(estimator):
    x, codes = clouds([120, 90, 100, 80], spread=1.5)
    labels = np.array(["ah", "eh", "ih", "oh"])[codes]
    model = estimator(SIGMA, 20, multiclass="ovo").fit(x, labels)
    config = replace(CONFIG, regularize=estimator is OROLSClassifier)
    machines = fit_pairs(x, codes, 4, config)
    expected = coupled_log_posteriors(pair_log_odds(machines, pair_outputs(machines, x)), 4)
    assert_allclose(model.decision_function(x), expected, rtol=1e-12, atol=0)
    assert_allclose(model.predict_proba(x), softmax(expected, axis=1), rtol=1e-12, atol=0)
    assert_array_equal(model.predict(x), model.classes_[expected.argmax(axis=1)])
    assert np.mean(model.predict(x) == labels) > 0.8
    assert model.n_distinct_centers_ == len(model.centers_)
    with pytest.raises(ValueError, match="path_predict"):
        model.path_predict(x, [5])


def test_logistic_coupling_is_a_growing_line_in_the_outputs():
    x, codes = clouds([60, 90, 50], spread=1.5)
    machines = fit_pairs(x, codes, 3, CONFIG, coupling="logistic")
    assert_array_equal(machines.weights, fit_pairs(x, codes, 3, CONFIG).weights)
    outputs = pair_outputs(machines, x)
    odds = pair_log_odds(machines, outputs)
    for p in range(3):
        slope, constant = np.polyfit(outputs[:, p], odds[:, p], 1)
        assert slope > 0
        assert_allclose(odds[:, p], slope * outputs[:, p] + constant, rtol=1e-6, atol=1e-6)


def test_logistic_coupling_of_the_estimator():
    x, codes = clouds([120, 90, 100, 80], spread=1.5)
    machines = fit_pairs(x, codes, 4, CONFIG, coupling="logistic")
    expected = coupled_log_posteriors(pair_log_odds(machines, pair_outputs(machines, x)), 4)
    model = NPDClassifier(SIGMA, CONFIG.max_centers, multiclass="ovo", coupling="logistic").fit(x, codes)
    assert_allclose(model.decision_function(x), expected, rtol=1e-12, atol=0)
    with pytest.raises(ModelError, match='coupling is "votes", expected one of: gaussian, logistic'):
        NPDClassifier(multiclass="ovo", coupling="votes").fit(x, codes)


def test_two_classes_are_the_binary_machine():
    x, codes = clouds([50, 40])
    pairwise = NPDClassifier(SIGMA, 10, multiclass="ovo").fit(x, codes)
    binary = NPDClassifier(SIGMA, 10).fit(x, codes)
    assert_array_equal(pairwise.decision_function(x), binary.decision_function(x))
    assert_array_equal(pairwise.predict_proba(x), binary.predict_proba(x))


def test_estimator_leaves_out_frames_without_weight():
    x, codes = clouds([40, 40, 40])
    weight = (np.arange(120) % 4 > 0).astype(float)
    weighted = NPDClassifier(SIGMA, 10, multiclass="ovo").fit(x, codes, weight)
    without = NPDClassifier(SIGMA, 10, multiclass="ovo").fit(x[weight > 0], codes[weight > 0])
    assert_array_equal(weighted.predict_proba(x), without.predict_proba(x))
    for a, b in zip(weighted.center_indices_, without.center_indices_, strict=True):
        assert_array_equal(a, np.flatnonzero(weight)[b])


def test_outputs_that_point_the_wrong_way_leave_the_prior_odds():
    # Left-out outputs of a constant model do: read as they are they name the rarer class, for certain.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 4)), np.repeat([0, 1], [30, 20])
    machines = fit_pairs(x, y, 2, ForwardConfig(Kernel("gaussian", 1e-3), (1e-3,), 5))
    assert machines.means[0, 0] < machines.means[0, 1]
    odds = pair_log_odds(machines, pair_outputs(machines, rng.normal(size=(9, 4))))
    assert_allclose(odds, np.log(30 / 20), rtol=1e-12, atol=0)
