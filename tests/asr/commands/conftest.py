"""What commands are given, and what they give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from asr import verbs
from asr.cli import main
from asr.errors import CorpusError
from decoder.decoder import Hypothesis
from foundation.errors import AsrError

Call = tuple[tuple[object, ...], dict[str, object]]
SAID_BY_DEMO = ["a small corpus is synthesised, two models are trained and tested: minutes"]


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str, str], Call]:
    """Return a function that says with which arguments a command line calls a function of the product."""

    def by(line: str, function: str) -> Call:
        calls = []

        def called(*given: object, **named: object) -> None:
            calls.append((given, named))
            raise CorpusError("that is enough")

        monkeypatch.setattr(f"asr.commands.{function}", called)
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
        (found,) = verbs.decode(trained, [tones / f"{name}.wav"])
        assert not isinstance(found, AsrError)
        return found

    return one
