"""What commands are given, and what they give."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import asr
from asr.cli import command_line, main
from asr.errors import CorpusError
from decoder.decoder import Hypothesis
from foundation.errors import AsrError

Call = tuple[tuple[object, ...], dict[str, object]]
SAID_BY_DEMO = ["a small corpus is synthesised, two models are trained and tested: minutes"]


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


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str, str], Call]:
    """Return a function that says with which arguments a command line calls a function of the product.

    The function is one of `asr`, or is named with its module.
    """

    def by(line: str, function: str) -> Call:
        calls = []

        def called(*given: object, **named: object) -> None:
            calls.append((given, named))
            raise CorpusError("that is enough")

        if "." in function:
            monkeypatch.setattr(function, called)
        else:
            monkeypatch.setattr(sys.modules[getattr(asr, function).__module__], function, called)
        assert main(line.split()) == 2
        out, errors = capsys.readouterr()
        *before, error = errors.splitlines()
        assert (out, error) == ("", "asr: that is enough")
        assert before == (SAID_BY_DEMO if line.startswith("demo") else [])
        (call,) = calls
        return call

    return by


@pytest.fixture
def heard(trained: Path, tones: Path) -> Callable[[str], Hypothesis]:
    """Return a function that gives what is heard in a recording of the tone language."""

    def one(name: str) -> Hypothesis:
        (found,) = asr.decode(trained, [tones / f"{name}.wav"])
        assert not isinstance(found, AsrError)
        return found

    return one
