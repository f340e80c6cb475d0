"""Forward-backward and Viterbi against every path, a dense twin in numpy, and hmmlearn."""

import numpy as np
import pytest
from hmmlearn.base import BaseHMM
from numpy.testing import assert_allclose, assert_array_equal

from acoustic import Topology, best_path, posteriors, utterance_graph
from acoustic.hmm.forward_backward import (
    _MARGIN,
    _forward,
    _with_probabilities,
    is_wide_enough,
    posteriors_within,
    window_of,
)

A, B, C = ("a",), ("b",), ("a", "b")
TRANSCRIPTS = {
    "nothing": [],
    "one word": [[A]],
    "two words": [[A], [B]],
    "variants": [[A, B], [C]],
    "the same word twice": [[A], [A]],
    "variants of different length": [[C, A, B], [B]],
    "an unknown word": [None],
    "an unknown word between others": [[C], None, [B, A]],
}


def tiny_topology(n_states=1, short_pause=True, seed=0):
    topology = Topology.monophones("ab", n_states=n_states, short_pause=short_pause)
    loops = np.random.default_rng(seed).uniform(0.2, 0.9, topology.transition_offsets[-1])
    return topology.with_flat_self_loops(loops)


def random_scores(n_frames, n_states, seed=0, scale=3.0):
    return scale * np.random.default_rng(seed).standard_normal((n_frames, n_states))


def columns_of(graph):
    return graph.states.astype(np.int64)


def by_row(values, graph, topology):
    rows = np.zeros(topology.transition_offsets[-1])
    np.add.at(rows, graph.transitions, values)
    return rows


def dense(graph, topology):
    """Return log probabilities to start (N,), to go (N, N) and to end (N,) of a graph."""
    n_nodes = graph.n_nodes
    loops = topology.flat_self_loops()[graph.transitions]
    start, go = np.full(n_nodes, -np.inf), np.full((n_nodes, n_nodes), -np.inf)
    np.fill_diagonal(go, np.log(loops))
    for node in range(n_nodes):
        for a in range(graph.arc_offsets[node], graph.arc_offsets[node + 1]):
            source, weight = graph.arc_sources[a], graph.arc_weights[a]
            if source < 0:
                start[node] = weight
            else:
                go[source, node] = weight + np.log(1 - loops[source])
    return start, go, graph.exit_weights + np.log(1 - loops)


def posteriors_reference(scores, columns, graph, topology):
    """Return what `posteriors` does, from dense matrices (Rabiner 1989, (19), (24), (27), (37))."""
    start, go, end = dense(graph, topology)
    emitted = scores[:, columns].astype(np.float64)
    alpha, beta = np.empty_like(emitted), np.empty_like(emitted)
    alpha[0], beta[-1] = start + emitted[0], end
    for t in range(1, len(scores)):
        alpha[t] = np.logaddexp.reduce(alpha[t - 1][:, None] + go, axis=0) + emitted[t]
        beta[-t - 1] = np.logaddexp.reduce(go + (emitted[-t] + beta[-t])[None], axis=1)
    total = np.logaddexp.reduce(alpha[-1] + end)
    gamma = np.exp(alpha + beta - total)
    occupancy = np.zeros(scores.shape)
    np.add.at(occupancy.T, columns, gamma.T)
    staying = alpha[:-1] + np.diag(go) + emitted[1:] + beta[1:] - total
    return total, occupancy, np.exp(staying).sum(axis=0), gamma.sum(axis=0)


def best_path_reference(scores, columns, graph, topology):
    """Return what `best_path` does, from dense matrices (Rabiner 1989, (33)-(35))."""
    start, go, end = dense(graph, topology)
    emitted = scores[:, columns].astype(np.float64)
    delta, back = start + emitted[0], []
    for t in range(1, len(scores)):
        arriving = delta[:, None] + go
        back.append(arriving.argmax(axis=0))
        delta = arriving.max(axis=0) + emitted[t]
    path = [int((delta + end).argmax())]
    for choice in reversed(back):
        path.append(int(choice[path[-1]]))
    return (delta + end).max(), path[::-1]


@pytest.mark.parametrize("n_frames", [1, 2, 4, 7])
@pytest.mark.parametrize("words", TRANSCRIPTS.values(), ids=TRANSCRIPTS.keys())
@pytest.mark.parametrize("short_pause", [True, False])
def test_against_every_path(oracle, words, n_frames, short_pause):
    topology = tiny_topology(short_pause=short_pause)
    graph = utterance_graph(words, topology)
    scores = random_scores(n_frames, topology.n_states)
    paths = list(oracle.all_paths(words, topology, scores))
    found = posteriors(scores, columns_of(graph), graph, topology)
    score, path = best_path(scores, columns_of(graph), graph, topology)
    if not paths:
        assert found.log_likelihood == score == -np.inf
        assert len(path) == 0
        return
    expected = oracle.sums_over_paths(words, topology, scores)
    assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-12, atol=1e-12)
    assert_allclose(found.occupancy, expected.occupancy, rtol=1e-9, atol=1e-12)
    assert_allclose(by_row(found.stays, graph, topology), expected.stays, rtol=1e-9, atol=1e-12)
    assert_allclose(by_row(found.visits, graph, topology), expected.visits, rtol=1e-9, atol=1e-12)
    best = max(paths, key=lambda p: p.log_prob)
    assert_allclose(score, best.log_prob, rtol=1e-12, atol=1e-12)
    assert_array_equal(graph.states[path], best.states)
    assert_array_equal(graph.words[path], best.words)


def test_three_states_against_every_path(oracle):
    topology = tiny_topology(n_states=3)
    words = [[A, B], [B]]
    graph = utterance_graph(words, topology)
    scores = random_scores(9, topology.n_states)
    expected = oracle.sums_over_paths(words, topology, scores)
    found = posteriors(scores, columns_of(graph), graph, topology)
    assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-12, atol=1e-12)
    assert_allclose(found.occupancy, expected.occupancy, rtol=1e-9, atol=1e-12)
    assert_allclose(by_row(found.stays, graph, topology), expected.stays, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_against_their_reference(seed, dtype):
    rng = np.random.default_rng(seed)
    topology = tiny_topology(n_states=3, seed=seed)
    words = [[(A, B, C, ("b", "a", "b"))[i] for i in rng.choice(4, 2, replace=False)] for _ in range(6)]
    graph = utterance_graph(words, topology)
    scores = random_scores(80, topology.n_states, seed).astype(dtype)
    total, occupancy, stays, visits = posteriors_reference(scores, columns_of(graph), graph, topology)
    found = posteriors(scores, columns_of(graph), graph, topology)
    assert_allclose(found.log_likelihood, total, rtol=1e-12, atol=0)
    assert_allclose(found.occupancy, occupancy, rtol=1e-8, atol=1e-12)
    assert_allclose(found.stays, stays, rtol=1e-8, atol=1e-12)
    assert_allclose(found.visits, visits, rtol=1e-8, atol=1e-12)
    score, path = best_path(scores, columns_of(graph), graph, topology)
    best_score, best_nodes = best_path_reference(scores, columns_of(graph), graph, topology)
    assert_allclose(score, best_score, rtol=1e-12, atol=0)
    assert_array_equal(path, best_nodes)


def within_windows(scores, columns, graph, topology, beam, add):
    """Return log P of the end (the best for ``add`` = np.maximum) within the windows, from dense matrices."""
    start, go, end = dense(graph, topology)
    alpha, kept = start + scores[0, columns], np.arange(graph.n_nodes)
    for t in range(len(scores)):
        if t > 0:
            alpha = add.reduce(alpha[:, None] + go, axis=0) + scores[t, columns]
            alpha[graph.reach[kept[-1]] + 1 :] = -np.inf
        alive = np.flatnonzero(alpha >= alpha.max() - beam)
        kept = np.arange(graph.floors[alive[0]], alive[-1] + 1)
        alpha[np.setdiff1d(np.arange(graph.n_nodes), kept)] = -np.inf
    return add.reduce(alpha + end)


UNKNOWN = {
    "alone": [None],
    "between": [[C, A], None, [B]],
    "two": [[A], None, None, [C]],
    "last": [[B], [C], None],
}


@pytest.mark.parametrize("beam", [3.0, 12.0, 40.0, np.inf])
@pytest.mark.parametrize("words", UNKNOWN.values(), ids=UNKNOWN.keys())
@pytest.mark.parametrize("seed", range(3))
def test_unknown_words_within_a_beam(words, beam, seed):
    topology = tiny_topology(n_states=3, seed=seed)
    graph = utterance_graph(words, topology)
    example = random_scores(40, topology.n_states, seed), columns_of(graph), graph, topology
    found = posteriors(*example, beam=beam)
    assert_allclose(found.log_likelihood, within_windows(*example, beam, np.logaddexp), rtol=1e-12, atol=0)
    score, path = best_path(*example, beam=beam)
    assert_allclose(score, within_windows(*example, beam, np.maximum), rtol=1e-12, atol=0)
    assert len(path) == (40 if np.isfinite(score) else 0)
    assert beam < np.inf or found.occupancy.sum(axis=1) == pytest.approx(np.ones(40), rel=1e-9)


def test_a_loop_goes_back_as_far_as_it_likes_within_a_narrow_beam():
    # Each phone in turn is 1000 nats better than all others; without its floor the window would lose "a".
    topology = tiny_topology(n_states=1, short_pause=False)
    graph = utterance_graph([None], topology)
    states = [1, 2, 1, 2, 2, 1]
    scores = np.full((6, 3), -1000.0)
    scores[np.arange(6), states] = 0.0
    _, path = best_path(scores, columns_of(graph), graph, topology, beam=10.0)
    assert graph.states[path].tolist() == states


def test_an_unknown_word_keeps_a_window_of_its_own_size():
    topology = tiny_topology(n_states=3)
    graph = utterance_graph([[C, A]] * 20 + [None] + [[C, A]] * 20, topology)
    states = graph.states[best_path(random_scores(400, 9), columns_of(graph), graph, topology)[1]]
    scores = random_scores(400, 9)
    scores[np.arange(400), states] += 60.0
    exact = posteriors(scores, columns_of(graph), graph, topology)
    pruned = posteriors(scores, columns_of(graph), graph, topology, beam=100.0)
    assert_allclose(pruned.log_likelihood, exact.log_likelihood, rtol=1e-12, atol=0)
    hmm = _with_probabilities(graph, columns_of(graph), topology)
    everywhere = np.zeros(400, np.int32), np.full(400, graph.n_nodes, np.int32)
    assert np.diff(_forward(scores, *everywhere, hmm, 100.0).offsets).max() < graph.n_nodes / 3


class ScoredHMM(BaseHMM):
    """hmmlearn with an "observation" that is the row of log-likelihoods itself."""

    def _get_n_fit_scalars_per_param(self):
        return {}

    def _compute_log_likelihood(self, scores):
        return scores


def with_an_end(scores, graph, topology):
    """Return an hmmlearn model and scores with one node and one frame more, in which every path ends."""
    start, go, end = dense(graph, topology)
    n_nodes = graph.n_nodes
    model = ScoredHMM(n_nodes + 1)
    model.n_features = n_nodes + 1
    model.startprob_ = np.append(np.exp(start), 0.0)
    model.transmat_ = np.block([[np.exp(go), np.exp(end)[:, None]], [np.zeros(n_nodes), 1.0]])
    never = -1e4
    emitted = np.full((len(scores) + 1, n_nodes + 1), never)
    emitted[:-1, :-1] = scores[:, graph.states]
    emitted[-1, -1] = 0.0
    return model, emitted


@pytest.mark.parametrize("words", [[[C]], [[A], [B]], [[A], [C], [B], [C]]])
def test_against_hmmlearn(words):
    topology = tiny_topology(n_states=3)
    graph = utterance_graph(words, topology)
    scores = random_scores(60, topology.n_states)
    model, emitted = with_an_end(scores, graph, topology)
    log_likelihood, gamma = model.score_samples(emitted)
    found = posteriors(scores, columns_of(graph), graph, topology)
    assert_allclose(found.log_likelihood, log_likelihood, rtol=1e-10, atol=0)
    occupancy = np.zeros(scores.shape)
    np.add.at(occupancy.T, graph.states, gamma[:-1, :-1].T)
    assert_allclose(found.occupancy, occupancy, rtol=1e-7, atol=1e-10)
    best_score, best_nodes = model.decode(emitted)
    score, path = best_path(scores, columns_of(graph), graph, topology)
    assert_allclose(score, best_score, rtol=1e-10, atol=0)
    assert_array_equal(path, best_nodes[:-1])


def long_example(n_words=20, n_frames=300):
    topology = tiny_topology(n_states=3)
    graph = utterance_graph([[C, A]] * n_words, topology)
    return random_scores(n_frames, topology.n_states), columns_of(graph), graph, topology


def test_occupancies_of_a_frame_sum_to_one():
    scores, columns, graph, topology = long_example()
    found = posteriors(scores, columns, graph, topology)
    assert_allclose(found.occupancy.sum(axis=1), 1.0, rtol=0, atol=1e-10)
    assert_allclose(found.visits.sum(), len(scores), rtol=1e-10, atol=0)


def test_a_wide_beam_is_no_beam():
    example = long_example()
    wide, none = posteriors(*example, beam=1e6), posteriors(*example)
    assert wide.log_likelihood == none.log_likelihood
    assert_array_equal(wide.occupancy, none.occupancy)
    assert_array_equal(best_path(*example, beam=1e6)[1], best_path(*example)[1])


@pytest.mark.parametrize("beam", [0.5, 2.0, 8.0, 32.0, 128.0])
def test_a_narrow_beam_loses_paths_only(beam):
    example = long_example()
    narrow, exact = posteriors(*example, beam=beam), posteriors(*example)
    assert narrow.log_likelihood <= exact.log_likelihood + 1e-9
    if np.isfinite(narrow.log_likelihood):
        assert_allclose(narrow.occupancy.sum(axis=1), 1.0, rtol=0, atol=1e-9)
    score, path = best_path(*example, beam=beam)
    assert score <= best_path(*example)[0]
    assert len(path) == (len(example[0]) if np.isfinite(score) else 0)


def test_a_beam_costs_nothing_where_the_scores_are_clear():
    scores, columns, graph, topology = long_example()
    states = graph.states[best_path(scores, columns, graph, topology)[1]]
    scores[np.arange(len(scores)), states] += 30.0
    exact = posteriors(scores, columns, graph, topology)
    pruned = posteriors(scores, columns, graph, topology, beam=100.0)
    assert_allclose(pruned.log_likelihood, exact.log_likelihood, rtol=1e-12, atol=0)
    assert_allclose(pruned.occupancy, exact.occupancy, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_frames", [0, 1, 2])
def test_too_few_frames_have_no_path(n_frames):
    topology = tiny_topology(n_states=3)
    graph = utterance_graph([[A]], topology)
    scores = random_scores(n_frames, topology.n_states)
    found = posteriors(scores, columns_of(graph), graph, topology)
    assert found.log_likelihood == -np.inf
    assert found.occupancy.shape == scores.shape
    assert not found.occupancy.any()
    assert not found.stays.any()
    assert not found.visits.any()
    score, path = best_path(scores, columns_of(graph), graph, topology)
    assert (score, len(path)) == (-np.inf, 0)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_scores_without_a_value_have_no_path(bad):
    scores, columns, graph, topology = long_example()
    scores[7] = bad
    assert posteriors(scores, columns, graph, topology).log_likelihood == -np.inf
    assert best_path(scores, columns, graph, topology)[0] == -np.inf


def test_nothing_underflows_and_a_constant_per_frame_changes_no_posterior():
    scores, columns, graph, topology = long_example()
    shift = -1e5 - 100.0 * np.arange(len(scores))
    expected = posteriors(scores, columns, graph, topology)
    found = posteriors(scores + shift[:, None], columns, graph, topology)
    assert_allclose(found.log_likelihood, expected.log_likelihood + shift.sum(), rtol=1e-12, atol=0)
    assert_allclose(found.occupancy, expected.occupancy, rtol=0, atol=1e-6)
    path, shifted_path = (
        best_path(s, columns, graph, topology)[1] for s in (scores, scores + shift[:, None])
    )
    assert_array_equal(path, shifted_path)


def test_columns_may_be_those_of_the_transcript_only():
    scores, columns, graph, topology = long_example()
    states, few_columns = np.unique(graph.states, return_inverse=True)
    every = posteriors(scores, columns, graph, topology)
    few = posteriors(scores[:, states], few_columns, graph, topology)
    assert few.log_likelihood == every.log_likelihood
    assert_array_equal(few.occupancy, every.occupancy[:, states])


def test_windows_grow_beyond_their_first_room():
    # 250 nodes in the window of every frame, room for 64 to begin with.
    scores, columns, graph, topology = long_example(n_words=30, n_frames=150)
    total, occupancy, *_ = posteriors_reference(scores, columns, graph, topology)
    found = posteriors(scores, columns, graph, topology)
    assert_allclose(found.log_likelihood, total, rtol=1e-12, atol=0)
    assert_allclose(found.occupancy, occupancy, rtol=1e-8, atol=1e-12)
    assert_array_equal(
        best_path(scores, columns, graph, topology)[1],
        best_path_reference(scores, columns, graph, topology)[1],
    )


def band_reference(scores, columns, graph, topology, least):
    """Return where nodes have so large a posterior, and some frames beside, (T, n_nodes)."""
    per_node = scores[:, columns]
    gamma = posteriors_reference(per_node, np.arange(graph.n_nodes), graph, topology)[1]
    wide = np.zeros(gamma.shape, bool)
    for t, node in zip(*np.nonzero(gamma >= least), strict=True):
        wide[max(t - _MARGIN, 0) : t + _MARGIN + 1, node] = True
    return wide


def cells_of(band, n_frames, n_nodes):
    """Return how often a band has each frame of each node."""
    found = np.zeros((n_frames, n_nodes), int)
    for node, first, stop in band:
        found[first:stop, node] += 1
    return found


BANDED = {
    "two words": [[C], [A]],
    "variants": [[C, A, B], [B, C], [A]],
    "an unknown word": [[C], None, [B]],
}


def banded_example(words, seed=0, scale=8.0):
    """Return scores clear enough for a band that is not everything."""
    topology = tiny_topology(n_states=2, seed=seed)
    graph = utterance_graph(words, topology)
    return random_scores(40, topology.n_states, seed, scale), columns_of(graph), graph, topology


@pytest.mark.parametrize("words", BANDED.values(), ids=BANDED.keys())
@pytest.mark.parametrize("seed", range(3))
def test_bands_against_dense_posteriors(words, seed):
    example = banded_example(words, seed)
    scores, graph = example[0], example[2]
    cells = cells_of(posteriors(*example).band, len(scores), graph.n_nodes)
    # What is just above 1e-17 may come from nodes below, which the kernel leaves out.
    inner, outer = (band_reference(*example, least) for least in (1e-15, 1e-17 * (1 - 1e-9)))
    assert cells.max() == 1
    assert not outer.all()
    assert (inner <= cells).all()
    assert (cells <= outer).all()


@pytest.mark.parametrize("words", BANDED.values(), ids=BANDED.keys())
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_within_a_band(words, seed):
    scores, columns, graph, topology = example = banded_example(words, seed)
    whole = posteriors(*example)
    low, high, width = window = window_of(whole.band, len(scores), graph.floors)
    nodes = cells_of(whole.band, len(scores), graph.n_nodes).astype(bool)
    assert_array_equal(low, graph.floors[nodes.argmax(axis=1)])
    assert_array_equal(high, graph.n_nodes - nodes[:, ::-1].argmax(axis=1))
    assert width == (high - low).max()
    inside = np.full((len(scores), width), -np.inf)
    for t, node in zip(*np.nonzero(nodes), strict=True):
        inside[t, node - low[t]] = scores[t, columns[node]]
    found = posteriors_within(inside, window, graph, topology)
    assert_allclose(found.log_likelihood, whole.log_likelihood, rtol=1e-12, atol=0)
    assert_allclose(found.stays, whole.stays, rtol=0, atol=1e-10)
    assert_allclose(found.visits, whole.visits, rtol=0, atol=1e-10)
    occupancy = np.zeros(scores.shape)
    for t in range(len(scores)):
        inner = slice(low[t], high[t])
        np.add.at(occupancy[t], columns[inner], found.occupancy[t, : high[t] - low[t]])
    assert_allclose(occupancy, whole.occupancy, rtol=0, atol=1e-10)
    assert_array_equal(cells_of(found.band, *nodes.shape) <= nodes, True)
    assert is_wide_enough(whole.band, low, found.occupancy)


def test_a_band_that_is_too_narrow_is_noticed():
    topology = tiny_topology(n_states=1, short_pause=False)
    graph = utterance_graph([[A], [B]], topology)
    scores = np.full((20, 3), -50.0)
    for first, stop, state in ((0, 10, 1), (10, 20, 2)):
        scores[first:stop, state] = 0.0
    columns = columns_of(graph)
    band = posteriors(scores, columns, graph, topology).band
    scores[10:15] = scores[0]  # "a" now lasts longer than the band, which has no more than two frames beyond
    window = window_of(band, 20, graph.floors)
    low, width = window.low, window.width
    inside = np.full((20, width), -np.inf)
    for node, first, stop in band:
        inside[range(first, stop), node - low[first:stop]] = scores[first:stop, columns[node]]
    found = posteriors_within(inside, window, graph, topology)
    assert np.isfinite(found.log_likelihood)
    assert found.log_likelihood < posteriors(scores, columns, graph, topology).log_likelihood - 10
    assert not is_wide_enough(band, low, found.occupancy)
