"""Messages: where they go, and that they do not disturb."""

import logging
from pathlib import Path

import pytest

from asr.progress import log_file, muted, terminal_messages, warnings_once

LOGGER = logging.getLogger("asr.somewhere")


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
    def test_progress_is_shown_unasked(self, capsys: pytest.CaptureFixture[str]) -> None:
        with terminal_messages(verbose=False):
            logging.getLogger("asr.progress").info("half of it")
        assert capsys.readouterr() == ("", "half of it\n")

    def test_warnings_once(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        progress, expected = logging.getLogger("asr.progress"), ["at work", "careful", "at work", "careful"]
        with terminal_messages(verbose=False), log_file(tmp_path / "log.txt"):
            with warnings_once():
                for _ in range(2):
                    progress.info("at work")
                    LOGGER.warning("%s", "careful")
            assert capsys.readouterr().err.splitlines() == expected[:3]
            LOGGER.warning("careful")
            assert capsys.readouterr().err == "careful\n"
        logged = [line.rpartition(": ")[2] for line in (tmp_path / "log.txt").read_text().splitlines()]
        assert logged == [*expected, "careful"]

    def test_warnings_alone_unless_asked(self, capsys: pytest.CaptureFixture[str]) -> None:
        for verbose, expected in ((False, "careful\n"), (True, "working\ncareful\n")):
            with terminal_messages(verbose=verbose):
                LOGGER.info("working")
                LOGGER.warning("careful")
            assert capsys.readouterr() == ("", expected)

    def test_quiet_leaves_errors(self, capsys: pytest.CaptureFixture[str]) -> None:
        with terminal_messages(quiet=True):
            LOGGER.warning("careful")
            logging.getLogger("asr.progress").info("half of it")
            LOGGER.error("broken")
        assert capsys.readouterr() == ("", "broken\n")

    def test_muted_for_a_while_but_in_files(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with terminal_messages(), log_file(tmp_path / "log.txt"):
            with muted():
                LOGGER.warning("careful")
            LOGGER.warning("aloud")
        assert capsys.readouterr() == ("", "aloud\n")
        assert (tmp_path / "log.txt").read_text().count("careful") == 1
