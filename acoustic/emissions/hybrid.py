"""Hybrid acoustic models: discriminants of aligned frames as emission scores of HMM states.

Axes: M training frames, D features, S states, K classes (states that frames tell apart).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from acoustic.discriminants.krls import KRLSClassifier
from acoustic.emissions.kinds import find_kind
from acoustic.emissions.one_vs_rest import OneVsRestModel
from acoustic.emissions.pairwise import PairwiseDiscriminantModel
from acoustic.emissions.protocol import EmissionModel
from acoustic.emissions.sklearn_model import PREFIX, SklearnModel, make_classifier
from acoustic.emissions.state_priors import StatePriors
from acoustic.errors import TrainingError
from acoustic.kernels.forward import ForwardConfig
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.calibration import CurveName, fit_curve
from acoustic.pairs.iterative_coupling import CouplingName
from acoustic.pairs.pool_centers import PoolName, drawn, pool_centers
from acoustic.pairs.pooled import PooledMachines
from acoustic.pairs.sparse import PairwiseMachines
from acoustic.pairs.train_forward import fit_pairs
from acoustic.pairs.train_pools import Loss, PoolConfig, fit_pools
from acoustic.pairs.train_svm import SvmConfig, fit_svm_pairs
from features.frontend import Projection
from foundation.arrays import Floats, Integers, Ints, Singles
from foundation.checks import check_choices, check_lowest
from foundation.threads import Watch, unwatched

PAIRWISE = ("npd", "orols", "svm")
Centers = Literal["pair", "state"]
Units = Literal["phone", "context", "cross-word"]
Adaptation = Literal["none", "cmllr"]


@dataclass(frozen=True)
class HybridConfig:
    """How discriminants become emission scores.

    Attributes
    ----------
    input_projection : of the front end, before the kernel
    warps : of the frequency axis: further copies of the training recordings that discriminants learn from
    units : states of phones, or of phones in context tied by decision trees, the context within a word or
        across words
    realignments : of the training frames, each by the hybrid trained before, which is then trained anew
    centers : chosen for each ``pair`` by forward selection (thesis), or for each ``state`` and shared by its
        pairs
    n_centers : of a pair or of a state, at most
    pool : how a state's shared centres are chosen (`acoustic.pairs.pool_centers`)
    max_frames : of a state that discriminants are trained on, drawn at random
    min_frames : with fewer, a state shares the class of the state whose mean frame is nearest; without any,
        its posterior is its prior
    sigma : width of the Gaussian kernel
    epsilon : added to the diagonal of a pair's Gram matrix (``pair``)
    ridge : on the weights of shared centres (``state``)
    loss : of shared centres; ``squared-hinge`` is one Newton step from least squares
    calibration : from outputs to log odds; ``pair`` uses fitted outputs as the thesis, ``state`` those of
        two halves of the speakers, each predicted by the other
    prior_scale : share of the log prior that is divided by
    floor : least log posterior
    gmm_weight : share of the aligning mixture model's log-likelihoods that is added to the scores
    adaptation : of the discriminants' frames to the speaker of the recordings that are decoded
        (`acoustic.emissions.adaptation`), by what a first pass hears; without a projection the mixtures see
        the same
    adaptation_frames : of the prior against the speaker's own
    svm_cost : C of the support vector machines (model ``svm``)
    nu, n_dictionary : threshold and size of the dictionary (model ``krls``)
    coupling : of the pairs' posteriors
    n_coupled : classes of each frame that another coupling than Price's is over, the best ones; 0 for all
    seed : of frames and centres drawn
    """

    input_projection: Projection = "lda"
    warps: tuple[float, ...] = (0.93, 1.07)
    units: Units = "context"
    realignments: int = 0
    centers: Centers = "state"
    n_centers: int = 200
    pool: PoolName = "random"
    max_frames: int = 4000
    min_frames: int = 20
    sigma: float = 5.0
    epsilon: float = 1e-3
    ridge: float = 1e-5
    loss: Loss = "squared-hinge"
    calibration: CurveName = "logistic"
    prior_scale: float = 0.5
    floor: float = -40.0
    gmm_weight: float = 0.2
    adaptation: Adaptation = "cmllr"
    adaptation_frames: float = 100.0
    svm_cost: float = 10.0
    nu: float = 1e-2
    n_dictionary: int = 1000
    coupling: CouplingName = "price"
    n_coupled: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        check_choices(self, TrainingError)
        lowest = {
            "realignments": 0,
            "n_centers": 1,
            "n_dictionary": 1,
            "n_coupled": 0,
            "max_frames": 2,
            "min_frames": 1,
            "epsilon": 0,
            "prior_scale": 0,
            "gmm_weight": 0,
            "adaptation_frames": 1,
        }
        check_lowest(self, lowest, TrainingError)
        if not all(0.5 < warp < 2 and warp != 1 for warp in self.warps):
            raise TrainingError(
                f"warps: expected numbers near 1, as 0.92,1.08, got {self.warps}; change them"
            )
        for name in ("sigma", "ridge", "svm_cost", "nu"):
            if not 0 < getattr(self, name) < np.inf:
                raise TrainingError(f"{name}: expected above 0, got {getattr(self, name)}; change it")

    def of_training(self) -> HybridConfig:
        """Return the options that decide what is trained; the others have their defaults."""
        default = HybridConfig()
        return replace(
            self,
            realignments=default.realignments,
            adaptation=default.adaptation,
            adaptation_frames=default.adaptation_frames,
        )


THESIS = HybridConfig(
    input_projection="none",
    warps=(),
    units="phone",
    centers="pair",
    n_centers=100,
    max_frames=2500,
    loss="squared",
    calibration="gaussian",
    prior_scale=1.0,
    gmm_weight=0.0,
    adaptation="none",
)


class AlignedFrames(NamedTuple):
    """Frames of known class.

    Attributes
    ----------
    x : (M, D) float32, class by class
    codes : (M,) int32 class of each, 0 … K − 1
    folds : (M,) int32 half of the speakers, 0 or 1
    counts : (K,) frames of each class before any were left out
    class_of_state : (S,) int32, −1 for none
    """

    x: Singles
    codes: Ints
    folds: Ints
    counts: Floats
    class_of_state: Ints

    def state_priors(self, config: HybridConfig) -> StatePriors:
        """Return what turns the classes' posteriors into the states' scores."""
        log_priors = np.log(self.counts / self.counts.sum())
        return StatePriors(self.class_of_state, log_priors, config.prior_scale, config.floor)


def aligned_frames(
    frames: Sequence[Singles],
    labels: Sequence[Integers],
    speakers: Sequence[str],
    n_states: int,
    config: HybridConfig,
) -> AlignedFrames:
    """Return the frames discriminants are trained on.

    Parameters
    ----------
    frames : of each utterance (T, D)
    labels : of each utterance the states (T,), −1 where unknown
    speakers : of each utterance
    n_states : S
    config : how many frames of a state are used
    """
    x, states = np.concatenate(frames), np.concatenate(labels)
    half = {speaker: k % 2 for k, speaker in enumerate(sorted(set(speakers)))}
    is_alone = len(half) == 1  # then halves of the utterances
    of_utterance = np.arange(len(frames)) % 2 if is_alone else np.array([half[s] for s in speakers])
    folds = np.repeat(of_utterance, [len(f) for f in frames])
    class_of_state = _classes(x, states, n_states, config.min_frames)
    n_classes = int(class_of_state.max(initial=-1)) + 1
    if n_classes < 2:
        raise TrainingError(
            f"{n_classes} states have {config.min_frames} frames or more, expected two at least to tell "
            "apart; record more, or lower min_frames"
        )
    codes = np.where(states >= 0, class_of_state[states], -1)
    rng = np.random.default_rng(config.seed)
    rows = [drawn(np.flatnonzero(codes == k), config.max_frames, rng) for k in range(n_classes)]
    chosen = np.concatenate(rows)
    counts = np.bincount(codes[codes >= 0], minlength=n_classes).astype(np.float64)
    return AlignedFrames(
        np.asarray(x[chosen], dtype=np.float32),
        codes[chosen].astype(np.int32),
        folds[chosen].astype(np.int32),
        counts,
        class_of_state,
    )


def train_emissions(
    classifier: str,
    data: AlignedFrames,
    config: HybridConfig,
    n_workers: int | None = None,
    watch: Watch = unwatched,
) -> EmissionModel:
    """Return the emission model of a classifier.

    Parameters
    ----------
    classifier : ``npd``, ``orols``, ``svm`` (one for each pair of classes), ``krls`` (one for each class),
        ``sklearn:module.Class``, or the name of a plugin (`acoustic.emissions.kinds`)
    data : aligned frames
    config : see there
    n_workers : threads; one a core by default
    watch : shows how much of the pairs is done
    """
    if classifier == "krls":
        return _krls(data, config)
    if classifier.startswith(PREFIX):
        fitted = make_classifier(classifier).fit(data.x, data.codes)
        return SklearnModel(fitted, data.state_priors(config))
    if classifier not in PAIRWISE:
        kind = find_kind(classifier)
        if kind.train is None:
            raise TrainingError(
                f'classifier "{classifier}" cannot be trained here; expected one of: {", ".join(PAIRWISE)}, '
                "krls, sklearn:module.Class, or a plugin that trains"
            )
        return kind.train(data)
    machines: PairwiseMachines | PooledMachines
    if classifier == "svm":
        machines, curves = _svm(data, config, n_workers, watch)
    elif config.centers == "pair":
        machines, curves = _on_pairs(classifier == "orols", data, config, n_workers, watch)
    else:
        machines, curves = _on_pools(data, config, n_workers, watch)
    return PairwiseDiscriminantModel(
        machines, curves, data.state_priors(config), config.coupling, config.n_coupled
    )


def _on_pairs(
    is_regularized: bool, data: AlignedFrames, config: HybridConfig, n_workers: int | None, watch: Watch
) -> tuple[PairwiseMachines, Floats]:
    """Return machines whose centres are selected pair by pair, thesis Algorithms 1 and 2."""
    forward = ForwardConfig(
        Kernel("gaussian", config.sigma),
        (config.sigma,),
        config.n_centers,
        epsilon=config.epsilon,
        regularize=is_regularized,
    )
    return fit_pairs(
        data.x,
        data.codes,
        len(data.counts),
        forward,
        n_workers=n_workers,
        calibration="fitted" if config.calibration == "gaussian" else "loo",
        coupling=config.calibration,
        counts=data.counts,
        watch=watch,
    )


def _svm(
    data: AlignedFrames, config: HybridConfig, n_workers: int | None, watch: Watch
) -> tuple[PairwiseMachines, Floats]:
    """Return support vector machines, the peers."""
    outputs: Literal["fitted", "held-out"] = "fitted" if config.calibration == "gaussian" else "held-out"
    machine = SvmConfig(config.sigma, config.svm_cost, config.calibration, outputs)
    return fit_svm_pairs(data.x, data.codes, data.folds, data.counts, machine, n_workers, watch)


def _krls(data: AlignedFrames, config: HybridConfig) -> OneVsRestModel:
    """Return kernel recursive least squares, one class against all others over one dictionary."""
    machine = KRLSClassifier(config.sigma, config.n_dictionary, nu=config.nu).fit(data.x, data.codes)
    weights, biases = machine.dual_coef_.T, machine.intercept_
    if len(data.counts) == 2:  # one column, positive for the second class
        weights, biases = weights * [-1, 1], biases * [-1, 1]
    model = OneVsRestModel(
        config.sigma,
        machine.centers_.astype(np.float32),
        weights.astype(np.float32),
        biases,
        np.zeros((len(data.counts), 3)),
        data.state_priors(config),
    )
    outputs = model.outputs(data.x)
    curves = []
    for k, count in enumerate(data.counts):
        own = data.codes == k
        values = np.concatenate([outputs[own, k], outputs[~own, k]])
        counts = (count, data.counts.sum() - count)
        curves.append(fit_curve(values, int(own.sum()), counts, config.calibration))
    return replace(model, curves=np.array(curves))


def _on_pools(
    data: AlignedFrames, config: HybridConfig, n_workers: int | None, watch: Watch
) -> tuple[PooledMachines, Floats]:
    """Return machines on centres that all pairs of a class share."""
    centers = pool_centers(
        data.x, data.codes, config.pool, config.n_centers, config.sigma, config.seed, n_workers
    )
    pools = PoolConfig(config.sigma, config.ridge, config.loss, calibration=config.calibration)
    return fit_pools(data.x, data.codes, data.folds, centers, data.counts, pools, n_workers, watch)


def _classes(x: Singles, states: Integers, n_states: int, min_frames: int) -> Ints:
    """Return the class of each state (S,): its own, that of the nearest mean frame, or −1 without frames."""
    counts = np.bincount(states[states >= 0], minlength=n_states)
    own = np.flatnonzero(counts >= min_frames)
    found = np.full(n_states, -1, dtype=np.int32)
    found[own] = np.arange(len(own))
    rare = np.flatnonzero((counts > 0) & (counts < min_frames))
    if len(rare) and len(own):
        means = np.stack([x[states == s].mean(axis=0, dtype=np.float64) for s in own])
        for s in rare:
            distances = np.sum((means - x[states == s].mean(axis=0, dtype=np.float64)) ** 2, axis=1)
            found[s] = found[own[np.argmin(distances)]]
    return found
