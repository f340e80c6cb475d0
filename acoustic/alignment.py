"""Forced alignment: which state, phone and word each frame of a transcribed recording belongs to.

`align` works on scores, `align_frames` and `align_with_margins` on frames and an acoustic model. Frames come
as one array or, of a recording so long that its scores would fill the memory, as a sequence of blocks, each
of which may be computed when it is asked for; the blocks' scores are computed one by one.

Whether a transcript fits its recording is measured against what any phones would score. The measure is the
*margin*: by how many nats a frame the states of the transcript score less than those on the best path through
a loop of all phones and silences. It is near 0 where the words are spoken and far below where they are not.
What margin is too far, a corpus tells by itself: its utterances, aligned with transcripts of others, show the
margins of wrong words (`fit_curve`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import expit

from acoustic.errors import AlignmentError
from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.graph import UtteranceGraph, loop_graph
from acoustic.hmm.topology import Topology
from acoustic.hmm.viterbi import (
    BLOCK_FRAMES,
    BestPath,
    best_path,
    check_log_likelihoods,
    widening_beams,
)
from acoustic.model import AcousticModel
from foundation.arrays import Floats, Integers, Ints, Reals, Singles, check_reals
from foundation.sequences import Computed
from foundation.threads import single_threaded_libraries

Frames = Singles | Sequence[Singles]

PRIOR_WRONG = 0.03  # share of a corpus whose transcripts are expected to be wrong; by feel
_LEAST_PAIRS = 10  # of each kind, to learn a curve from; by feel
_N_ROUNDS = 20  # of learning the curve, at most; by feel
_WEAK = 1e3  # the inverse strength of the penalty on the slope over margins of variance 1; by feel


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


def align_frames(
    frames: Frames, graph: UtteranceGraph, model: AcousticModel, beam: float = 400.0
) -> Alignment:
    """Return the alignment of one utterance; where possible only the states of its transcript are scored.

    Parameters
    ----------
    frames : (T, D) float32 frames of the model's front end, or blocks of them
    graph : graph of the transcript
    model : acoustic model that scores the frames
    beam : paths this much worse than the best path at a frame are dropped, in nats
    """
    blocks, states = in_blocks(frames), np.unique(graph.states)
    emissions = model.emissions

    def scores() -> Iterator[Reals]:
        if isinstance(emissions, GmmModel):
            yield from (emissions.log_likelihoods(block, states) for block in blocks)
        else:
            yield from (model.scores(block)[:, states] for block in blocks)

    n_frames = sum(map(len, blocks))
    return align_in_blocks(scores, n_frames, graph, model.topology, states=states, beam=beam)[0]


def align_with_margins(
    frames: Frames, graph: UtteranceGraph, model: AcousticModel, beam: float = 400.0
) -> tuple[Alignment, Margins]:
    """Return the alignment of one utterance and how well its words fit; parameters as of `align_frames`."""
    blocks, loop = in_blocks(frames), loop_graph(model.topology)
    loops: list[BestPath] = []
    highest: list[Reals] = []  # of any state, for frames too few for any phone

    def scores() -> Iterator[Reals]:
        loops[:], highest[:] = [BestPath(loop.states.astype(np.int64), loop, model.topology, beam)], []
        for block in blocks:
            found = model.scores(block)
            loops[0].take(found)
            highest.append(found.max(axis=1))
            yield found

    n_frames = sum(map(len, blocks))
    alignment, own = align_in_blocks(scores, n_frames, graph, model.topology, beam=beam)
    *_, of_loop = loops[0].end()
    return alignment, margins_along(own, of_loop if len(of_loop) else np.concatenate(highest), alignment)


def in_blocks(frames: Frames) -> Sequence[Singles]:
    """Return frames in blocks; an array is cut into as many frames as are scored at a time."""
    if not isinstance(frames, np.ndarray):
        return frames
    n_blocks = max(-(-len(frames) // BLOCK_FRAMES), 1)
    return Computed(lambda n: frames[n * BLOCK_FRAMES : (n + 1) * BLOCK_FRAMES], n_blocks)


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
    check_reals("scores", scores, AlignmentError, (None, None), "give those of one utterance")
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
    """Return what `align` returns, and each frame's score (T,), of scores that come block by block.

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
            check_log_likelihoods(scores, columns)
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


@dataclass(frozen=True)
class Margins:
    """By how much the words of an utterance score less than any phones, in nats a frame.

    Attributes
    ----------
    words : (W,) float64, mean over the frames of each word; NaN where nobody knows its pronunciation
    behind : how far the whole transcript is behind the words that are heard by who does not know it, 0 at
        most; None where nobody has listened
    """

    words: Floats
    behind: float | None = None

    @property
    def utterance(self) -> float:
        """How far the transcript is behind, or the mean over the words, as wrong ones have few frames."""
        return float(np.nanmean(self.words)) if self.behind is None else self.behind


def loop_path(scores: Reals, loop: UtteranceGraph, topology: Topology, beam: float = 400.0) -> Ints:
    """Return the states (T,) on the best path through any phones; empty if frames are too few for a phone.

    Parameters
    ----------
    scores : (T, S) log-likelihoods
    loop : graph of any phones, `acoustic.hmm.graph.loop_graph`
    topology : topology with the transition probabilities
    beam : width of the search in nats; the loop is one block, so that it cuts nothing from its left
    """
    _, path = best_path(scores, loop.states.astype(np.int64), loop, topology, beam)
    return np.asarray(loop.states[path])


def loop_scores(scores: Reals, loop: UtteranceGraph, topology: Topology, beam: float = 400.0) -> Reals:
    """Return the score (T,) of each frame's state on the best path through any phones, as `loop_path`."""
    states = loop_path(scores, loop, topology, beam)
    return along(scores, states) if len(states) else np.asarray(scores.max(axis=1))


def along(scores: Reals, states: Ints) -> Reals:
    """Return the score (T,) of each frame on a path of states (T,), given those (T, S) of all states."""
    return np.asarray(scores[np.arange(len(scores)), states])


def margins(scores: Reals, of_loop: Reals, alignment: Alignment) -> Margins:
    """Return how well the words of an alignment fit.

    Parameters
    ----------
    scores : (T, S) log-likelihoods
    of_loop : (T,) scores of the best path through any phones, `loop_scores`
    alignment : words with one of known pronunciation at least
    """
    return margins_along(along(scores, alignment.states), of_loop, alignment)


def margins_along(own: Reals, of_loop: Reals, alignment: Alignment) -> Margins:
    """Return how well the words of an alignment fit, given the score (T,) of each frame's state."""
    of_frames = (own - of_loop).astype(np.float64)
    is_known = np.array(alignment.variants) >= 0
    sums = np.array([of_frames[word.start : word.end].sum() for word in alignment.words])
    lengths = np.array([word.end - word.start for word in alignment.words])
    return Margins(np.where(is_known, sums / lengths, np.nan))


@dataclass(frozen=True)
class FitCurve:
    """The probability that words were spoken, a logistic function of their margin."""

    slope: float
    offset: float

    def __call__(self, margin: Floats) -> Floats:
        """Return the probabilities of margins, NaN for NaN."""
        return np.asarray(expit(self.slope * np.asarray(margin) + self.offset))


def fit_curve(
    right: Floats, wrong: Floats, prior_wrong: float = PRIOR_WRONG, most_wrong: float = 0.0
) -> FitCurve | None:
    """Return the curve that tells margins of right words from those of wrong ones; None if there are too few.

    Some of the right ones are errors of the corpus. Each counts as right by the probability that it has on
    the curve, in turn with the curve (expectation-maximisation). A weak penalty keeps the slope finite where
    the groups do not overlap.

    Parameters
    ----------
    right, wrong : margins of words with their own recordings (N,) and with those of others (N',)
    prior_wrong : expected share of errors among the right ones
    most_wrong : largest share of errors; what lies between that and ``prior_wrong`` is learned, too
    """
    if min(len(right), len(wrong)) < _LEAST_PAIRS:
        return None
    believed = np.full(len(right), 1 - prior_wrong)
    for _ in range(_N_ROUNDS):
        log_odds_of_groups = np.log((1 - prior_wrong) / prior_wrong) - np.log(len(right) / len(wrong))
        targets = np.concatenate([believed, np.zeros(len(wrong))])
        slope, offset = _logistic(np.concatenate([right, wrong]), targets)
        curve = FitCurve(slope, offset + float(log_odds_of_groups))
        believed, before = curve(right), believed
        if np.abs(believed - before).max() < 1e-4:
            break
        if most_wrong > prior_wrong:
            prior_wrong = float(np.clip(1 - believed.mean(), prior_wrong, most_wrong))
    return curve


def _logistic(margins: Floats, targets: Floats) -> tuple[float, float]:
    """Return slope, 0 at least, and offset of the logistic function nearest to some targets from 0 to 1."""
    from sklearn.linear_model import LogisticRegression  # a large package, and only for training

    model = LogisticRegression(C=_WEAK)
    ones, scale = np.repeat([1, 0], len(margins)), max(float(margins.std()), 1e-9)
    with single_threaded_libraries():  # the last digits must not depend on the number of cores
        model.fit(np.tile(margins / scale, 2)[:, None], ones, np.concatenate([targets, 1 - targets]))
    if (slope := float(model.coef_[0, 0])) > 0:
        return slope / scale, float(model.intercept_[0])
    share = targets.mean()  # the margins tell nothing
    return 0.0, float(np.log(share / (1 - share)))
