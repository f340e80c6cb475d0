"""The search network by hand: chains, nodes and arcs of small grammars."""

import numpy as np
import pytest

from acoustic.hmm.topology import SHORT_PAUSE, SILENCE, Topology
from decoder import Decoder, GrammarError, Lexicon, LexiconError, NGram, WordLoop, WordPairGrammar
from decoder.grammars.grammar import pack_tables
from decoder.search.network import build_network

LEXICON = Lexicon({"A": [("a",), ("b", "a")], "B": [("b",)]})
TOPOLOGY = Topology.monophones("ab", n_states=2, self_loop=0.7)


def states_of(network, chain):
    first, stop = network.graph.chain_offsets[chain : chain + 2]
    return network.graph.node_states[first:stop].tolist()


def states_of_phones(*phones):
    return [s for phone in phones for s in TOPOLOGY.phone_states[TOPOLOGY.phone_id(phone)]]


def test_chains_of_a_loop_are_silences_and_every_pronunciation_once():
    network = build_network(LEXICON, WordLoop(["A", "B"]).compile({"A", "B"}), TOPOLOGY)
    assert network.graph.chain_words.tolist() == [-1, -1, 0, 0, 1]
    expected = [(SILENCE,), (SHORT_PAUSE,), ("a",), ("b", "a"), ("b",)]
    assert [states_of(network, k) for k in range(5)] == [states_of_phones(*phones) for phones in expected]
    assert network.graph.chain_contexts.tolist() == [0] * 5
    assert network.graph.silence_offsets.tolist() == [0, 2]
    assert network.graph.arc_chain_first.tolist() == [2, 4]
    assert network.graph.arc_chain_stop.tolist() == [4, 5]
    assert (network.words, network.start_context, network.n_states) == (("A", "B"), 0, TOPOLOGY.n_states)


def test_nodes_have_the_transitions_of_the_topology():
    network = build_network(LEXICON, WordLoop(["B"]).compile({"B"}), TOPOLOGY)
    first, stop = network.graph.chain_offsets[-2:]
    np.testing.assert_allclose(network.graph.node_log_stay[first:stop], np.log([0.7, 0.7]), rtol=1e-12)
    np.testing.assert_allclose(network.graph.node_log_advance[first:stop], np.log([0.3, 0.3]), rtol=1e-12)


def test_arcs_that_agree_on_word_and_next_context_share_their_chains():
    pairs = {"<s>": ["A", "B"], "A": ["B", "</s>"], "B": ["A"]}
    graph = build_network(LEXICON, WordPairGrammar(pairs).compile({"A", "B"}), TOPOLOGY).graph
    assert sorted(graph.arc_words.tolist()) == [0, 0, 1, 1]
    for word in (0, 1):
        chains = {
            (f, s)
            for f, s, w in zip(graph.arc_chain_first, graph.arc_chain_stop, graph.arc_words, strict=True)
            if w == word
        }
        assert len(chains) == 1
    assert np.count_nonzero(graph.chain_words >= 0) == 3


def test_a_word_has_chains_for_every_context_it_leads_to():
    text = [["A", "B", "A", "A"], ["B", "B", "A"]]
    bigram, trigram = (NGram.estimate(text, n, vocabulary=["A", "B"]).compile({"A", "B"}) for n in (2, 3))
    for tables in (bigram, trigram):
        graph = build_network(LEXICON, tables, TOPOLOGY).graph
        targets = {(w, c) for w, c in zip(tables.arc_words, tables.arc_contexts, strict=True)}
        n_chains = sum(len(LEXICON.pronunciations(tables.words[w])) for w, _ in targets)
        assert np.count_nonzero(graph.chain_words >= 0) == n_chains


def test_a_grammar_without_words():
    tables = pack_tables([], [[]], [0.0], 0, dropped_words=["X", "Y"])
    with pytest.raises(
        GrammarError, match=r"expected at least one word with a pronunciation, got none of 2 words: X, Y"
    ):
        build_network(LEXICON, tables, TOPOLOGY)


def test_words_without_pronunciation_are_named():
    lexicon, topology = Lexicon({"A": [("a",)]}), Topology.monophones("a")
    with pytest.raises(LexiconError, match="got none for 2: B, C; add them"):
        Decoder(lexicon, WordLoop(["A", "B", "C"]), topology)


def test_phones_the_model_does_not_have_are_named():
    lexicon = Lexicon({"A": [("a",)], "B": [("x", "a"), ("y",)]})
    with pytest.raises(LexiconError, match=r"got 2 others: x \(in B\), y \(in B\); correct"):
        Decoder(lexicon, WordLoop(lexicon.words), Topology.monophones("a"))


def test_noise_is_a_third_silence():
    topology = Topology.monophones("ab", n_states=2, noise=True)
    network = build_network(LEXICON, WordLoop(["B"]).compile({"B"}), topology)
    assert network.graph.chain_words.tolist() == [-1, -1, -1, 0]
    noise = topology.phone_states[topology.phone_id("noise")]
    assert [states_of(network, k) for k in (0, 2)] == [[0, 1], list(noise)]
    assert network.graph.silence_offsets.tolist() == [0, 3]


def test_noise_is_heard_and_not_printed():
    topology = Topology.monophones("ab", n_states=1, noise=True)
    _, noise, _, b, _ = (topology.phone_states[k][0] for k in range(5))
    spoken = [b, b, noise, noise, b, noise]
    scores = np.zeros((6, topology.n_states))
    scores[np.arange(6), spoken] = 50.0
    found = Decoder(LEXICON, WordLoop(LEXICON.words), topology).decode(scores)
    assert found.text == ("B", "B")
