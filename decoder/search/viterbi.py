"""Frame-synchronous Viterbi search with beam and histogram pruning.

Time runs over boundaries b = 0 … T; frame b lies between boundaries b and b + 1. At a boundary every grammar
context that a word has just reached lets words and silences in; a frame then moves every token on by one node
and adds the emission score; tokens that leave a chain become *records* (chain, end boundary, predecessor
record), from which words and times are read back. The start of a record is the end of its predecessor.

The recursion is the usual one, e.g. H. Ney and S. Ortmanns, "Dynamic programming search for
continuous speech recognition", IEEE Signal Processing Magazine 16(5), 1999.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from decoder.search.entry import enter
from decoder.search.network import Network, SearchGraph
from decoder.search.tokens import (
    BY_SILENCE,
    BY_WORD,
    START_CHAIN,
    Pruning,
    Records,
    Tokens,
    Weights,
    cut,
    grow,
    new_records,
    new_tokens,
)
from foundation.arrays import Floats, Ints

NO_NAN = {"nnan", "nsz"}  # scores are never NaN: no +inf can meet a -inf


class SearchResult(NamedTuple):
    """Outcome of a search.

    Attributes
    ----------
    records : the word ends
    best : the record in which the best path ends
    complete : whether all frames are explained and the sentence may end there
    log_score : score of the best path, the sentence end included when it is complete
    """

    records: Records
    best: int
    complete: bool
    log_score: float


def search(network: Network, scores: Floats, weights: Weights, pruning: Pruning) -> SearchResult:
    """Return the records of the best paths through a (T, S) float64 matrix of log emission scores.

    Without a complete path the best partial one is taken: the best that ends a word at the last boundary
    reached, or else the finished words of the best token there.
    """
    records, last_boundary, open_record = viterbi(
        network.graph, network.start_context, scores, weights, pruning
    )
    at_end = np.flatnonzero(records.ends == last_boundary)
    if last_boundary == len(scores) and len(at_end):
        final = final_scores(network, records.chains[at_end], weights.lm_scale)
        totals = records.scores[at_end] + final
        if totals.max() > -np.inf:
            best = int(at_end[totals.argmax()])
            return SearchResult(records, best, True, float(totals.max()))
    best = int(at_end[records.scores[at_end].argmax()]) if len(at_end) else int(open_record)
    return SearchResult(records, best, False, float(records.scores[best]))


def final_scores(network: Network, chains: Ints, lm_scale: float) -> Floats:
    """Return the scaled log probability that the sentence ends after each chain, -inf where it may not."""
    contexts = np.where(chains == START_CHAIN, network.start_context, network.graph.chain_contexts[chains])
    final = network.graph.final_log_probs[contexts]
    allowed = final > -np.inf  # 0 * -inf is not a number
    return np.where(allowed, lm_scale * np.where(allowed, final, 0.0), -np.inf)


def trace(records: Records, last: int) -> list[int]:
    """Return the records of the path that ends in one, in order of time, without the start."""
    path = []
    while last > 0:
        path.append(last)
        last = int(records.predecessors[last])
    return path[::-1]


@njit(nogil=True, cache=True)
def viterbi(
    graph: SearchGraph, start_context: int, scores: Floats, weights: Weights, pruning: Pruning
) -> tuple[Records, int, int]:
    """Return the records, the last boundary any token reached, and the record behind the best token there."""
    n_frames = scores.shape[0]
    tokens = new_tokens(graph)
    records = new_records(n_frames)
    n_records = 1
    tokens.context_scores[start_context, BY_WORD] = 0.0
    tokens.context_records[start_context, BY_WORD] = 0
    tokens.is_reached[start_context] = True
    tokens.reached[0] = start_context
    n_reached, n_active, open_record, threshold = 1, 0, 0, -np.inf
    stamp = 0
    for frame in range(n_frames):
        n_active, stamp = enter(graph, tokens, n_reached, n_active, stamp, weights, threshold)
        best_chain = _move(graph, tokens, n_active, scores[frame])
        if best_chain < 0:
            return cut(records, n_records), frame, open_record
        best = tokens.chain_scores[best_chain]
        open_record = _best_predecessor(graph, tokens, best_chain)
        threshold = _threshold(tokens, n_active, best, pruning)
        n_active = _prune(graph, tokens, n_active, threshold)
        if len(records.scores) < n_records + n_active:
            records = grow(records, n_active)
        _clear_contexts(tokens, n_reached)
        floor = threshold if frame + 1 < n_frames else -np.inf  # at the end nothing is saved by pruning
        n_records, n_reached = _leave(
            graph, tokens, n_active, records, n_records, frame + 1, floor, best - pruning.record_beam
        )
    return cut(records, n_records), n_frames, open_record


@njit(nogil=True, cache=True, fastmath=NO_NAN)
def _move(graph: SearchGraph, tokens: Tokens, n_active: int, frame_scores: Floats) -> int:
    """Move every token on by one frame; return the chain of the best, -1 if none is left.

    The choices within a chain are written without branches, which no processor could predict here, and the
    indices unsigned, which need no check: this loop, where the time goes, is several times faster so.
    """
    scores, predecessors, states = tokens.scores, tokens.predecessors, graph.node_states
    log_stay, log_advance = graph.node_log_stay, graph.node_log_advance
    best, best_chain = -np.inf, -1
    for i in range(n_active):
        chain = tokens.active[i]
        arriving, arriving_predecessor = tokens.entry_scores[chain], tokens.entry_predecessors[chain]
        tokens.entry_scores[chain] = -np.inf
        chain_best = -np.inf
        for node in range(np.uintp(graph.chain_offsets[chain]), np.uintp(graph.chain_offsets[chain + 1])):
            score, predecessor = scores[node] + log_stay[node], predecessors[node]
            leaving = scores[node] + log_advance[node]
            predecessors[node] = predecessor + (arriving_predecessor - predecessor) * (arriving > score)
            score = max(arriving, score) + frame_scores[np.uintp(states[node])]
            scores[node] = score
            chain_best = max(chain_best, score)
            arriving, arriving_predecessor = leaving, predecessor
        tokens.chain_scores[chain] = chain_best
        if chain_best > best:
            best, best_chain = chain_best, chain
    return best_chain


@njit(nogil=True, cache=True)
def _threshold(tokens: Tokens, n_active: int, best: float, pruning: Pruning) -> float:
    """Return the score below which chains are given up, by beam and by number of chains."""
    threshold = best - pruning.beam
    if 0 < pruning.max_active < n_active:
        scores = tokens.chain_scores[tokens.active[:n_active]]
        kept = np.partition(scores, n_active - pruning.max_active)[n_active - pruning.max_active]
        threshold = max(threshold, kept)
    return threshold


@njit(nogil=True, cache=True)
def _prune(graph: SearchGraph, tokens: Tokens, n_active: int, threshold: float) -> int:
    """Give up the chains below the threshold and return the number of those that stay."""
    n_kept = 0
    for i in range(n_active):
        chain = tokens.active[i]
        if tokens.chain_scores[chain] >= threshold and tokens.chain_scores[chain] > -np.inf:
            tokens.active[n_kept] = chain
            n_kept += 1
        else:
            tokens.is_active[chain] = False
            tokens.scores[graph.chain_offsets[chain] : graph.chain_offsets[chain + 1]] = -np.inf
    return n_kept


@njit(nogil=True, cache=True)
def _best_predecessor(graph: SearchGraph, tokens: Tokens, chain: int) -> int:
    """Return the record before the best token of a chain."""
    first, stop = graph.chain_offsets[chain], graph.chain_offsets[chain + 1]
    return int(tokens.predecessors[first + np.argmax(tokens.scores[first:stop])])


@njit(nogil=True, cache=True)
def _clear_contexts(tokens: Tokens, n_reached: int) -> None:
    """Forget the contexts of the last boundary."""
    for i in range(n_reached):
        context = tokens.reached[i]
        tokens.is_reached[context] = False
        tokens.context_scores[context] = -np.inf
        tokens.context_records[context] = -1


@njit(nogil=True, cache=True)
def _leave(
    graph: SearchGraph,
    tokens: Tokens,
    n_active: int,
    records: Records,
    n_records: int,
    boundary: int,
    threshold: float,
    record_threshold: float,
) -> tuple[int, int]:
    """Write the records of a boundary; return the number of records and of contexts reached."""
    n_reached = 0
    first_record = n_records
    for i in range(n_active):
        chain = tokens.active[i]
        last = graph.chain_offsets[chain + 1] - 1
        score = tokens.scores[last] + graph.node_log_advance[last]
        if score == -np.inf or tokens.scores[last] < threshold:
            continue
        context = graph.chain_contexts[chain]
        way = BY_SILENCE if graph.chain_words[chain] < 0 else BY_WORD
        is_best = score > tokens.context_scores[context, way]
        if not is_best and score < record_threshold:
            continue
        # A best record below the threshold is overwritten by a better one of its context.
        slot = tokens.context_records[context, way]
        if slot < first_record or records.scores[slot] >= record_threshold:
            slot = n_records
            n_records += 1
        records.chains[slot] = chain
        records.ends[slot] = boundary
        records.predecessors[slot] = tokens.predecessors[last]
        records.scores[slot] = score
        if is_best:
            tokens.context_scores[context, way] = score
            tokens.context_records[context, way] = slot
            if not tokens.is_reached[context]:
                tokens.is_reached[context] = True
                tokens.reached[n_reached] = context
                n_reached += 1
    return n_records, n_reached
