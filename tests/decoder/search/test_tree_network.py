"""Arcs by leaf and look-ahead against the grammar, asked word by word."""

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from decoder import Lexicon, WordLoop
from decoder.search import tree_network
from decoder.search.tree_network import best_below, build_prefix_tree, build_tree_network

GRAMMARS = ("loop", "word-pair", "unigram", "bigram", "trigram", "4-gram")


def built(name, oracle, lexicon, seed=3):
    tables = oracle.tiny_grammars(np.random.default_rng(seed))[name][0].compile(frozenset(lexicon.words))
    return tables, build_tree_network(lexicon, tables, Topology.monophones("abc", n_states=2))


def listed(tables, context):
    """Return the log probabilities and next contexts of the words a context itself lists."""
    span = slice(tables.arc_offsets[context], tables.arc_offsets[context + 1])
    rows = (tables.arc_words[span], tables.arc_log_probs[span], tables.arc_contexts[span])
    return {w: (p, c) for w, p, c in zip(*(row.tolist() for row in rows), strict=True)}


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_pronunciation_of_a_listed_word_has_an_arc(name, oracle, tiny_lexicon):
    tables, network = built(name, oracle, tiny_lexicon)
    graph = network.graph
    for context in range(tables.n_contexts):
        span = slice(graph.arc_offsets[context], graph.arc_offsets[context + 1])
        words = listed(tables, context)
        expected = {k: words[w] for k, w in enumerate(network.leaf_words.tolist()) if w in words}
        arcs = zip(graph.arc_log_probs[span].tolist(), graph.arc_contexts[span].tolist(), strict=True)
        assert dict(zip(graph.arc_leaves[span].tolist(), arcs, strict=True)) == expected
        assert np.all(np.diff(graph.arc_leaves[span]) > 0)


@pytest.mark.parametrize("name", GRAMMARS)
def test_the_best_word_of_a_context_is_at_least_each_word(name, oracle, tiny_lexicon):
    tables, network = built(name, oracle, tiny_lexicon)
    for context in range(tables.n_contexts):
        steps = [tables.follow(context, w) for w in range(len(tables.words))]
        allowed = [step[0] for step in steps if step]
        best = network.graph.best_log_probs[context]
        assert best >= max(allowed, default=-np.inf) - 1e-12
        if tables.backoff_contexts[context] < 0:
            assert best == max(allowed, default=-np.inf)


@pytest.mark.parametrize("name", GRAMMARS)
def test_the_stored_look_ahead_is_the_best_arc_below_each_node(name, oracle, tiny_lexicon, monkeypatch):
    monkeypatch.setattr(tree_network, "DENSE_SHARE", 1000)
    tables, network = built(name, oracle, tiny_lexicon)
    graph = network.graph
    for context in range(tables.n_contexts):
        words = listed(tables, context)
        row = graph.dense_rows[context]
        assert (row < 0) == (not words)
        for node in range(len(graph.node_units)) if words else ():
            below = network.leaf_words[graph.leaf_first[node] : graph.leaf_stop[node]].tolist()
            expected = max((words[w][0] for w in below if w in words), default=-np.inf)
            assert graph.dense_log_probs[row, node] == expected


def test_nodes_have_the_states_and_transitions_of_the_topology():
    topology = Topology.monophones("ab", n_states=2, self_loop=0.7)
    lexicon = Lexicon({"A": [("a", "b")], "B": [("a",)]})
    network = build_tree_network(lexicon, WordLoop(lexicon.words).compile({"A", "B"}), topology)
    graph = network.graph
    assert (graph.n_silences, graph.n_roots, len(graph.node_units)) == (2, 3, 4)  # sil, sp, a; a b
    assert network.leaf_words.tolist() == [-1, -1, 1, 0]
    names = ["sil", "sp", "a", "b"]
    for unit, name in zip(graph.node_units, names, strict=True):
        span = slice(graph.unit_offsets[unit], graph.unit_offsets[unit + 1])
        states = topology.phone_states[topology.phone_id(name)]
        assert graph.unit_states[span].tolist() == list(states)
        np.testing.assert_allclose(graph.unit_log_stay[span], np.log(0.7), rtol=1e-12)
        np.testing.assert_allclose(graph.unit_log_advance[span], np.log(0.3), rtol=1e-12)


def test_phones_of_the_same_states_are_one_node():
    topology = Topology(("a", "b", "c", "sil"), ((0,), (0,), (1,), (2,)), ((0.5,),) * 4)
    lexicon = Lexicon({"A": [("a", "c")], "B": [("b", "c")]})
    network = build_tree_network(lexicon, WordLoop(lexicon.words).compile(set(lexicon.words)), topology)
    assert network.leaf_words.tolist() == [-1, 0, 1]  # A and B are homophones
    assert network.graph.leaf_first.tolist() == [0, 1, 1]
    assert network.graph.own_stop.tolist() == [1, 1, 3]


# The tree by hand, and against the beginnings of random pronunciations


def beginnings(tree):
    """Return the units on the way to each node."""
    found = [()] * len(tree.units)
    for node in range(len(tree.units)):
        if node < tree.n_roots:
            found[node] = (int(tree.units[node]),)
        for child in range(tree.child_first[node], tree.child_stop[node]):
            found[child] = (*found[node], int(tree.units[child]))
    return found


def test_tree_by_hand():
    tree = build_prefix_tree([[1, 2], [1], [3, 1, 2], [1, 2], [1, 2, 3]])
    assert tree.order.tolist() == [1, 0, 3, 4, 2]
    assert tree.n_roots == 2
    assert beginnings(tree) == [(1,), (3,), (1, 2), (3, 1), (1, 2, 3), (3, 1, 2)]
    assert tree.leaf_first.tolist() == [0, 4, 1, 4, 3, 4]
    assert tree.own_stop.tolist() == [1, 4, 3, 4, 4, 5]
    assert tree.leaf_stop.tolist() == [4, 5, 4, 5, 4, 5]
    assert best_below(tree, np.arange(5.0)).tolist() == [3, 4, 3, 4, 3, 4]


@pytest.mark.parametrize("seed", range(5))
def test_each_beginning_is_one_node_over_the_leaves_that_begin_so(seed):
    rng = np.random.default_rng(seed)
    words = [tuple(rng.integers(0, 3, size=rng.integers(1, 6)).tolist()) for _ in range(40)]
    tree, values = build_prefix_tree(words), rng.normal(size=40)
    leaves = [words[i] for i in tree.order]
    found = beginnings(tree)
    assert sorted(found) == sorted({word[:n] for word in words for n in range(1, len(word) + 1)})
    best = best_below(tree, values)
    for node, beginning in enumerate(found):
        below = [k for k, leaf in enumerate(leaves) if leaf[: len(beginning)] == beginning]
        assert below == list(range(tree.leaf_first[node], tree.leaf_stop[node]))
        own = [k for k in below if leaves[k] == beginning]
        assert own == list(range(tree.leaf_first[node], tree.own_stop[node]))
        assert best[node] == values[below].max()
