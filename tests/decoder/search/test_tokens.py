"""Working memory is empty, large enough, and cut to what is used."""

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from decoder.search.compiled import START_CHAIN
from decoder.search.network import build_network
from decoder.search.viterbi import cut, new_records, new_tokens


@pytest.mark.parametrize(("name", "depth"), [("loop", 0), ("word-pair", 0), ("bigram", 1), ("trigram", 2)])
def test_nothing_is_anywhere_yet(name, depth, oracle, tiny_lexicon):
    grammar, _ = oracle.tiny_grammars(np.random.default_rng(0))[name]
    graph = build_network(
        tiny_lexicon, grammar.compile(frozenset(tiny_lexicon.words)), Topology.monophones("abc")
    ).graph
    tokens = new_tokens(graph)
    n_chains, n_contexts = len(graph.chain_words), len(graph.final_log_probs)
    for scores, n in (
        (tokens.scores, len(graph.node_states)),
        (tokens.entry_scores, n_chains),
        (tokens.chain_scores, n_chains),
        (tokens.context_scores.ravel(), 2 * n_contexts),
    ):
        assert scores.tolist() == [-np.inf] * n
    assert not tokens.is_active.any()
    assert not tokens.is_reached.any()
    assert tokens.waiting_heads.tolist() == [-1] * n_contexts
    assert len(tokens.waiting_scores) == n_contexts * depth  # every context may wait at all it backs off to
    assert len(tokens.stamps) == 3


def test_records_begin_with_the_start_of_the_sentence():
    records = new_records(10)
    assert len(records.scores) >= 10
    first = cut(records, 1)
    assert (first.chains[0], first.ends[0], first.predecessors[0], first.scores[0]) == (
        START_CHAIN,
        0,
        -1,
        0.0,
    )


def test_cut_keeps_the_first_records_and_shares_no_memory():
    records = new_records(0)
    records.chains[1], records.ends[1], records.predecessors[1], records.scores[1] = 5, 9, 0, -2.5
    kept = cut(records, 2)
    records.scores[1] = 0.0
    assert kept.chains.tolist() == [START_CHAIN, 5]
    assert kept.ends.tolist() == [0, 9]
    assert kept.predecessors.tolist() == [-1, 0]
    assert kept.scores.tolist() == [0.0, -2.5]
