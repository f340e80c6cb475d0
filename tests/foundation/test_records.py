"""Records of what JSON files hold: built where every value is of its type, refused in one line elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pytest

from foundation.errors import AsrError
from foundation.records import CONTENT_ERRORS, check_choices, check_lowest, first_line, parsed_json, record_of


@dataclass(frozen=True)
class Inner:
    width: float = 1.0


@dataclass(frozen=True)
class Outer:
    name: str
    count: int = 0
    is_on: bool = False
    limit: int | None = None
    colour: Literal["red", "blue"] = "red"
    span: tuple[float, float] = (0.0, 1.0)
    words: tuple[str, ...] = ()
    inner: Inner = Inner()


class Pair(NamedTuple):
    left: int
    rows: Sequence[tuple[str, str]] = ()


def test_what_is_there_and_defaults_for_the_rest() -> None:
    content = {"name": "x", "count": 3, "span": [1, 2.5], "words": ["a"], "inner": {"width": 2}}
    expected = Outer("x", 3, limit=4, span=(1, 2.5), words=("a",), inner=Inner(2))
    assert record_of(Outer, content | {"limit": 4}, AsrError) == expected
    assert record_of(Pair, {"left": 1, "rows": [["a", "b"]]}, AsrError) == Pair(1, (("a", "b"),))
    assert record_of(Inner, {"width": math.inf}, AsrError).width == math.inf


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": 3}, "in.name: expected a text, got 3"),
        ({"name": None}, "in.name: expected a text, got null"),
        ({"count": True}, "in.count: expected a whole number, got true"),
        ({"count": 1.0}, "in.count: expected a whole number, got 1.0"),
        ({"is_on": 1}, "in.is_on: expected true or false, got 1"),
        ({"limit": "x"}, 'in.limit: expected a whole number or null, got "x"'),
        ({"colour": "green"}, 'in.colour: expected one of: red, blue, got "green"'),
        ({"colour": ["red"]}, "in.colour: expected one of: red, blue, got a list"),
        ({"span": [1.0]}, "in.span: expected a list, got a list"),
        ({"span": {}}, "in.span: expected a list, got an object"),
        ({"words": ["a", 1]}, r"in.words\[1\]: expected a text, got 1"),
        ({"inner": []}, "in.inner.: expected an object, got a list"),
        ({"inner": {"width": math.nan}}, "in.inner.width: expected a number, got nan"),
        ({"inner": {"width": -math.inf}}, "in.inner.width: expected a number, got -inf"),
        ({"inner": {"width": 10**400}}, "in.inner.width: expected a number, got a number of hundreds"),
        ({"naem": "x"}, 'in.: unknown key naem .did you mean "name"..; expected name, count, '),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AsrError, match=rf"\A{said}[^\n]*; [^\n]+\Z"):
        record_of(Outer, {"name": "x"} | changes, AsrError, "in.")


@pytest.mark.parametrize(
    ("content", "said"),
    [({}, "no name; expected"), ([], "expected an object, got a list"), (None, "got null")],
)
def test_what_is_missing_is_named(content: object, said: str) -> None:
    with pytest.raises(AsrError, match=f"Outer: .*{said}"):
        record_of(Outer, content, AsrError)


def test_long_texts_are_shown_in_part() -> None:
    with pytest.raises(AsrError, match=r"got \"(x{59})[^x]") as caught:
        record_of(Inner, {"width": "x" * 5000}, AsrError)
    assert len(str(caught.value)) < 200


# Texts of JSON: read, or refused with an error of one kind; first lines of errors


def test_what_is_json_is_read() -> None:
    assert parsed_json('{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "too deep in each other"),
        ('{"a":' * 100_000, "too deep in each other"),
        ("9" * 5000, "limit"),
        ("", "Expecting value"),
        ("{", "Expecting property name"),
    ],
)
def test_what_is_not_is_a_value_error(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parsed_json(text)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: [][0],
        lambda: {}["a"],
        lambda: None.items(),  # type: ignore[attr-defined]
        lambda: float(10**400),
        lambda: 1 / 0,
        lambda: int("x"),
        lambda: len(3),  # type: ignore[arg-type]
    ],
)
def test_what_taking_content_on_trust_raises(misuse) -> None:
    with pytest.raises(CONTENT_ERRORS, match=r"\w"):
        misuse()


def test_first_lines() -> None:
    assert first_line(ValueError("one\ntwo")) == "one"
    assert first_line(RecursionError()) == "RecursionError"


# Checks of configurations: what passes, and what the one line of the others says


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
