"""Forward-backward over an utterance graph, within a beam.

The graph is left to right, so the nodes worth keeping at a frame lie in one window [low, high): the kernels
store only that window, as those of `acoustic.hmm.viterbi` do.

Probabilities are multiplied, and divided at each frame by the largest forward one (Rabiner 1989, V.A): an
order faster than adding logarithms, but what is 650 nats below the best node is nothing.

Axes: T frames, U distinct states of the utterance (columns of the score matrix); n_nodes and n_arcs of the
graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from acoustic.hmm.graph import UtteranceGraph
from acoustic.hmm.topology import Topology
from foundation.arrays import Floats, Ints, Longs, Reals

_NEGLIGIBLE = 1e-17  # posteriors below are less than the last digit of the frame's
_LEAST = 1e-282  # forward probabilities below are 0: with those above, no backward one overflows
_WINDOW_GUESS = 64  # nodes a frame for which the kernel has room before it needs more


class Posteriors(NamedTuple):
    """What one utterance adds to the statistics of the E step."""

    log_likelihood: float
    occupancy: Floats  # (T, U) P(state at frame | utterance)
    stays: Floats  # (n_nodes,) expected number of self-loops
    visits: Floats  # (n_nodes,) expected number of frames


class _Hmm(NamedTuple):
    """An utterance graph with its probabilities, as the kernels take it."""

    columns: Longs  # (n_nodes,)
    stay: Floats  # (n_nodes,) probability to stay in a node
    exits: Floats  # (n_nodes,) probability to end after a node
    arc_offsets: Ints  # (n_nodes + 1,)
    arc_sources: Ints  # (n_arcs,)
    arcs: Floats  # (n_arcs,) probability to leave the source over an arc
    reach: Ints  # (n_nodes,)
    floors: Ints  # (n_nodes,)


class _Forward(NamedTuple):
    """The windows of nodes kept at each frame, one after the other, and their forward probabilities."""

    low: Ints  # (T,)
    offsets: Longs  # (T + 1,) where a frame's window begins in the next
    alphas: Floats  # (offsets[T],) divided by the largest of each frame
    tops: Floats  # (T,) the score that the frame's scores are taken from
    scales: Floats  # (T,) what the frame was divided by


def posteriors(
    scores: Reals,
    columns: Longs,
    graph: UtteranceGraph,
    topology: Topology,
    beam: float = np.inf,
) -> Posteriors:
    """Return the state posteriors of an utterance by forward-backward (Rabiner 1989, (27), (37)).

    Parameters
    ----------
    scores : (T, U) log-likelihoods
    columns : (n_nodes,) column of ``scores`` that belongs to each node
    graph : graph of the transcript
    topology : topology with the transition probabilities
    beam : nodes this many nats below the best node are cut off the edges of the window

    Returns
    -------
    Posteriors with ``log_likelihood`` -inf (and zeros) if no path through the graph was found
    """
    hmm = _with_probabilities(graph, columns, topology)
    forward = _forward(scores, hmm, beam)
    total = _ended(forward, hmm.exits)
    if not total > 0:
        return Posteriors(-np.inf, np.zeros(scores.shape), np.zeros(graph.n_nodes), np.zeros(graph.n_nodes))
    log_likelihood = float(np.log(total) + np.log(forward.scales).sum() + forward.tops.sum())
    return Posteriors(log_likelihood, *_backward(scores, hmm, hmm.exits / total, forward))


def _with_probabilities(graph: UtteranceGraph, columns: Longs, topology: Topology) -> _Hmm:
    stay = topology.flat_self_loops()[graph.transitions]
    sources = graph.arc_sources
    arcs = np.exp(graph.arc_weights) * np.where(sources < 0, 1.0, 1.0 - stay[sources])
    exits = np.exp(graph.exit_weights) * (1.0 - stay)
    return _Hmm(columns, stay, exits, graph.arc_offsets, sources, arcs, graph.reach, graph.floors)


@njit(nogil=True, cache=True)
def _forward(scores: Reals, hmm: _Hmm, beam: float) -> _Forward:
    """Return the scaled forward probabilities (Rabiner 1989, (20), (91)); 0 at the end without a path."""
    # Local variables, since each access to an array in a named tuple counts its references atomically.
    columns, stay, floors = hmm.columns, hmm.stay, hmm.floors
    arc_offsets, arc_sources, arcs = hmm.arc_offsets, hmm.arc_sources, hmm.arcs
    n_frames, n_nodes = len(scores), len(columns)
    low, offsets = np.zeros(n_frames, np.int32), np.zeros(n_frames + 1, np.int64)
    tops, scales = np.zeros(n_frames), np.ones(n_frames)
    alphas, row = np.empty(_WINDOW_GUESS * n_frames), np.empty(n_nodes)
    least = np.exp(-beam)
    first, last = 0, n_nodes
    for t in range(n_frames):
        earlier, begin = first, offsets[t]
        before = alphas[offsets[max(t - 1, 0)] : begin]
        if t == 0:
            for n in range(n_nodes):
                row[n] = _entry(hmm, n)
        else:
            last = hmm.reach[last - 1] + 1
            _arrive(row, before, earlier, first, last, stay, arcs, arc_offsets, arc_sources)
        tops[t], largest = _emit(row, scores[t], columns, first, last)
        if not largest > 0:  # no path
            offsets[t + 1 :] = begin
            break
        first, last = _trimmed(row, first, last, largest * least)
        first, scales[t] = floors[first], largest
        low[t], offsets[t + 1] = first, begin + last - first
        if offsets[t + 1] > len(alphas):
            alphas = _longer(alphas, n_nodes)
        for n in range(first, last):
            alpha = row[n] / largest
            alphas[begin + n - first] = alpha if alpha >= _LEAST else 0.0
    return _Forward(low, offsets, alphas[: offsets[n_frames]], tops, scales)


@njit(nogil=True, cache=True)
def _arrive(
    row: Floats,
    before: Floats,
    low: int,
    first: int,
    last: int,
    stay: Floats,
    arcs: Floats,
    arc_offsets: Ints,
    arc_sources: Ints,
) -> None:
    """Put the probabilities to come from the window ``before``, of nodes from ``low`` on, to some nodes."""
    for n in range(first, last):
        value = before[n - low] * stay[n] if n - low < len(before) else 0.0
        for a in range(arc_offsets[n], arc_offsets[n + 1]):
            p = arc_sources[a] - low
            if 0 <= p < len(before):
                value += before[p] * arcs[a]
        row[n] = value


@njit(nogil=True, cache=True)
def _emit(row: Floats, scores: Reals, columns: Longs, first: int, last: int) -> tuple[float, float]:
    """Multiply a frame's probabilities in; return the score that was taken as 0, and the largest product."""
    top = -np.inf
    for n in range(first, last):
        if row[n] > 0 and scores[columns[n]] > top:
            top = float(scores[columns[n]])
    largest = 0.0
    for n in range(first, last):
        if row[n] > 0:
            row[n] *= np.exp(scores[columns[n]] - top)
            largest = max(largest, row[n])
    return top, largest


@njit(nogil=True, cache=True)
def _ended(forward: _Forward, exits: Floats) -> float:
    """Return the scaled probability that the utterance ends with its last frame."""
    total = 0.0
    if len(forward.low):
        last, low = forward.alphas[forward.offsets[-2] :], forward.low[-1]
        for n in range(len(last)):
            total += last[n] * exits[low + n]
    return total


@njit(nogil=True, cache=True)
def _backward(scores: Reals, hmm: _Hmm, ends: Floats, forward: _Forward) -> tuple[Floats, Floats, Floats]:
    """Return occupancies (T, U), expected self-loops and visits (n_nodes,), by the backward recursion.

    The backward probabilities are scaled like the forward ones (Rabiner 1989, (94)): their products are
    posteriors. ``ends`` (n_nodes,) are those of the last frame.
    """
    n_frames, n_nodes = len(scores), len(hmm.columns)
    occupancy = np.zeros(scores.shape)
    stays, visits = np.zeros(n_nodes), np.zeros(n_nodes)
    beta, earlier_beta = ends.copy(), np.empty(n_nodes)
    for t in range(n_frames - 1, -1, -1):
        low, alpha = forward.low[t], forward.alphas[forward.offsets[t] : forward.offsets[t + 1]]
        earlier_low = forward.low[max(t - 1, 0)]
        earlier_alpha = forward.alphas[forward.offsets[max(t - 1, 0)] : forward.offsets[t]]
        earlier_high = earlier_low + len(earlier_alpha)
        earlier_beta[earlier_low:earlier_high] = 0.0
        for n in range(low, low + len(alpha)):
            posterior = alpha[n - low] * beta[n]
            if not posterior >= _NEGLIGIBLE:  # hence also all that its predecessors get from it
                continue
            occupancy[t, hmm.columns[n]] += posterior
            visits[n] += posterior
            leaving = beta[n] * np.exp(scores[t, hmm.columns[n]] - forward.tops[t]) / forward.scales[t]
            if earlier_low <= n < earlier_high:
                staying = leaving * hmm.stay[n]
                earlier_beta[n] += staying
                stays[n] += earlier_alpha[n - earlier_low] * staying
            for a in range(hmm.arc_offsets[n], hmm.arc_offsets[n + 1]):
                p = hmm.arc_sources[a]
                if earlier_low <= p < earlier_high:
                    earlier_beta[p] += leaving * hmm.arcs[a]
        beta, earlier_beta = earlier_beta, beta
    return occupancy, stays, visits


@njit(nogil=True, cache=True)
def _entry(hmm: _Hmm, node: int) -> float:
    """Return the probability to start at a node."""
    for a in range(hmm.arc_offsets[node], hmm.arc_offsets[node + 1]):
        if hmm.arc_sources[a] < 0:
            return float(hmm.arcs[a])
    return 0.0


@njit(nogil=True, cache=True)
def _trimmed(row: Floats, first: int, last: int, threshold: float) -> tuple[int, int]:
    """Return the window [first, last) without the nodes at its edges that are below a threshold."""
    while first < last - 1 and row[first] < threshold:
        first += 1
    while last > first + 1 and row[last - 1] < threshold:
        last -= 1
    return first, last


@njit(nogil=True, cache=True)
def _longer(array, n_more):  # type: ignore[no-untyped-def]
    """Return a copy with twice the room, and ``n_more`` places above that."""
    longer = np.empty(2 * len(array) + n_more, array.dtype)
    longer[: len(array)] = array
    return longer
