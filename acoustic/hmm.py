"""Forward-backward and Viterbi over an utterance graph, in the log domain, within a beam.

The graph is left to right, so the nodes worth keeping at a frame lie in one window [low, high): the kernels store
only that window (frame t's scores begin at ``offsets[t]`` in one flat array), which keeps an hour-long recording
within memory. A window loses a node at its edge when the node is more than ``beam`` nats below the best one.

Axes: T frames, N nodes, U distinct states of the utterance (columns of the score matrix), A arcs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acoustic.graph import UtteranceGraph
from acoustic.topology import Topology

Floats = NDArray[np.float64]


class Band(NamedTuple):
    """The windows of nodes kept at each frame, and what was stored for them."""

    low: NDArray[np.int32]  # (T,)
    offsets: NDArray[np.int64]  # (T + 1,); window length is the difference
    scores: Floats  # (offsets[T],) log alpha, or the best path's score
    back: NDArray[np.int32]  # (offsets[T],) best predecessor, -1 = start (empty in forward-backward)


class Posteriors(NamedTuple):
    """What one utterance adds to the statistics of the E step."""

    log_likelihood: float
    occupancy: Floats  # (T, U) P(state at frame | utterance)
    stays: Floats  # (N,) expected number of self-loops
    visits: Floats  # (N,) expected number of frames


@njit(nogil=True, cache=True)
def _log_add(a: float, b: float) -> float:
    """Return log(exp a + exp b)."""
    if a < b:
        a, b = b, a
    if b < a - 40.0:  # exp(-40) is below the last digit of a float64
        return a
    return a + np.log1p(np.exp(b - a))


@njit(nogil=True, cache=True)
def _sweep(scores, columns, log_stay, log_move, arc_offsets, arc_sources, arc_weights, reach, beam, best):  # type: ignore[no-untyped-def]
    """Return the band of log alpha (``best`` false) or of best path scores with back pointers (``best`` true)."""
    n_frames, n_nodes = len(scores), len(columns)
    low = np.zeros(n_frames, np.int32)
    offsets = np.zeros(n_frames + 1, np.int64)
    kept = np.empty(64 * n_frames + n_nodes)
    back = np.empty(len(kept) if best else 0, np.int32)
    old_low, old_high, old = 0, 0, 0
    for t in range(n_frames):
        new_high = n_nodes if t == 0 else reach[old_high - 1] + 1
        begin = offsets[t]
        if begin + new_high - old_low > len(kept):
            grown = np.empty(2 * len(kept) + n_nodes)
            grown[:begin] = kept[:begin]
            kept = grown
            if best:
                grown_back = np.empty(len(kept), np.int32)
                grown_back[:begin] = back[:begin]
                back = grown_back
        top = -np.inf
        for n in range(old_low, new_high):
            value, source = -np.inf, -2
            if n < old_high:
                value, source = kept[old + n - old_low] + log_stay[n], n
            for a in range(arc_offsets[n], arc_offsets[n + 1]):
                p = arc_sources[a]
                if p < 0:
                    if t > 0:
                        continue
                    arriving = arc_weights[a]
                else:
                    if p < old_low or p >= old_high:
                        continue
                    arriving = kept[old + p - old_low] + log_move[p] + arc_weights[a]
                if best:
                    if arriving > value:
                        value, source = arriving, p
                else:
                    value = _log_add(value, arriving) if value > -np.inf else arriving
            value += scores[t, columns[n]]
            kept[begin + n - old_low] = value
            if best:
                back[begin + n - old_low] = source
            top = max(top, value)
        first, last = old_low, new_high
        while first < last - 1 and kept[begin + first - old_low] < top - beam:
            first += 1
        while last > first + 1 and kept[begin + last - 1 - old_low] < top - beam:
            last -= 1
        if first > old_low:
            shift = first - old_low
            for i in range(last - first):
                kept[begin + i] = kept[begin + i + shift]
                if best:
                    back[begin + i] = back[begin + i + shift]
        low[t] = first
        offsets[t + 1] = begin + last - first
        old_low, old_high, old = first, last, begin
    return low, offsets, kept[: offsets[n_frames]], back[: offsets[n_frames] if best else 0]


@njit(nogil=True, cache=True)
def _finish(low, offsets, kept, exits, best):  # type: ignore[no-untyped-def]
    """Return the total (or best) log score of ending at the last frame, and the best last node."""
    n_frames = len(low)
    begin, first = offsets[n_frames - 1], low[n_frames - 1]
    total, top, last = -np.inf, -np.inf, -1
    for i in range(offsets[n_frames] - begin):
        value = kept[begin + i] + exits[first + i]
        if value > top:
            top, last = value, first + i
        if value > -np.inf:
            total = _log_add(total, value) if total > -np.inf else value
    return (top if best else total), last


@njit(nogil=True, cache=True)
def _backward(scores, columns, log_stay, log_move, arc_offsets, arc_sources, arc_weights, exits, low, offsets, alpha, total):  # type: ignore[no-untyped-def]
    """Return occupancies (T, U), expected self-loops (N,) and visits (N,), by the backward recursion in the band."""
    n_frames, n_nodes = len(scores), len(columns)
    occupancy = np.zeros(scores.shape)
    stays, visits = np.zeros(n_nodes), np.zeros(n_nodes)
    beta, before = np.full(n_nodes, -np.inf), np.full(n_nodes, -np.inf)
    for n in range(low[n_frames - 1], low[n_frames - 1] + offsets[n_frames] - offsets[n_frames - 1]):
        beta[n] = exits[n]
    for t in range(n_frames - 1, -1, -1):
        first, begin = low[t], offsets[t]
        high = first + offsets[t + 1] - begin
        earlier_first = low[t - 1] if t else 0
        earlier_high = earlier_first + offsets[t] - offsets[t - 1] if t else 0
        before[earlier_first:earlier_high] = -np.inf
        for n in range(first, high):
            posterior = alpha[begin + n - first] + beta[n] - total
            if posterior < -40.0:  # and with it all that its predecessors owe to it
                continue
            posterior = np.exp(posterior)
            occupancy[t, columns[n]] += posterior
            visits[n] += posterior
            leaving = beta[n] + scores[t, columns[n]]
            if earlier_first <= n < earlier_high:
                stay = leaving + log_stay[n]
                before[n] = _log_add(before[n], stay) if before[n] > -np.inf else stay
                stays[n] += np.exp(alpha[offsets[t - 1] + n - earlier_first] + stay - total)
            for a in range(arc_offsets[n], arc_offsets[n + 1]):
                p = arc_sources[a]
                if earlier_first <= p < earlier_high:
                    move = leaving + log_move[p] + arc_weights[a]
                    before[p] = _log_add(before[p], move) if before[p] > -np.inf else move
        beta, before = before, beta
    return occupancy, stays, visits


def _weights(graph: UtteranceGraph, topology: Topology) -> tuple[Floats, Floats, Floats]:
    """Return log P(stay), log P(move on) and the log probability to end at each node, each (N,)."""
    stay = topology.flat_self_loops()[graph.transitions]
    log_move = np.log1p(-stay)
    return np.log(stay), log_move, graph.exit_weights + log_move


def posteriors(
    scores: NDArray[np.floating],
    columns: NDArray[np.int64],
    graph: UtteranceGraph,
    topology: Topology,
    beam: float = np.inf,
) -> Posteriors:
    """Return the state posteriors of an utterance by forward-backward (Rabiner 1989, (27), (37)).

    Parameters
    ----------
    scores : (T, U) log-likelihoods
    columns : (N,) column of ``scores`` that belongs to each node
    beam : nats below the best node at which the edge of the window is cut

    Returns
    -------
    Posteriors with ``log_likelihood`` -inf (and zeros) if no path through the graph was found
    """
    log_stay, log_move, exits = _weights(graph, topology)
    arcs = (graph.arc_offsets, graph.arc_sources, graph.arc_weights)
    low, offsets, alpha, _ = _sweep(scores, columns, log_stay, log_move, *arcs, graph.reach, beam, False)
    total, _ = _finish(low, offsets, alpha, exits, False)
    if not np.isfinite(total):
        return Posteriors(-np.inf, np.zeros(scores.shape), np.zeros(graph.n_nodes), np.zeros(graph.n_nodes))
    expected = _backward(scores, columns, log_stay, log_move, *arcs, exits, low, offsets, alpha, total)
    return Posteriors(total, *expected)


def best_path(
    scores: NDArray[np.floating],
    columns: NDArray[np.int64],
    graph: UtteranceGraph,
    topology: Topology,
    beam: float = np.inf,
) -> tuple[float, NDArray[np.int32]]:
    """Return the score of the best path and its node at each frame (T,); -inf and no nodes if there is none.

    Parameters are those of `posteriors`.
    """
    log_stay, log_move, exits = _weights(graph, topology)
    arcs = (graph.arc_offsets, graph.arc_sources, graph.arc_weights)
    band = Band(*_sweep(scores, columns, log_stay, log_move, *arcs, graph.reach, beam, True))
    score, last = _finish(band.low, band.offsets, band.scores, exits, True)
    if not np.isfinite(score):
        return -np.inf, np.empty(0, np.int32)
    path = np.empty(len(scores), np.int32)
    for t in range(len(scores) - 1, -1, -1):
        path[t] = last
        last = band.back[band.offsets[t] + last - band.low[t]]
    return score, path
