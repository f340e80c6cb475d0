"""Texts of JSON: read, or refused with an error of one kind; first lines of errors."""

from __future__ import annotations

import pytest

from foundation.records import CONTENT_ERRORS, first_line, parsed_json


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
