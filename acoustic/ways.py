"""The ways of training a hybrid: `WAYS` has one row for each, and nothing else lists them.

A new way is a function that trains, and a row. If it has options of its own, their class becomes a section
of `asr.config.ExperimentConfig`, which the row names; if its model is of a new kind, files hold it as
`acoustic.emissions.kinds` says. Classifiers of scikit-learn and plugins need no row: `find_way` makes one.

Functions import what they need, so that asking for the names loads neither numpy nor scikit-learn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acoustic.emissions.aligned_frames import AlignedFrames, HybridConfig
    from acoustic.emissions.emission_model import EmissionModel, PairwiseDiscriminantModel
    from acoustic.emissions.one_vs_rest import KrlsConfig
    from acoustic.pairs.machines import Machines
    from acoustic.pairs.train_forward import PairForwardConfig
    from acoustic.pairs.train_pools import Choice, PoolsConfig
    from acoustic.pairs.train_svm import SvmConfig
    from foundation.arrays import Floats
    from foundation.threads import Watch

PRESETS = ("best", "thesis")
SCIKIT_LEARN = "sklearn:"

logger = logging.getLogger(__name__)


def _any_configuration(config: HybridConfig) -> None:
    """Accept what hybrids are configured to do."""


@dataclass(frozen=True)
class Way:
    """One way of training discriminants.

    Attributes
    ----------
    model : name that ``asr train --model`` takes; two ways may share one, in different presets
    section : name of its own configuration in an experiment's configuration; empty if it has none
    kind : kind of emission model that it trains and that files hold, see `acoustic.emissions.kinds`
    train : function (aligned frames, options of all hybrids, its own configuration, number of threads, watch)
        -> emission model
    check : function (options of all hybrids) that raises an error if they do not fit
    values : what is tried for options of its own section where they are chosen on the dev set
    presets : presets in which the model's name means this way
    libraries : modules of other packages whose code it runs
    """

    model: str
    section: str
    kind: str
    train: Callable[[AlignedFrames, HybridConfig, Any, int | None, Watch], EmissionModel]
    check: Callable[[HybridConfig], None] = _any_configuration
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    presets: tuple[str, ...] = PRESETS
    libraries: tuple[str, ...] = ()


def train_emissions(
    way: str,
    data: AlignedFrames,
    config: HybridConfig,
    own: object = None,
    n_workers: int | None = None,
    watch: Watch | None = None,
) -> EmissionModel:
    """Return an emission model trained on aligned frames.

    Parameters
    ----------
    way : one of `WAYS`, ``sklearn:module.Class``, or the name of a plugin's kind
    data : aligned frames
    config : options of all ways of training
    own : configuration of this way of training, if it has one
    n_workers : threads that train pairs; one a core by default. The result does not depend on it.
    watch : shows how many pairs or groups of pairs are done
    """
    from foundation.threads import unwatched

    found = find_way(way)
    n_alone = len(data.classes_of_one_fold())
    if way in WAYS and n_alone and config.calibration.outputs == "held-out":
        logger.warning(
            "%d of %d classes have frames in one half of the speakers only; their outputs are not held out: "
            "their machines are calibrated on fitted outputs",
            n_alone,
            data.n_classes,
        )
    return found.train(data, config, own, n_workers, watch or unwatched)


def check_way(way: str, config: HybridConfig) -> None:
    """Raise an error if a way of training cannot do what hybrids are configured to do."""
    find_way(way).check(config)


def find_way(name: str) -> Way:
    """Return a row of `WAYS`, or one made for a classifier of scikit-learn or a plugin.

    Raises
    ------
    ModelError : there is no such classifier or kind
    TrainingError : the kind is known but nobody trains it
    """
    if name in WAYS:
        return WAYS[name]
    if name.startswith(SCIKIT_LEARN):
        from acoustic.emissions.sklearn_model import make_classifier

        library = type(make_classifier(name)).__module__
        return Way(name, "", "sklearn", partial(_classifier, name), libraries=(library,))
    from acoustic.emissions.kinds import find_kind
    from acoustic.errors import TrainingError

    kind = find_kind(name)
    train = kind.train
    if train is None:
        raise TrainingError(
            f'"{name}" cannot be trained, expected one of: {", ".join(WAYS)}, sklearn:module.Class, or a '
            "plugin that trains"
        )
    libraries = {kind.type.__module__, train.__module__}
    return Way(name, "", name, lambda data, *_: train(data), libraries=tuple(sorted(libraries)))


def _pools(
    data: AlignedFrames,
    config: HybridConfig,
    own: PoolsConfig,
    n_workers: int | None,
    watch: Watch,
    *,
    choice: Choice,
) -> EmissionModel:
    from acoustic.pairs import train_pools

    if config.coupling != "price" or config.floor is None:  # other couplings need the log odds of all pairs
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
    from acoustic.pairs import train_forward

    found = train_forward.fit(
        data, config.sigma, own, config.calibration, regularize=regularize, n_workers=n_workers, watch=watch
    )
    return _pairwise(found, data, config, "orols" if regularize else "npd")


def _svm(
    data: AlignedFrames, config: HybridConfig, own: SvmConfig, n_workers: int | None, watch: Watch
) -> EmissionModel:
    from acoustic.pairs import train_svm

    found = train_svm.fit(data, config.sigma, own, config.calibration, n_workers=n_workers, watch=watch)
    return _pairwise(found, data, config, "svm")


def _check_svm(config: HybridConfig) -> None:
    from acoustic.pairs.train_svm import check_calibration

    check_calibration(config.calibration)


def _pairwise(
    fitted: tuple[Machines, Floats], data: AlignedFrames, config: HybridConfig, chosen_by: str
) -> PairwiseDiscriminantModel:
    from acoustic.emissions.emission_model import PairwiseDiscriminantModel

    states = data.state_priors(config.prior_scale, config.floor)
    return PairwiseDiscriminantModel(*fitted, states, config.coupling, chosen_by=chosen_by)


def _krls(
    data: AlignedFrames, config: HybridConfig, own: KrlsConfig, n_workers: int | None, watch: Watch
) -> EmissionModel:
    from acoustic.emissions.one_vs_rest import train_one_vs_rest

    states = data.state_priors(config.prior_scale, config.floor)
    return train_one_vs_rest(data, states, config.sigma, own, config.calibration, config.seed)


def _classifier(
    name: str, data: AlignedFrames, config: HybridConfig, own: None, n_workers: int | None, watch: Watch
) -> EmissionModel:
    from acoustic.emissions.emission_model import FLOOR
    from acoustic.emissions.sklearn_model import SklearnModel, make_classifier, seeded

    classifier = seeded(make_classifier(name), config.seed).fit(data.x, data.codes)
    # A classifier's posteriors may be 0, so their logarithms need a floor.
    floor = FLOOR if config.floor is None else config.floor
    return SklearnModel(classifier, data.state_priors(config.prior_scale, floor))


SIGMAS = (4.0, 5.0, 6.5, 8.0)  # values of hybrid.sigma, which all rows have, tried on the dev set
_OF_PAIRS = {"n_centers": (50, 100, 200), "tol": (0.25, 0.5, 1.0), "epsilon": (1e-3, 1e-2, 1e-1)}

WAYS: dict[str, Way] = {
    # Each pair has centres of its own, by thesis Algorithm 1 and Algorithm 2. The `tol` of the second is the
    # relative change of λ at which it stops, so other values are tried for it.
    "npd": Way(
        "npd",
        "forward",
        "pairwise",
        partial(_forward, regularize=False),
        values=_OF_PAIRS,
        presets=("thesis",),
    ),
    "orols": Way(
        "orols",
        "forward",
        "pairwise",
        partial(_forward, regularize=True),
        values={**_OF_PAIRS, "tol": (0.02, 0.05, 0.1, 0.2)},
        presets=("thesis",),
    ),
    # All pairs of a class share its centres: selected for it by NPD, by OROLS, or drawn at random.
    "npd-pools": Way("npd", "pools", "pairwise", partial(_pools, choice="npd"), presets=("best",)),
    "orols-pools": Way("orols", "pools", "pairwise", partial(_pools, choice="orols"), presets=("best",)),
    "pools": Way("pools", "pools", "pairwise", partial(_pools, choice="random")),
    "svm": Way(
        "svm", "svm", "pairwise", _svm, _check_svm, {"cost": (1.0, 3.0, 10.0)}, libraries=("sklearn.svm",)
    ),
    # Each class against all others.
    "krls": Way("krls", "krls", "one-vs-rest", _krls, values={"nu": (0.01, 0.1, 0.3)}),
}
