"""Hybrid acoustic models: discriminants of aligned frames as emission scores of HMM states."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from acoustic.emissions.aligned_frames import AlignedFrames
from acoustic.emissions.kinds import find_kind
from acoustic.emissions.one_vs_rest import KrlsConfig, train_one_vs_rest
from acoustic.emissions.pairwise import PairwiseDiscriminantModel
from acoustic.emissions.protocol import EmissionModel
from acoustic.emissions.sklearn_model import PREFIX, SklearnModel, make_classifier, seeded
from acoustic.emissions.state_priors import FLOOR
from acoustic.errors import TrainingError
from acoustic.pairs import train_forward, train_pools, train_svm
from acoustic.pairs.calibration import Calibration
from acoustic.pairs.iterative_coupling import CouplingName
from acoustic.pairs.machines import Machines
from acoustic.pairs.pool_centers import Choice
from acoustic.pairs.train_forward import PairForwardConfig
from acoustic.pairs.train_pools import PoolsConfig
from acoustic.pairs.train_svm import SvmConfig
from features.frontend import Projection
from foundation.arrays import Floats
from foundation.records import check_choices, check_highest, check_lowest
from foundation.threads import Watch, unwatched

logger = logging.getLogger(__name__)

Units = Literal["phone", "context", "cross-word"]
Adaptation = Literal["none", "cmllr"]

_HIGHEST = {
    "max_frames": 10**9,
    "min_frames": 10**9,
    "prior_scale": 1000,
    "gmm_weight": 1000,
    "seed": 2**32 - 1,  # of scikit-learn's estimators
}
_HELD_OUT = Calibration("held-out", "logistic")


@dataclass(frozen=True)
class HybridConfig:
    """What all hybrids have in common, however their discriminants are trained.

    Attributes
    ----------
    input_projection : projection of the frames that the discriminants see: ``lda`` or ``none``
    warps : factors by which the frequency axis is warped to make further copies of the training recordings,
        from which the discriminants learn, too
    units : what states stand for: phones (``phone``), or phones in context tied by decision trees, where the
        context stays within a word (``context``) or reaches across words (``cross-word``)
    max_frames : largest number of frames of a class that discriminants are trained on, drawn at random
    min_frames : least number of frames of a class; a state with fewer frames shares the class of the state
        whose mean frame is nearest, and a state without any frames gets the prior of the rarest class as
        its posterior
    sigma : width σ of the Gaussian kernel, in units of the frames' values
    calibration : how the curves from outputs to log odds are fitted
    coupling : how the log odds of all pairs are coupled to posteriors: ``price``, ``wu-lin-weng`` or
        ``hastie-tibshirani``
    prior_scale : factor of the log prior of a state that is subtracted from its log posterior
    gmm_weight : factor of the log-likelihoods of the aligning Gaussian mixture model that are added to the
        scores
    adaptation : how frames are adapted to the speakers of the recordings that are decoded: ``cmllr``, one
        linear transform per speaker estimated from the words of a first pass, or ``none``. The mixture model
        sees the adapted frames only if there is no input projection
    seed : seed of the random choice of frames and centres
    """

    input_projection: Projection = "lda"
    warps: tuple[float, ...] = (0.93, 1.07)
    units: Units = "context"
    max_frames: int = 4000
    min_frames: int = 20
    sigma: float = 5.0
    calibration: Calibration = _HELD_OUT
    coupling: CouplingName = "price"
    prior_scale: float = 0.5
    gmm_weight: float = 0.2
    adaptation: Adaptation = "cmllr"
    seed: int = 0

    def __post_init__(self) -> None:
        check_choices(self, TrainingError)
        lowest = {"max_frames": 2, "min_frames": 1, "prior_scale": 0, "gmm_weight": 0, "seed": 0}
        check_lowest(self, lowest, TrainingError)
        check_highest(self, _HIGHEST, TrainingError)
        if not all(0.5 < warp < 2 and warp != 1 for warp in self.warps):
            raise TrainingError(
                f"warps: expected numbers near 1, as 0.92,1.08, got {self.warps}; change them"
            )
        # In single precision its square must be neither 0 nor infinite.
        if not 1e-6 <= self.sigma <= 1e6:
            raise TrainingError(f"sigma: expected 1e-6 to 1e6, got {self.sigma}; change it")

    @property
    def floor(self) -> float | None:
        """Least log posterior of a state; None for none, as in the thesis, whose curves are Gaussian."""
        return None if self.calibration.curve == "gaussian" else FLOOR

    def of_training(self) -> HybridConfig:
        """Return the options with adaptation, which does not affect what is trained, set to its default."""
        return replace(self, adaptation=HybridConfig.adaptation)


THESIS = HybridConfig(
    input_projection="none",
    warps=(),
    units="phone",
    max_frames=2500,
    calibration=Calibration("fitted", "gaussian"),
    prior_scale=1.0,
    gmm_weight=0.0,
    adaptation="none",
)


def train_emissions(
    way: str,
    data: AlignedFrames,
    config: HybridConfig,
    own: object = None,
    n_workers: int | None = None,
    watch: Watch = unwatched,
) -> EmissionModel:
    """Return an emission model trained on aligned frames.

    Parameters
    ----------
    way : one of `WAYS`, ``sklearn:module.Class``, or the name of a plugin's kind
    data : aligned frames
    config : options of all ways of training
    own : configuration of this way of training, if it is one of `WAYS`
    n_workers : threads that train pairs; one a core by default. The result does not depend on it.
    watch : shows how many pairs or groups of pairs are done
    """
    if way in WAYS:
        _tell_of_one_fold(data, config.calibration)
        return WAYS[way].train(data, config, own, n_workers, watch)
    if way.startswith(PREFIX):
        classifier = seeded(make_classifier(way), config.seed).fit(data.x, data.codes)
        # A classifier's posteriors may be 0, so their logarithms need a floor.
        floor = FLOOR if config.floor is None else config.floor
        return SklearnModel(classifier, data.state_priors(config.prior_scale, floor))
    return _plugin_training(way)(data)


def check_way(way: str, config: HybridConfig) -> None:
    """Raise an error if a way of training cannot do what hybrids are configured to do."""
    if way in WAYS:
        WAYS[way].check(config)
    elif way.startswith(PREFIX):
        make_classifier(way)
    else:
        _plugin_training(way)


def _plugin_training(name: str) -> Callable[[AlignedFrames], EmissionModel]:
    kind = find_kind(name)
    if kind.train is None:
        raise TrainingError(
            f'"{name}" cannot be trained, expected one of: {", ".join(WAYS)}, sklearn:module.Class, or a '
            "plugin that trains"
        )
    return kind.train


def _tell_of_one_fold(data: AlignedFrames, calibration: Calibration) -> None:
    """Log how many classes no machine can learn without one of the folds."""
    n_alone = len(data.classes_of_one_fold())
    if n_alone and calibration.outputs == "held-out":
        logger.warning(
            "%d of %d classes have frames in one half of the speakers only; their outputs are not held out: "
            "their machines are calibrated on fitted outputs",
            n_alone,
            data.n_classes,
        )


def _any_configuration(config: HybridConfig) -> None:
    """Accept what hybrids are configured to do."""


def _check_svm(config: HybridConfig) -> None:
    train_svm.check_calibration(config.calibration)


@dataclass(frozen=True)
class Way:
    """One way of training discriminants.

    Attributes
    ----------
    section : name of its configuration's section in an experiment's configuration
    train : function (aligned frames, options of all hybrids, its own configuration, number of threads, watch)
        -> emission model
    check : function (options of all hybrids) that raises an error if they do not fit
    """

    section: str
    train: Callable[[AlignedFrames, HybridConfig, Any, int | None, Watch], EmissionModel]
    check: Callable[[HybridConfig], None] = _any_configuration


def _pairwise(
    fitted: tuple[Machines, Floats], data: AlignedFrames, config: HybridConfig, chosen_by: str
) -> PairwiseDiscriminantModel:
    states = data.state_priors(config.prior_scale, config.floor)
    return PairwiseDiscriminantModel(*fitted, states, config.coupling, chosen_by=chosen_by)


def _pools(
    data: AlignedFrames,
    config: HybridConfig,
    own: PoolsConfig,
    n_workers: int | None,
    watch: Watch,
    *,
    choice: Choice,
) -> EmissionModel:
    if config.coupling != "price" or config.floor is None:  # these couple the log odds of all pairs
        own = replace(own, rivals=1.0)
    found = train_pools.fit(
        data,
        config.sigma,
        own,
        config.calibration,
        choice=choice,
        seed=config.seed,
        n_workers=n_workers,
        watch=watch,
    )
    return _pairwise(found, data, config, choice)


def _forward(
    data: AlignedFrames,
    config: HybridConfig,
    own: PairForwardConfig,
    n_workers: int | None,
    watch: Watch,
    *,
    regularize: bool,
) -> EmissionModel:
    found = train_forward.fit(
        data, config.sigma, own, config.calibration, regularize=regularize, n_workers=n_workers, watch=watch
    )
    return _pairwise(found, data, config, "orols" if regularize else "npd")


def _svm(
    data: AlignedFrames, config: HybridConfig, own: SvmConfig, n_workers: int | None, watch: Watch
) -> EmissionModel:
    found = train_svm.fit(data, config.sigma, own, config.calibration, n_workers=n_workers, watch=watch)
    return _pairwise(found, data, config, "svm")


def _krls(
    data: AlignedFrames, config: HybridConfig, own: KrlsConfig, n_workers: int | None, watch: Watch
) -> EmissionModel:
    states = data.state_priors(config.prior_scale, config.floor)
    return train_one_vs_rest(data, states, config.sigma, own, config.calibration, config.seed)


WAYS: dict[str, Way] = {
    "pools": Way("pools", partial(_pools, choice="random")),  # centres shared by all pairs of a class, drawn
    "npd-pools": Way("pools", partial(_pools, choice="npd")),  # the same, selected by NPD
    "orols-pools": Way("pools", partial(_pools, choice="orols")),  # the same, selected by OROLS
    # Each pair has centres of its own, by thesis Algorithm 1 and Algorithm 2.
    "npd": Way("forward", partial(_forward, regularize=False)),
    "orols": Way("forward", partial(_forward, regularize=True)),
    "svm": Way("svm", _svm, _check_svm),
    "krls": Way("krls", _krls),  # each class against all others
}
