"""Checks of configurations: what passes, and what the one line of the others says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import pytest

from foundation.errors import AsrError
from foundation.records import check_choices, check_lowest


class PaintError(AsrError):
    """An error of a package of its own."""


@dataclass
class Paint:
    colour: Literal["red", "blue"] = "red"
    finish: Literal["matt"] = "matt"
    name: str = "green"  # any text
    coats: int = 2


@pytest.mark.parametrize("paint", [Paint(), Paint("blue"), Paint(name="yellow", coats=-1)])
def test_choices_that_are_allowed(paint: Paint) -> None:
    before = repr(paint)
    check_choices(paint, PaintError)
    assert repr(paint) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"colour": "green"}, 'colour is "green", expected one of: red, blue'),
        ({"colour": None}, 'colour is "None", expected one of: red, blue'),
        ({"finish": "gloss"}, 'finish is "gloss", expected one of: matt'),
    ],
)
def test_choices_that_are_not(options: dict[str, str], message: str) -> None:
    with pytest.raises(PaintError, match=rf"^{message}$"):
        check_choices(Paint(**options), PaintError)  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "lowest"), [(2, 2), (2, 1.5), (0.0, 0), (-3, -3), (1e300, 1)])
def test_numbers_that_are_not_too_low(value: float, lowest: float) -> None:
    paint = Paint(coats=value)  # type: ignore[arg-type]
    check_lowest(paint, {"coats": lowest}, PaintError)
    assert paint.coats == value


@pytest.mark.parametrize("value", [0.999, -1, -math.inf, math.inf, math.nan])
def test_numbers_that_are_too_low_or_none(value: float) -> None:
    with pytest.raises(PaintError, match=rf"^coats: expected at least 1, got {value}; change it$"):
        check_lowest(Paint(coats=value), {"coats": 1}, PaintError)  # type: ignore[arg-type]


def test_the_first_of_several_is_named() -> None:
    paint = Paint(coats=0, name="0")
    with pytest.raises(PaintError, match=r"^coats: expected at least 1"):
        check_lowest(paint, {"coats": 1, "name": 1}, PaintError)
