"""Mixtures against scipy, scikit-learn and dense numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from acoustic import EmissionModel, GmmModel, ModelError
from acoustic.hmm.gmm import (
    GmmStatistics,
    log_sum_components,
    reestimate,
    single_gaussian,
    split_components,
)

N_STATES, N_COMPONENTS, N_FEATURES = 5, 3, 4
NO_FLOOR = np.zeros(N_FEATURES)


def random_model(seed=0, offset=0.0):
    """Return a model whose last state has one component less."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(N_COMPONENTS), N_STATES)
    weights[-1] = [0.3, 0.7, 0.0]
    shape = (N_STATES, N_COMPONENTS, N_FEATURES)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    return GmmModel(log_weights, offset + rng.normal(size=shape), rng.uniform(0.3, 2.0, shape))


def random_frames(n_frames=40, seed=1, offset=0.0):
    frames = offset + 2 * np.random.default_rng(seed).normal(size=(n_frames, N_FEATURES))
    return frames.astype(np.float32)


def component_densities(model, frames):
    """Return log(weight · density), (T, K, S), by scipy."""
    result = np.full((len(frames), model.n_components, model.n_states), -np.inf)
    for s in range(model.n_states):
        for k in np.flatnonzero(np.isfinite(model.log_weights[s])):
            gaussian = multivariate_normal(model.means[s, k], np.diag(model.variances[s, k]))
            result[:, k, s] = model.log_weights[s, k] + gaussian.logpdf(frames)
    return result


def accumulate_reference(model, frames, occupancy, states):
    """Return occupancies, first and second moments, from densities in float64."""
    components = component_densities(model, frames)[:, :, states]
    responsibilities = np.exp(components - logsumexp(components, axis=1, keepdims=True))
    weights = responsibilities * occupancy[:, None]
    total = np.zeros((model.n_states, model.n_components))
    first, second = np.zeros((2, *model.means.shape))
    total[states] = weights.sum(axis=0).T
    first[states] = np.einsum("tku,td->ukd", weights, frames.astype(np.float64))
    second[states] = np.einsum("tku,td->ukd", weights, frames.astype(np.float64) ** 2)
    return total, first, second


def accumulated(model, frames, occupancy, states):
    statistics = GmmStatistics.zeros(model)
    statistics.accumulate(model, frames, occupancy, states)
    return statistics


def sharp_occupancy(n_frames, n_columns, seed=2):
    """Return random posteriors, a third of them below what counts."""
    rng = np.random.default_rng(seed)
    occupancy = rng.dirichlet(np.ones(n_columns), n_frames)
    occupancy[rng.random(occupancy.shape) < 0.3] = 1e-9
    return occupancy


def test_likelihoods_against_scipy():
    model, frames = random_model(), random_frames()
    expected = component_densities(model, frames)
    # float32: 2D + 1 terms of up to about 50
    assert_allclose(model.component_log_likelihoods(frames), expected, rtol=1e-5, atol=2e-5)
    assert isinstance(model, EmissionModel)
    assert model.n_states == N_STATES
    scores = model.log_likelihoods(frames)
    assert scores.dtype == np.float32
    assert_allclose(scores, logsumexp(expected, axis=1), rtol=1e-5, atol=2e-5)


def test_likelihoods_against_sklearn():
    model, frames = random_model(), random_frames()
    for state in range(N_STATES - 1):
        mixture = GaussianMixture(N_COMPONENTS, covariance_type="diag")
        mixture.weights_ = np.exp(model.log_weights[state])
        mixture.means_, mixture.covariances_ = model.means[state], model.variances[state]
        mixture.precisions_cholesky_ = 1 / np.sqrt(model.variances[state])
        expected = mixture.score_samples(frames.astype(np.float64))
        assert_allclose(model.log_likelihoods(frames)[:, state], expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize(("offset", "tolerance"), [(10.0, 2e-3), (100.0, 0.2)])
def test_accuracy_of_float32_far_from_zero(offset, tolerance):
    # x² / σ² cancels; a normalised front end keeps the offset below 10.
    model, frames = random_model(offset=offset), random_frames(offset=offset)
    expected = logsumexp(component_densities(model, frames), axis=1)
    assert_allclose(model.log_likelihoods(frames), expected, rtol=0, atol=tolerance)


def test_chosen_states_and_blocks():
    model, frames = random_model(), random_frames(1000)
    every = model.log_likelihoods(frames)
    states = np.array([0, 2, 4])
    assert_allclose(model.log_likelihoods(frames, states), every[:, states], rtol=0, atol=1e-5)
    assert_allclose(
        model.log_likelihoods(frames),
        log_sum_components(model.component_log_likelihoods(frames)),
        rtol=0,
        atol=1e-5,
    )


def test_sums_of_densities_far_apart_and_absent():
    components = np.random.default_rng(4).normal(0, 60, (9, 5, 17)).astype(np.float32)
    components[:, 1:, 3] = -np.inf
    expected = logsumexp(components.astype(np.float64), axis=1)
    assert_allclose(log_sum_components(components), expected, rtol=3e-7, atol=1e-6)


def random_band(n_frames, n_nodes, seed=5):
    """Return two runs of each node with a gap between, and the first node of each frame's window."""
    rng = np.random.default_rng(seed)
    bounds = np.sort([rng.choice(n_frames + 1, 4, replace=False) for _ in range(n_nodes)], axis=1)
    runs = [(node, a, b) for node in range(n_nodes) for a, b in bounds[node].reshape(2, 2)]
    low = np.full(n_frames, n_nodes, np.int32)
    for node, first, stop in runs:
        low[first:stop] = np.minimum(low[first:stop], node)
    return np.array(runs, np.int32), low


def test_scores_within_a_band_against_scipy():
    model, frames, states = random_model(), random_frames(), np.array([4, 0, 3, 0], np.int32)
    band, low = random_band(len(frames), len(states))
    expected = np.full((len(frames), len(states)), -np.inf)
    every = logsumexp(component_densities(model, frames), axis=1)
    for node, first, stop in band:
        for t in range(first, stop):
            expected[t, node - low[t]] = every[t, states[node]]
    found = model.log_likelihoods_within(frames, states, band, low, len(states))
    assert found.dtype == np.float32
    assert 0 < np.isfinite(expected).sum() < expected.size
    assert_allclose(found, expected, rtol=1e-5, atol=2e-5)


def test_statistics_of_windows_are_those_of_their_states():
    model, frames, states = random_model(), random_frames(), np.array([4, 0, 3, 0], np.int32)
    _, low = random_band(len(frames), len(states))
    occupancy = sharp_occupancy(len(frames), len(states))
    dense = np.zeros((len(frames), N_STATES))
    for t in range(len(frames)):
        occupancy[t, len(states) - low[t] :] = 0.0
        np.add.at(dense[t], states[low[t] :], occupancy[t, : len(states) - low[t]])
    found = GmmStatistics.zeros(model)
    found.accumulate(model, frames, occupancy, states, low)
    expected = accumulated(model, frames, dense, np.arange(N_STATES))
    assert expected.occupancy.sum() > 10
    # State 0 twice in a frame: terms below 1e-5 may count together and not apart
    missing = 2e-5 * len(frames)
    assert_allclose(found.occupancy, expected.occupancy, rtol=1e-6, atol=missing)
    assert_allclose(found.first, expected.first, rtol=1e-6, atol=missing * abs(frames).max())
    assert_allclose(found.second, expected.second, rtol=1e-6, atol=missing * np.square(frames).max())


def test_no_frames():
    found = random_model().log_likelihoods(random_frames(0))
    assert_array_equal(found, np.empty((0, N_STATES), dtype=np.float32), strict=True)


def test_shapes_are_checked():
    model = random_model()
    with pytest.raises(ModelError, match=r"frames: expected shape \(T, 4\), got \(7, 3\)"):
        model.log_likelihoods(np.zeros((7, 3), np.float32))
    with pytest.raises(ModelError, match="mixture arrays do not fit"):
        GmmModel(model.log_weights[:, :2], model.means, model.variances)
    with pytest.raises(ModelError, match="mixture arrays do not fit"):
        GmmModel(model.log_weights, model.means, np.float64(1.0))


def test_statistics_against_dense_sums():
    model, frames, states = random_model(), random_frames(), np.array([0, 3, 4])
    occupancy = sharp_occupancy(len(frames), len(states))
    found = accumulated(model, frames, occupancy, states)
    total, first, second = accumulate_reference(model, frames, occupancy, states)
    # posteriors below 1e-5 do not count, likelihoods are float32
    missing = 1e-5 * len(frames)
    assert (found.occupancy < total + 1e-4).all()
    assert_allclose(found.occupancy, total, rtol=1e-4, atol=missing)
    assert_allclose(found.first, first, rtol=1e-4, atol=missing * abs(frames).max())
    assert_allclose(found.second, second, rtol=1e-4, atol=missing * np.square(frames).max())
    assert not found.occupancy[[1, 2]].any()
    assert found.occupancy[4, 2] == 0.0  # the absent component


def test_statistics_add_up():
    model, frames, states = random_model(), random_frames(), np.arange(N_STATES)
    occupancy = sharp_occupancy(len(frames), N_STATES)
    whole = accumulated(model, frames, occupancy, states)
    parts = accumulated(model, frames[:15], occupancy[:15], states)
    parts += accumulated(model, frames[15:], occupancy[15:], states)
    for name in ("occupancy", "first", "second"):
        assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-5, atol=1e-5)


def test_reestimation_against_one_em_step_of_sklearn():
    rng = np.random.default_rng(3)
    frames = np.concatenate([rng.normal(c, 0.5 + abs(c) / 4, (80, N_FEATURES)) for c in (-3, 0, 3)])
    frames = frames.astype(np.float32)
    means = np.array([-2.0, 0.5, 2.0])[:, None] + rng.normal(0, 0.3, (N_COMPONENTS, N_FEATURES))
    one_state = GmmModel(np.log([[0.2, 0.3, 0.5]]), means[None], rng.uniform(1.0, 3.0, (1, *means.shape)))
    mixture = GaussianMixture(
        N_COMPONENTS,
        covariance_type="diag",
        max_iter=1,
        reg_covar=0.0,
        weights_init=np.exp(one_state.log_weights[0]),
        means_init=one_state.means[0],
        precisions_init=1 / one_state.variances[0],
    )
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        mixture.fit(frames.astype(np.float64))
    statistics = accumulated(one_state, frames, np.ones((len(frames), 1)), np.array([0]))
    found = reestimate(one_state, statistics, NO_FLOOR)
    assert_allclose(np.exp(found.log_weights[0]), mixture.weights_, rtol=1e-4, atol=1e-6)
    assert_allclose(found.means[0], mixture.means_, rtol=1e-4, atol=1e-4)
    assert_allclose(found.variances[0], mixture.covariances_, rtol=1e-4, atol=1e-4)


def test_variance_floor():
    model, frames = random_model(), np.ones((50, N_FEATURES), np.float32)
    statistics = accumulated(model, frames, np.ones((50, 1)), np.array([0]))
    floor = np.array([0.1, 0.2, 0.3, 0.4])
    found = reestimate(model, statistics, floor)
    seen = statistics.occupancy[0] >= 3
    assert seen.any()
    assert_allclose(found.variances[0, seen], np.broadcast_to(floor, (seen.sum(), 4)), rtol=1e-6, atol=0)
    assert (found.variances >= floor).all()


def test_without_frames_nothing_changes():
    model = random_model()
    found = reestimate(model, GmmStatistics.zeros(model), NO_FLOOR)
    assert_array_equal(found.log_weights, model.log_weights)
    assert_array_equal(found.means, model.means)
    assert_array_equal(found.variances, model.variances)


def test_a_component_with_hardly_any_frames_keeps_its_shape_but_not_its_weight():
    model = random_model()
    statistics = GmmStatistics.zeros(model)
    statistics.occupancy[0] = [100.0, 2.9, 0.0]
    statistics.first[0], statistics.second[0] = 1.0, 100.0
    found = reestimate(model, statistics, NO_FLOOR)
    assert_array_equal(found.means[0, 1:], model.means[0, 1:])
    assert_array_equal(found.variances[0, 1:], model.variances[0, 1:])
    assert_allclose(found.means[0, 0], 0.01, rtol=1e-12, atol=0)
    assert_allclose(np.exp(found.log_weights[0]), [100 / 102.9, 2.9 / 102.9, 0], rtol=1e-12, atol=0)


def test_single_gaussian():
    mean, variance = np.arange(3.0), np.arange(1.0, 4.0)
    model = single_gaussian(2, mean, variance)
    assert (model.n_states, model.n_components, model.n_features) == (2, 1, 3)
    frames = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    expected = multivariate_normal(mean, np.diag(variance)).logpdf(frames)
    assert_allclose(model.log_likelihoods(frames), np.stack([expected] * 2, axis=1), rtol=1e-5, atol=1e-5)


def test_splitting_keeps_weights_and_nearly_the_likelihood():
    model, frames = random_model(), random_frames(500)
    split = split_components(model, 8, np.full(N_STATES, 1e6), min_frames=1.0)
    assert split.n_components == 8
    assert np.isfinite(split.log_weights).all()
    assert_allclose(np.exp(split.log_weights).sum(axis=1), 1.0, rtol=1e-12, atol=0)
    change = split.log_likelihoods(frames) - model.log_likelihoods(frames)
    # Halves at ±0.2σ: a variance of 1.04σ² at most three times over
    assert abs(change.mean()) < 0.1 * N_FEATURES


def test_splitting_takes_the_heaviest_first_and_moves_the_means_apart():
    mean, variance = np.zeros(2), np.array([1.0, 4.0])
    model = GmmModel(np.log([[0.6, 0.4]]), np.stack([[mean, mean + 9]]), np.stack([[variance, variance]]))
    split = split_components(model, 3, np.array([1000.0]), min_frames=10.0)
    assert_allclose(np.exp(split.log_weights), [[0.3, 0.4, 0.3]], rtol=1e-12, atol=0)
    assert_allclose(split.means[0, [0, 2]], [[0.2, 0.4], [-0.2, -0.4]], rtol=1e-12, atol=0)
    assert_array_equal(split.means[0, 1], mean + 9)
    assert_array_equal(split.variances[0], [variance] * 3)


def test_components_with_few_frames_are_not_split():
    model = single_gaussian(3, np.zeros(2), np.ones(2))
    split = split_components(model, 8, np.array([0.0, 39.9, 1000.0]), min_frames=10.0)
    n_present = np.isfinite(split.log_weights).sum(axis=1)
    assert n_present.tolist() == [1, 2, 8]
    scores = split.log_likelihoods(np.zeros((1, 2), np.float32))
    assert_allclose(scores[0, 0], -np.log(2 * np.pi), rtol=1e-6, atol=0)


def test_a_dead_component_is_replaced():
    model = random_model()
    split = split_components(model, N_COMPONENTS, np.full(N_STATES, 1e6), min_frames=1.0)
    assert np.isfinite(split.log_weights).all()
    assert_allclose(np.exp(split.log_weights[-1]), [0.3, 0.35, 0.35], rtol=1e-12, atol=0)
    assert_array_equal(split.log_weights[:-1], model.log_weights[:-1])
