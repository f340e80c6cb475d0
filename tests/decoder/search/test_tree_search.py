"""The search over a prefix tree against every word sequence, and against the search over word instances."""

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from decoder import Decoder, DecoderConfig, Lexicon, NGram, WordLoop
from decoder import decoder as networks
from decoder.search import tree_search as tree_memory
from decoder.search.compiled import Pruning, Weights
from decoder.search.lattice import build_lattice
from decoder.search.network import build_network
from decoder.search.tree_compiled import N_ACTIVE, N_FREE, N_REACHED, START
from decoder.search.tree_network import build_tree_network
from decoder.search.tree_search import new_ends, new_memory, new_offers, tree_search
from decoder.search.viterbi import search
from decoder.search.word_ends import trace

GRAMMARS = ("loop", "word-pair", "unigram", "bigram", "trigram", "4-gram")
OPEN = DecoderConfig(lm_scale=1.7, word_penalty=-0.4, silence_log_prob=-0.8, beam=np.inf)
WEIGHTS = Weights(1.7, -0.4, -0.8)
UNPRUNED = Pruning(np.inf, 0, np.inf)


@pytest.fixture(scope="session")
def lexicon():
    """Return words that begin and end alike: A begins B, D and C are homophones in a variant."""
    return Lexicon({"A": [("a",)], "B": [("a", "b"), ("c",)], "C": [("a", "b", "c")], "D": [("c",)]})


def grammar_of(name, oracle, lexicon, seed):
    if name in ("loop", "word-pair"):
        return oracle.tiny_grammars(np.random.default_rng(seed))[name][0]
    text = oracle.random_sentences(np.random.default_rng(seed), lexicon.words, 6)
    order = {"unigram": 1, "bigram": 2, "trigram": 3, "4-gram": 4}[name]
    return NGram.estimate(text, order, vocabulary=lexicon.words, smoothing="modified-kneser-ney")


@pytest.fixture
def decoders(monkeypatch):
    """Return both decoders of a task: over word instances, over a prefix tree."""

    def make(*task):
        found = []
        for most in (10**9, 0):
            monkeypatch.setattr(networks, "MOST_INSTANCES", most)
            found.append(Decoder(*task))
        return found

    return make


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("seed", range(2))
def test_equals_brute_force_over_all_word_sequences_and_state_paths(
    name, seed, oracle, lexicon, tiny_topology, decoders
):
    rng = np.random.default_rng(seed)
    grammar = grammar_of(name, oracle, lexicon, seed)
    decoder = decoders(lexicon, grammar, tiny_topology, OPEN)[1]
    for n_frames in range(1, 6):
        scores = 2.0 * rng.normal(size=(n_frames, tiny_topology.n_states))
        expected = oracle.brute_force(lexicon, grammar, tiny_topology, OPEN, scores)
        found = decoder.decode(scores)
        assert found.complete == bool(expected)
        if expected:
            best = max(expected.values())
            np.testing.assert_allclose(found.log_score, best, rtol=1e-12, atol=1e-10)
            np.testing.assert_allclose(expected[found.text], best, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("name", ["loop", "word-pair", "bigram", "trigram", "4-gram"])
@pytest.mark.parametrize("short_pause", [True, False])
def test_without_beam_equals_viterbi_on_the_composed_hmm(name, short_pause, oracle, tiny_lexicon, decoders):
    rng = np.random.default_rng(7)
    topology = Topology.monophones("abc", n_states=2, short_pause=short_pause, self_loop=0.7)
    grammar, order = oracle.tiny_grammars(rng)[name]
    decoder = decoders(tiny_lexicon, grammar, topology, OPEN)[1]
    hmm = oracle.compose(tiny_lexicon, grammar, topology, OPEN, order)
    for n_frames in (6, 25, 60):
        scores = rng.normal(size=(n_frames, topology.n_states))
        expected = oracle.dense_viterbi(hmm, scores)
        np.testing.assert_allclose(decoder.decode(scores).log_score, expected, rtol=1e-12, atol=1e-9)


def edges_of(table, result):
    """Return the edges of a lattice with all that is within 30 nats: times, words and scores."""
    lattice = build_lattice(table, result, WEIGHTS, 30.0)
    spans = lattice.boundaries[lattice.sources], lattice.boundaries[lattice.targets]
    columns = (*spans, lattice.words, lattice.scores.round(7))
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("seed", range(3))
def test_lattices_are_those_of_the_search_over_instances(name, seed, oracle, tiny_lexicon):
    rng = np.random.default_rng(seed)
    # Two states, since with one the boundary of a word said twice is anywhere.
    topology = Topology.monophones("abc", n_states=2, self_loop=0.45)
    tables = oracle.tiny_grammars(rng)[name][0].compile(frozenset(tiny_lexicon.words))
    instances = build_network(tiny_lexicon, tables, topology)
    tree = build_tree_network(tiny_lexicon, tables, topology)
    for n_frames in (2, 6, 12):
        scores = 2.0 * rng.normal(size=(n_frames, topology.n_states))
        expected = search(instances, scores, WEIGHTS, UNPRUNED)
        found = tree_search(tree, scores, WEIGHTS, UNPRUNED)
        assert found.complete == expected.complete
        np.testing.assert_allclose(found.log_score, expected.log_score, rtol=1e-12, atol=1e-9)
        if found.complete:
            assert edges_of(tree.arc_table, found) == edges_of(instances.arc_table, expected)


@pytest.mark.parametrize("order", [0, 2, 3, 4])
def test_words_alternatives_times_and_confidences_equal_those_over_instances(order, task, oracle, decoders):
    words = task.lexicon.words
    text = oracle.random_sentences(np.random.default_rng(order), words, 80)
    grammar = NGram.estimate(text, order, vocabulary=words) if order else WordLoop(words)
    config = DecoderConfig(lm_scale=2.0, beam=np.inf, lattice_beam=15.0, n_best=8, confidence=True)
    instances, tree = decoders(task.lexicon, grammar, task.topology, config)
    for scores in task.scores[:4]:
        expected, found = instances.decode(scores), tree.decode(scores)
        assert [h.text for h in found.alternatives] == [h.text for h in expected.alternatives]
        pairs = zip((found, *found.alternatives), (expected, *expected.alternatives), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one.log_score, other.log_score, rtol=1e-12, atol=1e-8)
            for word, same in zip(one.words, other.words, strict=True):
                assert (word.word, word.start_s, word.end_s) == (same.word, same.start_s, same.end_s)
                np.testing.assert_allclose(word.confidence, same.confidence, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", GRAMMARS)
def test_look_ahead_changes_no_unpruned_result(name, oracle, tiny_lexicon):
    rng = np.random.default_rng(4)
    topology = Topology.monophones("abc", n_states=2)
    tables = oracle.tiny_grammars(rng)[name][0].compile(frozenset(tiny_lexicon.words))
    network = build_tree_network(tiny_lexicon, tables, topology)
    scores = rng.normal(size=(20, topology.n_states))
    with_it, without = (
        tree_search(network, scores, WEIGHTS, UNPRUNED, look_ahead=flag) for flag in (True, False)
    )
    assert with_it[1:] == without[1:]
    assert trace(with_it.records, with_it.best) == trace(without.records, without.best)


def test_look_ahead_finds_at_a_narrow_beam_what_is_lost_without(task, oracle):
    text = oracle.random_sentences(np.random.default_rng(1), task.lexicon.words, 200)
    tables = NGram.estimate(text, 3, vocabulary=task.lexicon.words).compile(frozenset(task.lexicon.words))
    network = build_tree_network(task.lexicon, tables, task.topology)
    weights, totals = Weights(5.0, 0.0, 0.0), {}
    for look_ahead in (True, False):
        found = [
            tree_search(network, s, weights, Pruning(np.inf, 30, -np.inf), look_ahead=look_ahead)
            for s in task.scores
        ]
        totals[look_ahead] = sum(f.log_score if f.complete else -1e6 for f in found)
    assert totals[True] > totals[False]


def test_a_wider_beam_and_a_higher_limit_never_score_worse(task, decoders):
    decoder = decoders(task.lexicon, WordLoop(task.lexicon.words), task.topology)[1]
    for scores in task.scores:
        full = decoder.with_config(beam=np.inf).decode(scores)
        assert full.complete
        by_beam = [decoder.with_config(beam=beam).decode(scores) for beam in (20.0, 40.0, 80.0, 1e9)]
        by_limit = [decoder.with_config(max_active=n).decode(scores) for n in (1, 5, 20, 10**6)]
        for found in (by_beam, by_limit):
            totals = [h.log_score for h in found if h.complete]
            assert totals == sorted(totals)
            assert found[-1] == full


def test_a_large_vocabulary_has_a_limit_unless_it_is_unpruned(task, decoders, monkeypatch):
    monkeypatch.setattr("decoder.decoder.MAX_ACTIVE", 1)
    decoder = decoders(task.lexicon, WordLoop(task.lexicon.words), task.topology)[1]
    scores = task.scores[4]
    full, limited = decoder.with_config(beam=np.inf).decode(scores), decoder.decode(scores)
    assert decoder.with_config(max_active=0).decode(scores) == full
    assert limited == decoder.with_config(max_active=1).decode(scores) != full
    assert limited == decoder.with_config(max_active=1.0).decode(scores)


@pytest.mark.parametrize("n_frames", [0, 1, 2])
def test_too_few_frames_give_the_partial_result_of_the_search_over_instances(n_frames, decoders):
    lexicon = Lexicon({"AB": [("a", "b")]})
    topology = Topology.monophones("ab", n_states=2, short_pause=False)
    instances, tree = decoders(lexicon, WordLoop(lexicon.words), topology, OPEN)
    scores = np.zeros((n_frames, topology.n_states))
    scores[:, :2] = -np.inf  # no silence
    assert tree.decode(scores) == instances.decode(scores)


def test_impossible_frames_end_the_search_where_they_are(task, decoders):
    instances, tree = decoders(task.lexicon, WordLoop(task.lexicon.words), task.topology, OPEN)
    scores = task.scores[3].copy()
    scores[len(scores) // 2] = -np.inf
    expected, found = instances.decode(scores), tree.decode(scores)
    assert not found.complete
    assert found.text == expected.text
    np.testing.assert_allclose(found.log_score, expected.log_score, rtol=1e-12, atol=1e-8)


# Memory is empty at first, and how much there is of it changes nothing


@pytest.fixture
def network(task, oracle):
    text = oracle.random_sentences(np.random.default_rng(2), task.lexicon.words, 60)
    tables = NGram.estimate(text, 3, vocabulary=task.lexicon.words).compile(frozenset(task.lexicon.words))
    return build_tree_network(task.lexicon, tables, task.topology)


def test_nothing_is_anywhere_yet(network):
    memory, ends = new_memory(network.graph), new_ends(7)
    assert (memory.counts[N_ACTIVE], memory.counts[N_FREE]) == (0, len(memory.free))
    assert sorted(memory.free) == list(range(len(memory.free)))
    assert memory.counts[N_REACHED] == 0
    assert (ends.leaves[0], ends.contexts[0], ends.predecessors[0], ends.scores[0]) == (START, 7, -1, 0.0)
    assert {len(column) for column in new_offers()} == {len(memory.free)}


def test_memory_that_must_grow_finds_the_same(task, network, monkeypatch):
    weights, pruning = Weights(2.0, -0.5, -0.3), Pruning(60.0, 0, 40.0)
    expected = [tree_search(network, scores, weights, pruning) for scores in task.scores[:3]]
    monkeypatch.setattr(tree_memory, "N_SLOTS", 1)
    monkeypatch.setattr(tree_memory, "N_TABLE", 2)
    for scores, before in zip(task.scores, expected, strict=False):
        found = tree_search(network, scores, weights, pruning)
        assert found[1:] == before[1:]
        for column, other in zip(found.records, before.records, strict=True):
            np.testing.assert_array_equal(column, other)
