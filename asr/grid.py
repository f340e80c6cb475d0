"""A grid of settings: every combination of the values that are listed for some options.

Values are separated by semicolons where there are any: ``gmm.mixtures=1,2;1,2,4`` are two values. Without
semicolons the value of an option that is itself a list is taken whole (``gmm.mixtures=1,2,4`` is one value),
and that of any other is split at its commas (``gmm.beam=300,400``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from asr.config import full_key, is_list, short_key, split_setting
from asr.errors import ConfigError
from asr.files import text_digest

_LONGEST_NAME = 120  # of a directory; file systems allow 255 bytes


@dataclass(frozen=True)
class Point:
    """One combination.

    Attributes
    ----------
    values : the value of each option that varies, by the shortest name of the option
    common : the settings that all points have
    """

    values: Mapping[str, str]
    common: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the point's directory is called."""
        text = "+".join(f"{key}={value}" for key, value in self.values.items())
        name = re.sub(r"[^\w.,=+-]", "-", text)[:_LONGEST_NAME]
        return name if name == text else f"{name}-{text_digest(text)[:6]}"

    @property
    def settings(self) -> tuple[str, ...]:
        """All settings, as `asr.config.with_settings` takes them."""
        return (*self.common, *(f"{key}={value}" for key, value in self.values.items()))

    def __str__(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.values.items())


def grid(settings: Sequence[str]) -> tuple[Point, ...]:
    """Return the points of a grid; the values of the option that is named first change last.

    >>> [str(point) for point in grid(["gmm.beam=300,400", "text=en", "mixtures=1,2;1,2,4"])]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['gmm.beam=300 mixtures=1,2', 'gmm.beam=300 mixtures=1,2,4',
     'gmm.beam=400 mixtures=1,2', 'gmm.beam=400 mixtures=1,2,4']
    """
    listed: dict[str, list[str]] = {}
    for setting in settings:
        key, values = _listed(setting)
        if key in listed:
            raise ConfigError(f"--set {key}: given twice, expected once; list its values: {key}=1,2")
        listed[key] = values
    varied = [key for key, values in listed.items() if len(values) > 1]
    if not varied:
        raise ConfigError(f"sweep: {_why_one_point(listed)}; asr train runs a single point")
    common = tuple(f"{key}={values[0]}" for key, values in listed.items() if key not in varied)
    combinations = product(*(listed[key] for key in varied))
    return tuple(Point(dict(zip(varied, values, strict=True)), common) for values in combinations)


def find_point(points: Sequence[Point], wanted: str) -> Point:
    """Return the one point with the given settings, separated by white space; those that decide will do."""
    pairs = map(split_setting, wanted.split())
    values = {(short_key(full_key(key)), value) for key, value in pairs}
    found = [point for point in points if values <= set(map(split_setting, point.settings))]
    if len(found) != 1:
        known = "; ".join(f'"{point}"' for point in found or points)
        how_many = "several points are" if found else "no point is"
        raise ConfigError(f'--against "{wanted}": {how_many} like that, expected one of: {known}; name one')
    return found[0]


def _listed(setting: str) -> tuple[str, list[str]]:
    """Return the shortest name of an option and its values."""
    key, text = split_setting(setting)
    name = full_key(key)
    separator = ";" if ";" in text else "," if not is_list(name) else None
    values = [text] if separator is None else text.split(separator)
    values = [",".join(part.strip() for part in value.split(",") if part.strip()) for value in values]
    if "" in values and not (is_list(name) and len(values) == 1):
        raise ConfigError(f'--set "{setting}": a value is empty, expected {key}=VALUE,VALUE; write it')
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise ConfigError(f'--set "{setting}": {twice[0]} is there twice, expected different values')
    return short_key(name), values


def _why_one_point(listed: Mapping[str, Sequence[str]]) -> str:
    """Return what an option with several values looks like, best one of those that are given."""
    whole = [key for key, (value, *_) in listed.items() if "," in value]
    if whole:
        key, value = whole[0], listed[whole[0]][0]
        return f'{key}={value} is one list, expected several separated by semicolons: "{key}={value};…"'
    return "no option has several values, expected one, such as --set gmm.beam=300,400"
