"""The best path through an utterance graph (Viterbi), found while blocks of scores come.

The graph is left to right, so the nodes worth keeping at a frame lie in one window [low, high): only that
window is stored. It loses a node at its edge when the node is more than ``beam`` nats below the best one;
from the left it loses a loop as a whole or not at all, for arcs lead back in it.

Traced back, the best paths to all nodes of the window soon are one path. Up to where they meet it is the best
path of the utterance, whatever may follow; so only what lies behind has to be kept (R. Šrámek, B. Brejová and
T. Vinař, "On-line Viterbi algorithm for analysis of long biological sequences", WABI 2007). An hour needs no
more memory than a minute, and the path is the same.

Axes: T frames, U distinct states of the utterance (columns of the score matrix); n_nodes and n_arcs of the
graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acoustic.errors import AlignmentError
from acoustic.hmm.graph import UtteranceGraph
from acoustic.hmm.topology import Topology
from foundation.arrays import Floats, Ints, Longs, Reals, check_reals
from foundation.compiled import njit

BLOCK_FRAMES = 4096  # of scores that are in memory at a time; 40 seconds
_WINDOW_GUESS = 64  # nodes a frame for which the kernel has room before it needs more; by feel
_WIDER = 4.0  # how much wider the second beam is; by feel
_MAX_CELLS = 1 << 27  # frames × nodes of a sweep without a beam; by feel
_LAST = 1 << 62  # the last frame of a block


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


class _Window(NamedTuple):
    """The nodes from ``low`` on in which paths end, and the score (W,) of the best path to each."""

    low: int
    scores: Floats


class _Band(NamedTuple):
    """The windows of nodes at each frame of a block, and where the best path into each node comes from."""

    low: Ints  # (T,)
    offsets: Longs  # (T + 1,) where a frame's window begins in the next
    back: Ints  # (offsets[T],) predecessor at the frame before, -1 = start


class _Block(NamedTuple):
    """A block of frames whose path is not known as a whole; ``path`` (T,) is filled from its beginning."""

    scores: Reals  # (T, U)
    band: _Band
    path: Ints


class BestPath:
    """The best path of an utterance whose scores come in blocks.

    Parameters
    ----------
    columns : (n_nodes,) column of the scores that belongs to each node
    graph : graph of the transcript
    topology : topology with the transition probabilities
    beam : nodes this many nats below the best node are cut off the edges of the window

    Attributes
    ----------
    n_frames : number of frames that have come
    """

    def __init__(
        self, columns: Longs, graph: UtteranceGraph, topology: Topology, beam: float = np.inf
    ) -> None:
        self._hmm = _with_probabilities(graph, columns, topology)
        self._beam = beam
        self._window: _Window | None = None
        self._pending: list[_Block] = []
        self._nodes: list[Ints] = []
        self._scores: list[Reals] = []
        self.n_frames = 0

    def take(self, scores: Reals) -> None:
        """Continue the path over the log-likelihoods (T, U) of the next frames."""
        if not len(scores):
            return
        self._settle()
        is_first, self.n_frames = self.n_frames == 0, self.n_frames + len(scores)
        before = self._window or _Window(0, np.empty(0))
        if not is_first and not np.isfinite(before.scores).any():  # no path so far
            return
        band, low, ending = _sweep(scores, self._hmm, self._beam, before.low, before.scores, is_first)
        self._window = _Window(low, ending)
        self._pending.append(_Block(scores, band, np.empty(len(scores), np.int32)))

    def end(self) -> tuple[float, Ints, Reals]:
        """Return the path's score, its nodes (T,) and the score (T,) of each; without a path -inf."""
        nothing = -np.inf, np.empty(0, np.int32), np.empty(0)
        if self._window is None:
            return nothing
        low, scores = self._window
        endings = scores + self._hmm.exits[low : low + len(scores)]
        if not np.isfinite(endings.max()):
            return nothing
        last = int(endings.argmax())
        self._trace(len(self._pending) - 1, len(self._pending[-1].path) - 1, low + last)
        self._release(len(self._pending))
        return float(endings[last]), np.concatenate(self._nodes), np.concatenate(self._scores)

    def _settle(self) -> None:
        """Find where the best paths to all nodes of the window meet, and keep only what lies behind."""
        if self._window is None:
            return
        low, scores = self._window
        nodes = (low + np.flatnonzero(np.isfinite(scores))).astype(np.int32)
        for place in range(len(self._pending) - 1, -1, -1):
            if not len(nodes):
                return
            frame, nodes = _meeting(self._pending[place].band, nodes)
            if frame >= 0:
                self._trace(place, frame, int(nodes[0]))
                self._release(place)
                return

    def _trace(self, place: int, frame: int, node: int) -> None:
        """Write the path that is in a node at a frame of a pending block."""
        for block in self._pending[place::-1]:
            last = min(frame, len(block.path) - 1)
            node, frame = _trace_back(block.band, last, node, block.path), _LAST

    def _release(self, n_blocks: int) -> None:
        """Forget the first pending blocks but for their path."""
        for scores, _, path in self._pending[:n_blocks]:
            self._nodes.append(path)
            self._scores.append(scores[np.arange(len(path)), self._hmm.columns[path]])
        del self._pending[:n_blocks]


def check_log_likelihoods(scores: Reals, columns: Longs) -> None:
    """Raise an AlignmentError unless scores are a matrix of singles or doubles that has these columns."""
    n_columns = int(np.max(columns, initial=-1)) + 1
    check_reals("scores", scores, AlignmentError, (None, None), "give those of one utterance")
    if scores.shape[1] < n_columns or scores.dtype not in (np.float32, np.float64):
        raise AlignmentError(
            f"scores: expected float32 or float64, {n_columns} columns or more, got {scores.dtype} of shape "
            f"{scores.shape}; give those of the model whose topology it is"
        )


def best_path(
    scores: Reals,
    columns: Longs,
    graph: UtteranceGraph,
    topology: Topology,
    beam: float = np.inf,
) -> tuple[float, Ints]:
    """Return the score of the best path and its node at each frame (T,); -inf and no nodes if there is none.

    Parameters are those of `BestPath`, and scores (T, U).
    """
    check_log_likelihoods(scores, columns)
    found = BestPath(columns, graph, topology, beam)
    for start in range(0, len(scores), BLOCK_FRAMES):
        found.take(scores[start : start + BLOCK_FRAMES])
    score, path, _ = found.end()
    return score, path


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


@njit(nogil=True, cache=True)
def _sweep(
    scores: Reals, hmm: _Hmm, beam: float, low: int, before: Floats, is_first: bool
) -> tuple[_Band, int, Floats]:
    """Return where the best paths come from (Rabiner 1989, (33)), and the last window with its scores.

    ``before`` are the scores of the window from node ``low`` on at the frame before.
    """
    n_frames, n_nodes = len(scores), len(hmm.columns)
    lows, offsets = np.zeros(n_frames, np.int32), np.zeros(n_frames + 1, np.int64)
    back = np.empty(_WINDOW_GUESS * n_frames, np.int32)
    row, sources = np.empty(n_nodes), np.empty(n_nodes, np.int32)
    for t in range(n_frames):
        first, last = 0, n_nodes
        if t > 0 or not is_first:
            first, last = low, hmm.reach[low + len(before) - 1] + 1
        for n in range(first, last):
            if t == 0 and is_first:
                row[n], sources[n] = _entry(hmm, n), -1
            else:
                row[n], sources[n] = _best_arrival(hmm, before, low, n)
            row[n] += scores[t, hmm.columns[n]]
        first, last = trimmed(row, first, last, row[first:last].max() - beam)
        low = hmm.floors[first]
        lows[t], offsets[t + 1] = low, offsets[t] + last - low
        if offsets[t + 1] > len(back):
            back = longer(back, n_nodes)
        back[offsets[t] : offsets[t + 1]] = sources[low:last]
        before = row[low:last].copy()
    return _Band(lows, offsets, back[: offsets[n_frames]].copy()), low, before


@njit(nogil=True, cache=True)
def _entry(hmm: _Hmm, node: int) -> float:
    """Return the log probability to start at a node."""
    for a in range(hmm.arc_offsets[node], hmm.arc_offsets[node + 1]):
        if hmm.arc_sources[a] < 0:
            return float(hmm.arc_weights[a])
    return -np.inf


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
def trimmed(row: Floats, first: int, last: int, threshold: float) -> tuple[int, int]:
    """Return the window [first, last) without the nodes at its edges that are below a threshold."""
    while first < last - 1 and row[first] < threshold:
        first += 1
    while last > first + 1 and row[last - 1] < threshold:
        last -= 1
    return first, last


@njit(nogil=True, cache=True)
def longer(array, n_more):  # type: ignore[no-untyped-def]
    """Return a copy with twice the room, and ``n_more`` places above that."""
    found = np.empty(2 * len(array) + n_more, array.dtype)
    found[: len(array)] = array
    return found


@njit(nogil=True, cache=True)
def _meeting(band: _Band, nodes: Ints) -> tuple[int, Ints]:
    """Return the last frame at which the best paths to some nodes are in one node, and that node.

    If there is none in the block: −1, and the nodes of these paths at the frame before it.
    """
    nodes = nodes.copy()
    n_left = len(nodes)
    for t in range(len(band.low) - 1, -1, -1):
        if n_left == 1:
            return t, nodes[:1]
        begin, n_kept = band.offsets[t] - band.low[t], 0
        for i in range(n_left):
            source = band.back[begin + nodes[i]]
            if n_kept == 0 or nodes[n_kept - 1] != source:
                nodes[n_kept] = source
                n_kept += 1
        n_left = n_kept
    return -1, nodes[:n_left]


@njit(nogil=True, cache=True)
def _trace_back(band: _Band, frame: int, node: int, path: Ints) -> int:
    """Write the best path to a node at a frame into ``path``; return its node before the block."""
    for t in range(frame, -1, -1):
        path[t] = node
        node = band.back[band.offsets[t] + node - band.low[t]]
    return node
