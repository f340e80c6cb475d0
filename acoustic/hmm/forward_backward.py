"""Forward-backward over an utterance graph, within a beam.

The graph is left to right, so the nodes worth keeping at a frame lie in one window [low, high): the kernels
store only that window, as those of `acoustic.hmm.viterbi` do. A *band* says more exactly in and around which
frames each node has a posterior. With a model that is hardly another, no score beside the band is needed.

Probabilities are multiplied, and divided at each frame by the largest forward one (Rabiner 1989, V.A): an
order faster than adding logarithms, but what is 650 nats below the best node is nothing.

Axes: T frames, U distinct states of the utterance (columns of the score matrix); n_nodes and n_arcs of the
graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acoustic.hmm.graph import UtteranceGraph
from acoustic.hmm.topology import Topology
from acoustic.hmm.viterbi import check_log_likelihoods, longer, trimmed
from foundation.arrays import Floats, Ints, Longs, Reals
from foundation.compiled import njit

_MARGIN = 2  # frames that a band has beside those in which a node has a posterior; by feel
_NEGLIGIBLE = 1e-17  # posteriors below are less than the last digit of the frame's
_MOST_AT_END = 1e-6  # posterior at the end of a band's run up to which nothing is missed
_LEAST = 1e-282  # forward probabilities below are 0: with those above, no backward one overflows
_WINDOW_GUESS = 64  # nodes a frame for which the kernel has room before it needs more; by feel


class Posteriors(NamedTuple):
    """What one utterance adds to the statistics of the E step."""

    log_likelihood: float
    occupancy: Floats  # (T, U) P(state at frame | utterance)
    stays: Floats  # (n_nodes,) expected number of self-loops
    visits: Floats  # (n_nodes,) expected number of frames
    band: Ints | None = None  # (R, 3) where nodes have a posterior: runs of a node, a first frame and a stop


class Window(NamedTuple):
    """The nodes [low, high) that are looked at in each frame, (T,) each, and the largest number of them."""

    low: Ints
    high: Ints
    width: int


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
    check_log_likelihoods(scores, columns)
    low, n_nodes = np.zeros(len(scores), np.int32), graph.n_nodes
    window = Window(low, np.full(len(scores), n_nodes, np.int32), n_nodes)
    return _posteriors(scores, window, columns, graph, topology, beam)


def posteriors_within(
    scores: Reals, window: Window, graph: UtteranceGraph, topology: Topology, beam: float = np.inf
) -> Posteriors:
    """Return the posteriors of nodes if no path leaves a window, see `posteriors`.

    Scores and occupancies are those of the nodes of each frame's window, (T, W), the first of which is
    ``window.low``.
    """
    return _posteriors(scores, window, np.arange(graph.n_nodes), graph, topology, beam)


def _posteriors(
    scores: Reals, window: Window, columns: Longs, graph: UtteranceGraph, topology: Topology, beam: float
) -> Posteriors:
    """Return the posteriors; a node's column in the scores of a frame is that of ``columns`` less the low."""
    hmm = _with_probabilities(graph, columns, topology)
    forward = _forward(scores, window.low, window.high, hmm, beam)
    total = _ended(forward, hmm.exits)
    if not total > 0:
        return Posteriors(-np.inf, np.zeros(scores.shape), np.zeros(graph.n_nodes), np.zeros(graph.n_nodes))
    log_likelihood = float(np.log(total) + np.log(forward.scales).sum() + forward.tops.sum())
    return Posteriors(log_likelihood, *_backward(scores, window.low, hmm, hmm.exits / total, forward))


@njit(nogil=True, cache=True)
def window_of(band: Ints, n_frames: int, floors: Ints) -> Window:
    """Return the window of the nodes that have a run in a band (R, 3).

    A window that begins in a loop has the loop from its first node on, see ``floors`` of a graph, (n_nodes,).
    """
    low, high = np.full(n_frames, len(floors), np.int32), np.zeros(n_frames, np.int32)
    for r in range(len(band)):
        node = band[r, 0]
        for t in range(band[r, 1], band[r, 2]):
            low[t], high[t] = min(low[t], floors[node]), max(high[t], node + 1)
    return Window(low, high, (high - low).max())


@njit(nogil=True, cache=True)
def is_wide_enough(band: Ints, low: Ints, occupancy: Floats) -> bool:
    """Return whether the occupancies (T, W) within a band hardly reach the ends of its runs."""
    for r in range(len(band)):
        node, first, last = band[r, 0], band[r, 1], band[r, 2] - 1
        if first > 0 and occupancy[first, node - low[first]] > _MOST_AT_END:
            return False
        if last < len(low) - 1 and occupancy[last, node - low[last]] > _MOST_AT_END:
            return False
    return True


def _with_probabilities(graph: UtteranceGraph, columns: Longs, topology: Topology) -> _Hmm:
    stay = topology.flat_self_loops()[graph.transitions]
    sources = graph.arc_sources
    arcs = np.exp(graph.arc_weights) * np.where(sources < 0, 1.0, 1.0 - stay[sources])
    exits = np.exp(graph.exit_weights) * (1.0 - stay)
    return _Hmm(columns, stay, exits, graph.arc_offsets, sources, arcs, graph.reach, graph.floors)


@njit(nogil=True, cache=True)
def _forward(scores: Reals, lows: Ints, highs: Ints, hmm: _Hmm, beam: float) -> _Forward:
    """Return the scaled forward probabilities (Rabiner 1989, (20), (91)); 0 at the end without a path."""
    # Local variables and places in place of slices: each access to an array in a named tuple, and each slice,
    # counts references atomically.
    columns, reach, floors = hmm.columns, hmm.reach, hmm.floors
    stay, arc_offsets, arc_sources, arcs = hmm.stay, hmm.arc_offsets, hmm.arc_sources, hmm.arcs
    n_frames, n_nodes = len(scores), len(columns)
    low, offsets = np.zeros(n_frames, np.int32), np.zeros(n_frames + 1, np.int64)
    tops, scales = np.zeros(n_frames), np.ones(n_frames)
    alphas, row = np.empty(_WINDOW_GUESS * n_frames), _entries(hmm)
    least = np.exp(-beam)
    first, last = 0, n_nodes
    for t in range(n_frames):
        begin, earlier = offsets[t], last
        place = begin - earlier  # of node 0 in the window before
        first, last = max(first, lows[t]), min(reach[last - 1] + 1, highs[t])
        for n in range(first, last if t > 0 else 0):
            value = alphas[place + n] * stay[n] if n < earlier else 0.0
            for a in range(arc_offsets[n], arc_offsets[n + 1]):
                p = arc_sources[a]
                if low[t - 1] <= p < earlier:
                    value += alphas[place + p] * arcs[a]
            row[n] = value
        top = -np.inf
        for n in range(first, last):
            if row[n] > 0 and scores[t, columns[n] - lows[t]] > top:
                top = float(scores[t, columns[n] - lows[t]])
        largest = 0.0
        for n in range(first, last):
            if row[n] > 0:
                row[n] *= np.exp(scores[t, columns[n] - lows[t]] - top)
                largest = max(largest, row[n])
        if not largest > 0:  # no path
            offsets[t + 1 :] = begin
            break
        first, last = trimmed(row, first, last, largest * least)
        first = floors[first]
        low[t], offsets[t + 1], tops[t], scales[t] = first, begin + last - first, top, largest
        if offsets[t + 1] > len(alphas):
            alphas = longer(alphas, n_nodes)
        for n in range(first, last):
            alpha = row[n] / largest
            alphas[begin + n - first] = alpha if alpha >= _LEAST else 0.0
    return _Forward(low, offsets, alphas[: offsets[n_frames]], tops, scales)


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
def _backward(
    scores: Reals, lows: Ints, hmm: _Hmm, ends: Floats, forward: _Forward
) -> tuple[Floats, Floats, Floats, Ints]:
    """Return occupancies, expected self-loops and visits (n_nodes,), by the backward recursion, and the band.

    The backward probabilities are scaled like the forward ones (Rabiner 1989, (94)): their products are
    posteriors. ``ends`` (n_nodes,) are those of the last frame.
    """
    # Local variables and places in place of slices, see `_forward`.
    columns, stay = hmm.columns, hmm.stay
    arc_offsets, arc_sources, arcs = hmm.arc_offsets, hmm.arc_sources, hmm.arcs
    starts, offsets, alphas, tops, scales = forward
    n_frames, n_nodes = len(scores), len(columns)
    occupancy = np.zeros(scores.shape)
    stays, visits = np.zeros(n_nodes), np.zeros(n_nodes)
    beta, earlier_beta = ends.copy(), np.empty(n_nodes)
    band, n_runs = np.empty((n_nodes * (n_frames // (2 * _MARGIN + 2) + 1), 3), np.int32), 0
    run_of = np.full(n_nodes, -1)
    for t in range(n_frames - 1, -1, -1):
        low, high, place = starts[t], starts[t] + offsets[t + 1] - offsets[t], offsets[t] - starts[t]
        earlier_low, earlier_high, earlier_place = 0, 0, 0
        if t > 0:
            earlier_low, earlier_place = starts[t - 1], offsets[t - 1] - starts[t - 1]
            earlier_high = earlier_low + offsets[t] - offsets[t - 1]
        for n in range(earlier_low, earlier_high):
            earlier_beta[n] = 0.0
        for n in range(low, high):
            posterior = alphas[place + n] * beta[n]
            if not posterior >= _NEGLIGIBLE:  # hence also all that its predecessors get from it
                continue
            column = columns[n] - lows[t]
            occupancy[t, column] += posterior
            visits[n] += posterior
            leaving = beta[n] * np.exp(scores[t, column] - tops[t]) / scales[t]
            if earlier_low <= n < earlier_high:
                staying = leaving * stay[n]
                earlier_beta[n] += staying
                stays[n] += alphas[earlier_place + n] * staying
            for a in range(arc_offsets[n], arc_offsets[n + 1]):
                p = arc_sources[a]
                if earlier_low <= p < earlier_high:
                    earlier_beta[p] += leaving * arcs[a]
            r = run_of[n]
            if r < 0 or t + _MARGIN + 1 < band[r, 1]:
                r = run_of[n] = n_runs
                band[r, 0], band[r, 2] = n, min(t + _MARGIN + 1, n_frames)
                n_runs += 1
            band[r, 1] = max(t - _MARGIN, 0)
        beta, earlier_beta = earlier_beta, beta
    return occupancy, stays, visits, band[:n_runs].copy()


@njit(nogil=True, cache=True)
def _entries(hmm: _Hmm) -> Floats:
    """Return the probability to start at each node, (n_nodes,)."""
    found = np.zeros(len(hmm.columns))
    for n in range(len(found)):
        for a in range(hmm.arc_offsets[n], hmm.arc_offsets[n + 1]):
            if hmm.arc_sources[a] < 0:
                found[n] = hmm.arcs[a]
    return found
