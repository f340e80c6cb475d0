"""The kinds of emission models: how each is written as tensors and options, and read again.

A package adds its own under the entry point group ``asr.emission_models``: the name of the entry point is the
kind (and the name for ``asr train --model``), its object an `EmissionKind`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acoustic.emissions.emission_model import (
    CombinedModel,
    EmissionModel,
    PairwiseDiscriminantModel,
    StatePriors,
)
from acoustic.emissions.one_vs_rest import OneVsRestModel
from acoustic.errors import ModelError
from acoustic.hmm.gmm import GmmModel
from acoustic.pairs.machines import Machines, PooledMachines, SparseMachines
from acoustic.pairs.rivals import RivalMachines
from foundation.arrays import Tensors
from foundation.errors import suggestion

GROUP = "asr.emission_models"

Options = dict[str, Any]
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class EmissionKind:
    """How a kind of emission model is recognised, written and read.

    Attributes
    ----------
    type : class of the models
    pack : function from a model to its tensors and its options as JSON can hold them
    unpack : function from tensors and options to the model
    train : function from aligned frames (`acoustic.emissions.aligned_frames.AlignedFrames`) to a model; None
        for kinds that this package trains by itself
    describe : function from a model to a dictionary that describes it to people
    """

    type: type[Any]
    pack: Callable[[Any], tuple[Tensors, Options]]
    unpack: Callable[[Arrays, Mapping[str, Any]], EmissionModel]
    train: Callable[[Any], EmissionModel] | None = None
    describe: Callable[[Any], dict[str, Any]] = lambda model: {}


def kind_of(model: EmissionModel) -> str:
    """Return the name of a model's kind."""
    for name, kind in BUILT_IN.items():
        if type(model) is kind().type:
            return name
    for name in plugin_names():
        if type(model) is find_kind(name).type:
            return name
    known = ", ".join((*BUILT_IN, *plugin_names()))
    raise ModelError(
        f"cannot save a {type(model).__name__}; expected a model of one of the kinds: {known}; "
        f"register its own under the entry point group {GROUP}"
    )


@cache
def find_kind(name: str) -> EmissionKind:
    """Return the kind of emission model with this name, built in or a plugin's."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    for entry in entry_points(group=GROUP):
        if entry.name == name:
            kind = _loaded(entry)
            if not isinstance(kind, EmissionKind):
                raise ModelError(
                    f"entry point {entry.value} ({GROUP}): expected an "
                    f"acoustic.emissions.kinds.EmissionKind, got {type(kind).__name__}; ask its author"
                )
            return kind
    known = (*BUILT_IN, *plugin_names())
    raise ModelError(
        f'emission model of kind "{name}" is not known{suggestion(name, known)}, expected one of: '
        f"{', '.join(known)}; "
        "install the package it comes from"
    )


def _loaded(entry: EntryPoint) -> Any:
    """Return what an installed package registers."""
    try:
        return entry.load()
    except Exception as error:
        raise ModelError(
            f"emission model of kind {entry.name}: {entry.value} fails on import "
            f"({type(error).__name__}: {error}); install its package again, or ask its author"
        ) from error


def plugin_names() -> list[str]:
    """Return the kinds that other packages add."""
    return sorted(entry.name for entry in entry_points(group=GROUP))


def describe(model: EmissionModel) -> dict[str, Any]:
    """Return the kind of an emission model and what it is made of."""
    kind = kind_of(model)
    return {"kind": kind, **find_kind(kind).describe(model)}


@cache
def _gmm() -> EmissionKind:
    def pack(model: GmmModel) -> tuple[Tensors, Options]:
        return {f"gmm.{name}": getattr(model, name) for name in ("log_weights", "means", "variances")}, {}

    def unpack(tensors: Arrays, _: Mapping[str, Any]) -> GmmModel:
        return GmmModel(tensors["gmm.log_weights"], tensors["gmm.means"], tensors["gmm.variances"])

    def described(model: GmmModel) -> dict[str, Any]:
        of_states = (model.log_weights > -np.inf).sum(axis=1)
        sizes = {"gaussians": int(of_states.sum()), "gaussians_a_state": int(of_states.max())}
        return {**sizes, "features": model.n_features}

    return EmissionKind(GmmModel, pack, _checked(unpack), describe=described)


@cache
def _pairwise() -> EmissionKind:
    layouts: dict[str, tuple[str, type[Machines]]] = {
        SparseMachines.layout: ("pairs.", SparseMachines),
        PooledMachines.layout: ("pools.", PooledMachines),
        RivalMachines.layout: ("rivals.", RivalMachines),
    }

    def pack(model: PairwiseDiscriminantModel) -> tuple[Tensors, Options]:
        machines = model.machines
        tensors, options = _pack_states(model.states)
        tensors["pairwise.curves"] = model.curves
        tensors |= {f"{layouts[machines.layout][0]}{name}": t for name, t in machines.tensors().items()}
        options |= {"coupling": model.coupling, "n_coupled": model.n_coupled}
        options |= {"chosen_by": model.chosen_by, "loss": model.loss}
        return tensors, options | {"centers": machines.layout, "sigma": machines.sigma}

    def unpack(tensors: Arrays, options: Mapping[str, Any]) -> PairwiseDiscriminantModel:
        prefix, layout = layouts[options["centers"]]
        machines = layout.from_tensors(_below(prefix, tensors), float(options["sigma"]))
        states, curves = _unpack_states(tensors, options), tensors["pairwise.curves"]
        told = (str(options.get(name, "")) for name in ("chosen_by", "loss"))  # older models do not say it
        return PairwiseDiscriminantModel(
            machines, curves, states, options["coupling"], int(options["n_coupled"]), *told
        )

    def described(model: PairwiseDiscriminantModel) -> dict[str, Any]:
        machines = model.machines
        most, each = {}, "pair"
        if isinstance(machines, PooledMachines | RivalMachines):
            most, each = {"centers_a_class": int(np.diff(machines.starts).max())}, "state"
        return {
            "classes": machines.n_classes,
            "pairs": machines.n_pairs,
            "centers": machines.n_centers,
            "centers_a_pair": round(machines.centers_a_pair, 1),
            **most,
            "centers_are_chosen_for_each": each,
            "centers_are_chosen_by": model.chosen_by or "unknown",
            "loss": model.loss or "unknown",
            "sigma": machines.sigma,
            "coupling": model.coupling,
        }

    return EmissionKind(PairwiseDiscriminantModel, pack, _checked(unpack), describe=described)


@cache
def _one_vs_rest() -> EmissionKind:
    def pack(model: OneVsRestModel) -> tuple[Tensors, Options]:
        tensors, options = _pack_states(model.states)
        for name in ("centers", "weights", "biases", "curves"):
            tensors[f"one_vs_rest.{name}"] = getattr(model, name)
        return tensors, options | {"sigma": model.sigma}

    def unpack(tensors: Arrays, options: Mapping[str, Any]) -> OneVsRestModel:
        arrays, states = _below("one_vs_rest.", tensors), _unpack_states(tensors, options)
        return OneVsRestModel(sigma=float(options["sigma"]), states=states, **arrays)

    def described(model: OneVsRestModel) -> dict[str, Any]:
        return {"classes": len(model.biases), "centers": len(model.centers), "sigma": model.sigma}

    return EmissionKind(OneVsRestModel, pack, _checked(unpack), describe=described)


@cache
def _combined() -> EmissionKind:
    def pack(model: CombinedModel) -> tuple[Tensors, Options]:
        tensors: Tensors = {"combined.second_states": model.second_states}
        options: Options = {name: getattr(model, name) for name in ("first_stop", "second_start", "weight")}
        for name, part in (("first", model.first), ("second", model.second)):
            kind = kind_of(part)
            arrays, inner = find_kind(kind).pack(part)
            tensors |= {f"{name}.{key}": array for key, array in arrays.items()}
            options[name] = {"kind": kind, "options": inner}
        return tensors, options

    def unpack(tensors: Arrays, options: Mapping[str, Any]) -> CombinedModel:
        first, second = (
            find_kind(options[name]["kind"]).unpack(_below(f"{name}.", tensors), options[name]["options"])
            for name in ("first", "second")
        )
        states = tensors["combined.second_states"]
        columns = int(options["first_stop"]), int(options["second_start"])
        return CombinedModel(first, second, *columns, float(options["weight"]), states)

    def described(model: CombinedModel) -> dict[str, Any]:
        parts = {name: describe(part) for name, part in (("first", model.first), ("second", model.second))}
        return {**parts, "weight_of_second": model.weight}

    return EmissionKind(CombinedModel, pack, _checked(unpack), describe=described)


@cache
def _sklearn() -> EmissionKind:
    # No other kind loads scikit-learn, which takes longer than to decode an utterance.
    from acoustic.discriminants.files import pack_estimator, unpack_estimator
    from acoustic.emissions.sklearn_model import SklearnModel

    def pack(model: SklearnModel) -> tuple[Tensors, Options]:
        tensors, options = _pack_states(model.states)
        arrays, description = pack_estimator(model.classifier)
        return tensors | arrays, options | {"estimator": description}

    def unpack(tensors: Arrays, options: Mapping[str, Any]) -> SklearnModel:
        classifier = unpack_estimator(tensors, options["estimator"])
        return SklearnModel(classifier, _unpack_states(tensors, options))

    def described(model: SklearnModel) -> dict[str, Any]:
        return {"classes": len(model.states.log_priors), "classifier": type(model.classifier).__name__}

    return EmissionKind(SklearnModel, pack, _checked(unpack), describe=described)


def _pack_states(states: StatePriors) -> tuple[Tensors, Options]:
    return {"states.class_of_state": states.class_of_state, "states.log_priors": states.log_priors}, {
        "prior_scale": states.prior_scale,
        "floor": states.floor,
    }


def _unpack_states(tensors: Arrays, options: Mapping[str, Any]) -> StatePriors:
    return StatePriors(
        tensors["states.class_of_state"],
        tensors["states.log_priors"],
        float(options["prior_scale"]),
        None if options["floor"] is None else float(options["floor"]),
    )


def _below(prefix: str, tensors: Arrays) -> dict[str, Any]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def _checked(unpack: Callable[[Arrays, Mapping[str, Any]], Any]) -> Callable[[Any, Any], Any]:
    """Return a function that unpacks a model and looks whether its arrays fit each other."""

    def unpacked(tensors: Arrays, options: Mapping[str, Any]) -> Any:
        model = unpack(tensors, options)
        model.check()
        return model

    return unpacked


BUILT_IN: dict[str, Callable[[], EmissionKind]] = {
    "gmm": _gmm,
    "pairwise": _pairwise,
    "one-vs-rest": _one_vs_rest,
    "combined": _combined,
    "sklearn": _sklearn,
}
