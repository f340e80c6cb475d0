"""All compiled code of the search, with the records and constants it uses.

They are in one file because numba recompiles a function only when the function's own file changes. A change
in a function, constant or record of another module would go unnoticed by the compiled code on disk. So
nothing that is compiled here comes from other modules (``tests/test_compiled.py`` checks this for all
packages).

Frames. A frame moves every token on by one node and adds the emission score (`_move`). Chains below the beam
are dropped (`_prune`); tokens that leave a chain are written as records (`_leave`).

Entering words. A word that a context lists itself must not be entered through the backoff of that context,
though that may score better. To check this context by context would cost the whole vocabulary for each.
Instead, the tokens that back off to one context wait there and are taken in order of score: the first enters
every word except those its own context lists, and only these few words remain for the next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foundation.arrays import Flags, Floats, Ints, Longs
from foundation.compiled import njit

# How a context was reached; a silence may only follow a word or the start. A word counts twice: as the one
# that words follow, and as the one that silence follows, which need not be the same.
BY_WORD, BY_SILENCE, BEFORE_SILENCE = 0, 1, 2
START_CHAIN = -1  # chain of the record of the sentence's start
# Places in `Tokens.counts` and `Tokens.levels`.
N_REACHED, N_ACTIVE, STAMP, N_RECORDS, FIRST_RECORD, BEST_CHAIN, OPEN_RECORD, BOUNDARY, IS_DEAD = range(9)
THRESHOLD, RECORD_THRESHOLD = 0, 1
NO_NAN = {"nnan", "nsz"}  # scores are never NaN: no +inf can meet a -inf


class SearchGraph(NamedTuple):
    """The arrays the search walks over: nodes, chains of nodes, arcs of the grammar, contexts.

    Attributes
    ----------
    node_states : (n_nodes,) int32, emission state ids
    node_log_stay, node_log_advance : (n_nodes,) float64, log transition probabilities; the last advance
        leaves the chain
    chain_offsets : (n_chains + 1,) int32, the nodes of chain k are ``chain_offsets[k]:chain_offsets[k + 1]``
    chain_words : (n_chains,) int32, word ids, -1 = silence
    chain_contexts : (n_chains,) int32, the grammar context at the chain's end
    chain_log_probs : (n_chains, 2) float64, log probability that the usage of the chain's pronunciation adds
        behind a word, behind silence; 0 of silences
    chain_pauses : (n_chains,) float64, log probability that is added where silence follows the chain
    knows_usage : whether any of these log probabilities is not 0
    silence_offsets : (n_contexts + 1,) int32, the silence chains of context c are
        ``silence_offsets[c]:silence_offsets[c + 1]``
    arc_chain_first, arc_chain_stop : (n_arcs,) int32, the chains (pronunciations) of each arc
    arc_offsets … final_log_probs : the grammar, see :class:`decoder.grammars.grammar.GrammarTables`
    """

    node_states: Ints
    node_log_stay: Floats
    node_log_advance: Floats
    chain_offsets: Ints
    chain_words: Ints
    chain_contexts: Ints
    chain_log_probs: Floats
    chain_pauses: Floats
    knows_usage: bool
    silence_offsets: Ints
    arc_chain_first: Ints
    arc_chain_stop: Ints
    arc_offsets: Ints
    arc_words: Ints
    arc_log_probs: Floats
    arc_contexts: Ints
    backoff_contexts: Ints
    backoff_log_weights: Floats
    final_log_probs: Floats


class Weights(NamedTuple):
    """The decoder's weights, which are added to the scores of the graph (float64, natural log)."""

    lm_scale: float
    word_penalty: float
    silence_log_prob: float


class Pruning(NamedTuple):
    """The rules by which the search drops chains and records.

    Attributes
    ----------
    beam : chains whose best token is this much worse than the best token of the frame are dropped; inf drops
        none
    max_active : the worst chains beyond this number are dropped (ties stay); 0 drops none
    record_beam : records this much worse than the best token are dropped, unless they are the best of their
        context; inf drops none, -inf all
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
    """Working memory of one search: the state of every node, chain and context.

    ``counts`` are the numbers of contexts reached, active chains, stamps and records; of the records before
    the last boundary; the chain of the best token and the record before that token; the boundary reached;
    and whether no token is left. ``levels`` are the scores below which chains and records are dropped.
    """

    scores: Floats  # (n_nodes,) best score that ends in the node
    predecessors: Ints  # (n_nodes,) record before that path's token
    entry_scores: Floats  # (n_chains,) best score waiting before the chain
    entry_predecessors: Ints  # (n_chains,)
    chain_scores: Floats  # (n_chains,) best score in the chain
    active: Ints  # (n_chains,) list of chains with a token or an entry
    is_active: Flags  # (n_chains,)
    context_scores: Floats  # (n_contexts, 3) best score reached by word, by silence, and before silence
    context_records: Ints  # (n_contexts, 3)
    reached: Ints  # (n_contexts,) list of contexts reached at this boundary
    is_reached: Flags  # (n_contexts,)
    waiting_heads: Ints  # (n_contexts,) first of the tokens that back off to here, -1 = none
    waiting_next: Ints  # (Q,) next token waiting there, -1 = none
    waiting_levels: Ints  # (Q,) context the token waits at
    waiting_contexts: Ints  # (Q,) context the token comes from
    waiting_scores: Floats  # (Q,) score of the token with backoff weights
    stamps: Longs  # (W,) mark of the words that a waiting token may not enter
    counts: Longs  # (9,) see `N_REACHED` and its neighbours
    levels: Floats  # (2,) see `THRESHOLD` and its neighbour


@njit(nogil=True, cache=True)
def begin(tokens: Tokens, start_context: int) -> None:
    """Let new ``tokens`` (`decoder.search.viterbi`) stand at the start of a sentence."""
    for way in (BY_WORD, BEFORE_SILENCE):
        tokens.context_scores[start_context, way] = 0.0
        tokens.context_records[start_context, way] = 0
    tokens.is_reached[start_context] = True
    tokens.reached[0] = start_context
    tokens.counts[N_REACHED] = tokens.counts[N_RECORDS] = tokens.counts[FIRST_RECORD] = 1
    tokens.counts[BEST_CHAIN] = START_CHAIN
    tokens.levels[:] = -np.inf


@njit(nogil=True, cache=True)
def advance(
    graph: SearchGraph,
    scores: Floats,
    weights: Weights,
    pruning: Pruning,
    tokens: Tokens,
    records: Records,
) -> Records:
    """Search the frames of some scores (T, S); return the records, whose arrays may have grown.

    Once no token is left, nothing changes any more.
    """
    counts, levels = tokens.counts, tokens.levels
    for frame in range(scores.shape[0]):
        if counts[IS_DEAD]:
            break
        n_active, counts[STAMP] = enter(
            graph, tokens, counts[N_REACHED], counts[N_ACTIVE], counts[STAMP], weights, levels[THRESHOLD]
        )
        best_chain = _move(graph, tokens, n_active, scores[frame])
        if best_chain < 0:
            counts[IS_DEAD] = 1
            break
        best = tokens.chain_scores[best_chain]
        counts[BEST_CHAIN] = best_chain
        counts[OPEN_RECORD] = _best_predecessor(graph, tokens, best_chain)
        levels[THRESHOLD] = _threshold(tokens, n_active, best, pruning)
        levels[RECORD_THRESHOLD] = best - pruning.record_beam
        counts[N_ACTIVE] = _prune(graph, tokens, n_active, levels[THRESHOLD])
        if len(records.scores) < counts[N_RECORDS] + counts[N_ACTIVE]:
            records = _grow(records, counts[N_ACTIVE])
        counts[BOUNDARY] += 1
        counts[FIRST_RECORD] = counts[N_RECORDS]
        _end_words(graph, tokens, records, weights, levels[THRESHOLD])
    return records


@njit(nogil=True, cache=True)
def end(graph: SearchGraph, tokens: Tokens, records: Records, weights: Weights) -> None:
    """Write the records of the last boundary without pruning, which saves nothing after the last frame."""
    if tokens.counts[BOUNDARY] and not tokens.counts[IS_DEAD]:
        _end_words(graph, tokens, records, weights, -np.inf)


@njit(nogil=True, cache=True)
def _end_words(
    graph: SearchGraph, tokens: Tokens, records: Records, weights: Weights, threshold: float
) -> None:
    """Write the records of the boundary, in place of those written of it before."""
    counts = tokens.counts
    _clear_contexts(tokens, counts[N_REACHED])
    counts[N_RECORDS], counts[N_REACHED] = _leave(
        graph,
        tokens,
        counts[N_ACTIVE],
        records,
        counts[FIRST_RECORD],
        counts[BOUNDARY],
        weights.lm_scale,
        threshold,
        tokens.levels[RECORD_THRESHOLD],
    )


@njit(nogil=True, cache=True, fastmath=NO_NAN)
def _move(graph: SearchGraph, tokens: Tokens, n_active: int, frame_scores: Floats) -> int:
    """Move every token on by one frame; return the chain of the best token, -1 if none is left.

    Most of the time is spent in this loop. Choices within a chain are written without branches, which a
    processor could not predict here, and indices are unsigned, which saves a check: this makes it several
    times faster.
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
    """Return the score below which chains are dropped, by beam and by number of chains."""
    threshold = best - pruning.beam
    if 0 < pruning.max_active < n_active:
        scores = tokens.chain_scores[tokens.active[:n_active]]
        kept = np.partition(scores, n_active - pruning.max_active)[n_active - pruning.max_active]
        threshold = max(threshold, kept)
    return threshold


@njit(nogil=True, cache=True)
def _prune(graph: SearchGraph, tokens: Tokens, n_active: int, threshold: float) -> int:
    """Drop the chains below the threshold and return the number of those that stay."""
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
    lm_scale: float,
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
        before_silence = score + lm_scale * graph.chain_pauses[chain]
        pauses_best = way == BY_WORD and before_silence > tokens.context_scores[context, BEFORE_SILENCE]
        if not is_best and not pauses_best and score < record_threshold:
            continue
        # A best record below the threshold is overwritten by a better one of its context.
        slot, other = -1, -1
        if is_best:
            slot, other = (
                tokens.context_records[context, way],
                tokens.context_records[context, BEFORE_SILENCE],
            )
        elif pauses_best:
            slot, other = (
                tokens.context_records[context, BEFORE_SILENCE],
                tokens.context_records[context, way],
            )
        is_needed = slot == other and way == BY_WORD and not (is_best and pauses_best)
        if slot < first_record or is_needed or records.scores[slot] >= record_threshold:
            slot = n_records
            n_records += 1
        records.chains[slot] = chain
        records.ends[slot] = boundary
        records.predecessors[slot] = tokens.predecessors[last]
        records.scores[slot] = score
        if pauses_best:
            tokens.context_scores[context, BEFORE_SILENCE] = before_silence
            tokens.context_records[context, BEFORE_SILENCE] = slot
        if is_best:
            tokens.context_scores[context, way] = score
            tokens.context_records[context, way] = slot
        if (is_best or pauses_best) and not tokens.is_reached[context]:
            tokens.is_reached[context] = True
            tokens.reached[n_reached] = context
            n_reached += 1
    return n_records, n_reached


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


@njit(nogil=True, cache=True, inline="always")
def _offer(
    first: int,
    stop: int,
    score: float,
    lm_scale: float,
    log_probs: Floats,
    way: int,
    record: int,
    entry_scores: Floats,
    entry_predecessors: Ints,
    active: Ints,
    is_active: Flags,
    n_active: int,
) -> int:
    """Put a token before each chain of a range where it is the best; return the number of active chains."""
    for chain in range(first, stop):
        entry = score + lm_scale * log_probs[chain, way]
        if entry > entry_scores[chain]:
            entry_scores[chain] = entry
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
    """Start words and silences in all contexts reached; return the numbers of active chains and stamps."""
    # Local variables, since each access to an array in a named tuple counts its references atomically.
    entries, predecessors = tokens.entry_scores, tokens.entry_predecessors
    active, is_active = tokens.active, tokens.is_active
    offsets, log_probs, silences = graph.arc_offsets, graph.arc_log_probs, graph.silence_offsets
    first, stop, chain_log_probs = graph.arc_chain_first, graph.arc_chain_stop, graph.chain_log_probs
    lm_scale, penalty = weights.lm_scale, weights.word_penalty
    for i in range(n_reached):
        context = tokens.reached[i]
        score = tokens.context_scores[context, BEFORE_SILENCE] + weights.silence_log_prob
        if score > -np.inf and score >= threshold:
            n_active = _offer(
                silences[context],
                silences[context + 1],
                score,
                lm_scale,
                chain_log_probs,
                BY_WORD,
                tokens.context_records[context, BEFORE_SILENCE],
                entries,
                predecessors,
                active,
                is_active,
                n_active,
            )
    # The better way is the better one for all words, unless the words are not as usual behind both.
    for way in range(BY_WORD, BY_SILENCE + 1 if graph.knows_usage else BY_WORD + 1):
        n_waiting = 0
        for i in range(n_reached):
            context = tokens.reached[i]
            taken = way if graph.knows_usage else _best_way(tokens.context_scores, context)
            score, record = tokens.context_scores[context, taken], tokens.context_records[context, taken]
            if score > -np.inf and score + penalty >= threshold:  # words never raise a score
                for arc in range(offsets[context], offsets[context + 1]):
                    entry = score + lm_scale * log_probs[arc] + penalty
                    if entry >= threshold:
                        n_active = _offer(
                            first[arc],
                            stop[arc],
                            entry,
                            lm_scale,
                            chain_log_probs,
                            way,
                            record,
                            entries,
                            predecessors,
                            active,
                            is_active,
                            n_active,
                        )
            if score > -np.inf:
                n_waiting = _wait(graph, tokens, context, score, n_waiting, weights, threshold)
        for i in range(n_waiting):
            level = tokens.waiting_levels[i]
            if tokens.waiting_heads[level] >= 0:
                n_active, stamp = _enter_by_backoff(
                    graph, tokens, level, way, n_active, stamp, weights, threshold
                )
                tokens.waiting_heads[level] = -1
    return n_active, stamp


@njit(nogil=True, cache=True, inline="always")
def _best_way(context_scores: Floats, context: int) -> int:
    """Return which way to a context scores better, BY_WORD or BY_SILENCE."""
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
    way: int,
    n_active: int,
    stamp: int,
    weights: Weights,
    threshold: float,
) -> tuple[int, int]:
    """Let the tokens waiting at a context enter its words; return the numbers of active chains and stamps."""
    entries, predecessors, stamps = tokens.entry_scores, tokens.entry_predecessors, tokens.stamps
    active, is_active, backoff_contexts = tokens.active, tokens.is_active, graph.backoff_contexts
    offsets, words, log_probs = graph.arc_offsets, graph.arc_words, graph.arc_log_probs
    first, stop, chain_log_probs = graph.arc_chain_first, graph.arc_chain_stop, graph.chain_log_probs
    lm_scale, penalty = weights.lm_scale, weights.word_penalty
    remaining = np.arange(offsets[level], offsets[level + 1])
    n_remaining = remaining.size
    for waiting in _in_order(tokens, level):
        if n_remaining == 0:
            break
        context, score = tokens.waiting_contexts[waiting], tokens.waiting_scores[waiting]
        taken = way if graph.knows_usage else _best_way(tokens.context_scores, context)
        record = tokens.context_records[context, taken]
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
                    first[arc],
                    stop[arc],
                    entry,
                    lm_scale,
                    chain_log_probs,
                    way,
                    record,
                    entries,
                    predecessors,
                    active,
                    is_active,
                    n_active,
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
