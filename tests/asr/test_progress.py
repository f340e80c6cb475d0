"""Progress: bars at a terminal, a line now and then elsewhere."""

import io
import logging
import os
import sys
import time

import pytest

from asr.progress import (
    Piece,
    Whole,
    duration,
    heartbeat,
    progress_bar,
    silence,
    stage,
    status,
    step_bar,
    terminal_messages,
    whole,
)


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


def test_a_terminal_has_no_heartbeat(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "asr.progress")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with heartbeat(interval_s=0.01), stage("train"):
        time.sleep(0.03)
    assert caplog.messages == []


PIECES = [
    Piece("features", "reading recordings", "features", 10.0),
    Piece("gmm-1", "learning Gaussians", "gmm", 40.0),
    Piece("gmm-2", "learning Gaussians", "gmm", 40.0),
    Piece("moment", "putting together", "moment", 0.1),
    Piece("test", "decoding test", "test", 10.0),
]


def test_a_pipe_hears_of_each_large_step_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "asr.progress")
    with whole(PIECES):
        for piece in PIECES:
            with stage(piece.name), step_bar("utterances", 2) as bar:
                bar.update(2)
    assert [text.split(";")[0] for text in caplog.messages] == [
        "reading recordings",
        "learning Gaussians",
        "decoding test",
    ]
    assert caplog.messages[0].endswith("; about 2 min to go")


def test_one_of_many_trainings_has_no_lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "asr.progress")
    with whole(PIECES, briefly=True), stage("gmm-1"):
        assert status().startswith("learning Gaussians; about ")
    assert caplog.messages == []


def test_a_terminal_has_one_bar_for_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with terminal_messages(), whole(PIECES), stage("gmm-1"), step_bar("utterances", 2):
        deadline = time.monotonic() + 10
        while "learning Gaussians" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.05)
    drawn = terminal.getvalue()
    assert "about 2 min to go: learning Gaussians" in drawn
    assert "utterances" not in drawn
    assert "\n" not in drawn  # large steps have no lines of their own there


def test_pieces_teach_how_long_the_rest_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    work = Whole({piece.name: piece for piece in PIECES})
    assert work.rest_s() == pytest.approx(100.1)
    with work.under_way(PIECES[0]):
        now += 10
    with work.under_way(PIECES[1]):
        now += 20  # half of what was guessed, as the next of its kind will take
    usual = (30 + 10.01) / (50 + 10.01)
    assert work.rest_s() == pytest.approx(20 + usual * 10.1)
    with work.under_way(PIECES[2]):
        now += 5
        assert work.rest_s() == pytest.approx(15 + usual * 10.1)
        assert work.share() == pytest.approx(35 / (35 + 15 + usual * 10.1))
        now += 100  # longer than expected: still a little is left of it
        assert work.rest_s() == pytest.approx(2 + usual * 10.1)


def test_what_is_counted_says_itself_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    piece = Piece("pairs", "choosing centres", "pairs", 10.0, is_counted=True)
    work = Whole({"pairs": piece})
    with work.under_way(piece), step_bar("pairs", 100) as bar:
        now += 30
        bar.update(25)
        assert work.rest_s() == pytest.approx(90)


def test_the_share_of_a_whole_never_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    work = Whole({piece.name: piece for piece in PIECES})
    with work.under_way(PIECES[0]):
        now += 5
        first = work.share()
        now += 500
    assert first == pytest.approx(5 / 100.1)
    with work.under_way(PIECES[1]):
        work._share = 0.9
        assert work.share() == 0.9


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599.7, "1 h 0 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
