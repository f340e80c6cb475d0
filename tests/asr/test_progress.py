"""Progress bars: for a person at a terminal, and for nobody else."""

import io
import os
import sys

import pytest

from asr.progress import progress_bar, step_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(progress_bar(range(3), 3, "x")) == [0, 1, 2]
    with step_bar("y", 2) as bar:
        bar.update()
    assert capfd.readouterr() == ("", "")


def test_a_bar_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert list(progress_bar(range(3), 3, "features")) == [0, 1, 2]
    assert "features" in terminal.getvalue()
    assert os.linesep not in terminal.getvalue()


def test_steps_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with step_bar("tuning", 2) as bar:
        bar.update()
        bar.set_postfix_str("word penalty -8")
        assert bar.n == 1
    assert "tuning" in terminal.getvalue()
    assert "word penalty -8" in terminal.getvalue()


def test_an_error_of_the_work_comes_through() -> None:
    def work() -> object:
        yield 1
        raise ValueError("of the work")

    bar = progress_bar(work(), 2, "x")  # type: ignore[arg-type, var-annotated]
    assert next(bar) == 1
    with pytest.raises(ValueError, match="of the work"):
        next(bar)
