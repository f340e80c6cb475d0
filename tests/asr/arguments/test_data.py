"""What the verbs that look at data take, and what it is by default."""

from collections.abc import Callable
from pathlib import Path

import pytest

Taken = Callable[[str], dict[str, object]]
HelpOf = Callable[[str], str]
Refused = Callable[[str], str]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "validate c",
            {"lexicon": None, "text": "plain", "show_text": False, "suspicious": False, "corpus": Path("c")},
        ),
        ("lexicon c", {"english": False, "source": None, "variants": 1, "corpus": Path("c")}),
        (
            "lm t",
            {
                "order": 3,
                "vocabulary": None,
                "prune": 0.0,
                "test": None,
                "out": None,
                "reading": "plain",
                "text": Path("t"),
            },
        ),
    ],
)
def test_defaults(taken: Taken, line: str, expected: dict[str, object]) -> None:
    assert taken(line) == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("lexicon", "--from LEXICON"),
        ("lm", "--out FILE.arpa"),
    ],
)
def test_help(help_of: HelpOf, verb: str, expected: str) -> None:
    assert expected in help_of(verb)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("lm", "arguments are required: text"),
        ("lm t --prune little", "argument --prune: invalid float value: 'little'"),
    ],
)
def test_refused(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)
