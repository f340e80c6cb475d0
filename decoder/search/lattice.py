"""Word lattices: the word ends that a search has found, joined wherever times and grammar allow.

Every record of the search becomes a word hypothesis (word, start, end, acoustic score). Hypotheses are joined
when one ends where the next starts and the grammar allows it, with the exact grammar score of the join. The
start of a hypothesis is taken not to depend on the words before its grammar context; this is the word-pair
approximation of S. Ortmanns, H. Ney and X. Aubert, "A word graph algorithm for large vocabulary continuous
speech recognition", Computer Speech and Language 11(1), 1997.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decoder.search.compiled import Weights
from decoder.search.word_ends import ArcTable, SearchResult, final_scores, trace
from foundation.arrays import Floats, Ints, Longs
from foundation.compiled import njit

MAX_EDGES_PER_FRAME = 500
MIN_BEAM = 1e-3


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
    records = result.records
    contexts, words = records.contexts, records.words
    ways = (words < 0) & (records.predecessors >= 0)  # the start counts as reached by a word
    keys = (records.ends.astype(np.int64) * len(table.final_log_probs) + contexts) * 2 + ways
    node_keys, first_records, nodes = np.unique(keys, return_index=True, return_inverse=True)
    node_scores = np.full(len(node_keys), -np.inf)
    np.maximum.at(node_scores, nodes, records.scores)
    boundaries = records.ends[first_records]

    last = boundaries == records.ends[result.best]
    final, final_log_probs = np.where(last, 0.0, -np.inf), np.where(last, 0.0, -np.inf)
    if result.complete:
        ending = table.final_log_probs[contexts[first_records[last]]]
        final[last], final_log_probs[last] = final_scores(ending, weights.lm_scale), ending
    # Starts descend, so that everything that can follow a record is known when the record is visited.
    order = 1 + np.argsort(-records.ends[records.predecessors[1:]], kind="stable")
    max_edges = max_edges_per_frame * (1 + int(boundaries[-1]))
    arcs = _Arcs(*table[:-1], weights.lm_scale, weights.word_penalty)
    while True:
        n_edges, sources, targets, edge_records, scores, log_probs = _join(
            arcs,
            order,
            words,
            records.labels,
            records.destinations,
            contexts,
            records.predecessors,
            records.scores,
            nodes.astype(np.int32),
            np.searchsorted(boundaries, np.arange(boundaries[-1] + 2)),
            boundaries,
            contexts[first_records],
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
def _join(
    arcs: _Arcs,
    order: Longs,
    words: Ints,
    labels: Ints,
    destinations: Ints,
    contexts: Ints,
    predecessors: Ints,
    record_scores: Floats,
    nodes: Ints,
    node_offsets: Longs,
    boundaries: Ints,
    node_contexts: Ints,
    node_scores: Floats,
    final: Floats,
    threshold: float,
    max_edges: int,
) -> tuple[int, Ints, Ints, Ints, Floats, Floats]:
    """Return the number of edges on paths not below the threshold; source, target, record and scores of each.

    Gives up when there are more than ``max_edges``.

    Records are visited in ``order``; the arrays before ``nodes`` are indexed by record, ``nodes`` gives each
    record's node, the nodes of boundary b are ``node_offsets[b]:node_offsets[b + 1]``, the rest is indexed by
    node.
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
            acoustic -= (
                arcs.lm_scale * _follow(arcs, contexts[before], labels[record], destinations[record])
                + penalty
            )
            first, stop = node_offsets[boundaries[source]], node_offsets[boundaries[source] + 1]
        while n_edges + stop - first > len(ends):
            ends = np.concatenate((ends, np.empty_like(ends)))
            scores = np.concatenate((scores, np.empty_like(scores)))
        if n_edges > max_edges:
            break
        for node in range(first, stop):
            score, log_prob = acoustic, 0.0
            # Looking the word up takes most time, and a word never raises the score.
            if node_scores[node] + acoustic + penalty + remaining[target] < threshold:
                continue
            if word >= 0:
                log_prob = _follow(arcs, node_contexts[node], labels[record], destinations[record])
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
