"""The best path is the same in whatever blocks the scores come, and is settled long before the end."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from acoustic import Topology, utterance_graph
from acoustic.hmm.graph import loop_graph
from acoustic.hmm.viterbi import BestPath, best_path

TOPOLOGY = Topology.monophones("abc", n_states=3)
WORDS = [("a",), ("b", "c"), ("c", "a", "b"), ("b",)]


def example(seed, n_words=40, n_frames=900, clarity=2.0):
    """Return graph and scores of random words, some of them unknown, in which the transcript is heard."""
    rng = np.random.default_rng(seed)
    spoken = [None if rng.random() < 0.05 else [WORDS[i]] for i in rng.integers(0, 4, n_words)]
    graph = utterance_graph(spoken, TOPOLOGY)
    scores = rng.normal(0, 2, (n_frames, TOPOLOGY.n_states))
    nodes = np.linspace(0, graph.n_nodes - 1, n_frames).astype(int)
    scores[np.arange(n_frames), graph.states[nodes]] += clarity
    return graph, scores


@pytest.mark.parametrize("beam", [60.0, np.inf])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_change_nothing(seed, beam):
    graph, scores = example(seed)
    columns = graph.states.astype(np.int64)
    score, nodes = best_path(scores, columns, graph, TOPOLOGY, beam)
    assert len(nodes) == len(scores)
    rng = np.random.default_rng(seed)
    for n_blocks in (2, 9, 300):
        cuts = np.sort(rng.integers(0, len(scores), n_blocks - 1))  # some blocks are empty
        found = BestPath(columns, graph, TOPOLOGY, beam)
        for block in np.split(scores, cuts):
            found.take(block)
        in_blocks, path, along = found.end()
        assert in_blocks == score
        assert_array_equal(path, nodes)
        assert_array_equal(along, scores[np.arange(len(scores)), graph.states[nodes]])
        assert found.n_frames == len(scores)


@pytest.mark.parametrize("of_loop", [False, True])
def test_little_is_pending_however_long_it_gets(of_loop):
    graph, scores = example(0, n_words=400, n_frames=12000, clarity=6.0)
    graph = loop_graph(TOPOLOGY) if of_loop else graph
    found = BestPath(graph.states.astype(np.int64), graph, TOPOLOGY, 60.0)
    most = 0
    for start in range(0, len(scores), 100):
        found.take(scores[start : start + 100])
        most = max(most, len(found._pending))
    assert len(found.end()[1]) == len(scores)
    assert 1 < most <= 5  # of 120 blocks


def test_no_path_is_none_in_blocks_either():
    graph, scores = example(1)
    scores[500] = -np.inf
    found = BestPath(graph.states.astype(np.int64), graph, TOPOLOGY)
    for block in np.array_split(scores, 7):
        found.take(block)
    score, path, along = found.end()
    assert (score, len(path), len(along)) == (-np.inf, 0, 0)
    assert BestPath(graph.states.astype(np.int64), graph, TOPOLOGY).end()[0] == -np.inf
