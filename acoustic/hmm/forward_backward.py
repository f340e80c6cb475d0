"""Forward-backward and Viterbi over an utterance graph, in the log domain, within a beam.

The graph is left to right, so the nodes worth keeping at a frame lie in one window [low, high): the kernels
store only that window, which keeps an hour-long recording within memory. A window loses a node at its edge
when the node is more than ``beam`` nats below the best one; from the left it loses a loop as a whole or not
at all, for arcs lead back in it.

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

_NEGLIGIBLE = -40.0  # exp(-40) is below the last digit of a float64
_WINDOW_GUESS = 64  # nodes a frame for which the kernel has room before it needs more
_WIDER = 4.0  # how much wider the second beam is
_MAX_CELLS = 1 << 27  # frames × nodes of a sweep without a beam, which takes up to 12 bytes for each


class Posteriors(NamedTuple):
    """What one utterance adds to the statistics of the E step."""

    log_likelihood: float
    occupancy: Floats  # (T, U) P(state at frame | utterance)
    stays: Floats  # (n_nodes,) expected number of self-loops
    visits: Floats  # (n_nodes,) expected number of frames


class _Hmm(NamedTuple):
    """An utterance graph with its probabilities, as the kernels take it."""

    columns: Longs  # (n_nodes,)
    log_stay: Floats  # (n_nodes,)
    log_move: Floats  # (n_nodes,)
    exits: Floats  # (n_nodes,) log probability to end after a node
    arc_offsets: Ints  # (n_nodes + 1,)
    arc_sources: Ints  # (n_arcs,)
    arc_weights: Floats  # (n_arcs,)
    reach: Ints  # (n_nodes,)
    floors: Ints  # (n_nodes,)


class _Band(NamedTuple):
    """The windows of nodes kept at each frame, and what was stored for them, one after the other."""

    low: Ints  # (T,)
    offsets: Longs  # (T + 1,) where a frame's window begins in the next two
    scores: Floats  # (offsets[T],) log alpha, or the best path's score
    back: Ints  # (offsets[T],) best predecessor, -1 = start (empty in forward-backward)


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
    band = _sweep(scores, hmm, beam, False)
    endings = _endings(band, hmm)
    if not np.isfinite(endings.max(initial=-np.inf)):
        return Posteriors(-np.inf, np.zeros(scores.shape), np.zeros(graph.n_nodes), np.zeros(graph.n_nodes))
    total = float(np.logaddexp.reduce(endings))
    return Posteriors(total, *_backward(scores, hmm, band, total))


def best_path(
    scores: Reals,
    columns: Longs,
    graph: UtteranceGraph,
    topology: Topology,
    beam: float = np.inf,
) -> tuple[float, Ints]:
    """Return the score of the best path and its node at each frame (T,); -inf and no nodes if there is none.

    Parameters are those of `posteriors`.
    """
    hmm = _with_probabilities(graph, columns, topology)
    band = _sweep(scores, hmm, beam, True)
    endings = _endings(band, hmm)
    if not np.isfinite(endings.max(initial=-np.inf)):
        return -np.inf, np.empty(0, np.int32)
    last = int(endings.argmax())
    return float(endings[last]), _trace_back(band, band.low[-1] + last)


def widening_beams(beam: float, n_frames: int, n_nodes: int) -> tuple[float, ...]:
    """Return the beams to try until one has a path: the given one, a wider one, and inf if memory allows."""
    beams = (beam, _WIDER * beam)
    return (*beams, np.inf) if n_frames * n_nodes <= _MAX_CELLS else beams


def _with_probabilities(graph: UtteranceGraph, columns: Longs, topology: Topology) -> _Hmm:
    stay = topology.flat_self_loops()[graph.transitions]
    log_move = np.log1p(-stay)
    arcs = (graph.arc_offsets, graph.arc_sources, graph.arc_weights)
    exits = graph.exit_weights + log_move
    return _Hmm(columns, np.log(stay), log_move, exits, *arcs, graph.reach, graph.floors)


def _endings(band: _Band, hmm: _Hmm) -> Floats:
    """Return the log score of ending after each node of the last window; none if there are no frames."""
    if not len(band.low):
        return np.empty(0)
    final, low = band.scores[band.offsets[-2] :], band.low[-1]
    return final + hmm.exits[low : low + len(final)]


@njit(nogil=True, cache=True)
def _sweep(scores: Reals, hmm: _Hmm, beam: float, best: bool) -> _Band:
    """Return the band of log alpha or, for the ``best`` path, of its scores with back pointers."""
    n_frames, n_nodes = len(scores), len(hmm.columns)
    low = np.zeros(n_frames, np.int32)
    offsets = np.zeros(n_frames + 1, np.int64)
    kept = np.empty(_WINDOW_GUESS * n_frames)
    back = np.empty(len(kept) if best else 0, np.int32)
    row, sources = np.empty(n_nodes), np.empty(n_nodes, np.int32)
    first, last = 0, n_nodes
    for t in range(n_frames):
        earlier, begin = first, offsets[t]
        before = kept[offsets[max(t - 1, 0)] : begin]
        if t > 0:
            last = hmm.reach[last - 1] + 1
        for n in range(first, last):
            if t == 0:
                row[n], sources[n] = _entry(hmm, n), -1
            elif best:
                row[n], sources[n] = _best_arrival(hmm, before, earlier, n)
            else:
                row[n] = _sum_of_arrivals(hmm, before, earlier, n)
            row[n] += scores[t, hmm.columns[n]]
        first, last = _trimmed(row, first, last, beam)
        first = hmm.floors[first]
        low[t], offsets[t + 1] = first, begin + last - first
        if offsets[t + 1] > len(kept):
            kept = _longer(kept, n_nodes)
            back = _longer(back, n_nodes) if best else back
        kept[begin : offsets[t + 1]] = row[first:last]
        if best:
            back[begin : offsets[t + 1]] = sources[first:last]
    return _Band(low, offsets, kept[: offsets[n_frames]], back[: offsets[n_frames]])


@njit(nogil=True, cache=True)
def _entry(hmm: _Hmm, node: int) -> float:
    """Return the log probability to start at a node."""
    for a in range(hmm.arc_offsets[node], hmm.arc_offsets[node + 1]):
        if hmm.arc_sources[a] < 0:
            return float(hmm.arc_weights[a])
    return -np.inf


@njit(nogil=True, cache=True)
def _sum_of_arrivals(hmm: _Hmm, before: Floats, low: int, node: int) -> float:
    """Return the log probability to come to a node from the window ``before`` that begins at node ``low``."""
    value = before[node - low] + hmm.log_stay[node] if node - low < len(before) else -np.inf
    for a in range(hmm.arc_offsets[node], hmm.arc_offsets[node + 1]):
        p = hmm.arc_sources[a]
        if low <= p < low + len(before):
            value = _log_add(value, before[p - low] + hmm.log_move[p] + hmm.arc_weights[a])
    return value


@njit(nogil=True, cache=True)
def _best_arrival(hmm: _Hmm, before: Floats, low: int, node: int) -> tuple[float, int]:
    """Return the score of the best way to come to a node from the window ``before``, and where from."""
    value = before[node - low] + hmm.log_stay[node] if node - low < len(before) else -np.inf
    source = node
    for a in range(hmm.arc_offsets[node], hmm.arc_offsets[node + 1]):
        p = hmm.arc_sources[a]
        if low <= p < low + len(before):
            arriving = before[p - low] + hmm.log_move[p] + hmm.arc_weights[a]
            if arriving > value:
                value, source = arriving, p
    return value, source


@njit(nogil=True, cache=True)
def _trimmed(row: Floats, first: int, last: int, beam: float) -> tuple[int, int]:
    """Return the window [first, last) without the nodes at its edges that are below the beam."""
    threshold = row[first:last].max() - beam
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


@njit(nogil=True, cache=True)
def _backward(scores: Reals, hmm: _Hmm, band: _Band, total: float) -> tuple[Floats, Floats, Floats]:
    """Return occupancies (T, U), expected self-loops and visits (n_nodes,), by the backward recursion."""
    n_frames, n_nodes = len(scores), len(hmm.columns)
    occupancy = np.zeros(scores.shape)
    stays, visits = np.zeros(n_nodes), np.zeros(n_nodes)
    beta, earlier_beta = hmm.exits.copy(), np.empty(n_nodes)
    for t in range(n_frames - 1, -1, -1):
        low, alpha = band.low[t], band.scores[band.offsets[t] : band.offsets[t + 1]]
        earlier_low = band.low[max(t - 1, 0)]
        earlier_alpha = band.scores[band.offsets[max(t - 1, 0)] : band.offsets[t]]
        earlier_high = earlier_low + len(earlier_alpha)
        earlier_beta[earlier_low:earlier_high] = -np.inf
        for n in range(low, low + len(alpha)):
            log_posterior = alpha[n - low] + beta[n] - total
            if log_posterior < _NEGLIGIBLE:  # hence also all that its predecessors get from it
                continue
            posterior = np.exp(log_posterior)
            occupancy[t, hmm.columns[n]] += posterior
            visits[n] += posterior
            leaving = beta[n] + scores[t, hmm.columns[n]]
            if earlier_low <= n < earlier_high:
                stay = leaving + hmm.log_stay[n]
                earlier_beta[n] = _log_add(earlier_beta[n], stay)
                stays[n] += np.exp(earlier_alpha[n - earlier_low] + stay - total)
            for a in range(hmm.arc_offsets[n], hmm.arc_offsets[n + 1]):
                p = hmm.arc_sources[a]
                if earlier_low <= p < earlier_high:
                    earlier_beta[p] = _log_add(
                        earlier_beta[p], leaving + hmm.log_move[p] + hmm.arc_weights[a]
                    )
        beta, earlier_beta = earlier_beta, beta
    return occupancy, stays, visits


@njit(nogil=True, cache=True)
def _trace_back(band: _Band, last: int) -> Ints:
    """Return the nodes (T,) of the best path that ends in node ``last``."""
    path = np.empty(len(band.low), np.int32)
    for t in range(len(path) - 1, -1, -1):
        path[t] = last
        last = band.back[band.offsets[t] + last - band.low[t]]
    return path


@njit(nogil=True, cache=True)
def _log_add(a: float, b: float) -> float:
    """Return log(exp a + exp b)."""
    if a < b:
        a, b = b, a
    if not b - a >= _NEGLIGIBLE:  # not a number when both are -inf
        return a
    return float(a + np.log1p(np.exp(b - a)))
