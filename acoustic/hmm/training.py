"""Embedded training of GMM-HMMs: flat start, expectation-maximisation, mixture splitting.

One stage has a fixed number of components per state; its log-likelihood never falls. The E step runs over
fixed shards of utterances in threads (the kernels release the interpreter lock) and adds their statistics in
order, so the result does not depend on the number of workers.

Once the likelihood rises slowly, boundaries between states hardly move. From then on a pass looks at the band
alone that the last pass found: the frames in which a node had a posterior, and two more on each side. If a
posterior reaches the end of a band, the utterance is looked at as a whole again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from acoustic.errors import TrainingError
from acoustic.hmm.forward_backward import Posteriors, is_wide_enough, posteriors, posteriors_within, window_of
from acoustic.hmm.gmm import (
    GmmModel,
    GmmStatistics,
    reestimate,
    single_gaussian,
    split_components,
)
from acoustic.hmm.graph import UtteranceGraph
from acoustic.hmm.topology import Topology
from acoustic.hmm.viterbi import best_path, widening_beams
from foundation.arrays import Floats, Integers, Ints, Longs, Singles
from foundation.blocks import Shared, block_map, step
from foundation.threads import single_threaded_libraries

Bands = list[Ints | None]  # of each utterance where a pass found posteriors; None where it found no path

_SETTLED = 0.7  # rise in a pass, in nats a frame, below which the next looks at bands alone; by feel
_LEAST_FRAMES = 10.0  # of each half of a Gaussian that is split; by feel

_SHARD_UTTERANCES = 32  # by feel
_MOST_GAUSSIANS, _MOST_PASSES = 4096, 10_000  # what nobody needs is a slip of the keyboard
_SELF_LOOP_RANGE = (0.01, 0.99)  # by feel
_MIN_VARIANCE = 1e-8  # variance given to a feature that is constant in the whole corpus


@dataclass(frozen=True)
class GmmConfig:
    """How a GMM-HMM is trained.

    Attributes
    ----------
    mixtures : numbers of Gaussians per state in successive training stages, rising
    iterations : number of EM passes of each stage; the last number holds for all further stages
    variance_floor : least variance of a Gaussian, as a share of the variance of the training corpus
    beam : nodes this much worse than the best node at a frame are cut off the edges of the forward window, in
        nats. On AN4, 400 loses no likelihood in any pass; in a few utterances 300 loses hundreds and 200
        thousands of nats
    """

    mixtures: tuple[int, ...] = (1, 2, 4, 8, 16)
    iterations: tuple[int, ...] = (8, 4, 4, 14)
    variance_floor: float = 0.01
    beam: float = 400.0

    def __post_init__(self) -> None:
        mixtures, iterations = self.mixtures, self.iterations
        for name, value, is_met, expected in (
            ("mixtures", mixtures, mixtures and mixtures[0] >= 1, "one number or more, from 1 on"),
            ("mixtures", mixtures, max(mixtures, default=0) <= _MOST_GAUSSIANS, f"at most {_MOST_GAUSSIANS}"),
            ("mixtures", mixtures, all(a < b for a, b in pairwise(mixtures)), "rising numbers"),
            ("iterations", iterations, min(iterations, default=0) >= 1, "one number or more, from 1 on"),
            ("iterations", iterations, max(iterations, default=0) <= _MOST_PASSES, f"at most {_MOST_PASSES}"),
            ("variance_floor", self.variance_floor, 0 < self.variance_floor <= 1, "more than 0, at most 1"),
            ("beam", self.beam, self.beam > 0, "more than 0"),
        ):
            if not is_met:
                raise TrainingError(f"{name}: expected {expected}, got {value}; change it")


class TrainingUtterance(NamedTuple):
    """One transcribed recording."""

    utterance_id: str
    frames: Singles  # (T, D)
    graph: UtteranceGraph


@dataclass(frozen=True)
class GmmHmm:
    """A topology with its mixtures and, for each state, the frames (S,) they were last estimated from."""

    topology: Topology
    emissions: GmmModel
    occupancy: Floats


class Progress(NamedTuple):
    """The state of training after one EM pass."""

    n_components: int
    iteration: int
    n_iterations: int
    log_likelihood: float  # per frame, of the model before the pass
    failed: tuple[str, ...]  # utterances without a path


@dataclass
class _Expectation:
    """Statistics of one or more shards."""

    mixtures: GmmStatistics
    stays: Floats  # per row of Topology.flat_self_loops
    visits: Floats
    log_likelihood: float = 0.0
    n_frames: int = 0
    failed: tuple[str, ...] = ()
    bands: Bands = field(default_factory=list)  # of each utterance, for the next pass

    @classmethod
    def zeros(cls, model: GmmHmm) -> _Expectation:
        n_rows = int(model.topology.transition_offsets[-1])
        return cls(GmmStatistics.zeros(model.emissions), np.zeros(n_rows), np.zeros(n_rows))

    def __iadd__(self, other: _Expectation) -> _Expectation:
        self.mixtures += other.mixtures
        self.stays += other.stays
        self.visits += other.visits
        self.log_likelihood += other.log_likelihood
        self.n_frames += other.n_frames
        self.failed += other.failed
        self.bands += other.bands
        return self


def flat_start(topology: Topology, utterances: Sequence[TrainingUtterance]) -> GmmHmm:
    """Return the corpus mean and variance as the one Gaussian of every state."""
    mean, variance = corpus_moments(utterances)
    emissions = single_gaussian(topology.n_states, mean, variance)
    return GmmHmm(topology, emissions, np.zeros(topology.n_states))


def start_from_labels(topology: Topology, frames: Sequence[Singles], labels: Sequence[Ints]) -> GmmHmm:
    """Return one Gaussian per state from frames (T, D) that have a state each, (T,), -1 = none.

    States with fewer frames than features share the variance of all frames.
    """
    n_features = frames[0].shape[1] if frames else 0
    counts = np.zeros(topology.n_states)
    sums = np.zeros((topology.n_states, n_features))
    squares = np.zeros_like(sums)
    with single_threaded_libraries():  # sums must not depend on the number of cores
        for x, y in zip(frames, labels, strict=True):
            membership = (np.arange(topology.n_states)[:, None] == y).astype(np.float64)
            counts += membership.sum(axis=1)
            sums += membership @ x
            squares += membership @ np.square(x, dtype=np.float64)
    total = counts.sum()
    if not total:
        raise TrainingError(
            "labels: expected the states of aligned frames, got none; check that the corpus can be aligned"
        )
    pooled_mean = sums.sum(axis=0) / total
    pooled_variance = np.maximum(squares.sum(axis=0) / total - pooled_mean**2, _MIN_VARIANCE)
    enough = (counts > n_features)[:, None]
    safe = np.maximum(counts, 1.0)[:, None]
    means = np.where(counts[:, None] > 0, sums / safe, pooled_mean)
    variances = np.where(enough, squares / safe - means**2, pooled_variance)
    floored = np.maximum(variances, GmmConfig.variance_floor * pooled_variance)
    emissions = GmmModel(np.zeros((topology.n_states, 1)), means[:, None], floored[:, None])
    return GmmHmm(topology, emissions, counts)


def corpus_moments(
    utterances: Sequence[TrainingUtterance],
) -> tuple[Floats, Floats]:
    """Return mean and variance of all frames, (D,) each."""
    n_frames = sum(len(u.frames) for u in utterances)
    if not n_frames:
        raise TrainingError(
            "nothing to train on: expected transcribed recordings, got none; check the corpus"
        )
    for utterance in utterances:
        if not np.isfinite(utterance.frames).all():
            raise TrainingError(
                f"{utterance.utterance_id}: frames: expected finite numbers, got NaN or infinity; "
                "check or leave out the recording"
            )
    mean = sum(u.frames.sum(axis=0, dtype=np.float64) for u in utterances) / n_frames
    variance = sum(np.square(u.frames - mean).sum(axis=0) for u in utterances) / n_frames
    return np.asarray(mean), np.maximum(np.asarray(variance), _MIN_VARIANCE)


def train_stage(
    model: GmmHmm,
    utterances: Sequence[TrainingUtterance],
    n_iterations: int,
    config: GmmConfig,
    *,
    n_workers: int | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> GmmHmm:
    """Return the model after ``n_iterations`` EM passes; ``report`` is called after each."""
    _, variance = corpus_moments(utterances)
    heard = Shared(utterances)
    bands: Bands | None = None
    # One Gaussian may be a flat start; more were split, which moves boundaries little.
    before = -np.inf if model.emissions.n_components == 1 else np.inf
    for iteration in range(n_iterations):
        done = step("pass", partial(_one_pass, model, heard, bands, config, variance, n_workers))
        model, log_likelihood = done.model, done.log_likelihood
        bands = done.bands if log_likelihood - before < _SETTLED else None
        before = log_likelihood
        n_components = model.emissions.n_components
        report(Progress(n_components, iteration + 1, n_iterations, log_likelihood, done.failed))
    return model


class _Pass(NamedTuple):
    """What a pass leaves to the next one."""

    model: GmmHmm
    bands: Bands
    log_likelihood: float  # per frame, of the model before
    failed: tuple[str, ...]


def _one_pass(
    model: GmmHmm,
    utterances: Shared[Sequence[TrainingUtterance]],
    bands: Bands | None,
    config: GmmConfig,
    variance: Floats,
    n_workers: int | None,
) -> _Pass:
    """Return what one EM pass finds, within bands if given."""
    expected = _expect_all(model, utterances, bands, config.beam, n_workers)
    if not expected.n_frames:
        raise TrainingError(
            f"none of {len(utterances.value)} utterances can be aligned with its transcript; "
            "check that transcripts belong to their recordings (asr validate)"
        )
    model = _maximize(model, expected, config.variance_floor * variance)
    return _Pass(model, expected.bands, expected.log_likelihood / expected.n_frames, expected.failed)


def grow(model: GmmHmm, n_components: int, config: GmmConfig) -> GmmHmm:
    """Return the model with its mixtures split to ``n_components``."""
    emissions = split_components(model.emissions, n_components, model.occupancy, _LEAST_FRAMES)
    return replace(model, emissions=emissions)


def _expect_all(
    model: GmmHmm,
    utterances: Shared[Sequence[TrainingUtterance]],
    bands: Bands | None,
    beam: float,
    n_workers: int | None,
) -> _Expectation:
    """Return the statistics of all utterances, within bands if given, summed shard by shard in order."""

    def one_shard(first: int) -> _Expectation:
        heard, result = utterances.value, _Expectation.zeros(model)
        for n in range(first, min(first + _SHARD_UTTERANCES, len(heard))):
            _expect(model, heard[n], bands[n] if bands else None, beam, result)
        return result

    total, starts = _Expectation.zeros(model), range(0, len(utterances.value), _SHARD_UTTERANCES)
    for part in block_map(one_shard, starts, label="expectation", names=_shard_name, n_workers=n_workers):
        total += part
    return total


def _shard_name(first: int) -> str:
    return f"utterances {first + 1} to {first + _SHARD_UTTERANCES}"


def _expect(
    model: GmmHmm, utterance: TrainingUtterance, band: Ints | None, beam: float, result: _Expectation
) -> None:
    """Add one utterance to the statistics, or its name to the failures."""
    part = None if band is None else _within_band(model, utterance, band, beam)
    found, states, low = part or _whole(model, utterance, beam)
    result.bands.append(found.band)
    if not np.isfinite(found.log_likelihood):
        result.failed += (utterance.utterance_id,)
        return
    result.mixtures.accumulate(model.emissions, utterance.frames, found.occupancy, states, low)
    transitions, n_rows = utterance.graph.transitions, len(result.stays)
    result.stays += np.bincount(transitions, found.stays, n_rows)
    result.visits += np.bincount(transitions, found.visits, n_rows)
    result.log_likelihood += found.log_likelihood
    result.n_frames += len(utterance.frames)


def _whole(model: GmmHmm, utterance: TrainingUtterance, beam: float) -> tuple[Posteriors, Integers, None]:
    """Return the posteriors of an utterance, and the emission states of their columns."""
    states, columns = np.unique(utterance.graph.states, return_inverse=True)
    scores = model.emissions.log_likelihoods(utterance.frames, states)
    return posteriors_with_retries(scores, columns, utterance.graph, model.topology, beam), states, None


def _within_band(
    model: GmmHmm, utterance: TrainingUtterance, band: Ints, beam: float
) -> tuple[Posteriors, Integers, Ints] | None:
    """Return the posteriors within a band, the nodes' states and the node of each frame's first column.

    Where the band is too narrow, there is nothing to return.
    """
    graph, frames = utterance.graph, utterance.frames
    window = window_of(band, len(frames), graph.floors)
    scores = model.emissions.log_likelihoods_within(frames, graph.states, band, window.low, window.width)
    found = posteriors_within(scores, window, graph, model.topology, beam)
    if np.isfinite(found.log_likelihood) and is_wide_enough(band, window.low, found.occupancy):
        return found, graph.states, window.low
    return None


def posteriors_with_retries(
    scores: Singles,
    columns: Longs,
    graph: UtteranceGraph,
    topology: Topology,
    beam: float,
) -> Posteriors:
    """Return `posteriors` in the first of the widening beams with a path, or those of the best path."""
    beams = widening_beams(beam, len(scores), graph.n_nodes)
    for width in beams:
        found = posteriors(scores, columns, graph, topology, width)
        if np.isfinite(found.log_likelihood):
            return found
    for width in beams:
        score, path = best_path(scores, columns, graph, topology, width)
        if len(path):
            return _posteriors_of(path, score, columns, scores.shape, graph.n_nodes)
    return found


def _posteriors_of(
    path: Ints, score: float, columns: Longs, shape: tuple[int, ...], n_nodes: int
) -> Posteriors:
    """Return the posteriors if one path of nodes (T,) stands for all."""
    occupancy = np.zeros(shape)
    occupancy[np.arange(len(path)), columns[path]] = 1.0
    staying = path[:-1][path[:-1] == path[1:]]
    stays, visits = (np.bincount(nodes, minlength=n_nodes).astype(np.float64) for nodes in (staying, path))
    return Posteriors(score, occupancy, stays, visits)


def _maximize(model: GmmHmm, expected: _Expectation, variance_floor: Floats) -> GmmHmm:
    """Return the M step: mixtures and self-loop probabilities."""
    old, tied = model.topology.flat_self_loops(), model.topology.tied_rows
    stays, visits = (np.bincount(tied, n)[tied] for n in (expected.stays, expected.visits))
    loops = np.where(visits > 1.0, stays / np.maximum(visits, 1.0), old)
    topology = model.topology.with_flat_self_loops(np.clip(loops, *_SELF_LOOP_RANGE))
    emissions = reestimate(model.emissions, expected.mixtures, variance_floor)
    return GmmHmm(topology, emissions, expected.mixtures.occupancy.sum(axis=1))
