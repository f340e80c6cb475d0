"""Options given as ``key=value``: which there are, which models they belong to, what their values mean."""

from __future__ import annotations

import difflib
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from acoustic.emissions.hybrid import THESIS, WAYS, HybridConfig
from acoustic.emissions.sklearn_model import PREFIX
from asr.config import ChosenName, ExperimentConfig
from asr.errors import ConfigError
from asr.systems import GmmSystem, HybridSystem, System
from foundation.errors import AsrError

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def with_settings(config: ExperimentConfig, settings: Iterable[str]) -> ExperimentConfig:
    """Return the configuration changed by settings such as ``gmm.beam=300``.

    A key may be given without its section where only one section has it: ``n_channels=40`` is
    ``front_end.n_channels=40``.
    """
    for setting in settings:
        key, text = split_setting(setting)
        name = full_key(key)
        config = _changed(config, name, key, text)
        # What is set is not chosen.
        config = replace(config, chosen_on_dev=tuple(c for c in config.chosen_on_dev if c != name))
    config.front_end.front_end("lda").check()  # only now: one setting may be right with the next
    return config


def known_keys(config: object, prefix: str = "") -> dict[str, Any]:
    """Return the type of every option below a configuration by its full dotted name."""
    hints = get_type_hints(type(config))
    keys: dict[str, Any] = {}
    for option in fields(config):  # type: ignore[arg-type]
        value = getattr(config, option.name)
        if is_dataclass(value):
            keys |= known_keys(value, f"{prefix}{option.name}.")
        else:
            keys[prefix + option.name] = hints[option.name]
    return keys


def full_key(key: str) -> str:
    """Return the full name of an option given by its full name or by an unambiguous end of it."""
    keys = known_keys(ExperimentConfig())
    matches = [known for known in keys if known == key or known.endswith("." + key)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ConfigError(f"--set {key}: ambiguous, expected one of: {', '.join(matches)}; write it in full")
    last = key.rsplit(".", 1)[-1]
    near = [known for known in keys if known.rsplit(".", 1)[-1] == last]
    if not near:
        ends = {known.rsplit(".", 1)[-1]: known for known in keys} | {known: known for known in keys}
        near = list(dict.fromkeys(ends[name] for name in difflib.get_close_matches(key, ends, n=3)))
    hint = f"did you mean {' or '.join(near)}?" if near else f"expected one of: {', '.join(keys)}"
    raise ConfigError(f"--set {key}: unknown option; {hint}")


def short_key(key: str) -> str:
    """Return the shortest end of an option's full name that no other option has.

    >>> short_key("gmm.mixtures"), short_key("gmm.beam")
    ('mixtures', 'gmm.beam')
    """
    parts, keys = key.split("."), known_keys(ExperimentConfig())
    ends = [".".join(parts[n:]) for n in reversed(range(len(parts)))]
    return next(e for e in ends if sum(k == e or k.endswith("." + e) for k in keys) == 1)


def is_list(key: str) -> bool:
    """Return whether the value of an option, given by its full name, is itself a list."""
    return get_origin(known_keys(ExperimentConfig())[key]) is tuple


def check_settings(settings: Iterable[str], systems: Mapping[str, System], config: ExperimentConfig) -> None:
    """Raise an error if a setting belongs to no model that is trained, and say to which it does."""
    for setting in settings:
        key = full_key(split_setting(setting)[0])
        home = home_of(key)
        if home is not None and not any(home.has(system, config) for system in systems.values()):
            raise ConfigError(
                f"--set {key}: belongs to {home.models}; got {', '.join(systems)}, which it does not change; "
                "leave it out, or train such a model"
            )


class Home(NamedTuple):
    """Which models an option belongs to: said to a person, and asked of a system."""

    models: str
    has: Callable[[System, ExperimentConfig], bool]


def _is_hybrid(system: System, config: ExperimentConfig) -> bool:
    return isinstance(system, HybridSystem)


def section_of(system: System) -> str:
    """Return the section of a system's way of training, empty for others."""
    return WAYS[system.way].section if isinstance(system, HybridSystem) and system.way in WAYS else ""


def _is_tied(system: System, config: ExperimentConfig) -> bool:
    return _is_hybrid(system, config) and config.hybrid.units != "phone"


def _is_projected(system: System, config: ExperimentConfig) -> bool:
    if isinstance(system, GmmSystem):
        return system.projection != "none"
    return config.hybrid.input_projection != "none"


def _has_posteriors(system: System, config: ExperimentConfig) -> bool:
    return section_of(system) != "" or (isinstance(system, HybridSystem) and system.way.startswith(PREFIX))


_PROJECTED = Home("gmm-lda, and hybrids with hybrid.input_projection=lda", _is_projected)
_OUR_OWN = Home("npd, orols, pools, svm and krls", lambda system, config: section_of(system) != "")
_FORWARD = Home("npd and orols of the preset thesis", lambda s, c: section_of(s) == "forward")
_SVM = Home("svm", lambda s, c: section_of(s) == "svm")
_KRLS = Home("krls", lambda s, c: section_of(s) == "krls")

# An option has the home of the longest name here that it begins with; others belong to all models.
HOMES: dict[str, Home] = {
    "front_end.context": _PROJECTED,
    "front_end.n_components": _PROJECTED,
    "tying": Home("hybrids with hybrid.units=context or cross-word", _is_tied),
    "hybrid": Home("hybrids: npd, orols, pools, svm, krls, sklearn:module.Class and plugins", _is_hybrid),
    "hybrid.prior_scale": Home("npd, orols, pools, svm, krls and sklearn:module.Class", _has_posteriors),
    "hybrid.sigma": _OUR_OWN,
    "hybrid.calibration": _OUR_OWN,
    "hybrid.coupling": Home(
        "npd, orols, pools and svm", lambda s, c: section_of(s) in ("pools", "forward", "svm")
    ),
    "pools": Home("pools, and npd and orols of the preset best", lambda s, c: section_of(s) == "pools"),
    "forward": _FORWARD,
    "svm": _SVM,
    "krls": _KRLS,
    "chosen_on_dev": _OUR_OWN,
}


def home_of(key: str) -> Home | None:
    """Return the home of an option, None if it belongs to all models."""
    parts = key.split(".")
    names = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((HOMES[name] for name in names if name in HOMES), None)


def split_setting(setting: str) -> tuple[str, str]:
    """Return key and value of a setting as they are written."""
    key, separator, text = setting.partition("=")
    if not separator:
        raise ConfigError(f'--set "{setting}": no "=", expected key=value, for example gmm.beam=300')
    return key.strip(), text.strip()


def _changed(config: Any, path: str, key: str, text: str) -> Any:
    """Return a configuration with the option at a dotted path set to what a text says."""
    name, _, rest = path.partition(".")
    if rest:
        return replace(config, **{name: _changed(getattr(config, name), rest, key, text)})
    kind = get_type_hints(type(config))[name]
    try:
        return replace(config, **{name: _parsed(text, kind)})
    except AsrError as error:
        raise ConfigError(f"--set {key}={text}: {error}") from None
    except ValueError:
        raise ConfigError(f'--set {key}: "{text}" does not fit, expected {_described(kind)}') from None


def _parsed(text: str, kind: Any) -> Any:
    """Return a text as a value of a type; ValueError if it is none."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return (
            None
            if text.lower() == "none"
            else _parsed(text, next(a for a in arguments if a is not type(None)))
        )
    if origin is tuple:
        return tuple(_parsed(part.strip(), arguments[0]) for part in text.split(",") if part.strip())
    if origin is Literal:
        if text not in arguments:
            raise ValueError(text)
        return text
    if kind is bool:
        if text.lower() not in _BOOLEANS:
            raise ValueError(text)
        return _BOOLEANS[text.lower()]
    return kind(text)


def _described(kind: Any) -> str:
    """Return how to say a type to a person."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join("none" if a is type(None) else _described(a) for a in arguments)
    if origin is tuple:
        return f"{_described(arguments[0])}, … separated by commas"
    if origin is Literal:
        return "one of: " + ", ".join(arguments)
    return {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[kind]


def with_preset(config: ExperimentConfig, preset: str, thesis: HybridConfig = THESIS) -> ExperimentConfig:
    """Return the configuration of a preset, with a recipe's hybrid of the preset ``thesis``.

    The preset ``thesis`` is the recogniser of thesis chapter 4, which standardises features over the training
    set, stops the selection by residual and λ, chooses σ on a development set, trains on the training set
    alone, and decodes with word pairs.
    """
    if preset != "thesis":
        return config
    # A recipe that brings a σ of its own has none to choose.
    known: set[ChosenName] = {"hybrid.sigma"} if thesis.sigma != THESIS.sigma else set()
    return replace(
        config,
        front_end=replace(config.front_end, normalize="global"),
        hybrid=thesis,
        chosen_on_dev=tuple(name for name in get_args(ChosenName) if name not in known),
        grammars=tuple(dict.fromkeys(["word-pair", *config.grammars])),
        retrain_with_dev=False,
    )
