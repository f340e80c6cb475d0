"""The whole configuration of an experiment, and options given as ``key=value``."""

from __future__ import annotations

import difflib
import math
import types
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from acoustic.emissions.hybrid import HybridConfig
from acoustic.hmm.training import GmmConfig
from acoustic.hmm.tying import TyingConfig
from asr.errors import ConfigError
from decoder.decoder import DecoderConfig
from features.frontend import FrontEndConfig
from foundation.errors import AsrError

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

GrammarName = Literal["loop", "unigram", "bigram", "trigram", "word-pair", "arpa"]


@dataclass(frozen=True)
class TuningConfig:
    """What is tried on the dev set, one thing after the other, until nothing gets better.

    Attributes
    ----------
    word_penalties, lm_scales, silence_log_probs : values tried; the loop and word pairs have no LM scale
    max_rounds : how often the three are gone through at most
    """

    word_penalties: tuple[float, ...] = (0.0, -8.0, -16.0, -24.0, -32.0, -40.0, -50.0, -60.0, -75.0)
    lm_scales: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 18.0, 24.0)
    silence_log_probs: tuple[float, ...] = (0.0, -5.0, -10.0, -20.0)
    max_rounds: int = 2

    def __post_init__(self) -> None:
        for name in ("word_penalties", "lm_scales", "silence_log_probs"):
            values = getattr(self, name)
            if not values or not all(map(math.isfinite, values)):
                raise ConfigError(f"{name}: expected one finite number or more, got {values}; change it")
        if min(self.lm_scales) < 0:
            raise ConfigError(f"lm_scales: expected numbers from 0 on, got {self.lm_scales}; change it")
        if self.max_rounds < 1:
            raise ConfigError(f"max_rounds: expected at least 1, got {self.max_rounds}; change it")


@dataclass(frozen=True)
class ExperimentConfig:
    """Everything that decides the outcome of an experiment, beside the data.

    Attributes
    ----------
    front_end, gmm, tying, hybrid, decoder, tuning : configurations of the parts
    grammars : what is evaluated; the last one is the default of ``asr decode``
    retrain_with_dev : train the final models on train and dev together, with what was tuned on dev
    unusable : what happens to recordings and transcripts that cannot be used: ``stop`` names them all,
        ``skip`` leaves them out and names them in the log
    """

    front_end: FrontEndConfig = field(default_factory=FrontEndConfig)
    gmm: GmmConfig = field(default_factory=GmmConfig)
    tying: TyingConfig = field(default_factory=TyingConfig)
    hybrid: HybridConfig = field(default_factory=HybridConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    tuning: TuningConfig = field(default_factory=TuningConfig)
    grammars: tuple[GrammarName, ...] = ("loop",)
    retrain_with_dev: bool = True
    unusable: Literal["stop", "skip"] = "stop"

    def __post_init__(self) -> None:
        wrong = [name for name in self.grammars if name not in get_args(GrammarName)]
        if wrong or not self.grammars:
            raise ConfigError(
                f"grammars: expected one or more of {', '.join(get_args(GrammarName))}; "
                f"got {', '.join(wrong) or 'none'}; change it"
            )
        if self.unusable not in ("stop", "skip"):
            raise ConfigError(f'unusable: expected stop or skip, got "{self.unusable}"; change it')


def with_settings(config: ExperimentConfig, settings: Iterable[str]) -> ExperimentConfig:
    """Return the configuration changed by settings such as ``gmm.beam=300``.

    A key may be given without its section where only one section has it: ``n_channels=40`` is
    ``front_end.mfcc.n_channels=40``.
    """
    for setting in settings:
        key, separator, text = setting.partition("=")
        if not separator:
            raise ConfigError(f'--set "{setting}": no "=", expected key=value, for example gmm.beam=300')
        path = _path(config, key.strip())
        config = _changed(config, path, key.strip(), text.strip())
    config.front_end.check()  # only now: one setting may be right with the next
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


def _path(config: ExperimentConfig, key: str) -> str:
    """Return the full name of an option given by its full name or by an unambiguous end of it."""
    keys = known_keys(config)
    matches = [known for known in keys if known == key or known.endswith("." + key)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ConfigError(f"--set {key}: ambiguous, expected one of: {', '.join(matches)}; write it in full")
    ends = {known.rsplit(".", 1)[-1]: known for known in keys} | {known: known for known in keys}
    near = list(dict.fromkeys(ends[n] for n in difflib.get_close_matches(key, ends, n=3, cutoff=0.5)))
    hint = f"did you mean {' or '.join(near)}?" if near else f"expected one of: {', '.join(keys)}"
    raise ConfigError(f"--set {key}: unknown option; {hint}")


def _changed(config: Any, path: str, key: str, text: str) -> Any:
    """Return a configuration with the option at a dotted path set to what a text says."""
    name, _, rest = path.partition(".")
    if rest:
        return replace(config, **{name: _changed(getattr(config, name), rest, key, text)})
    kind = get_type_hints(type(config))[name]
    try:
        return replace(config, **{name: _parsed(text, kind)})
    except ValueError:
        raise ConfigError(f'--set {key}: "{text}" does not fit, expected {_described(kind)}') from None
    except AsrError as error:
        raise ConfigError(f"--set {key}={text}: {error}") from None


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
