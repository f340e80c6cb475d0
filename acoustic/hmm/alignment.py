"""Forced alignment: which state, phone and word each frame of a transcribed recording belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from acoustic.errors import AlignmentError
from acoustic.hmm.graph import UtteranceGraph
from acoustic.hmm.topology import Topology
from acoustic.hmm.viterbi import BLOCK_FRAMES, BestPath, widening_beams
from foundation.arrays import Integers, Ints, Reals


@dataclass(frozen=True, slots=True)
class Segment:
    """Frames [start, end) that one phone or word takes; ``index`` is the phone id or the word's place."""

    start: int
    end: int
    index: int


@dataclass(frozen=True)
class Alignment:
    """The best path of an utterance through its graph.

    Attributes
    ----------
    states : (T,) int32, emission state of each frame
    phones : segments over all frames, ``index`` is the phone id
    words : segments of the words only, ``index`` is the place in the transcript
    variants : for each word the index of the pronunciation that was spoken, -1 where nobody knows any
    log_likelihood : log-likelihood of the path
    """

    states: Ints
    phones: tuple[Segment, ...]
    words: tuple[Segment, ...]
    variants: tuple[int, ...]
    log_likelihood: float

    def labels(self) -> Ints:
        """Return the states (T,), -1 in words of unknown pronunciation, where they are guesses."""
        found = self.states.copy()
        for word in self.unknown_words():
            found[word.start : word.end] = -1
        return found

    def unknown_words(self) -> list[Segment]:
        """Return the words of unknown pronunciation."""
        return [word for word, variant in zip(self.words, self.variants, strict=True) if variant < 0]


def align(
    scores: Reals,
    graph: UtteranceGraph,
    topology: Topology,
    *,
    states: Integers | None = None,
    beam: float = 400.0,
) -> Alignment:
    """Return the best path; if there is none within the beam, wider beams are tried.

    Parameters
    ----------
    scores : (T, S) log-likelihoods, or (T, U) of the emission states ``states`` only
    graph : graph of the transcript
    topology : topology with the transition probabilities
    states : (U,) sorted emission states of the columns of ``scores``; all by default
    beam : width of the search in nats, as in `acoustic.hmm.training.GmmConfig`

    Raises
    ------
    AlignmentError : there is no path; the message says why
    """
    found, _ = align_in_blocks(lambda: [scores], len(scores), graph, topology, states=states, beam=beam)
    return found


def align_in_blocks(
    blocks: Callable[[], Iterable[Reals]],
    n_frames: int,
    graph: UtteranceGraph,
    topology: Topology,
    *,
    states: Integers | None = None,
    beam: float = 400.0,
) -> tuple[Alignment, Reals]:
    """Return what `align` does, and the score (T,) of each frame's state, where all scores need much memory.

    Parameters
    ----------
    blocks : function that yields the scores of one stretch of frames after the other; it is called anew for
        each beam
    n_frames : number of all frames
    graph, topology, states, beam : those of `align`
    """
    needed = shortest_path(graph)
    if n_frames < needed:
        raise AlignmentError(
            f"the recording has {n_frames} frames, its transcript needs at least {needed}; "
            "check that the transcript belongs to the recording"
        )
    columns = (graph.states if states is None else np.searchsorted(states, graph.states)).astype(np.int64)
    for width in widening_beams(beam, n_frames, graph.n_nodes):
        found = BestPath(columns, graph, topology, width)
        for scores in blocks():
            _check_finite(scores)
            for start in range(0, len(scores), BLOCK_FRAMES):
                found.take(scores[start : start + BLOCK_FRAMES])
        score, path, along = found.end()
        if len(path):
            return _trace(path, graph, score), along
    raise AlignmentError("no path through the transcript was found in any beam; check the transcript")


def _check_finite(scores: Reals) -> None:
    if not np.isfinite(scores).all():
        raise AlignmentError(
            "scores of the acoustic model: expected finite numbers, got NaN or infinity; train it again"
        )


def shortest_path(graph: UtteranceGraph) -> int:
    """Return the least number of frames a path through the graph takes."""
    lengths = np.zeros(graph.n_nodes, np.int64)
    for node, (begin, end) in enumerate(pairwise(graph.arc_offsets.tolist())):
        sources = graph.arc_sources[begin:end].tolist()
        lengths[node] = 1 + min(int(lengths[s]) if s >= 0 else 0 for s in sources if s < node)
    return int(lengths[np.isfinite(graph.exit_weights)].min())


def _trace(path: Ints, graph: UtteranceGraph, score: float) -> Alignment:
    """Return the segments of a path of nodes (T,)."""
    # In a loop a phone may follow itself; its second time begins where the path goes back.
    times = graph.phone_starts[path] + graph.n_nodes * np.cumsum(np.diff(path, prepend=path[0]) < 0)
    phones = tuple(Segment(a, b, int(graph.phones[path[a]])) for a, b in _runs(times))
    spoken = [(a, b) for a, b in _runs(graph.words[path]) if graph.words[path[a]] >= 0]
    return Alignment(
        states=graph.states[path],
        phones=phones,
        words=tuple(Segment(a, b, int(graph.words[path[a]])) for a, b in spoken),
        variants=tuple(int(graph.variants[path[a]]) for a, _ in spoken),
        log_likelihood=score,
    )


def _runs(labels: Integers) -> Sequence[tuple[int, int]]:
    """Return [start, end) of each run of equal labels."""
    cuts = np.flatnonzero(np.diff(labels)) + 1
    bounds = [0, *cuts.tolist(), len(labels)]
    return list(pairwise(bounds))
