"""Checks that several configurations share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, get_args, get_origin, get_type_hints

from foundation.errors import AsrError


def check_choices(config: object, error: type[AsrError]) -> None:
    """Raise the error if a field whose type is a Literal has another value.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Config:
    ...     colour: Literal["red", "blue"]
    >>> check_choices(Config("red"), AsrError)
    """
    for name, kind in get_type_hints(type(config)).items():
        if get_origin(kind) is Literal and (value := getattr(config, name)) not in get_args(kind):
            raise error(f'{name} is "{value}", expected one of: {", ".join(get_args(kind))}')


def check_lowest(config: object, lowest: Mapping[str, float], error: type[AsrError]) -> None:
    """Raise the error if a field is below the number given for it, infinite or not a number."""
    for name, number in lowest.items():
        if not number <= (value := getattr(config, name)) < math.inf:
            raise error(f"{name}: expected at least {number}, got {value}; change it")
