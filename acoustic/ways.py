"""The ways of training a hybrid: `WAYS` has one row for each, and nothing else lists them.

A new way is a function that trains, and a row. If it has options of its own, their class becomes a section
of `asr.config.ExperimentConfig`, which the row names; if its model is of a new kind, files hold it as
`acoustic.emissions.kinds` says. Classifiers of scikit-learn and plugins need no row: `find_way` makes one.
A way has one name, that of its row, everywhere; a preset may know other names for it (`ALIASES`). What a
model is, in words, says one function wherever models are shown: `in_words`.

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
    from acoustic.pairs.train_pools import PoolsConfig
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
    section : name of its own configuration in an experiment's configuration; empty if it has none
    kind : kind of emission model that it trains and that files hold, see `acoustic.emissions.kinds`
    train : function (aligned frames, options of all hybrids, its own configuration, number of threads, watch)
        -> emission model
    check : function (options of all hybrids) that raises an error if they do not fit
    values : what is tried for options of its own section where they are chosen on the dev set
    libraries : modules of other packages whose code it runs
    promises : function (its own configuration) -> what `acoustic.emissions.kinds.describe` will say of its
        models, as far as that is known before; for `in_words`
    """

    section: str
    kind: str
    train: Callable[[AlignedFrames, HybridConfig, Any, int | None, Watch], EmissionModel]
    check: Callable[[HybridConfig], None] = _any_configuration
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    promises: Callable[[Any], Mapping[str, Any]] = lambda own: {}


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
        logger.info(
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
        is_of = {"classifier": name.rpartition(".")[2]}
        return Way("", "sklearn", partial(_classifier, name), libraries=(library,), promises=lambda _: is_of)
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
    return Way("", name, lambda data, *_: train(data), libraries=tuple(sorted(libraries)))


def _pools(
    data: AlignedFrames, config: HybridConfig, own: PoolsConfig, n_workers: int | None, watch: Watch
) -> EmissionModel:
    from acoustic.pairs import train_pools

    if config.coupling != "price" or config.floor is None:  # other couplings need the log odds of all pairs
        own = replace(own, rivals=1.0)
    found = train_pools.fit(
        data, config.sigma, own, config.calibration, seed=config.seed, n_workers=n_workers, watch=watch
    )
    return _pairwise(found, data, config, own.choice, own.loss)


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
    return _pairwise(found, data, config, "orols" if regularize else "npd", "squared")


def _svm(
    data: AlignedFrames, config: HybridConfig, own: SvmConfig, n_workers: int | None, watch: Watch
) -> EmissionModel:
    from acoustic.pairs import train_svm

    found = train_svm.fit(data, config.sigma, own, config.calibration, n_workers=n_workers, watch=watch)
    return _pairwise(found, data, config, "svm", "hinge")


def _check_svm(config: HybridConfig) -> None:
    from acoustic.pairs.train_svm import check_calibration

    check_calibration(config.calibration)


def _pairwise(
    fitted: tuple[Machines, Floats], data: AlignedFrames, config: HybridConfig, chosen_by: str, loss: str
) -> PairwiseDiscriminantModel:
    from acoustic.emissions.emission_model import PairwiseDiscriminantModel

    states = data.state_priors(config.prior_scale, config.floor)
    return PairwiseDiscriminantModel(*fitted, states, config.coupling, chosen_by=chosen_by, loss=loss)


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


def _of_pools(own: PoolsConfig) -> Mapping[str, Any]:
    return {
        "centers_are_chosen_for_each": "state",
        "centers_are_chosen_by": own.choice,
        "centers_a_class": own.n_centers,
        "loss": own.loss,
    }


def _of_pairs(chosen_by: str, own: object) -> Mapping[str, Any]:
    return {"centers_are_chosen_for_each": "pair", "centers_are_chosen_by": chosen_by}


def in_words(found: Mapping[str, Any]) -> str:
    """Return what was trained, or will be, as a person says it.

    Parameters
    ----------
    found : what `acoustic.emissions.kinds.describe` says of a model, or a way promises (`promised`)

    Examples
    --------
    >>> in_words({"kind": "pairwise", **_of_pairs("npd", None)})
    'thesis Algorithm 1 (NPD), own centres for each pair'
    """
    kind = str(found["kind"])
    if kind == "combined":
        return f"{in_words(found['first'])}; with {in_words(found['second'])}"
    if kind == "pairwise":
        return _pairs_in_words(found)
    if kind == "gmm":
        most = found.get("gaussians_a_state")
        return "Gaussian mixtures" + (f", up to {most:,} a state" if most else "")
    if kind == "one-vs-rest":
        return "kernel recursive least squares (KRLS), each state against all others"
    if kind == "sklearn":
        from acoustic.discriminants.files import OWN

        classifier = str(found.get("classifier", "a classifier"))
        is_ours = any(path.endswith(f".{classifier}") for path in OWN)
        return f"{classifier} of {'acoustic.discriminants' if is_ours else 'scikit-learn'}"
    return f"a plugin's model, {kind}"


_OF_THEIR_OWN = {
    "npd": "thesis Algorithm 1 (NPD), own centres for each pair",
    "orols": "thesis Algorithm 2 (OROLS), own centres for each pair",
    "svm": "a support vector machine for each pair",
}
_CHOICES = {
    "npd": "chosen by NPD in blocks",
    "orols": "chosen by OROLS in blocks",
    "random": "drawn at random",
    "kmeans": "means of clusters",
}
_LOSSES = {"squared": "least squares", "squared-hinge": "squared hinge"}


def _pairs_in_words(found: Mapping[str, Any]) -> str:
    """Return what machines of pairs are, and on which centres."""
    chosen_by = str(found["centers_are_chosen_by"])
    unknown = "chosen in a way that its files do not name"
    if found["centers_are_chosen_for_each"] == "pair":
        return _OF_THEIR_OWN.get(chosen_by, f"own centres for each pair, {unknown}")
    loss = _LOSSES.get(str(found.get("loss")), "")  # older models do not say it
    most = found.get("centers_a_class")
    shared = f"up to {most:,} centres a state" if most else "the centres of a state"
    how = _CHOICES.get(chosen_by, unknown)
    return f"pairs of states share {shared}, {how}" + (f"; {loss}" if loss else "")


def promised(way: str, own: object) -> dict[str, Any]:
    """Return what will be said of the models of a way of training with its own configuration."""
    row = find_way(way)
    return {"kind": row.kind, **row.promises(own)}


def meant(name: str, preset: str) -> str:
    """Return the name of the way that a name of a model means in a preset; other names as they are.

    >>> meant("npd", "best"), meant("npd", "thesis"), meant("gmm", "best")
    ('pools', 'npd', 'gmm')
    """
    return ALIASES.get(preset, {}).get(name, name)


def note_on(name: str, preset: str) -> str:
    """Return what to tell a person whose name of a model means another one in a preset; else nothing."""
    way = meant(name, preset)
    if way == name:
        return ""
    return (
        f"{name} is another name of {way} here: all pairs of a state share its centres, chosen as "
        f"{way}.choice says (npd unless set); the {name} of the thesis is trained with --preset thesis"
    )


SIGMAS = (4.0, 5.0, 6.5, 8.0)  # values of hybrid.sigma, which all rows have, tried on the dev set
_OF_PAIRS = {"n_centers": (50, 100, 200), "tol": (0.25, 0.5, 1.0), "epsilon": (1e-3, 1e-2, 1e-1)}

WAYS: dict[str, Way] = {
    # All pairs of a state share its centres; `pools.choice` says how these are chosen.
    "pools": Way("pools", "pairwise", _pools, promises=_of_pools),
    # Each pair has centres of its own, by thesis Algorithm 1 and Algorithm 2. The `tol` of the second is the
    # relative change of λ at which it stops, so other values are tried for it.
    "npd": Way(
        "forward",
        "pairwise",
        partial(_forward, regularize=False),
        values=_OF_PAIRS,
        promises=partial(_of_pairs, "npd"),
    ),
    "orols": Way(
        "forward",
        "pairwise",
        partial(_forward, regularize=True),
        values={**_OF_PAIRS, "tol": (0.02, 0.05, 0.1, 0.2)},
        promises=partial(_of_pairs, "orols"),
    ),
    "svm": Way(
        "svm",
        "pairwise",
        _svm,
        _check_svm,
        {"cost": (1.0, 3.0, 10.0)},
        libraries=("sklearn.svm",),
        promises=partial(_of_pairs, "svm"),
    ),
    # Each class against all others.
    "krls": Way("krls", "one-vs-rest", _krls, values={"nu": (0.01, 0.1, 0.3)}),
}

# What else a name of a model means in a preset: before the pooled system had a name of its own, it was `npd`.
ALIASES: Mapping[str, Mapping[str, str]] = {"best": {"npd": "pools", "orols": "pools"}}
