"""What discriminants of pairs cost, by fitting and evaluating a few on generated frames of the right sizes.

The functions that are timed are those that training calls. How the frames are distributed changes little of
what they cost: the share of the Newton step and the number of steps of the curves.

Axes: T frames, M training frames, D features, P pairs, K classes, C centres of a class or of a pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from acoustic.emissions.aligned_frames import HybridConfig
from acoustic.emissions.emission_model import EmissionModel, PairwiseDiscriminantModel
from acoustic.emissions.one_vs_rest import KrlsConfig, train_one_vs_rest
from acoustic.pairs import train_forward, train_svm
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.machines import Machines
from acoustic.pairs.rivals import fit_prototypes
from acoustic.pairs.train_forward import PairForwardConfig
from acoustic.pairs.train_pools import Choice, PoolsConfig, PoolTrainer, pool_centers
from acoustic.pairs.train_svm import SvmConfig
from acoustic.ways import WAYS
from asr.config import ExperimentConfig, with_preset
from asr.planning import laws
from asr.planning.generated import (
    curves_of,
    equal_priors,
    labelled_frames,
    one_vs_rest_model,
    pooled_machines,
    rival_machines,
    sparse_machines,
    speech_like_frames,
)
from asr.planning.timing import least_seconds
from foundation.arrays import Singles
from foundation.threads import default_workers, single_threaded_libraries

_MOST_FRAMES = 20_000  # of a class that are generated; the cost of more is in proportion; by feel
_N_SCORED = 1024  # by feel
_CHOICES: dict[str, Choice] = {"pools": "random", "npd-pools": "npd", "orols-pools": "orols"}
# These are as `acoustic.pairs.train_pools`, `acoustic.pairs.rivals` and `acoustic.emissions.one_vs_rest`
# have them.
_FEW_CLASSES, _GROUPS, _MOST_IN_GROUP = 20, 16, 16
_MEETING_FRAMES = 200
_MOST_KRLS_CENTERS = 1000
_SVM_FRAMES, _SVM_CACHE = 400, 100e6  # frames of a class that are timed; bytes of each thread's cache
_SVM_WIDEST = 10.0  # times the mean number of support vectors: those of the largest pair, the tables' width
_GATHERED = 125.0  # bytes of a centre of a pair while all pairs are put together


@dataclass(frozen=True)
class PairTask:
    """What discriminants are to be trained on.

    Attributes
    ----------
    way : way of training, see `acoustic.ways.WAYS`
    n_classes : K
    n_frames : mean number of frames of a class that are trained on
    n_features : D
    frames_a_call : frames that are scored at once, those of a recording
    """

    way: str
    n_classes: int
    n_frames: float
    n_features: int = 60
    frames_a_call: int = 512

    @property
    def n_timed(self) -> int:
        """Number of frames of each class that are generated."""
        return max(min(round(self.n_frames), _MOST_FRAMES), 4)


@dataclass(frozen=True)
class PairCosts:
    """What discriminants of pairs cost.

    Attributes
    ----------
    n_pairs : pairs that have a machine
    n_centers : distinct centres of all machines
    train_s : CPU seconds of training, from frames of known class to machines with curves
    a_pair_s : those of one pair, without what its classes share
    score_s : CPU seconds of the scores of a frame
    model_bytes : bytes of the machines on disk
    peak_bytes : memory of training beyond what the process has before
    """

    n_pairs: int
    n_centers: int
    train_s: float
    a_pair_s: float
    score_s: float
    model_bytes: float
    peak_bytes: float


def pair_costs(
    task: PairTask,
    hybrid: HybridConfig,
    own: Any,
    *,
    n_pairs: int | None = None,
    n_workers: int | None = None,
) -> PairCosts | None:
    """Return what discriminants cost, measured in about a second; None of other packages' classifiers.

    Parameters
    ----------
    task : sizes
    hybrid, own : options of all ways of training, and of this one
    n_pairs : pairs that have machines; those that are expected by default
    n_workers : threads whose memory counts; one a core by default
    """
    if task.way not in WAYS or task.n_classes < 2:
        return None
    n_threads = n_workers or default_workers()
    with single_threaded_libraries():
        if isinstance(own, PoolsConfig):
            return _of_pools(task, hybrid, own, n_pairs, n_threads)
        if isinstance(own, PairForwardConfig):
            return _of_own_centers(task, hybrid, own, n_pairs, n_threads)
        if isinstance(own, SvmConfig):
            return _of_svms(task, hybrid, own, n_pairs, n_threads)
        return _of_krls(task, hybrid, own)


def costs_by_size(
    way: str,
    n_states: int,
    frames_a_state: float,
    n_centers: int,
    *,
    n_pairs: int | None = None,
    preset: str = "thesis",
    n_workers: int | None = None,
) -> PairCosts | None:
    """Return what discriminants of so many states cost, without any task.

    Parameters
    ----------
    way : ``npd``, ``orols``, ``npd-pools`` and so on, see `acoustic.ways.WAYS`
    n_states, frames_a_state : states, and frames of each that are trained on
    n_centers : centres of a pair, or of a state where its pairs share them
    n_pairs : pairs that have machines; those that are expected by default
    preset : whose options are taken
    n_workers : threads whose memory counts; one a core by default
    """
    config = with_preset(ExperimentConfig(), preset)
    own: Any = config.of_way(way)
    if hasattr(own, "n_centers"):
        own = replace(own, n_centers=n_centers)
    front_end = config.front_end.front_end(config.hybrid.input_projection)
    n_features = front_end.mfcc.n_features if front_end.projection == "none" else front_end.n_components
    task = PairTask(way, n_states, frames_a_state, n_features)
    return pair_costs(task, config.hybrid, own, n_pairs=n_pairs, n_workers=n_workers)


def _of_pools(
    task: PairTask, hybrid: HybridConfig, own: PoolsConfig, n_pairs: int | None, n_threads: int
) -> PairCosts:
    """Return the costs of machines on centres that all pairs of a class share."""
    k, d = task.n_classes, task.n_features
    c = min(own.n_centers, task.n_timed)
    has_all = own.rivals == 1 or k <= _FEW_CLASSES or hybrid.coupling != "price" or hybrid.floor is None
    p = n_pairs or (laws.all_pairs(k) if has_all else laws.rival_pairs(k, own))
    choice_s, pair_s, class_s, prototypes_s = _pool_seconds(task, hybrid, own)
    machines: Machines
    if has_all:
        machines = pooled_machines(k, c, d, hybrid.sigma)
        meetings_s, model_bytes = 0.0, 4.0 * k * c * (d + k) + 32.0 * p
    else:
        machines = rivals = rival_machines(k, c, d, p, hybrid.sigma)
        some = speech_like_frames(_MEETING_FRAMES, k, d)
        meetings_s = k * least_seconds(lambda: rivals.prototypes.scores(some)) + k * prototypes_s
        model_bytes = 2.0 * p * 2 * c + 2.0 * k * (c + 8) * d + 40.0 * p
    in_group = min(max(k // _GROUPS, 1), _MOST_IN_GROUP)
    n_groups = -(-k // in_group)
    # Each part, the pairs between two groups, computes its classes' own kernel values anew.
    n_own = min(n_groups * k, 2 * p)
    part_bytes = 2 * in_group * task.n_frames * 4.0 * (c + d + 2)
    return PairCosts(
        p,
        k * c,
        k * choice_s + meetings_s + p * pair_s + n_own * class_s,
        pair_s,
        _score_seconds(task, hybrid, machines),
        model_bytes,
        k * task.n_frames * d * 4.0 + n_threads * part_bytes + 8.0 * p * 2 * c,
    )


def _pool_seconds(
    task: PairTask, hybrid: HybridConfig, own: PoolsConfig
) -> tuple[float, float, float, float]:
    """Return the seconds of a class's choice of centres, of a pair, of a class's own values and prototypes.

    Of 32 classes those of one frame, of which no pair is fitted, take no time. Classes are in groups of two
    then, so that pairs between two groups share what belongs to their classes.
    """
    n_big, n_classes = 4, 2 * _GROUPS
    counts = np.where(np.arange(n_classes) < n_big, task.n_timed, 1)
    frames, few = (labelled_frames(np.minimum(counts, n), task.n_features) for n in (task.n_timed, 64))
    n_steps = 1 if own.loss == "squared-hinge" else 0

    def centers(data: LabelledFrames) -> list[Singles]:
        return pool_centers(data, _CHOICES[task.way], own.n_centers, hybrid.sigma, 0, 1)

    def seconds_of(data: LabelledFrames, chosen: list[Singles], pairs: list[tuple[int, int]]) -> float:
        trainer = PoolTrainer(data, chosen, hybrid.sigma, own.ridge, hybrid.calibration, n_steps)
        asked = np.array(pairs, dtype=np.int32)
        return least_seconds(lambda: list(trainer.fitted(asked, 1)))

    seconds_of(few, centers(few), [(0, 2)])  # compiles
    chosen = centers(frames)
    one = seconds_of(frames, chosen, [(0, 2)])  # a pair, two classes
    four = seconds_of(frames, chosen, [(0, 2), (0, 3), (1, 2), (1, 3)])  # four pairs, four classes
    pair = max((four - 2 * one) / 2, 0.1 * one)
    return (
        least_seconds(lambda: centers(frames)) / n_big,
        pair * task.n_frames / task.n_timed,
        max((one - pair) / 2, 0.0) * task.n_frames / task.n_timed,
        least_seconds(lambda: fit_prototypes(frames, 0, 1)) / n_big,
    )


def _of_own_centers(
    task: PairTask, hybrid: HybridConfig, own: PairForwardConfig, n_pairs: int | None, n_threads: int
) -> PairCosts:
    """Return the costs of machines with centres of their own, by forward selection."""
    k, d, m = task.n_classes, task.n_features, task.n_classes * task.n_frames
    frames, few = (labelled_frames(np.full(2, n), d) for n in (task.n_timed, 40))
    regularize = task.way == "orols"

    def train(data: LabelledFrames) -> object:
        return train_forward.fit(
            data, hybrid.sigma, replace(own, tol=0.0), hybrid.calibration, regularize=regularize, n_workers=1
        )

    train(few)  # compiles
    pair_s = least_seconds(lambda: train(frames)) * task.n_frames / task.n_timed
    p = n_pairs or laws.all_pairs(k)
    c = min(own.n_centers, 2 * task.n_timed)
    n_distinct = laws.distinct_centers(p, c, m)
    machines = sparse_machines(k, c, n_distinct, d, hybrid.sigma)
    return PairCosts(
        p,
        n_distinct,
        p * pair_s,
        pair_s,
        _score_seconds(task, hybrid, machines),
        _sparse_bytes(p, c, n_distinct, d),
        # The frames lie in memory twice, and a mark for each number; each thread has a basis.
        m * (9.0 * d + 24.0) + n_threads * 8.0 * task.n_frames * (1 + c) + _GATHERED * p * c,
    )


def _of_svms(
    task: PairTask, hybrid: HybridConfig, own: SvmConfig, n_pairs: int | None, n_threads: int
) -> PairCosts:
    """Return the costs of support vector machines, from small ones by the laws of their growth."""
    k, d, m = task.n_classes, task.n_features, task.n_classes * task.n_frames
    n_small = min(task.n_timed, _SVM_FRAMES)
    frames = labelled_frames(np.full(2, n_small), d)
    machines, _ = train_svm.fit(frames, hybrid.sigma, own, hybrid.calibration, n_workers=1)
    small_s = least_seconds(lambda: train_svm.fit(frames, hybrid.sigma, own, hybrid.calibration, n_workers=1))
    growth = task.n_frames / n_small
    pair_s = small_s * growth**laws.SVM_POWER
    a_pair = max(round(machines.n_centers * growth**laws.SUPPORT_POWER), 1)
    p = n_pairs or laws.all_pairs(k)
    widest = min(_SVM_WIDEST * a_pair, 2 * task.n_frames)
    n_distinct = laws.distinct_centers(p, a_pair, m)
    return PairCosts(
        p,
        n_distinct,
        p * pair_s,
        pair_s,
        _score_seconds(task, hybrid, sparse_machines(k, a_pair, n_distinct, d, hybrid.sigma)),
        _sparse_bytes(p, widest, n_distinct, d),
        m * (9.0 * d + 24.0) + n_threads * (_SVM_CACHE + 16.0 * task.n_frames * d) + 12.0 * p * widest,
    )


def _of_krls(task: PairTask, hybrid: HybridConfig, own: KrlsConfig) -> PairCosts:
    """Return the costs of kernel recursive least squares, each class against the others."""
    k, d, m = task.n_classes, task.n_features, task.n_classes * task.n_frames
    priors = equal_priors(k, hybrid.prior_scale, hybrid.floor)

    def seconds_of(n_each: int) -> float:
        frames = labelled_frames(np.full(k, n_each), d)
        train = lambda: train_one_vs_rest(frames, priors, hybrid.sigma, own, hybrid.calibration)  # noqa: E731
        return least_seconds(train, is_warm=True)

    # The dictionary is soon full; from then on a frame costs the same.
    first, second = (max(round(n * _MOST_KRLS_CENTERS / k), 2) for n in (1.5, 2.5))
    before = seconds_of(first)
    a_frame = max(seconds_of(second) - before, 0.0) / (k * (second - first))
    c = min(_MOST_KRLS_CENTERS, round(m))
    model = one_vs_rest_model(k, c, d, hybrid.sigma)
    return PairCosts(
        k,
        c,
        before + a_frame * max(m - k * first, 0.0),
        a_frame * m / k,
        _seconds_a_frame(task, model),
        4.0 * c * (d + k) + 32.0 * k,
        m * (8.0 * d + 32.0 * k),
    )


def _sparse_bytes(n_pairs: int, a_pair: float, n_distinct: int, n_features: int) -> float:
    """Return the bytes on disk of machines with slots and weights (P, C) and distinct centres."""
    return n_distinct * (4.0 * n_features + 12.0) + n_pairs * (12.0 * a_pair + 40.0)


def _score_seconds(task: PairTask, hybrid: HybridConfig, machines: Machines) -> float:
    """Return the seconds of a frame's scores by machines of all pairs, or of rivals."""
    states = equal_priors(task.n_classes, hybrid.prior_scale, hybrid.floor)
    curves = curves_of(machines.n_pairs)
    return _seconds_a_frame(task, PairwiseDiscriminantModel(machines, curves, states, hybrid.coupling))


def _seconds_a_frame(task: PairTask, model: EmissionModel) -> float:
    """Return the seconds of a frame's scores where so many frames are scored at once."""
    a_call = max(min(task.frames_a_call, _N_SCORED), 1)
    n_calls = max(_N_SCORED // a_call, 1)
    frames = speech_like_frames(n_calls * a_call, task.n_classes, task.n_features)
    calls = np.split(frames, n_calls)
    model.log_likelihoods(calls[0])  # compiles, and prepares what is kept
    return least_seconds(lambda: [model.log_likelihoods(call) for call in calls]) / len(frames)
