"""Messages, progress bars: where they go, and that they do not disturb."""

import io
import logging
import os
import sys
from pathlib import Path

import pytest

from asr.logs import log_file, terminal_messages
from asr.progress import progress_bar, step_bar

LOGGER = logging.getLogger("asr.somewhere")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestLogFile:
    def test_appends_and_lets_go(self, tmp_path: Path) -> None:
        level = logging.getLogger("asr").level
        for text in ("one", "two"):
            with log_file(tmp_path / "log.txt"):
                LOGGER.info("%s \udcc3", text)  # of a file name that is not UTF-8
        LOGGER.warning("three")
        one, two = (tmp_path / "log.txt").read_text().splitlines()
        assert one.endswith("INFO asr.somewhere: one \\udcc3")
        assert two.endswith("INFO asr.somewhere: two \\udcc3")
        assert logging.getLogger("asr").level == level

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_full_disk_is_for_others_to_say(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(OSError, match="No space left"), log_file(Path("/dev/full")):
            LOGGER.info("lost")
        assert capsys.readouterr().err == ""


class TestTerminal:
    def test_warnings_alone_unless_asked(self, capsys: pytest.CaptureFixture[str]) -> None:
        for verbose, expected in ((False, "careful\n"), (True, "working\ncareful\n")):
            with terminal_messages(verbose=verbose):
                LOGGER.info("working")
                LOGGER.warning("careful")
            assert capsys.readouterr() == ("", expected)


class TestProgress:
    def test_nothing_where_nobody_watches(self, capfd: pytest.CaptureFixture[str]) -> None:
        assert list(progress_bar(range(3), 3, "x")) == [0, 1, 2]
        with step_bar("y", 2) as bar:
            bar.update()
        assert capfd.readouterr() == ("", "")

    def test_a_bar_for_a_person(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        assert list(progress_bar(range(3), 3, "features")) == [0, 1, 2]
        assert "features" in terminal.getvalue()
        assert os.linesep not in terminal.getvalue()
