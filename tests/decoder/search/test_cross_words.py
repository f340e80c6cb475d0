"""Words in the context of their neighbours: both searches against every sequence of words, each aligned."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from acoustic.alignment import align
from acoustic.errors import AlignmentError
from acoustic.hmm.graph import utterance_graph
from acoustic.hmm.topology import Topology, all_contexts
from acoustic.hmm.tying import contextual_topology
from decoder import Decoder, DecoderConfig, Lexicon, NGram, WordLoop
from decoder import decoder as networks
from decoder.search import tree_search as tree_memory
from decoder.search.compiled import Pruning, Weights
from decoder.search.lattice import best_sequences, build_lattice
from decoder.search.network import build_network
from decoder.search.tree_network import build_tree_network
from decoder.search.tree_search import tree_search
from decoder.search.viterbi import search
from decoder.search.word_ends import trace

LEXICON = Lexicon({"AB": [("a", "b")], "C": [("c",)], "BA": [("b", "a"), ("c", "a")], "A": [("a",)]})
SENTENCES = [("AB", "C"), ("C", "BA", "A"), ("A",), ("BA", "BA"), ("C", "C", "AB")]
MOST_WORDS = 3
WEIGHTS = Weights(1.7, -0.4, -0.8)
UNPRUNED = Pruning(np.inf, 0, np.inf)


def crossing(n_states, seed, lexicon=LEXICON, short_pause=False):
    """Return a topology whose contexts reach across words and share states at random."""
    phones = Topology.monophones(lexicon.phones, n_states=1, short_pause=short_pause, self_loop=0.4)
    found = all_contexts([p for w in lexicon.words for p in lexicon.pronunciations(w)], crosses_words=True)
    rng = np.random.default_rng(seed)
    states = [(int(s),) for s in rng.integers(1, n_states, size=len(found))]
    return contextual_topology(phones, found, states, crosses_words=True)


def every_score(scores, topology, log_prob, penalty):
    """Return the best score of each sequence of words, and the score of no words."""
    found = {}
    for n in range(1, MOST_WORDS + 1):
        for words in product(LEXICON.words, repeat=n):
            graph = utterance_graph([LEXICON.pronunciations(w) for w in words], topology)
            try:
                aligned = align(scores, graph, topology, beam=np.inf)
            except AlignmentError:
                continue
            coins = (n + 1) * np.log(0.5)  # of the graph's optional pauses
            found[words] = aligned.log_likelihood - coins + log_prob(words) + n * penalty
    return found


@pytest.mark.parametrize("n_states", [4, 12, 60])
@pytest.mark.parametrize("grammar", ["loop", "bigram"])
@pytest.mark.parametrize("most_instances", [0, 10**9])
def test_the_best_of_all_sequences_is_found(n_states, grammar, most_instances, monkeypatch):
    monkeypatch.setattr(networks, "MOST_INSTANCES", most_instances)
    rng = np.random.default_rng(n_states)
    topology = crossing(n_states, n_states)
    loop = WordLoop(LEXICON.words)
    known = loop if grammar == "loop" else NGram.estimate(SENTENCES, 2, vocabulary=LEXICON.words)
    tables = known.compile(frozenset(LEXICON.words))
    penalty, scale = -1.0, 1.0
    config = DecoderConfig(lm_scale=scale, word_penalty=penalty, beam=np.inf, lattice_beam=np.inf, n_best=5)
    decoder = Decoder(LEXICON, known, topology, config)
    for _ in range(6):
        scores = rng.normal(scale=2, size=(5, topology.n_states))
        expected = every_score(scores, topology, tables.sentence_log_prob, penalty)
        found = decoder.decode(scores)
        best = max(expected, key=expected.get)
        if len(found.text) > MOST_WORDS:
            continue
        assert_allclose(found.log_score, expected[best], rtol=1e-9, atol=1e-9)
        assert_allclose(found.log_score, expected[found.text], rtol=1e-9, atol=1e-9)
        for other in found.alternatives:
            if other.text in expected:  # words begin where the best path's do: no better than the best
                assert other.log_score <= expected[other.text] + 1e-9


def random_task(seed, oracle):
    """Return a lexicon, the tables of a grammar and a topology, all of them at random."""
    rng = np.random.default_rng(seed)
    phones = list("abcd")[: rng.integers(2, 5)]
    lexicon = Lexicon(
        {
            f"W{i}": [tuple(rng.choice(phones, size=rng.integers(1, 5))) for _ in range(1 + i % 3 // 2)]
            for i in range(rng.integers(2, 8))
        }
    )
    topology = crossing(int(rng.integers(2, 80)), seed, lexicon, short_pause=bool(rng.random() < 0.5))
    order = int(rng.integers(0, 5))
    text = oracle.random_sentences(rng, lexicon.words, 8)
    words = lexicon.words
    grammar = (
        NGram.estimate(text, order, vocabulary=words, smoothing="absolute") if order else WordLoop(words)
    )
    return rng, lexicon, grammar.compile(frozenset(words)), topology


def said(result):
    """Return the words of the best path."""
    words = [int(result.records.words[i]) for i in trace(result.records, result.best)]
    return [word for word in words if word >= 0]


@pytest.mark.parametrize("seed", range(30))
def test_the_prefix_tree_finds_what_the_search_over_instances_does(seed, oracle):
    rng, lexicon, tables, topology = random_task(seed, oracle)
    instances = build_network(lexicon, tables, topology)
    tree = build_tree_network(lexicon, tables, topology)
    for n_frames in (1, 3, 8, 25):
        scores = 2.0 * rng.normal(size=(n_frames, topology.n_states))
        expected = search(instances, scores, WEIGHTS, UNPRUNED)
        for look_ahead in (True, False):
            found = tree_search(tree, scores, WEIGHTS, UNPRUNED, look_ahead=look_ahead)
            assert found.complete == expected.complete
            assert_allclose(found.log_score, expected.log_score, rtol=1e-12, atol=1e-9)
            assert said(found) == said(expected)
        lattice = build_lattice(tree.arc_table, found, WEIGHTS, 10.0)
        if found.complete:
            assert_allclose(best_sequences(lattice, 1)[0].log_score, found.log_score, rtol=1e-12, atol=1e-9)


def test_memory_that_must_grow_finds_the_same(oracle, monkeypatch):
    rng, lexicon, tables, topology = random_task(3, oracle)
    network = build_tree_network(lexicon, tables, topology)
    scores, pruning = rng.normal(size=(40, topology.n_states)), Pruning(60.0, 0, 40.0)
    expected = tree_search(network, scores, WEIGHTS, pruning)
    monkeypatch.setattr(tree_memory, "N_SLOTS", 1)
    monkeypatch.setattr(tree_memory, "N_TABLE", 2)
    found = tree_search(network, scores, WEIGHTS, pruning)
    assert found[1:] == expected[1:]
    for column, other in zip(found.records, expected.records, strict=True):
        np.testing.assert_array_equal(column, other)


def test_what_may_follow_a_word_by_hand():
    # a sounds one way before or behind b, another way beside all else; b always sounds the same.
    names = ["sil", *(f"{x}-{p}+{y}" for p in "ab" for x in "#ab" for y in "#ab")]
    states = [0, *(1 + ("b" in (name[0], name[-1])) if name[2] == "a" else 3 for name in names[1:])]
    topology = Topology(
        tuple(names),
        tuple((state,) for state in states),
        ((0.5,),) * len(names),
        is_contextual=True,
        crosses_words=True,
    )
    lexicon = Lexicon({"AA": [("a", "a")], "BB": [("b", "b")], "A": [("a",)]})
    network = build_tree_network(lexicon, WordLoop(lexicon.words).compile(set(lexicon.words)), topology)
    graph = network.graph
    node_states = graph.unit_states[graph.unit_offsets[graph.node_units]].tolist()
    found = {}
    for leaf, word in enumerate(network.leaf_words.tolist()):
        for node in range(len(node_states)):
            if word >= 0 and graph.leaf_first[node] <= leaf < graph.own_stop[node]:
                seam = graph.node_seams[node]
                behind = graph.seam_nodes[graph.seam_offsets[seam] : graph.seam_offsets[seam + 1]]
                next_words = [
                    (network.words[network.leaf_words[graph.leaf_first[k]]], node_states[k]) for k in behind
                ]
                ending = found.setdefault((network.words[word], node_states[node]), set())
                ending.add((frozenset(next_words), bool(graph.seam_pauses[seam])))
    of_a = frozenset({("AA", 1), ("A", 1), ("A", 2)})  # behind a: A may become either, by what follows it
    assert found[("AA", 1)] == {(of_a, True)}
    assert found[("AA", 2)] == {(frozenset({("BB", 3)}), False)}
    assert found[("BB", 3)] == {(frozenset({("AA", 2), ("A", 2), ("BB", 3)}), True)}
    # Behind b, A is the same before all; elsewhere b must follow for it to sound so.
    assert found[("A", 1)] == {(of_a, True)}
    assert found[("A", 2)] == {(of_a, True), (frozenset({("BB", 3)}), False)}


@pytest.mark.parametrize("most_instances", [0, 10**9])
def test_a_word_beside_an_unknown_neighbour_sounds_as_beside_silence(most_instances, monkeypatch):
    monkeypatch.setattr(networks, "MOST_INSTANCES", most_instances)
    topology = crossing(200, 1)
    longer = LEXICON.merged(Lexicon({"CB": [("c", "a", "b")]}))
    words = [*LEXICON.words, "CB"]
    assert all(name in topology for p in longer.pronunciations("CB") for name in topology.units(p, "b", "a"))
    assert topology.units(("a", "b"), "z", "z") == topology.units(("a", "b"))
    assert Decoder(longer, WordLoop(words), topology).decode(np.zeros((4, topology.n_states))).complete
