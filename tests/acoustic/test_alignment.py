import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic import AlignmentError, Segment, Topology, align, best_path, utterance_graph
from acoustic.alignment import shortest_path

A, B, AB = ("a",), ("b",), ("a", "b")
TOPOLOGY = Topology.monophones("ab")
ONE_STATE = Topology.monophones("ab", n_states=1)


def scores_of(states, n_states, strength=20.0):
    scores = np.zeros((len(states), n_states), np.float32)
    scores[np.arange(len(states)), states] = strength
    return scores


def test_a_small_example_by_hand():
    # sil = state 0 (sp too), a = 1, b = 2
    scores = scores_of([0, 1, 1, 0, 2, 2, 2, 0, 0], 3)
    found = align(scores, utterance_graph([[A], [B]], ONE_STATE), ONE_STATE)
    assert found.states.tolist() == [0, 1, 1, 0, 2, 2, 2, 0, 0]
    sil, a, b, sp = (ONE_STATE.phone_id(phone) for phone in ("sil", "a", "b", "sp"))
    assert found.phones == (
        Segment(0, 1, sil),
        Segment(1, 3, a),
        Segment(3, 4, sp),
        Segment(4, 7, b),
        Segment(7, 9, sil),
    )
    assert found.words == (Segment(1, 3, 0), Segment(4, 7, 1))
    assert found.variants == (0, 0)
    # 9 frames of 20; three coins; a loop is 0.6, a move 0.4: five phones, four loops
    expected = 180 + 3 * np.log(0.5) + 4 * np.log(0.6) + 5 * np.log(0.4)
    assert_allclose(found.log_likelihood, expected, rtol=1e-12, atol=0)


def test_the_same_word_twice_in_a_row_is_two_segments():
    found = align(scores_of([1, 1, 1, 1], 3), utterance_graph([[A], [A]], ONE_STATE), ONE_STATE)
    assert [segment.index for segment in found.words] == [0, 1]
    assert len(found.phones) == 2


@pytest.mark.parametrize("seed", range(5))
def test_segments_cover_all_frames_in_order(seed):
    rng = np.random.default_rng(seed)
    words = [[(A, B, AB)[i] for i in rng.choice(3, 2, replace=False)] for _ in range(5)]
    graph = utterance_graph(words, TOPOLOGY)
    scores = 5 * rng.standard_normal((60, TOPOLOGY.n_states)).astype(np.float32)
    found = align(scores, graph, TOPOLOGY)
    ends = [0, *(segment.end for segment in found.phones)]
    assert [segment.start for segment in found.phones] == ends[:-1]
    assert ends[-1] == len(scores) == len(found.states)
    assert [segment.index for segment in found.words] == [0, 1, 2, 3, 4]
    assert all(segment.start < segment.end for segment in (*found.phones, *found.words))
    for earlier, later in zip(found.words, found.words[1:], strict=False):
        assert earlier.end <= later.start
    for word, variant in zip(found.words, found.variants, strict=True):
        inside = [p.index for p in found.phones if word.start <= p.start < word.end]
        assert inside == [TOPOLOGY.phone_id(phone) for phone in words[word.index][variant]]
    for phone in found.phones:
        allowed = TOPOLOGY.phone_states[phone.index]
        assert list(dict.fromkeys(found.states[phone.start : phone.end].tolist())) == list(allowed)


def test_against_every_path(oracle):
    words = [[AB, B], [A]]
    scores = 3 * np.random.default_rng(0).standard_normal((6, ONE_STATE.n_states))
    best = max(oracle.all_paths(words, ONE_STATE, scores), key=lambda path: path.log_prob)
    found = align(scores, utterance_graph(words, ONE_STATE), ONE_STATE)
    assert_allclose(found.log_likelihood, best.log_prob, rtol=1e-12, atol=0)
    assert_array_equal(found.states, best.states)
    assert found.variants == best.variants
    for word in found.words:
        assert_array_equal(np.flatnonzero(best.words == word.index), np.arange(word.start, word.end))


def test_an_unknown_word_is_the_phones_that_are_found():
    # sil = states 0 to 2, a = 3 to 5, b = 6 to 8; "a" twice in a row is two phones
    spoken = [6, 7, 8, 3, 4, 5, 3, 4, 4, 5, 0, 1, 2]
    graph = utterance_graph([[B], None], Topology.monophones("ab", short_pause=False))
    found = align(scores_of(spoken, 9), graph, TOPOLOGY)
    sil, a, b = (TOPOLOGY.phone_id(phone) for phone in ("sil", "a", "b"))
    assert found.phones == (Segment(0, 3, b), Segment(3, 6, a), Segment(6, 10, a), Segment(10, 13, sil))
    assert found.words == (Segment(0, 3, 0), Segment(3, 10, 1))
    assert found.variants == (0, -1)
    assert found.unknown_words() == [Segment(3, 10, 1)]
    assert found.labels().tolist() == [6, 7, 8, *[-1] * 7, 0, 1, 2]


def test_all_words_known_are_their_own_labels():
    found = align(scores_of([1, 1, 2, 0], 3), utterance_graph([[A], [B]], ONE_STATE), ONE_STATE)
    assert found.unknown_words() == []
    assert found.labels().tolist() == found.states.tolist() == [1, 1, 2, 0]


@pytest.mark.parametrize(("spoken", "variant"), [([1, 1, 2, 2], 0), ([2, 2, 1, 1], 1)])
def test_the_spoken_variant_is_chosen(spoken, variant):
    graph = utterance_graph([[("a", "b"), ("b", "a")]], ONE_STATE)
    found = align(scores_of(spoken, 3), graph, ONE_STATE)
    assert found.variants == (variant,)
    assert found.states.tolist() == spoken


def test_columns_of_the_transcript_only():
    graph = utterance_graph([[B]], TOPOLOGY)
    scores = np.random.default_rng(0).standard_normal((20, TOPOLOGY.n_states))
    states = np.unique(graph.states)
    assert len(states) < TOPOLOGY.n_states
    few = align(scores[:, states], graph, TOPOLOGY, states=states)
    every = align(scores, graph, TOPOLOGY)
    assert_array_equal(few.states, every.states)
    assert few.words == every.words


def test_empty_transcript_is_silence():
    found = align(np.zeros((5, TOPOLOGY.n_states)), utterance_graph([], TOPOLOGY), TOPOLOGY)
    assert found.words == ()
    assert found.variants == ()
    assert found.phones == (Segment(0, 5, TOPOLOGY.phone_id("sil")),)


@pytest.mark.parametrize("n_frames", [0, 1, 5])
def test_too_short(n_frames):
    graph = utterance_graph([[A], [B]], TOPOLOGY)
    with pytest.raises(
        AlignmentError,
        match=rf"has {n_frames} frames, its transcript needs at least 6; check that the transcript",
    ):
        align(np.zeros((n_frames, TOPOLOGY.n_states)), graph, TOPOLOGY)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_must_be_finite(bad):
    scores = np.zeros((9, TOPOLOGY.n_states))
    scores[4, 2] = bad
    with pytest.raises(AlignmentError, match="expected finite numbers"):
        align(scores, utterance_graph([[A]], TOPOLOGY), TOPOLOGY)


def deceiving_scores(cost):
    """Return scores that lead a narrow beam to stay in the first word, until it is too late for the rest."""
    states = [1] * 20
    scores = scores_of(states, 3, strength=cost / 8)
    scores[:8, 2] = -cost / 8
    return scores


@pytest.mark.parametrize("beam", [30.0, 5.0])
def test_a_beam_without_a_path_is_widened(beam):
    graph = utterance_graph([[("a", *"b" * 16)]], ONE_STATE)
    scores, columns = deceiving_scores(100.0), graph.states.astype(np.int64)
    assert best_path(scores, columns, graph, ONE_STATE, beam)[0] == -np.inf
    exact = best_path(scores, columns, graph, ONE_STATE)
    found = align(scores, graph, ONE_STATE, beam=beam)
    assert_allclose(found.log_likelihood, exact[0], rtol=1e-12, atol=0)
    assert_array_equal(found.states, graph.states[exact[1]])


def test_no_pass_without_a_beam_where_it_would_fill_the_memory(monkeypatch):
    graph = utterance_graph([[("a", *"b" * 16)]], ONE_STATE)
    scores = deceiving_scores(100.0)
    monkeypatch.setattr("acoustic.hmm.viterbi._MAX_CELLS", len(scores) * graph.n_nodes - 1)
    with pytest.raises(AlignmentError, match="no path through the transcript"):
        align(scores, graph, ONE_STATE, beam=5.0)
    monkeypatch.setattr("acoustic.hmm.viterbi._MAX_CELLS", len(scores) * graph.n_nodes)
    assert align(scores, graph, ONE_STATE, beam=5.0).log_likelihood > -np.inf


@pytest.mark.parametrize("topology", [TOPOLOGY, ONE_STATE])
@pytest.mark.parametrize(
    "words", [[], [[A]], [[AB], [B]], [[AB, B], [B, ("a", "b", "a")], [A]], [[AB], None, [B]]]
)
def test_shortest_path_against_all_ways_to_speak(oracle, topology, words):
    lengths = [
        sum(len(topology.phone_states[topology.phone_id(phone)]) for phone in phones)
        for phones, *_ in oracle.spoken_forms(words, topology)
    ]
    assert shortest_path(utterance_graph(words, topology)) == min(lengths)
