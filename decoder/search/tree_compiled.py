"""All compiled code of the search over a prefix tree, with its records and constants.

They are in one file for the reason said in `decoder.search.compiled`.

Tokens. A token is at a node of the tree (a phone after a beginning of words) in a context of the grammar, and
holds a path for each state of the phone. The word is not known before its last phone is, so its log
probability cannot be added at its start. The token counts with the best of the words it can still become,
the *look-ahead*, which is put right node by node and replaced by the word's own log probability at its end:
H. Ney and S. Ortmanns, "Dynamic Programming Search for Continuous Speech Recognition", IEEE Signal Processing
Magazine 16(5), 1999. Look-ahead only decides what is dropped; it is no part of a token's score.

Backoff. Below a node where a context lists no words, all words are reached through its backoff context, with
one weight, and lead to the same contexts as from there. So the token moves there, and meets the tokens of all
other contexts that back off to the same one. A word that a context lists is never reached through its
backoff, since the token stays in the context on all nodes before the word. Most of the tree is thus searched
once, in the context of no words, and each other context has but the branches towards its own words. Nothing
is approximated.

Frames. Paths are offered to the next nodes (`_advance`) and to the first nodes of words (`_begin_words`,
`_begin_silences`) and taken in if they are good enough (`_accept`); then a frame moves each token on by one
state and adds the emission score (`_move`), tokens below the beam are dropped (`_prune`), and words end
(`_end_words`). What would be dropped after the next frame, whose scores are known, is not even taken in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foundation.arrays import Flags, Floats, Ints, Longs
from foundation.compiled import njit

BY_WORD, BY_SILENCE = 0, 1  # how a context was reached; a silence may only follow a word or the start
START = -1  # leaf of the record of the sentence's start
START_SEAM = 0  # seam of the sentence's start, and behind silence: everything may follow
# Places in `Memory.counts`: the last four are the slot of the best token and the word end before it, the
# boundary reached, and whether no token is left.
N_ACTIVE, N_FREE, STAMP, N_REACHED, N_ENDS, FIRST_END, N_OFFERS, BEST_SLOT, OPEN_END, BOUNDARY, IS_DEAD = (
    range(11)
)
N_COUNTS = 11
BEST, THRESHOLD = 0, 1  # places in `Memory.levels`: the best score, and that below which tokens are dropped
HASH_FACTOR = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: D. Knuth, "The Art of Computer Programming" 3, 6.4


class TreeGraph(NamedTuple):
    """The arrays the search walks over: a tree of pronunciations (N nodes, L leaves), and a grammar.

    Attributes
    ----------
    node_units … own_stop, n_roots : see `decoder.search.tree_network.PrefixTree`
    node_seams : (N,) int32, the seam behind the words that end in a node
    n_silences : the nodes and leaves below this number are silences
    seam_offsets : (E + 1,) int32, the words that may begin at seam e have the first nodes
        ``seam_nodes[seam_offsets[e]:seam_offsets[e + 1]]``
    seam_nodes : int32, ascending within a seam
    seam_pauses : (E,) bool, whether silence or the sentence's end may follow
    unit_offsets : (U + 1,) int32, the states of unit u are ``unit_offsets[u]:unit_offsets[u + 1]``
    unit_states : int32, emission state ids
    unit_log_stay, unit_log_advance : float64, log transition probabilities
    arc_offsets : (C + 1,) int32, the arcs of context c are ``arc_offsets[c]:arc_offsets[c + 1]``
    arc_leaves : (A,) int32, ascending within a context
    arc_log_probs : (A,) float64
    arc_contexts : (A,) int32, the context after the word
    backoff_contexts … final_log_probs : see :class:`decoder.grammars.grammar.GrammarTables`
    best_log_probs : (C,) float64, the best log probability of a word, backoff included
    dense_rows : (C,) int32, row of the next table, -1 = none
    dense_log_probs : (rows, N) float64, the best log probability of the arcs of a context below each node
    """

    node_units: Ints
    child_first: Ints
    child_stop: Ints
    leaf_first: Ints
    leaf_stop: Ints
    own_stop: Ints
    node_seams: Ints
    n_silences: int
    n_roots: int
    seam_offsets: Ints
    seam_nodes: Ints
    seam_pauses: Flags
    unit_offsets: Ints
    unit_states: Ints
    unit_log_stay: Floats
    unit_log_advance: Floats
    arc_offsets: Ints
    arc_leaves: Ints
    arc_log_probs: Floats
    arc_contexts: Ints
    backoff_contexts: Ints
    backoff_log_weights: Floats
    final_log_probs: Floats
    best_log_probs: Floats
    dense_rows: Ints
    dense_log_probs: Floats


class Rules(NamedTuple):
    """Weights and pruning of a search, see `decoder.search.compiled.Weights` and ``Pruning``.

    ``look_ahead`` scales the look-ahead as ``lm_scale`` does the grammar; 0 does without.
    """

    lm_scale: float
    word_penalty: float
    silence_log_prob: float
    beam: float
    max_active: int
    record_beam: float
    look_ahead: float


class Memory(NamedTuple):
    """Working memory of one search: tokens in numbered slots, junctions reached, a hash table of both."""

    nodes: Ints  # (n_slots,) node of the token
    contexts: Ints  # (n_slots,)
    arc_first: Ints  # (n_slots,) the context's arcs to words below the node …
    arc_stop: Ints  # (n_slots,)
    ahead: Floats  # (n_slots,) look-ahead, scaled
    entry_scores: Floats  # (n_slots,) best score waiting before the first state
    entry_ends: Ints  # (n_slots,) record before that path
    best: Floats  # (n_slots,) best score of a state with look-ahead
    scores: Floats  # (n_slots, K) best score that ends in each state
    ends: Ints  # (n_slots, K) record before that path
    active: Ints  # (n_slots,) slots in use
    free: Ints  # (n_slots,) slots not in use
    keys: Longs  # (n_table,) node, or number of nodes + seam, and context
    slots: Ints  # (n_table,) slot of the token, or number of the junction
    stamps: Longs  # (n_table,) entries with another stamp than the latest are empty
    junction_contexts: Ints  # (n_junctions,) context of each junction reached at this boundary
    junction_seams: Ints  # (n_junctions,)
    junction_scores: Floats  # (n_junctions, 2) best score reached by word, by silence
    junction_ends: Ints  # (n_junctions, 2)
    counts: Longs  # (N_COUNTS,) see `N_ACTIVE` and its neighbours
    levels: Floats  # (2,) see `BEST` and its neighbour


class Offers(NamedTuple):
    """The paths that are about to enter a node of the tree at a boundary, Q of them."""

    nodes: Ints  # (Q,)
    contexts: Ints  # (Q,) context the path comes from
    arc_first: Ints  # (Q,) the context's arcs among which those to words below the node are …
    arc_stop: Ints  # (Q,)
    scores: Floats  # (Q,)
    emissions: Floats  # (Q,) emission score of the node's first state in the next frame
    ends: Ints  # (Q,) record before the path


class Ends(NamedTuple):
    """The word ends of a search; the first is the start of the sentence, with predecessor -1.

    Attributes
    ----------
    leaves : int32, -1 for the start
    contexts, seams : int32, the junction reached
    boundaries : int32
    predecessors : int32
    scores : float64, score of the best path up to here
    """

    leaves: Ints
    contexts: Ints
    seams: Ints
    boundaries: Ints
    predecessors: Ints
    scores: Floats


@njit(nogil=True, cache=True)
def begin(graph: TreeGraph, memory: Memory, start_context: int) -> None:
    """Let new ``memory`` (`decoder.search.tree_search`) stand at the start of a sentence."""
    counts = memory.counts
    counts[N_ENDS] = counts[FIRST_END] = 1
    counts[BEST_SLOT] = -1
    memory.levels[:] = -np.inf
    junction = _junction(graph, memory, start_context, START_SEAM)
    memory.junction_scores[junction, BY_WORD] = 0.0
    memory.junction_ends[junction, BY_WORD] = 0


@njit(nogil=True, cache=True)
def advance(
    graph: TreeGraph, scores: Floats, rules: Rules, memory: Memory, offers: Offers, ends: Ends
) -> tuple[Memory, Offers, Ends]:
    """Search the frames of some scores (T, S); return the arrays it was given, which may have grown.

    Once no token is left, nothing changes any more.
    """
    counts, levels = memory.counts, memory.levels
    for frame in range(scores.shape[0]):
        if counts[IS_DEAD]:
            break
        threshold, floor = levels[THRESHOLD], -np.inf
        if counts[BEST_SLOT] >= 0:  # as many tokens more as the limit dropped would be dropped again
            stay = _best_stay(graph, memory, counts[BEST_SLOT], scores[frame])
            floor = stay - (levels[BEST] - threshold)
        offers = _with_space(graph, memory, offers)
        counts[N_OFFERS] = 0
        _advance(graph, memory, offers, scores[frame], threshold, floor)
        _begin_words(graph, memory, offers, scores[frame], rules, threshold, floor)
        memory = _with_room(memory, counts[N_OFFERS] + counts[N_REACHED] * graph.n_silences, 0)
        _begin_silences(graph, memory, scores[frame], rules, threshold, floor)
        _accept(graph, memory, offers, rules, threshold, floor)
        best_slot = _move(graph, memory, scores[frame])
        if best_slot < 0:
            counts[IS_DEAD] = 1
            break
        counts[BEST_SLOT] = best_slot
        counts[OPEN_END] = memory.ends[best_slot, np.argmax(memory.scores[best_slot])]
        levels[BEST] = memory.best[best_slot]
        levels[THRESHOLD] = _threshold(memory, levels[BEST], rules)
        _prune(memory, graph.final_log_probs.size, levels[THRESHOLD])
        counts[BOUNDARY] += 1
        memory, ends = _end_words(graph, memory, ends, rules, levels[THRESHOLD])
    return memory, offers, ends


@njit(nogil=True, cache=True)
def end(graph: TreeGraph, rules: Rules, memory: Memory, ends: Ends) -> Ends:
    """Return the word ends, those of the last boundary unpruned, since pruning saves nothing at the end."""
    counts = memory.counts
    if counts[IS_DEAD] or not counts[BOUNDARY]:
        return ends
    counts[N_ENDS] = counts[FIRST_END]
    counts[STAMP] += 1  # empties the hash table
    found: Ends = _end_words(graph, memory, ends, rules, -np.inf)[1]
    return found


@njit(nogil=True, cache=True)
def _move(graph: TreeGraph, memory: Memory, frame_scores: Floats) -> int:
    """Move every token on by one frame; return the slot of the best one, -1 if none is left."""
    offsets, states = graph.unit_offsets, graph.unit_states
    log_stay, log_advance = graph.unit_log_stay, graph.unit_log_advance
    all_scores, all_ends = memory.scores, memory.ends
    overall, best_slot = -np.inf, -1
    for i in range(memory.counts[N_ACTIVE]):
        slot = memory.active[i]
        unit = graph.node_units[memory.nodes[slot]]
        first = offsets[unit]
        arriving, arriving_end = memory.entry_scores[slot], memory.entry_ends[slot]
        memory.entry_scores[slot] = -np.inf
        best = -np.inf
        for k in range(offsets[unit + 1] - first):
            score, end = all_scores[slot, k] + log_stay[first + k], all_ends[slot, k]
            leaving = all_scores[slot, k] + log_advance[first + k]
            all_ends[slot, k] = arriving_end if arriving > score else end
            score = max(arriving, score) + frame_scores[states[first + k]]
            all_scores[slot, k] = score
            best = max(best, score)
            arriving, arriving_end = leaving, end
        best += memory.ahead[slot]
        memory.best[slot] = best
        if best > overall:
            overall, best_slot = best, slot
    return best_slot


@njit(nogil=True, cache=True)
def _threshold(memory: Memory, best: float, rules: Rules) -> float:
    """Return the score below which tokens are dropped, by beam and by number of tokens."""
    threshold = best - rules.beam
    n_active = memory.counts[N_ACTIVE]
    if 0 < rules.max_active < n_active:
        scores = memory.best[memory.active[:n_active]]
        kept = np.partition(scores, n_active - rules.max_active)[n_active - rules.max_active]
        threshold = max(threshold, kept)
    return threshold


@njit(nogil=True, cache=True)
def _prune(memory: Memory, n_contexts: int, threshold: float) -> None:
    """Drop the tokens below the threshold and write the others into an empty hash table."""
    counts, active, free, best = memory.counts, memory.active, memory.free, memory.best
    nodes, contexts = memory.nodes, memory.contexts
    keys, slots, stamps = memory.keys, memory.slots, memory.stamps
    counts[STAMP] += 1
    stamp, n_kept, n_free = counts[STAMP], 0, counts[N_FREE]
    for i in range(counts[N_ACTIVE]):
        slot = active[i]
        if best[slot] >= threshold and best[slot] > -np.inf:
            active[n_kept] = slot
            n_kept += 1
            key = nodes[slot] * np.int64(n_contexts) + contexts[slot]
            place = _place(keys, stamps, stamp, key)
            keys[place], slots[place], stamps[place] = key, slot, stamp
        else:
            free[n_free] = slot
            n_free += 1
    counts[N_ACTIVE], counts[N_FREE] = n_kept, n_free


@njit(nogil=True, cache=True)
def _place(keys: Longs, stamps: Longs, stamp: int, key: int) -> int:
    """Return where a key stands in the hash table, or the empty place where it would."""
    mask = np.uint64(keys.size - 1)
    place = ((np.uint64(key) * np.uint64(HASH_FACTOR)) >> np.uint64(32)) & mask
    while stamps[place] == stamp and keys[place] != key:
        place = (place + np.uint64(1)) & mask
    return int(place)


@njit(nogil=True, cache=True)
def _best_stay(graph: TreeGraph, memory: Memory, slot: int, next_scores: Floats) -> float:
    """Return the best score that a token has after the next frame if it stays in its state."""
    unit = graph.node_units[memory.nodes[slot]]
    first, best = graph.unit_offsets[unit], -np.inf
    for k in range(graph.unit_offsets[unit + 1] - first):
        score = memory.scores[slot, k] + graph.unit_log_stay[first + k]
        best = max(best, score + next_scores[graph.unit_states[first + k]])
    return float(best + memory.ahead[slot])


@njit(nogil=True, cache=True)
def _search(leaves: Ints, first: int, stop: int, leaf: int) -> int:
    """Return the first place in a sorted range that is not less than a leaf."""
    while first < stop:
        middle = (first + stop) // 2
        if leaves[middle] < leaf:
            first = middle + 1
        else:
            stop = middle
    return first


@njit(nogil=True, cache=True)
def _listed(offsets: Ints, leaves: Ints, context: int, low: int, high: int) -> tuple[int, int]:
    """Return the range of a context's arcs to the leaves ``low:high``."""
    first, stop = offsets[context], offsets[context + 1]
    if first < stop and leaves[stop - 1] - leaves[first] == stop - 1 - first:  # it lists all of a range
        shift = first - leaves[first]
        return min(max(low + shift, first), stop), min(max(high + shift, first), stop)
    first = _search(leaves, first, stop, low)
    return first, _search(leaves, first, stop, high)


@njit(nogil=True, cache=True)
def _look_ahead(
    rows: Ints,
    dense: Floats,
    offsets: Ints,
    leaves: Ints,
    log_probs: Floats,
    backoff_contexts: Ints,
    backoff_log_weights: Floats,
    node: int,
    low: int,
    high: int,
    context: int,
    first: int,
    stop: int,
) -> float:
    """Return the best log probability below a node of leaves ``low:high``, backoff included.

    The arrays are those of the graph; the arcs ``first:stop`` of the context lead below the node.
    """
    best, weight = -np.inf, 0.0
    while True:
        if rows[context] >= 0:
            best = max(best, weight + dense[rows[context], node])
        else:
            for arc in range(first, stop):
                best = max(best, weight + log_probs[arc])
        weight += backoff_log_weights[context]
        context = backoff_contexts[context]
        if context < 0:
            return best
        if rows[context] < 0:
            first, stop = _listed(offsets, leaves, context, low, high)


@njit(nogil=True, cache=True)
def _accept(
    graph: TreeGraph, memory: Memory, offers: Offers, rules: Rules, threshold: float, floor: float
) -> None:
    """Put the paths on offer before their nodes.

    Each goes into the context that it comes from, or else the first it backs off to which lists words below
    the node.
    """
    # Local variables, since each access to an array in a named tuple counts its references atomically.
    leaf_first, leaf_stop, leaves = graph.leaf_first, graph.leaf_stop, graph.arc_leaves
    rows, dense, log_probs = graph.dense_rows, graph.dense_log_probs, graph.arc_log_probs
    offsets, backoff_contexts = graph.arc_offsets, graph.backoff_contexts
    backoff_log_weights = graph.backoff_log_weights
    nodes, contexts, arc_first, arc_stop = memory.nodes, memory.contexts, memory.arc_first, memory.arc_stop
    all_ahead, entry_scores, entry_ends = memory.ahead, memory.entry_scores, memory.entry_ends
    keys, slots, stamps, counts = memory.keys, memory.slots, memory.stamps, memory.counts
    active, free, token_scores = memory.active, memory.free, memory.scores
    n_contexts, stamp, n_states = np.int64(graph.final_log_probs.size), counts[STAMP], token_scores.shape[1]
    lm_scale, look_ahead = rules.lm_scale, rules.look_ahead
    n_active, n_free = counts[N_ACTIVE], counts[N_FREE]
    offered_nodes, offered_contexts, offered_scores = offers.nodes, offers.contexts, offers.scores
    offered_first, offered_stop, offered_ends = offers.arc_first, offers.arc_stop, offers.ends
    emissions = offers.emissions
    for i in range(counts[N_OFFERS]):
        node, context, score = offered_nodes[i], offered_contexts[i], offered_scores[i]
        low, high = leaf_first[node], leaf_stop[node]
        first = _search(leaves, offered_first[i], offered_stop[i], low)
        stop = _search(leaves, first, offered_stop[i], high)
        while first == stop and context >= 0:
            score += lm_scale * backoff_log_weights[context]
            context = backoff_contexts[context]
            if context >= 0:
                first, stop = _listed(offsets, leaves, context, low, high)
        if context < 0:
            continue
        ahead = -np.inf
        if backoff_contexts[context] < 0 and rows[context] >= 0:  # most are; asked first, since it is cheap
            ahead = look_ahead * dense[rows[context], node]
            if score + ahead < threshold or score + ahead + emissions[i] < floor:
                continue
        key = node * n_contexts + context
        place = _place(keys, stamps, stamp, key)
        slot = slots[place] if stamps[place] == stamp else -1
        if slot >= 0:
            ahead = all_ahead[slot]
        elif ahead == -np.inf:
            ahead = look_ahead * _look_ahead(
                rows,
                dense,
                offsets,
                leaves,
                log_probs,
                backoff_contexts,
                backoff_log_weights,
                node,
                low,
                high,
                context,
                first,
                stop,
            )
        if score + ahead < threshold or score + ahead + emissions[i] < floor:
            continue
        if slot < 0:
            n_free -= 1
            slot = free[n_free]
            active[n_active] = slot
            n_active += 1
            nodes[slot], contexts[slot], arc_first[slot], arc_stop[slot] = node, context, first, stop
            all_ahead[slot], entry_scores[slot] = ahead, -np.inf
            for k in range(n_states):
                token_scores[slot, k] = -np.inf
            keys[place], slots[place], stamps[place] = key, slot, stamp
        if score > entry_scores[slot]:
            entry_scores[slot], entry_ends[slot] = score, offered_ends[i]
    counts[N_ACTIVE], counts[N_FREE] = n_active, n_free


@njit(nogil=True, cache=True)
def _new_token(memory: Memory, node: int, context: int) -> int:
    """Return a slot for a token without paths."""
    counts = memory.counts
    counts[N_FREE] -= 1
    slot = int(memory.free[counts[N_FREE]])
    memory.active[counts[N_ACTIVE]] = slot
    counts[N_ACTIVE] += 1
    memory.nodes[slot], memory.contexts[slot] = node, context
    memory.entry_scores[slot] = -np.inf
    memory.scores[slot] = -np.inf
    return slot


@njit(nogil=True, cache=True)
def _with_space(graph: TreeGraph, memory: Memory, offers: Offers) -> Offers:
    """Return room for all that the tokens and junctions of a boundary can offer."""
    n_offers = 0
    for i in range(memory.counts[N_REACHED]):
        seam = memory.junction_seams[i]
        n_offers += graph.seam_offsets[seam + 1] - graph.seam_offsets[seam]
    for i in range(memory.counts[N_ACTIVE]):
        node = memory.nodes[memory.active[i]]
        n_offers += graph.child_stop[node] - graph.child_first[node]
    if n_offers <= offers.nodes.size:
        return offers
    size = 2 * n_offers
    return Offers(
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(size),
        np.empty(size),
        np.empty(size, dtype=np.int32),
    )


@njit(nogil=True, cache=True)
def _with_room(memory: Memory, n_tokens: int, n_junctions: int) -> Memory:
    """Return the memory with room for more tokens and junctions, and a hash table at most half full."""
    counts = memory.counts
    if counts[N_FREE] >= n_tokens and counts[N_REACHED] + n_junctions <= memory.junction_seams.size:
        return memory
    old, junctions = memory.active.size, memory.junction_seams.size
    size = old if counts[N_FREE] >= n_tokens else 2 * old + n_tokens
    if counts[N_REACHED] + n_junctions > junctions:
        junctions = 2 * junctions + n_junctions
    n_states = memory.scores.shape[1]
    table = memory.keys.size
    while table < 2 * (size + junctions):
        table *= 2
    n_more = junctions - memory.junction_seams.size
    grown = Memory(
        _longer(memory.nodes, size),
        _longer(memory.contexts, size),
        _longer(memory.arc_first, size),
        _longer(memory.arc_stop, size),
        _longer(memory.ahead, size),
        _longer(memory.entry_scores, size),
        _longer(memory.entry_ends, size),
        _longer(memory.best, size),
        np.concatenate((memory.scores, np.empty((size - old, n_states)))),
        np.concatenate((memory.ends, np.zeros((size - old, n_states), dtype=np.int32))),
        _longer(memory.active, size),
        _longer(memory.free, size),
        np.zeros(table, dtype=np.int64),
        np.zeros(table, dtype=np.int32),
        np.zeros(table, dtype=np.int64),
        _longer(memory.junction_contexts, junctions),
        _longer(memory.junction_seams, junctions),
        np.concatenate((memory.junction_scores, np.empty((n_more, 2)))),
        np.concatenate((memory.junction_ends, np.zeros((n_more, 2), dtype=np.int32))),
        counts,
        memory.levels,
    )
    for slot in range(old, size):
        grown.free[counts[N_FREE]] = slot
        counts[N_FREE] += 1
    for old_place in np.flatnonzero(memory.stamps == counts[STAMP]):
        key = memory.keys[old_place]
        place = _place(grown.keys, grown.stamps, counts[STAMP], key)
        grown.keys[place], grown.slots[place] = key, memory.slots[old_place]
        grown.stamps[place] = counts[STAMP]
    return grown


@njit(nogil=True, cache=True)
def _longer(values, size):  # type: ignore[no-untyped-def]
    """Return an array with room for more behind its values."""
    found = np.empty(size, dtype=values.dtype)
    found[: values.size] = values
    return found


@njit(nogil=True, cache=True)
def _junction(graph: TreeGraph, memory: Memory, context: int, seam: int) -> int:
    """Return the number of a junction at this boundary, which may be a new one."""
    counts, n_nodes, n_contexts = memory.counts, graph.node_units.size, graph.final_log_probs.size
    key = (n_nodes + seam) * np.int64(n_contexts) + context
    place = _place(memory.keys, memory.stamps, counts[STAMP], key)
    if memory.stamps[place] != counts[STAMP]:
        junction = counts[N_REACHED]
        counts[N_REACHED] += 1
        memory.keys[place], memory.slots[place], memory.stamps[place] = key, junction, counts[STAMP]
        memory.junction_contexts[junction], memory.junction_seams[junction] = context, seam
        memory.junction_scores[junction] = -np.inf
        memory.junction_ends[junction] = -1
    return int(memory.slots[place])


@njit(nogil=True, cache=True)
def _begin_words(
    graph: TreeGraph,
    memory: Memory,
    offers: Offers,
    frame_scores: Floats,
    rules: Rules,
    threshold: float,
    floor: float,
) -> None:
    """Offer the paths of all junctions reached to the first nodes of words."""
    emissions = _first_emissions(graph, frame_scores)
    n_offers = memory.counts[N_OFFERS]
    nodes, contexts, ends = offers.nodes, offers.contexts, offers.ends
    arc_first, arc_stop, offered, next_emissions = (
        offers.arc_first,
        offers.arc_stop,
        offers.scores,
        offers.emissions,
    )
    junction_scores, seam_offsets, seam_nodes = memory.junction_scores, graph.seam_offsets, graph.seam_nodes
    for i in range(memory.counts[N_REACHED]):
        context, seam = memory.junction_contexts[i], memory.junction_seams[i]
        way = BY_SILENCE if junction_scores[i, BY_SILENCE] > junction_scores[i, BY_WORD] else BY_WORD
        score = junction_scores[i, way] + rules.word_penalty
        best_log_prob = graph.best_log_probs[context]
        if best_log_prob == -np.inf or score + rules.look_ahead * best_log_prob < threshold:
            continue
        needed = floor - (score + rules.look_ahead * best_log_prob)
        first, stop = graph.arc_offsets[context], graph.arc_offsets[context + 1]
        end = memory.junction_ends[i, way]
        for k in range(seam_offsets[seam], seam_offsets[seam + 1]):
            node = seam_nodes[k]
            if emissions[node] >= needed:
                nodes[n_offers], contexts[n_offers], ends[n_offers] = node, context, end
                arc_first[n_offers], arc_stop[n_offers] = first, stop
                offered[n_offers], next_emissions[n_offers] = score, emissions[node]
                n_offers += 1
    memory.counts[N_OFFERS] = n_offers


@njit(nogil=True, cache=True)
def _first_emissions(graph: TreeGraph, frame_scores: Floats) -> Floats:
    """Return the emission scores of the first states of the nodes of one unit, (n_roots,)."""
    emissions = np.empty(graph.n_roots)
    for node in range(graph.n_roots):
        emissions[node] = frame_scores[graph.unit_states[graph.unit_offsets[graph.node_units[node]]]]
    return emissions


@njit(nogil=True, cache=True)
def _begin_silences(
    graph: TreeGraph, memory: Memory, frame_scores: Floats, rules: Rules, threshold: float, floor: float
) -> None:
    """Let silences begin in the contexts of all junctions that a word has reached and silence may follow."""
    emissions, counts = _first_emissions(graph, frame_scores), memory.counts
    for i in range(counts[N_REACHED]):
        if not graph.seam_pauses[memory.junction_seams[i]]:
            continue
        context = memory.junction_contexts[i]
        score = memory.junction_scores[i, BY_WORD] + rules.silence_log_prob
        ahead = _ahead_of_silence(graph, context, rules)
        if score == -np.inf or score + ahead < threshold:
            continue
        for node in range(graph.n_silences):
            if score + ahead + emissions[node] < floor:
                continue
            key = node * np.int64(graph.final_log_probs.size) + context
            place = _place(memory.keys, memory.stamps, counts[STAMP], key)
            if memory.stamps[place] != counts[STAMP]:
                slot = _new_token(memory, node, context)
                memory.ahead[slot] = ahead
                memory.keys[place], memory.slots[place], memory.stamps[place] = key, slot, counts[STAMP]
            slot = memory.slots[place]
            if score > memory.entry_scores[slot]:
                memory.entry_scores[slot] = score
                memory.entry_ends[slot] = memory.junction_ends[i, BY_WORD]


@njit(nogil=True, cache=True)
def _ahead_of_silence(graph: TreeGraph, context: int, rules: Rules) -> float:
    """Return the look-ahead of a silence: the best that can follow, a word or the sentence's end."""
    ahead = -np.inf
    if rules.look_ahead and graph.best_log_probs[context] > -np.inf:
        ahead = rules.look_ahead * graph.best_log_probs[context] + rules.word_penalty
    if rules.look_ahead and graph.final_log_probs[context] > -np.inf:
        ahead = max(ahead, rules.look_ahead * graph.final_log_probs[context])
    return ahead if ahead > -np.inf else 0.0


@njit(nogil=True, cache=True)
def _advance(
    graph: TreeGraph, memory: Memory, offers: Offers, next_scores: Floats, threshold: float, floor: float
) -> None:
    """Offer the paths that leave a node to its children."""
    offsets, units, states, log_advance = (
        graph.unit_offsets,
        graph.node_units,
        graph.unit_states,
        graph.unit_log_advance,
    )
    child_first, child_stop = graph.child_first, graph.child_stop
    active, token_nodes, token_contexts = memory.active, memory.nodes, memory.contexts
    token_first, token_stop, all_ahead = memory.arc_first, memory.arc_stop, memory.ahead
    all_scores, all_ends = memory.scores, memory.ends
    nodes, contexts, ends, emissions = offers.nodes, offers.contexts, offers.ends, offers.emissions
    arc_first, arc_stop, offered = offers.arc_first, offers.arc_stop, offers.scores
    n_offers = memory.counts[N_OFFERS]
    for i in range(memory.counts[N_ACTIVE]):
        slot = active[i]
        node = token_nodes[slot]
        last = offsets[units[node] + 1] - 1
        place = last - offsets[units[node]]
        score = all_scores[slot, place] + log_advance[last]
        bound = score + all_ahead[slot]
        if bound < threshold or score == -np.inf:
            continue
        for child in range(child_first[node], child_stop[node]):
            emission = next_scores[states[offsets[units[child]]]]
            if bound + emission >= floor:
                nodes[n_offers], contexts[n_offers], ends[n_offers] = (
                    child,
                    token_contexts[slot],
                    all_ends[slot, place],
                )
                arc_first[n_offers], arc_stop[n_offers] = token_first[slot], token_stop[slot]
                offered[n_offers], emissions[n_offers] = score, emission
                n_offers += 1
    memory.counts[N_OFFERS] = n_offers


@njit(nogil=True, cache=True)
def _end_words(
    graph: TreeGraph,
    memory: Memory,
    ends: Ends,
    rules: Rules,
    threshold: float,
) -> tuple[Memory, Ends]:
    """Write the word ends of the boundary, and the junctions they reach in place of those of the last one."""
    offsets, units, log_advance = graph.unit_offsets, graph.node_units, graph.unit_log_advance
    leaf_first, own_stop, node_seams = graph.leaf_first, graph.own_stop, graph.node_seams
    arc_offsets, leaves, arc_contexts = graph.arc_offsets, graph.arc_leaves, graph.arc_contexts
    log_probs, backoff_contexts = graph.arc_log_probs, graph.backoff_contexts
    backoff_log_weights, lm_scale = graph.backoff_log_weights, rules.lm_scale
    active, nodes, all_scores, ahead = memory.active, memory.nodes, memory.scores, memory.ahead
    contexts, arc_first, arc_stop = memory.contexts, memory.arc_first, memory.arc_stop
    token_ends, counts = memory.ends, memory.counts
    boundary, record_threshold = counts[BOUNDARY], memory.levels[BEST] - rules.record_beam
    counts[FIRST_END] = counts[N_ENDS]
    counts[N_REACHED] = 0
    for i in range(counts[N_ACTIVE]):
        slot = active[i]
        node = nodes[slot]
        first, stop = leaf_first[node], own_stop[node]
        if first == stop:
            continue
        last = offsets[units[node] + 1] - 1
        place = last - offsets[units[node]]
        score = all_scores[slot, place]
        if score == -np.inf or score + ahead[slot] < threshold:
            continue
        if counts[N_ENDS] + stop - first > ends.leaves.size:
            ends = _with_more(ends, stop - first)
        memory = _with_room(memory, 0, stop - first)
        for leaf in range(first, stop):
            log_prob, context, seam, way = 0.0, contexts[slot], node_seams[node], BY_SILENCE
            if leaf >= graph.n_silences:
                way = BY_WORD
                weight, arc = _follow(
                    arc_offsets,
                    leaves,
                    backoff_contexts,
                    backoff_log_weights,
                    context,
                    arc_first[slot],
                    arc_stop[slot],
                    leaf,
                )
                if arc < 0 or score + lm_scale * (weight + log_probs[arc]) < threshold:
                    continue
                log_prob, context = weight + log_probs[arc], arc_contexts[arc]
            total = score + log_advance[last] + lm_scale * log_prob
            before = token_ends[slot, place]
            junction = _junction(graph, memory, context, seam)
            _record(memory, ends, leaf, junction, boundary, before, total, way, record_threshold)
    return memory, ends


@njit(nogil=True, cache=True)
def _with_more(ends: Ends, n_more: int) -> Ends:
    """Return the word ends with room for more, and at least twice as much as before."""
    size = 2 * ends.leaves.size + n_more
    return Ends(
        _longer(ends.leaves, size),
        _longer(ends.contexts, size),
        _longer(ends.seams, size),
        _longer(ends.boundaries, size),
        _longer(ends.predecessors, size),
        _longer(ends.scores, size),
    )


@njit(nogil=True, cache=True)
def _follow(
    offsets: Ints,
    leaves: Ints,
    backoff_contexts: Ints,
    backoff_log_weights: Floats,
    context: int,
    first: int,
    stop: int,
    leaf: int,
) -> tuple[float, int]:
    """Return the log weight of the backoffs to the arc of a leaf, and the arc, -1 if there is none.

    The arrays are those of the graph; ``first:stop`` are the arcs of the context among which that of the leaf
    would be.
    """
    weight = 0.0
    while True:
        arc = _search(leaves, first, stop, leaf)
        if arc < stop and leaves[arc] == leaf:
            return weight, arc
        weight += backoff_log_weights[context]
        context = backoff_contexts[context]
        if context < 0:
            return -np.inf, -1
        first, stop = _listed(offsets, leaves, context, leaf, leaf + 1)


@njit(nogil=True, cache=True)
def _record(
    memory: Memory,
    ends: Ends,
    leaf: int,
    junction: int,
    boundary: int,
    predecessor: int,
    score: float,
    way: int,
    record_threshold: float,
) -> None:
    """Write a word end, unless it is neither the best of its junction nor good enough for the lattice."""
    counts = memory.counts
    is_best = score > memory.junction_scores[junction, way]
    if not is_best and score < record_threshold:
        return
    # A best end below the threshold is overwritten by a better one of its junction.
    end = memory.junction_ends[junction, way]
    if end < counts[FIRST_END] or ends.scores[end] >= record_threshold:
        end = counts[N_ENDS]
        counts[N_ENDS] += 1
    ends.leaves[end], ends.boundaries[end] = leaf, boundary
    ends.contexts[end], ends.seams[end] = memory.junction_contexts[junction], memory.junction_seams[junction]
    ends.predecessors[end], ends.scores[end] = predecessor, score
    if is_best:
        memory.junction_scores[junction, way] = score
        memory.junction_ends[junction, way] = end
