"""What the verbs one begins with take, and what it is by default."""

from collections.abc import Callable
from pathlib import Path

import pytest

Taken = Callable[[str], dict[str, object]]
HelpOf = Callable[[str], str]
Refused = Callable[[str], str]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("doctor", {"brief": False}),
        ("demo", {"out": Path("exp/demo")}),
        ("completion zsh", {"shell": "zsh"}),
    ],
)
def test_defaults(taken: Taken, line: str, expected: dict[str, object]) -> None:
    assert taken(line) == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("completion", "{bash,zsh,fish}"),
        ("demo", "experiment directory (exp/demo)"),
    ],
)
def test_help(help_of: HelpOf, verb: str, expected: str) -> None:
    assert expected in help_of(verb)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("completion", "arguments are required: shell"),
        ("completion tcsh", "argument shell: invalid choice: 'tcsh'"),
    ],
)
def test_refused(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)
