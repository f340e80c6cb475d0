"""Checks that several configurations share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from foundation.errors import AsrError


def check_choices(config: object, error: type[AsrError]) -> None:
    """Raise the error if a field whose type is a Literal has another value.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Config:
    ...     colour: Literal["red", "blue"]
    >>> check_choices(Config("red"), AsrError)
    """
    for name, choices in _choices(type(config)).items():  # type: ignore[arg-type]  # types are hashable
        if (value := getattr(config, name)) not in choices:
            raise error(f'{name} is "{value}", expected one of: {", ".join(choices)}')


def check_lowest(config: object, lowest: Mapping[str, float], error: type[AsrError]) -> None:
    """Raise the error if a field is below the number given for it, infinite or not a number."""
    for name, number in lowest.items():
        if not number <= (value := getattr(config, name)) < math.inf:
            raise error(f"{name}: expected at least {number}, got {value}; change it")


def check_highest(config: object, highest: Mapping[str, float], error: type[AsrError]) -> None:
    """Raise the error if a field is above the number given for it, or not a number; None is not looked at.

    The numbers are far from what anybody needs: they keep a slip of the keyboard from asking for more memory
    or time than there is.
    """
    for name, number in highest.items():
        if (value := getattr(config, name)) is not None and not value <= number:
            raise error(f"{name}: expected at most {number:,}, got {value}; change it")


@cache
def _choices(kind: type) -> dict[str, tuple[Any, ...]]:
    """Return the fields whose type is a Literal, with its values; reading types takes half a millisecond."""
    hints = get_type_hints(kind).items()
    return {name: get_args(hint) for name, hint in hints if get_origin(hint) is Literal}
