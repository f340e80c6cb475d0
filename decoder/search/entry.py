"""How tokens enter words: listed words directly, all others through backoff, exactly.

A word that a context lists itself must not be entered through the backoff of that context, though that may
score better. Done context by context this costs the whole vocabulary for each. Here the tokens that back off
to one context wait there and are taken in order of score: the first enters every word but those its own
context lists, and only these few words are left for the next.

numba keeps compiled code by file: after a change here or in ``tokens.py``, touch ``search.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from decoder.search.network import SearchGraph
from decoder.search.tokens import BY_SILENCE, BY_WORD, Tokens, Weights
from foundation.arrays import Flags, Floats, Ints, Longs


@njit(nogil=True, cache=True, inline="always")
def _offer(
    first: int,
    stop: int,
    score: float,
    record: int,
    entry_scores: Floats,
    entry_predecessors: Ints,
    active: Ints,
    is_active: Flags,
    n_active: int,
) -> int:
    """Put a token before each chain of a range where it is the best; return the number of active chains."""
    for chain in range(first, stop):
        if score > entry_scores[chain]:
            entry_scores[chain] = score
            entry_predecessors[chain] = record
            if not is_active[chain]:
                is_active[chain] = True
                active[n_active] = chain
                n_active += 1
    return n_active


@njit(nogil=True, cache=True)
def enter(
    graph: SearchGraph,
    tokens: Tokens,
    n_reached: int,
    n_active: int,
    stamp: int,
    weights: Weights,
    threshold: float,
) -> tuple[int, int]:
    """Let words and silences in from all contexts reached; return the numbers of active chains and stamps."""
    # Locals, for each look into a named tuple of arrays costs an atomic count of references.
    entries, predecessors = tokens.entry_scores, tokens.entry_predecessors
    active, is_active = tokens.active, tokens.is_active
    offsets, log_probs, silences = graph.arc_offsets, graph.arc_log_probs, graph.silence_offsets
    first, stop = graph.arc_chain_first, graph.arc_chain_stop
    lm_scale, penalty = weights.lm_scale, weights.word_penalty
    n_waiting = 0
    for i in range(n_reached):
        context = tokens.reached[i]
        score = tokens.context_scores[context, BY_WORD]
        silence_score = score + weights.silence_log_prob
        if silence_score > -np.inf and silence_score >= threshold:
            n_active = _offer(
                silences[context],
                silences[context + 1],
                silence_score,
                tokens.context_records[context, BY_WORD],
                entries,
                predecessors,
                active,
                is_active,
                n_active,
            )
        way = best_way(tokens.context_scores, context)
        score, record = tokens.context_scores[context, way], tokens.context_records[context, way]
        if score + penalty >= threshold:  # no word costs less than nothing
            for arc in range(offsets[context], offsets[context + 1]):
                entry = score + lm_scale * log_probs[arc] + penalty
                if entry >= threshold:
                    n_active = _offer(
                        first[arc],
                        stop[arc],
                        entry,
                        record,
                        entries,
                        predecessors,
                        active,
                        is_active,
                        n_active,
                    )
        n_waiting = _wait(graph, tokens, context, score, n_waiting, weights, threshold)
    for i in range(n_waiting):
        level = tokens.waiting_levels[i]
        if tokens.waiting_heads[level] >= 0:
            n_active, stamp = _enter_by_backoff(graph, tokens, level, n_active, stamp, weights, threshold)
            tokens.waiting_heads[level] = -1
    return n_active, stamp


@njit(nogil=True, cache=True, inline="always")
def best_way(context_scores: Floats, context: int) -> int:
    """Return which of the two ways to a context is the better one."""
    return BY_SILENCE if context_scores[context, BY_SILENCE] > context_scores[context, BY_WORD] else BY_WORD


@njit(nogil=True, cache=True)
def _wait(
    graph: SearchGraph,
    tokens: Tokens,
    context: int,
    score: float,
    n_waiting: int,
    weights: Weights,
    threshold: float,
) -> int:
    """Let a context's token wait at every context it backs off to; return the number of tokens that wait."""
    level, inner = graph.backoff_contexts[context], context
    while level >= 0:
        score += weights.lm_scale * graph.backoff_log_weights[inner]
        if score + weights.word_penalty >= threshold:
            tokens.waiting_next[n_waiting] = tokens.waiting_heads[level]
            tokens.waiting_heads[level] = n_waiting
            tokens.waiting_levels[n_waiting] = level
            tokens.waiting_contexts[n_waiting] = context
            tokens.waiting_scores[n_waiting] = score
            n_waiting += 1
        level, inner = graph.backoff_contexts[level], level
    return n_waiting


@njit(nogil=True, cache=True)
def _enter_by_backoff(
    graph: SearchGraph,
    tokens: Tokens,
    level: int,
    n_active: int,
    stamp: int,
    weights: Weights,
    threshold: float,
) -> tuple[int, int]:
    """Let the tokens waiting at a context enter its words; return the numbers of active chains and stamps."""
    entries, predecessors, stamps = tokens.entry_scores, tokens.entry_predecessors, tokens.stamps
    active, is_active, backoff_contexts = tokens.active, tokens.is_active, graph.backoff_contexts
    offsets, words, log_probs = graph.arc_offsets, graph.arc_words, graph.arc_log_probs
    first, stop = graph.arc_chain_first, graph.arc_chain_stop
    lm_scale, penalty = weights.lm_scale, weights.word_penalty
    remaining = np.arange(offsets[level], offsets[level + 1])
    n_remaining = remaining.size
    for waiting in _in_order(tokens, level):
        if n_remaining == 0:
            break
        context, score = tokens.waiting_contexts[waiting], tokens.waiting_scores[waiting]
        record = tokens.context_records[context, best_way(tokens.context_scores, context)]
        stamp += 1
        inner = context
        while inner != level:
            for arc in range(offsets[inner], offsets[inner + 1]):
                stamps[words[arc]] = stamp
            inner = backoff_contexts[inner]
        n_kept = 0
        for i in range(n_remaining):
            arc = remaining[i]
            if stamps[words[arc]] == stamp:
                remaining[n_kept] = arc
                n_kept += 1
                continue
            entry = score + lm_scale * log_probs[arc] + penalty
            if entry >= threshold:
                n_active = _offer(
                    first[arc], stop[arc], entry, record, entries, predecessors, active, is_active, n_active
                )
        n_remaining = n_kept
    return n_active, stamp


@njit(nogil=True, cache=True)
def _in_order(tokens: Tokens, level: int) -> Longs:
    """Return the tokens that wait at a context, best first."""
    n_waiting, waiting = 0, tokens.waiting_heads[level]
    while waiting >= 0:
        n_waiting += 1
        waiting = tokens.waiting_next[waiting]
    found = np.empty(n_waiting, dtype=np.int64)
    waiting = tokens.waiting_heads[level]
    for i in range(n_waiting):
        found[i] = waiting
        waiting = tokens.waiting_next[waiting]
    return found[np.argsort(-tokens.waiting_scores[found])]
