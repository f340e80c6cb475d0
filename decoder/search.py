"""Frame-synchronous Viterbi search with beam and histogram pruning.

Time runs over boundaries b = 0 … T; frame b lies between boundaries b and b + 1. At a boundary every grammar context
that a word has just reached lets words and silences in; a frame then moves every token on by one node and adds the
emission score; tokens that leave a chain become *records* (chain, end boundary, predecessor record), from which words
and times are read back. The start of a record is the end of its predecessor.

The recursion is the usual one, e.g. thesis §4.2 or H. Ney and S. Ortmanns, "Dynamic programming search for continuous
speech recognition", IEEE Signal Processing Magazine 16(5), 1999.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from decoder.network import Network, SearchGraph

N_BINS = 512  # of the histogram of token scores
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
    beam : tokens this much worse than the best one of the frame; inf = none
    max_active : the worst tokens beyond this number; 0 = none
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

    chains: NDArray[np.int32]
    ends: NDArray[np.int32]
    predecessors: NDArray[np.int32]
    scores: NDArray[np.float64]


class Tokens(NamedTuple):
    """Working memory of one search: the state of every node, chain and context."""

    scores: NDArray[np.float64]  # (N,) best score that ends in the node
    predecessors: NDArray[np.int32]  # (N,) the record it came from
    entry_scores: NDArray[np.float64]  # (K,) best score waiting before the chain
    entry_predecessors: NDArray[np.int32]  # (K,)
    active: NDArray[np.int32]  # (K,) list of chains with a token or an entry
    is_active: NDArray[np.bool_]  # (K,)
    context_scores: NDArray[np.float64]  # (C, 2) best score reached by word, by silence
    context_records: NDArray[np.int32]  # (C, 2)
    reached: NDArray[np.int32]  # (C,) list of contexts reached at this boundary
    is_reached: NDArray[np.bool_]  # (C,)
    stamps: NDArray[np.int64]  # (W,) mark of a word already entered from the present context


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


def search(network: Network, scores: NDArray[np.float64], weights: Weights, pruning: Pruning) -> SearchResult:
    """Return the records of the best paths through a (T, S) float64 matrix of log emission scores.

    Without a complete path the best partial one is taken: the best that ends a word at the last boundary reached, or
    else the finished words of the best token there.
    """
    records, last_boundary, open_record = viterbi(network.graph, network.start_context, scores, weights, pruning)
    at_end = np.flatnonzero(records.ends == last_boundary)
    if last_boundary == len(scores) and len(at_end):
        final = final_scores(network, records.chains[at_end], weights.lm_scale)
        totals = records.scores[at_end] + final
        if totals.max() > -np.inf:
            best = int(at_end[totals.argmax()])
            return SearchResult(records, best, True, float(totals.max()))
    best = int(at_end[records.scores[at_end].argmax()]) if len(at_end) else int(open_record)
    return SearchResult(records, best, False, float(records.scores[best]))


def final_scores(network: Network, chains: NDArray[np.int32], lm_scale: float) -> NDArray[np.float64]:
    """Return the scaled log probability that the sentence ends after each chain, -inf where it may not."""
    contexts = np.where(chains == START_CHAIN, network.start_context, network.graph.chain_contexts[chains])
    final = network.graph.final_log_probs[contexts]
    allowed = final > -np.inf  # 0 * -inf is not a number
    return np.where(allowed, lm_scale * np.where(allowed, final, 0.0), -np.inf)


@njit(nogil=True, cache=True)
def viterbi(
    graph: SearchGraph, start_context: int, scores: NDArray[np.float64], weights: Weights, pruning: Pruning
) -> tuple[Records, int, int]:
    """Return the records, the last boundary any token reached, and the record behind the best token there."""
    n_frames = scores.shape[0]
    tokens = _new_tokens(graph)
    records = _new_records(n_frames)
    n_records = 1
    tokens.context_scores[start_context, BY_WORD] = 0.0
    tokens.context_records[start_context, BY_WORD] = 0
    tokens.is_reached[start_context] = True
    tokens.reached[0] = start_context
    n_reached, n_active, open_record, threshold = 1, 0, 0, -np.inf
    stamp = 0
    for frame in range(n_frames):
        n_active, stamp = _enter(graph, tokens, n_reached, n_active, stamp, weights, threshold)
        best, best_node, n_alive = _move(graph, tokens, n_active, scores[frame])
        if best == -np.inf:
            return _cut(records, n_records), frame, open_record
        open_record = tokens.predecessors[best_node]
        threshold = _threshold(graph, tokens, n_active, n_alive, best, pruning)
        n_active = _prune(graph, tokens, n_active, threshold)
        if len(records.scores) < n_records + n_active + 2 * graph.final_log_probs.size:
            records = _grow(records, n_active + 2 * graph.final_log_probs.size)
        _clear_contexts(tokens, n_reached)
        n_records, n_reached = _leave(
            graph, tokens, n_active, records, n_records, frame + 1, best - pruning.record_beam
        )
    return _cut(records, n_records), n_frames, open_record


@njit(nogil=True, cache=True)
def _new_tokens(graph: SearchGraph) -> Tokens:
    """Return empty working memory."""
    n_nodes, n_chains = graph.node_states.size, graph.chain_words.size
    n_contexts = graph.final_log_probs.size
    n_words = graph.arc_words.max() + 1
    return Tokens(
        np.full(n_nodes, -np.inf),
        np.zeros(n_nodes, dtype=np.int32),
        np.full(n_chains, -np.inf),
        np.zeros(n_chains, dtype=np.int32),
        np.zeros(n_chains, dtype=np.int32),
        np.zeros(n_chains, dtype=np.bool_),
        np.full((n_contexts, 2), -np.inf),
        np.full((n_contexts, 2), -1, dtype=np.int32),
        np.zeros(n_contexts, dtype=np.int32),
        np.zeros(n_contexts, dtype=np.bool_),
        np.zeros(n_words, dtype=np.int64),
    )


@njit(nogil=True, cache=True)
def _new_records(n_frames: int) -> Records:
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
def _grow(records: Records, more: int) -> Records:
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
def _cut(records: Records, n_records: int) -> Records:
    """Return the records in use."""
    return Records(
        records.chains[:n_records].copy(),
        records.ends[:n_records].copy(),
        records.predecessors[:n_records].copy(),
        records.scores[:n_records].copy(),
    )


@njit(nogil=True, cache=True)
def _enter(
    graph: SearchGraph,
    tokens: Tokens,
    n_reached: int,
    n_active: int,
    stamp: int,
    weights: Weights,
    threshold: float,
) -> tuple[int, int]:
    """Let words and silences in from every context reached; return the number of active chains and the last stamp.

    A word that a context lists itself is not entered through the backoff of that context: walking the backoff chain,
    each word is stamped where it is met first.
    """
    for i in range(n_reached):
        context = tokens.reached[i]
        by_word = tokens.context_scores[context, BY_WORD]
        score, record = by_word, tokens.context_records[context, BY_WORD]
        silence_score = by_word + weights.silence_log_prob
        if silence_score > -np.inf and silence_score >= threshold:
            for chain in range(graph.silence_offsets[context], graph.silence_offsets[context + 1]):
                n_active = _offer(tokens, n_active, chain, silence_score, record)
        if tokens.context_scores[context, BY_SILENCE] > by_word:
            score, record = tokens.context_scores[context, BY_SILENCE], tokens.context_records[context, BY_SILENCE]
        stamp += 1
        level = context
        while level >= 0:
            for arc in range(graph.arc_offsets[level], graph.arc_offsets[level + 1]):
                word = graph.arc_words[arc]
                if tokens.stamps[word] == stamp:
                    continue
                tokens.stamps[word] = stamp
                entry = score + weights.lm_scale * graph.arc_log_probs[arc] + weights.word_penalty
                if entry >= threshold:
                    for chain in range(graph.arc_chain_first[arc], graph.arc_chain_stop[arc]):
                        n_active = _offer(tokens, n_active, chain, entry, record)
            score += weights.lm_scale * graph.backoff_log_weights[level]
            level = graph.backoff_contexts[level]
    return n_active, stamp


@njit(nogil=True, cache=True)
def _offer(tokens: Tokens, n_active: int, chain: int, score: float, record: int) -> int:
    """Put a token before a chain if it is the best there; return the number of active chains."""
    if score > tokens.entry_scores[chain]:
        tokens.entry_scores[chain] = score
        tokens.entry_predecessors[chain] = record
        if not tokens.is_active[chain]:
            tokens.is_active[chain] = True
            tokens.active[n_active] = chain
            n_active += 1
    return n_active


@njit(nogil=True, cache=True)
def _move(
    graph: SearchGraph, tokens: Tokens, n_active: int, frame_scores: NDArray[np.float64]
) -> tuple[float, int, int]:
    """Move every token on by one frame; return the best score, its node and the number of tokens alive."""
    best, best_node, n_alive = -np.inf, -1, 0
    for i in range(n_active):
        chain = tokens.active[i]
        first = graph.chain_offsets[chain]
        # From the last node to the first, so that each still sees its neighbour's score of the frame before.
        for node in range(graph.chain_offsets[chain + 1] - 1, first - 1, -1):
            score = tokens.scores[node] + graph.node_log_stay[node]
            if node > first:
                arriving = tokens.scores[node - 1] + graph.node_log_advance[node - 1]
                record = tokens.predecessors[node - 1]
            else:
                arriving, record = tokens.entry_scores[chain], tokens.entry_predecessors[chain]
            if arriving > score:
                score = arriving
                tokens.predecessors[node] = record
            score += frame_scores[graph.node_states[node]]
            tokens.scores[node] = score
            n_alive += score > -np.inf
            if score > best:
                best, best_node = score, node
        tokens.entry_scores[chain] = -np.inf
    return best, best_node, n_alive


@njit(nogil=True, cache=True)
def _threshold(
    graph: SearchGraph, tokens: Tokens, n_active: int, n_alive: int, best: float, pruning: Pruning
) -> float:
    """Return the score below which tokens are thrown away, by beam and by number of tokens.

    At most ``max_active`` tokens stay, to the resolution of a histogram of 512 bins; the best bin always stays.
    """
    threshold = best - pruning.beam
    if pruning.max_active == 0 or n_alive <= pruning.max_active:
        return threshold
    low = best
    for i in range(n_active):
        chain = tokens.active[i]
        for node in range(graph.chain_offsets[chain], graph.chain_offsets[chain + 1]):
            score = tokens.scores[node]
            if score >= threshold and -np.inf < score < low:
                low = score
    if low == best:
        return threshold
    counts = np.zeros(N_BINS, dtype=np.int64)
    width = (best - low) / (N_BINS - 1)
    for i in range(n_active):
        chain = tokens.active[i]
        for node in range(graph.chain_offsets[chain], graph.chain_offsets[chain + 1]):
            if tokens.scores[node] >= low:
                counts[int((best - tokens.scores[node]) / width)] += 1
    n_kept, bins = counts[0], 1
    while bins < N_BINS and n_kept + counts[bins] <= pruning.max_active:
        n_kept += counts[bins]
        bins += 1
    return max(threshold, best - width * bins) if bins < N_BINS else threshold


@njit(nogil=True, cache=True)
def _prune(graph: SearchGraph, tokens: Tokens, n_active: int, threshold: float) -> int:
    """Throw away tokens below the threshold and return the number of chains that still have one."""
    n_kept = 0
    for i in range(n_active):
        chain = tokens.active[i]
        alive = False
        for node in range(graph.chain_offsets[chain], graph.chain_offsets[chain + 1]):
            if tokens.scores[node] < threshold:
                tokens.scores[node] = -np.inf
            elif tokens.scores[node] > -np.inf:
                alive = True
        if alive:
            tokens.active[n_kept] = chain
            n_kept += 1
        else:
            tokens.is_active[chain] = False
    return n_kept


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
    record_threshold: float,
) -> tuple[int, int]:
    """Write the records of a boundary; return the number of records and of contexts reached."""
    n_reached = 0
    first_record = n_records
    for i in range(n_active):
        chain = tokens.active[i]
        last = graph.chain_offsets[chain + 1] - 1
        score = tokens.scores[last] + graph.node_log_advance[last]
        if score == -np.inf:
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
