"""Memory is empty at first, and how much there is of it changes nothing."""

import numpy as np
import pytest

from decoder import NGram
from decoder.search import tree_search as tree_memory
from decoder.search.compiled import Pruning, Weights
from decoder.search.tree_compiled import N_ACTIVE, N_FREE, START
from decoder.search.tree_network import build_tree_network
from decoder.search.tree_search import new_ends, new_memory, new_offers, tree_search


@pytest.fixture
def network(task, oracle):
    text = oracle.random_sentences(np.random.default_rng(2), task.lexicon.words, 60)
    tables = NGram.estimate(text, 3, vocabulary=task.lexicon.words).compile(frozenset(task.lexicon.words))
    return build_tree_network(task.lexicon, tables, task.topology)


def test_nothing_is_anywhere_yet(network):
    memory, ends = new_memory(network.graph), new_ends(7)
    assert (memory.counts[N_ACTIVE], memory.counts[N_FREE]) == (0, len(memory.free))
    assert sorted(memory.free) == list(range(len(memory.free)))
    assert np.all(memory.context_scores == -np.inf)
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
