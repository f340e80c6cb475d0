"""Records of what JSON files hold: built where every value is of its type, refused in one line elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pytest

from foundation.errors import AsrError
from foundation.records import record_of


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
        ({"naem": "x"}, "in.: unknown key naem; expected name, count, "),
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
