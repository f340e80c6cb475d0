"""Progress: bars and a list of stages at a terminal, a line now and then elsewhere."""

import io
import logging
import os
import sys
import time

import pytest

from asr.progress import duration, heartbeat, progress_bar, silence, stage, status, step_bar


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


def test_silence_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with silence():
        assert list(progress_bar(range(3), 3, "features")) == [0, 1, 2]
        with stage("train"):
            pass
    assert terminal.getvalue() == ""
    assert list(progress_bar(range(3), 3, "features")) == [0, 1, 2]
    assert "features" in terminal.getvalue()


def test_steps_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with step_bar("tuning", 2) as bar:
        bar.update()
        bar.set_postfix_str("word penalty -8")
        assert bar.n == 1  # type: ignore[attr-defined]
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


def test_status_names_the_stage_and_its_innermost_work(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with stage("train"):
        with step_bar("passes", 8), step_bar("utterances", 40) as bar:
            now = 110.0
            bar.update(10)
            assert status() == "train: 10 s so far; utterances: 10 of 40, about 30 s to go"
            bar.set_postfix_str("-41.2 a frame")
            bar.update(30)
            assert status() == "train: 10 s so far; utterances: 40 of 40 (-41.2 a frame)"
        assert status() == "train: 10 s so far"
    assert status() == ""


def test_work_that_fails_is_no_longer_under_way() -> None:
    with pytest.raises(ValueError, match="of the work"), stage("train"), step_bar("passes", 2):
        raise ValueError("of the work")
    assert status() == ""


def test_work_that_is_given_up_is_no_longer_under_way() -> None:
    bar = progress_bar(range(3), 3, "x")
    assert next(bar) == 0
    assert status() == "x: 0 of 3"
    bar.close()  # type: ignore[attr-defined]
    assert status() == ""


def test_a_pipe_hears_now_and_then_what_is_under_way(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "asr.progress")
    with heartbeat(interval_s=0.01):
        deadline = time.monotonic() + 10
        with stage("train"), step_bar("passes", 8):
            while not caplog.messages and time.monotonic() < deadline:
                time.sleep(0.01)
    assert caplog.messages[0].startswith("train: ")
    assert caplog.messages[0].endswith(" so far; passes: 0 of 8")
    n_said = len(caplog.messages)
    time.sleep(0.05)
    assert len(caplog.messages) == n_said


def test_a_terminal_keeps_a_line_for_each_stage_and_has_no_heartbeat(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "asr.progress")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with heartbeat(interval_s=0.01):
        for name in ("features", "train"):
            with stage(name):
                time.sleep(0.03)
    assert [text.split(":")[0] for text in caplog.messages] == ["features", "train"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599.7, "1 h 0 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
