"""What a search carries along: weights, limits, tokens and records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from decoder.search.network import SearchGraph
from foundation.arrays import Flags, Floats, Ints, Longs

BY_WORD, BY_SILENCE = 0, 1  # how a context was reached; a silence may only follow a word or the start
START_CHAIN = -1


class Weights(NamedTuple):
    """What is added to the scores of the graph (float64, natural log)."""

    lm_scale: float
    word_penalty: float
    silence_log_prob: float


class Pruning(NamedTuple):
    """What the search throws away.

    Attributes
    ----------
    beam : chains whose best token is this much worse than the best one of the frame; inf = none
    max_active : the worst chains beyond this number (ties stay); 0 = none
    record_beam : records this much worse than the best token, unless they are the best of their context;
        inf = none, -inf = all
    """

    beam: float
    max_active: int
    record_beam: float


class Records(NamedTuple):
    """The word ends of a search, R records; record 0 is the start of the sentence.

    Attributes
    ----------
    chains : (R,) int32, -1 for the start
    ends : (R,) int32, boundary
    predecessors : (R,) int32, -1 for the start
    scores : (R,) float64, score of the best path up to here
    """

    chains: Ints
    ends: Ints
    predecessors: Ints
    scores: Floats


class Tokens(NamedTuple):
    """Working memory of one search: the state of every node, chain and context."""

    scores: Floats  # (N,) best score that ends in the node
    predecessors: Ints  # (N,) the record it came from
    entry_scores: Floats  # (K,) best score waiting before the chain
    entry_predecessors: Ints  # (K,)
    chain_scores: Floats  # (K,) best score in the chain
    active: Ints  # (K,) list of chains with a token or an entry
    is_active: Flags  # (K,)
    context_scores: Floats  # (C, 2) best score reached by word, by silence
    context_records: Ints  # (C, 2)
    reached: Ints  # (C,) list of contexts reached at this boundary
    is_reached: Flags  # (C,)
    waiting_heads: Ints  # (C,) first of the tokens that back off to here, -1 = none
    waiting_next: Ints  # (Q,) the one after it, -1 = none
    waiting_levels: Ints  # (Q,) the context it waits at
    waiting_contexts: Ints  # (Q,) the context it comes from
    waiting_scores: Floats  # (Q,) its score with the backoff weights
    stamps: Longs  # (W,) mark of the words that a waiting token may not enter


@njit(nogil=True, cache=True)
def new_tokens(graph: SearchGraph) -> Tokens:
    """Return empty working memory."""
    n_nodes, n_chains = graph.node_states.size, graph.chain_words.size
    n_contexts = graph.final_log_probs.size
    n_words = graph.arc_words.max() + 1
    n_waiting = n_contexts * _backoff_depth(graph.backoff_contexts)
    return Tokens(
        np.full(n_nodes, -np.inf),
        np.zeros(n_nodes, dtype=np.int32),
        np.full(n_chains, -np.inf),
        np.zeros(n_chains, dtype=np.int32),
        np.full(n_chains, -np.inf),
        np.zeros(n_chains, dtype=np.int32),
        np.zeros(n_chains, dtype=np.bool_),
        np.full((n_contexts, 2), -np.inf),
        np.full((n_contexts, 2), -1, dtype=np.int32),
        np.zeros(n_contexts, dtype=np.int32),
        np.zeros(n_contexts, dtype=np.bool_),
        np.full(n_contexts, -1, dtype=np.int32),
        np.zeros(n_waiting, dtype=np.int32),
        np.zeros(n_waiting, dtype=np.int32),
        np.zeros(n_waiting, dtype=np.int32),
        np.zeros(n_waiting, dtype=np.float64),
        np.zeros(n_words, dtype=np.int64),
    )


@njit(nogil=True, cache=True)
def new_records(n_frames: int) -> Records:
    """Return records with only the start of the sentence in them."""
    size = 64 + 4 * n_frames
    records = Records(
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.float64),
    )
    records.chains[0] = START_CHAIN
    records.ends[0] = 0
    records.predecessors[0] = -1
    records.scores[0] = 0.0
    return records


@njit(nogil=True, cache=True)
def grow(records: Records, more: int) -> Records:
    """Return the records with room for at least ``more`` and at least twice as much as before."""
    old = records.scores.size
    size = 2 * old + more
    chains = np.empty(size, dtype=np.int32)
    ends = np.empty(size, dtype=np.int32)
    predecessors = np.empty(size, dtype=np.int32)
    scores = np.empty(size, dtype=np.float64)
    chains[:old] = records.chains
    ends[:old] = records.ends
    predecessors[:old] = records.predecessors
    scores[:old] = records.scores
    return Records(chains, ends, predecessors, scores)


@njit(nogil=True, cache=True)
def cut(records: Records, n_records: int) -> Records:
    """Return the records in use."""
    return Records(
        records.chains[:n_records].copy(),
        records.ends[:n_records].copy(),
        records.predecessors[:n_records].copy(),
        records.scores[:n_records].copy(),
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
