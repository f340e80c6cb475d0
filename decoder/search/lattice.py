"""Word lattices: the word ends that a search has found, joined wherever times and grammar allow.

From a lattice come the n best sentences, the confidence in a word, and the best sentence under other weights.

Every record of the search becomes a word hypothesis (word, start, end, acoustic score). Hypotheses are joined
when one ends where the next starts and the grammar allows it, with the exact grammar score of the join. The
start of a hypothesis is taken not to depend on the words before its grammar context; this is the word-pair
approximation of S. Ortmanns, H. Ney and X. Aubert, "A word graph algorithm for large vocabulary continuous
speech recognition", Computer Speech and Language 11(1), 1997.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decoder.search.compiled import BEFORE_SILENCE, BY_SILENCE, BY_WORD, Weights
from decoder.search.word_ends import (
    ArcTable,
    SearchResult,
    WordEnds,
    final_log_probs_at,
    final_scores,
    first_nodes,
    trace,
)
from foundation.arrays import Floats, Ints, Longs
from foundation.compiled import njit

N_WAYS = 3
MAX_EDGES_PER_FRAME = 500  # by feel
MIN_BEAM = 1e-3  # by feel


class _Arcs(NamedTuple):
    """The arrays of an `ArcTable`, and the weights of the decoder.

    Compiled code takes only records of its own module, see `decoder.search.compiled`.
    """

    offsets: Ints
    labels: Ints
    destination_first: Ints
    destination_stop: Ints
    log_probs: Floats
    backoff_contexts: Ints
    backoff_log_weights: Floats
    seam_offsets: Ints
    seam_nodes: Ints
    lm_scale: float
    word_penalty: float


@dataclass(frozen=True, eq=False)
class Lattice:
    """A directed acyclic graph of V nodes (boundary and grammar context) and E edges (words and silences).

    Attributes
    ----------
    boundaries : (V,) int32, ascending
    final_scores : (V,) float64, score of ending in a node, -inf = impossible
    start : the node all paths start from
    sources, targets : (E,) int32, nodes; sources ascend
    words : (E,) int32, word ids, -1 = silence
    scores : (E,) float64, acoustic and scaled grammar score, penalty included
    log_probs : (E,) float64, the part of the scores that is the grammar's, not scaled
    final_log_probs : (V,) float64, the same of the final scores; 0 of a search without a complete path
    beam : every edge is on a path at most this much worse than the best
    """

    boundaries: Ints
    final_scores: Floats
    start: int
    sources: Ints
    targets: Ints
    words: Ints
    scores: Floats
    log_probs: Floats
    final_log_probs: Floats
    beam: float


def build_lattice(
    table: ArcTable,
    result: SearchResult,
    weights: Weights,
    beam: float,
    max_edges_per_frame: int = MAX_EDGES_PER_FRAME,
) -> Lattice:
    """Return the lattice of a search: all edges on some path at most ``beam`` worse than the best one.

    Where that would be more than ``max_edges_per_frame``, the beam is halved until there are fewer, since
    memory could not hold all alternatives of very flat scores. If no path is complete, the lattice has the
    paths that end at the same boundary as the best one.
    """
    records, ways, usage = _with_pauses(result.records, weights.lm_scale)
    contexts, words = records.contexts, records.words
    keys = records.ends.astype(np.int64) * len(table.final_log_probs) + contexts
    keys = (keys * (1 + records.seams.max()) + records.seams) * N_WAYS + ways
    node_keys, first_records, nodes = np.unique(keys, return_index=True, return_inverse=True)
    node_scores = np.full(len(node_keys), -np.inf)
    np.maximum.at(node_scores, nodes, records.scores)
    boundaries = records.ends[first_records]

    node_ways = ways[first_records]
    last = (boundaries == records.ends[result.best]) & (node_ways != BEFORE_SILENCE)
    final, final_log_probs = np.where(last, 0.0, -np.inf), np.where(last, 0.0, -np.inf)
    if result.complete:
        ending = final_log_probs_at(table, contexts[first_records[last]], records.seams[first_records[last]])
        final[last], final_log_probs[last] = final_scores(ending, weights.lm_scale), ending
    # Starts descend, so that everything that can follow a record is known when the record is visited.
    followers = np.flatnonzero(records.predecessors >= 0)
    order = followers[np.argsort(-records.ends[records.predecessors[followers]], kind="stable")]
    max_edges = max_edges_per_frame * (1 + int(boundaries[-1]))
    seam_arrays = table.seams[:2] if table.seams else (np.zeros(0, dtype=np.int32),) * 2
    arcs = _Arcs(*table[:-2], *seam_arrays, weights.lm_scale, weights.word_penalty)
    while True:
        n_edges, sources, targets, edge_records, scores, log_probs = _join(
            arcs,
            order,
            words,
            records.labels,
            records.destinations,
            contexts,
            first_nodes(table.seams, records.seams[records.predecessors], records.labels),
            records.predecessors,
            records.scores,
            usage,
            nodes.astype(np.int32),
            np.searchsorted(boundaries, np.arange(boundaries[-1] + 2)),
            boundaries,
            contexts[first_records],
            records.seams[first_records],
            node_ways,
            node_scores,
            final,
            # Rounding must not cut the best path.
            result.log_score - beam - 1e-9 * (1.0 + abs(result.log_score)),
            max_edges,
        )
        if n_edges <= max_edges:
            break
        beam /= 2.0
        if beam < MIN_BEAM:  # too many ties: keep only the words of the best path
            order = np.array(trace(records, result.best)[::-1], dtype=np.int64)
            max_edges = len(order) * len(table.final_log_probs) * 2
    order = np.argsort(sources, kind="stable")
    return Lattice(
        boundaries=boundaries,
        final_scores=final,
        start=int(nodes[0]),
        sources=sources[order],
        targets=targets[order],
        words=words[edge_records[order]],
        scores=scores[order],
        log_probs=log_probs[order],
        final_log_probs=final_log_probs,
        beam=beam,
    )


def _with_pauses(records: WordEnds, lm_scale: float) -> tuple[WordEnds, Ints, Floats]:
    """Return the records, the way of each, and what its usage adds behind a word and behind silence.

    Where it counts whether silence follows a word, each word is there twice: as the one that words follow,
    and behind all records as the one that silence follows.
    """
    # The start counts as reached by a word.
    ways = np.where((records.words < 0) & (records.predecessors >= 0), BY_SILENCE, BY_WORD).astype(np.int32)
    if records.usage is None:
        return records, ways, np.zeros((len(ways), 2))
    n_records, spoken = len(ways), np.flatnonzero(records.words >= 0)
    origin, pauses = np.concatenate([np.arange(n_records), spoken]), records.usage[spoken, 2]
    before_silence = np.arange(n_records, dtype=np.int32)
    before_silence[spoken] = n_records + np.arange(len(spoken), dtype=np.int32)
    spread = WordEnds(*(values[origin] for values in records))  # type: ignore[index]
    spread.scores[n_records:] += lm_scale * pauses
    silent = np.flatnonzero(ways == BY_SILENCE)
    spread.predecessors[silent] = before_silence[records.predecessors[silent]]
    usage = records.usage[origin, :2]
    usage[n_records:] += pauses[:, None]
    return spread, np.concatenate([ways, np.full(len(spoken), BEFORE_SILENCE, np.int32)]), usage


@njit(nogil=True, cache=True)
def _follow(arcs: _Arcs, context: int, label: int, destination: int) -> float:
    """Return the log probability of a word end's arc in a context, -inf if there is none."""
    offsets, labels = arcs.offsets, arcs.labels
    log_weight = 0.0
    while context >= 0:
        low, high = offsets[context], offsets[context + 1]
        while low < high:
            middle = (low + high) // 2
            if labels[middle] < label:
                low = middle + 1
            else:
                high = middle
        if low < offsets[context + 1] and labels[low] == label:
            while low < offsets[context + 1] and labels[low] == label:
                if arcs.destination_first[low] <= destination < arcs.destination_stop[low]:
                    return float(log_weight + arcs.log_probs[low])
                low += 1
            return -np.inf
        log_weight += arcs.backoff_log_weights[context]
        context = arcs.backoff_contexts[context]
    return -np.inf


@njit(nogil=True, cache=True)
def _may_begin(arcs: _Arcs, seam: int, node: int) -> bool:
    """Return whether a word may begin with a node behind a seam."""
    low, high = arcs.seam_offsets[seam], arcs.seam_offsets[seam + 1]
    place = low + np.searchsorted(arcs.seam_nodes[low:high], node)
    return bool(place < high and arcs.seam_nodes[place] == node)


@njit(nogil=True, cache=True)
def _join(
    arcs: _Arcs,
    order: Longs,
    words: Ints,
    labels: Ints,
    destinations: Ints,
    contexts: Ints,
    begun: Ints,
    predecessors: Ints,
    record_scores: Floats,
    usage: Floats,
    nodes: Ints,
    node_offsets: Longs,
    boundaries: Ints,
    node_contexts: Ints,
    node_seams: Ints,
    node_ways: Ints,
    node_scores: Floats,
    final: Floats,
    threshold: float,
    max_edges: int,
) -> tuple[int, Ints, Ints, Ints, Floats, Floats]:
    """Return the number of edges on paths not below the threshold; source, target, record and scores of each.

    Gives up when there are more than ``max_edges``.

    Records are visited in ``order``; the arrays before ``nodes`` are indexed by record (``usage`` has a
    column behind a word and one behind silence), ``nodes`` gives each record's node, the nodes of boundary b
    are ``node_offsets[b]:node_offsets[b + 1]``, the rest is indexed by node.
    """
    n_edges = 0
    ends = np.empty((64 + 2 * order.size, 3), dtype=np.int32)
    scores = np.empty((len(ends), 2), dtype=np.float64)  # in all, of the grammar
    remaining = final.copy()  # the best score from a node to the end
    for record in order:
        target, before = nodes[record], predecessors[record]
        if not record_scores[record] + remaining[target] >= threshold:
            continue
        word, source = words[record], nodes[before]
        acoustic, penalty = record_scores[record] - record_scores[before], 0.0
        first, stop = source, source + 1
        if word >= 0:
            penalty = arcs.word_penalty
            log_prob = _follow(arcs, contexts[before], labels[record], destinations[record])
            acoustic -= arcs.lm_scale * (log_prob + usage[record, node_ways[source]]) + penalty
            first, stop = node_offsets[boundaries[source]], node_offsets[boundaries[source] + 1]
        while n_edges + stop - first > len(ends):
            ends = np.concatenate((ends, np.empty_like(ends)))
            scores = np.concatenate((scores, np.empty_like(scores)))
        if n_edges > max_edges:
            break
        for node in range(first, stop):
            score, log_prob, more = acoustic, 0.0, 0.0
            if word >= 0:
                if node_ways[node] == BEFORE_SILENCE:
                    continue
                more = usage[record, node_ways[node]]
            # Looking the word up takes most time, and its log probability never raises the score.
            highest = acoustic + penalty + arcs.lm_scale * max(more, 0.0)
            if node_scores[node] + highest + remaining[target] < threshold:
                continue
            if word >= 0:
                if begun[record] >= 0 and not _may_begin(arcs, node_seams[node], begun[record]):
                    continue
                log_prob = _follow(arcs, node_contexts[node], labels[record], destinations[record]) + more
                if log_prob == -np.inf:
                    continue
                score += arcs.lm_scale * log_prob + penalty
            if node_scores[node] + score + remaining[target] >= threshold:
                ends[n_edges, 0], ends[n_edges, 1], ends[n_edges, 2] = node, target, record
                scores[n_edges, 0], scores[n_edges, 1] = score, log_prob
                n_edges += 1
                remaining[node] = max(remaining[node], score + remaining[target])
    kept, found = ends[:n_edges], scores[:n_edges]
    return (
        n_edges,
        kept[:, 0].copy(),
        kept[:, 1].copy(),
        kept[:, 2].copy(),
        found[:, 0].copy(),
        found[:, 1].copy(),
    )


def best_remaining(lattice: Lattice) -> Floats:
    """Return the score of the best path from each node to the end, shape (V,) float64."""
    remaining: Floats = _best_remaining(
        lattice.sources, lattice.targets, lattice.scores, lattice.final_scores
    )
    return remaining


@njit(nogil=True, cache=True)
def _best_remaining(
    sources: Ints,
    targets: Ints,
    scores: Floats,
    final: Floats,
) -> Floats:
    remaining = final.copy()
    for edge in range(sources.size - 1, -1, -1):
        score = scores[edge] + remaining[targets[edge]]
        remaining[sources[edge]] = max(remaining[sources[edge]], score)
    return remaining


def edge_slacks(lattice: Lattice, remaining: Floats) -> Floats:
    """Return how much worse than the best path the best path over each edge is, shape (E,) float64."""
    arrived = _best_arrived(lattice.sources, lattice.targets, lattice.scores, lattice.start, len(remaining))
    through = arrived[lattice.sources] + lattice.scores + remaining[lattice.targets]
    slacks: Floats = np.maximum(remaining[lattice.start] - through, 0.0)
    return slacks


@njit(nogil=True, cache=True)
def _best_arrived(
    sources: Ints,
    targets: Ints,
    scores: Floats,
    start: int,
    n_nodes: int,
) -> Floats:
    """Return the score of the best path from the start to each node, shape (V,) float64."""
    arrived = np.full(n_nodes, -np.inf)
    arrived[start] = 0.0
    for edge in range(sources.size):
        arrived[targets[edge]] = max(arrived[targets[edge]], arrived[sources[edge]] + scores[edge])
    return arrived


# The n best distinct word sequences of a lattice, exactly and in order.

FIRST_WIDTH = 4.0  # how far from the best path the first search looks; by feel

# The edges of a path, last first: (edge, the edges before it).
Path = tuple[int, "Path | None"]
# For each node where a word sequence can end: the best score up to there, and its path.
Ends = dict[int, tuple[float, Path | None]]


@dataclass(frozen=True)
class LatticePath:
    """The best way to say a word sequence: its edges in order of time, silences too, and its total score."""

    edges: tuple[int, ...]
    log_score: float


class _Edges(NamedTuple):
    """The edges as lists, which Python reads faster; those of node v are ``offsets[v]:offsets[v + 1]``."""

    offsets: list[int]
    targets: list[int]
    words: list[int]
    scores: list[float]


def best_sequences(lattice: Lattice, n_best: int) -> list[LatticePath]:
    """Return up to ``n_best`` paths of different words, best first.

    The search first uses only the edges close to the best path, and widens as long as too few sequences are
    found. A path scores at most as well as the best path over each of its edges, so no path within the width
    is missed.
    """
    remaining = best_remaining(lattice)
    best = float(remaining[lattice.start])
    slacks = edge_slacks(lattice, remaining)
    width = FIRST_WIDTH
    while True:
        kept = np.flatnonzero(slacks <= width)
        everything = len(kept) == np.isfinite(slacks).sum()
        lowest = -np.inf if everything else best - width
        found = _best_sequences(lattice, kept, remaining.tolist(), n_best, lowest)
        if everything or len(found) == n_best:
            return found
        width *= 2.0


def _best_sequences(
    lattice: Lattice, kept: Longs, remaining: list[float], n_best: int, lowest: float
) -> list[LatticePath]:
    """Return up to ``n_best`` paths that score at least ``lowest`` and use only some edges, best first.

    A* over word sequences instead of paths: a sequence stands for all its times and silences at once, as in
    the on-the-fly determinisation of M. Mohri and M. Riley, "An efficient algorithm for the n-best-strings
    problem", ICSLP 2002. The best remaining score is known exactly, so each sequence that is extended leads
    to one of the best.
    """
    final = lattice.final_scores.tolist()
    edges = _Edges(
        np.searchsorted(lattice.sources[kept], np.arange(len(remaining) + 1)).tolist(),
        lattice.targets[kept].tolist(),
        lattice.words[kept].tolist(),
        lattice.scores[kept].tolist(),
    )
    ticket = itertools.count()  # equal scores leave in the order of arrival
    heap: list[tuple[float, int, Ends | LatticePath]] = []
    found: list[LatticePath] = []

    def push(ends: Ends) -> None:
        total = max(score + remaining[node] for node, (score, _) in ends.items())
        if total > -np.inf and total >= lowest:
            heapq.heappush(heap, (-total, next(ticket), ends))

    push({lattice.start: (0.0, None)})
    while heap and len(found) < n_best:
        item = heapq.heappop(heap)[2]
        if isinstance(item, LatticePath):
            found.append(LatticePath(tuple(kept[list(item.edges)].tolist()), item.log_score))
            continue
        item = _with_silences(edges, item)
        path = _finish(item, final)
        if path and path.log_score >= lowest:
            heapq.heappush(heap, (-path.log_score, next(ticket), path))
        for ends in _next_words(edges, item):
            push(ends)
    return found


def _offer(ends: Ends, node: int, score: float, path: Path) -> None:
    """Keep the better of two ways to a node."""
    if node not in ends or score > ends[node][0]:
        ends[node] = (score, path)


def _with_silences(edges: _Edges, ends: Ends) -> Ends:
    """Return the ends with those a silence leads to; a silence is never followed by another."""
    extended = dict(ends)
    for node, (score, path) in ends.items():
        for edge in range(edges.offsets[node], edges.offsets[node + 1]):
            if edges.words[edge] < 0:
                _offer(extended, edges.targets[edge], score + edges.scores[edge], (edge, path))
    return extended


def _next_words(edges: _Edges, ends: Ends) -> list[Ends]:
    """Return the ends of each word sequence that is one word longer."""
    by_word: dict[int, Ends] = {}
    for node, (score, path) in ends.items():
        for edge in range(edges.offsets[node], edges.offsets[node + 1]):
            word = edges.words[edge]
            if word >= 0:
                longer = by_word.setdefault(word, {})
                _offer(longer, edges.targets[edge], score + edges.scores[edge], (edge, path))
    return list(by_word.values())


def _finish(ends: Ends, final: list[float]) -> LatticePath | None:
    """Return the best path that ends the sentence here, None if it may not end."""
    total, node = max((score + final[node], node) for node, (score, _) in ends.items())
    if total == -np.inf:
        return None
    path, taken = ends[node][1], []
    while path is not None:
        taken.append(path[0])
        path = path[1]
    return LatticePath(tuple(taken[::-1]), total)


# How sure a recognised word is: posteriors of the edges of a lattice.
#
# F. Wessel, R. Schlüter, K. Macherey and H. Ney, "Confidence measures for large vocabulary continuous speech
# recognition", IEEE Trans. Speech and Audio Processing 9(3), 2001.


def edge_posteriors(lattice: Lattice, scale: float) -> Floats:
    """Return the posterior of each edge when path scores are multiplied by a scale, shape (E,) float64.

    Forward-backward over the lattice; at every frame the posteriors of the edges across it sum to one.
    """
    found: Floats = _edge_posteriors(
        lattice.sources, lattice.targets, scale * lattice.scores, scale * lattice.final_scores, lattice.start
    )
    return found


@njit(nogil=True, cache=True)
def _edge_posteriors(
    sources: Ints,
    targets: Ints,
    scores: Floats,
    final: Floats,
    start: int,
) -> Floats:
    forward = np.full(final.size, -np.inf)
    forward[start] = 0.0
    backward = final.copy()
    for edge in range(sources.size):
        target = targets[edge]
        forward[target] = np.logaddexp(forward[target], forward[sources[edge]] + scores[edge])
    for edge in range(sources.size - 1, -1, -1):
        source = sources[edge]
        backward[source] = np.logaddexp(backward[source], backward[targets[edge]] + scores[edge])
    posteriors = np.empty(sources.size)
    for edge in range(sources.size):
        score = forward[sources[edge]] + scores[edge] + backward[targets[edge]] - backward[start]
        posteriors[edge] = np.exp(min(score, 0.0))
    return posteriors


def word_confidence(lattice: Lattice, posteriors: Floats, word: int, start: int, end: int) -> float:
    """Return the confidence in [0, 1] of a word between two boundaries.

    It is the largest posterior that the word has at any of its frames, where the posterior at a frame is
    summed over all edges of the same word across that frame: C_max of Wessel et al. 2001. Unlike the sum over
    all overlapping hypotheses it does not exceed 1.
    """
    starts, ends = lattice.boundaries[lattice.sources], lattice.boundaries[lattice.targets]
    same = (lattice.words == word) & (starts < end) & (ends > start)
    change = np.zeros(end - start + 1)
    np.add.at(change, np.maximum(starts[same], start) - start, posteriors[same])
    np.add.at(change, np.minimum(ends[same], end) - start, -posteriors[same])
    return float(np.clip(np.cumsum(change)[:-1].max(), 0.0, 1.0))


# The best words of a lattice with other weights than those it was made with.
#
# Acoustic and grammar scores, words and silences of an edge count separately, so other weights need no
# search: one pass over the edges finds the best of all paths in the lattice, exactly. That is the best path
# of the search, too, as far as the lattice holds it: words start where they do with the lattice's own weights
# (the word-pair approximation, above), and what was outside its beam is missing.


@dataclass(frozen=True, eq=False)
class WeighedLattice:
    """A lattice with the weights it was made with, and the names (W,) of its words."""

    lattice: Lattice
    weights: Weights
    names: tuple[str, ...]

    def best_words(self, weights: Weights) -> tuple[str, ...]:
        """Return the words, without silences, of the best path with some weights."""
        lattice, own = self.lattice, self.weights
        finals = np.isfinite(lattice.final_scores)  # 0 * -inf is not a number
        longer = np.where(finals, lattice.final_log_probs, 0.0) * (weights.lm_scale - own.lm_scale)
        path = _best_path(
            lattice.sources,
            lattice.targets,
            lattice.words,
            lattice.scores,
            lattice.log_probs,
            lattice.final_scores + longer,
            lattice.start,
            weights.lm_scale - own.lm_scale,
            weights.word_penalty - own.word_penalty,
            weights.silence_log_prob - own.silence_log_prob,
        )
        words = lattice.words[path]
        return tuple(self.names[word] for word in words[words >= 0])


@njit(nogil=True, cache=True)
def _best_path(
    sources: Ints,
    targets: Ints,
    words: Ints,
    scores: Floats,
    log_probs: Floats,
    final: Floats,
    start: int,
    more_scale: float,
    more_penalty: float,
    more_silence: float,
) -> Ints:
    """Return the edges of the best path, in order, when so much is added to the weights."""
    arrived = np.full(final.size, -np.inf)
    before = np.full(final.size, -1, dtype=np.int32)
    arrived[start] = 0.0
    for edge in range(sources.size):
        added = more_penalty if words[edge] >= 0 else more_silence
        score = arrived[sources[edge]] + scores[edge] + more_scale * log_probs[edge] + added
        if score > arrived[targets[edge]]:
            arrived[targets[edge]], before[targets[edge]] = score, edge
    node = np.argmax(arrived + final)
    n_edges, path = 0, np.empty(final.size, dtype=np.int32)
    while node != start:
        path[n_edges] = before[node]
        node = sources[before[node]]
        n_edges += 1
    return path[:n_edges][::-1].copy()
