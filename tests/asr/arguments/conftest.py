"""The parser of the whole command line, asked for what one verb takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from asr.cli import command_line

OF_ALL_VERBS = ("verb", "json", "quiet", "verbose")


@pytest.fixture
def taken() -> Callable[[str], dict[str, object]]:
    """Return a function that gives the options of a command line but for those that every verb has."""

    def of(line: str) -> dict[str, object]:
        options = vars(command_line().parse(line.split()))
        return {name: value for name, value in options.items() if name not in OF_ALL_VERBS}

    return of


@pytest.fixture
def help_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Return a function that gives the help of a verb, with one space for each white space."""
    monkeypatch.setenv("COLUMNS", "400")  # argparse breaks no line
    return lambda verb: " ".join(command_line().parsers[verb].format_help().split())
