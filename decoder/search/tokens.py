"""The working memory of one search, allocated before it begins."""

from __future__ import annotations

import numpy as np

from decoder.search.compiled import START_CHAIN, Records, SearchGraph, Tokens
from foundation.arrays import Ints
from foundation.compiled import njit


def new_tokens(graph: SearchGraph) -> Tokens:
    """Return the working memory of a search that has not started."""
    n_nodes, n_chains = graph.node_states.size, graph.chain_words.size
    n_contexts = graph.final_log_probs.size
    n_words = int(graph.arc_words.max()) + 1
    n_waiting = n_contexts * _backoff_depth(graph.backoff_contexts)
    return Tokens(
        scores=np.full(n_nodes, -np.inf),
        predecessors=np.zeros(n_nodes, dtype=np.int32),
        entry_scores=np.full(n_chains, -np.inf),
        entry_predecessors=np.zeros(n_chains, dtype=np.int32),
        chain_scores=np.full(n_chains, -np.inf),
        active=np.zeros(n_chains, dtype=np.int32),
        is_active=np.zeros(n_chains, dtype=np.bool_),
        context_scores=np.full((n_contexts, 2), -np.inf),
        context_records=np.full((n_contexts, 2), -1, dtype=np.int32),
        reached=np.zeros(n_contexts, dtype=np.int32),
        is_reached=np.zeros(n_contexts, dtype=np.bool_),
        waiting_heads=np.full(n_contexts, -1, dtype=np.int32),
        waiting_next=np.zeros(n_waiting, dtype=np.int32),
        waiting_levels=np.zeros(n_waiting, dtype=np.int32),
        waiting_contexts=np.zeros(n_waiting, dtype=np.int32),
        waiting_scores=np.zeros(n_waiting, dtype=np.float64),
        stamps=np.zeros(n_words, dtype=np.int64),
        counts=np.zeros(9, dtype=np.int64),
        levels=np.full(2, -np.inf),
    )


def new_records(n_frames: int) -> Records:
    """Return records with only the start of the sentence in them, and room for more."""
    size = 64 + 4 * n_frames
    records = Records(
        chains=np.empty(size, dtype=np.int32),
        ends=np.empty(size, dtype=np.int32),
        predecessors=np.empty(size, dtype=np.int32),
        scores=np.empty(size, dtype=np.float64),
    )
    records.chains[0] = START_CHAIN
    records.ends[0] = 0
    records.predecessors[0] = -1
    records.scores[0] = 0.0
    return records


def cut(records: Records, n_records: int) -> Records:
    """Return the records in use."""
    return Records(
        chains=records.chains[:n_records].copy(),
        ends=records.ends[:n_records].copy(),
        predecessors=records.predecessors[:n_records].copy(),
        scores=records.scores[:n_records].copy(),
    )


@njit(nogil=True, cache=True)
def _backoff_depth(backoff_contexts: Ints) -> int:
    """Return the greatest number of contexts any context backs off to."""
    deepest = 0
    for context in range(backoff_contexts.size):
        depth, level = 0, backoff_contexts[context]
        while level >= 0:
            depth += 1
            level = backoff_contexts[level]
        deepest = max(deepest, depth)
    return deepest
