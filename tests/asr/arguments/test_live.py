"""What the verbs that hear speech while it is spoken take, and what it is by default."""

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
            "serve",
            {
                "model": None,
                "grammar": None,
                "reject": False,
                "keywords": False,
                "host": "127.0.0.1",
                "port": 8000,
                "folder": Path("my_commands"),
                "streams": 8,
                "experiment": None,
            },
        ),
        (
            "listen e",
            {
                "model": None,
                "grammar": None,
                "reject": False,
                "keywords": False,
                "input": "microphone",
                "rate": None,
                "device": None,
                "experiment": Path("e"),
            },
        ),
    ],
)
def test_defaults(taken: Taken, line: str, expected: dict[str, object]) -> None:
    assert taken(line) == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("serve", "--port PORT port to listen at, 0 for any (8000)"),
        ("listen", "the microphone by default"),
    ],
)
def test_help(help_of: HelpOf, verb: str, expected: str) -> None:
    assert expected in help_of(verb)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("listen", "arguments are required: EXP"),
        ("serve --port http", "argument --port: invalid int value: 'http'"),
    ],
)
def test_refused(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)
