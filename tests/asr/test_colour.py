"""What terminals get: colour as the environment asks, and nothing of others that they would obey."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from asr.progress import coloured, coloured_difference, wants_colour, with_severity

pty = pytest.importorskip("pty", reason="Windows has no such terminals", exc_type=ImportError)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "at_terminal", "in_file"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),  # no-color.org: when it is not empty
        ({"FORCE_COLOR": "1"}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "xterm"}, True, False),
    ],
)
def test_who_wants_colour(environment: dict[str, str], at_terminal: bool, in_file: bool) -> None:
    assert wants_colour(Terminal(), environment) is at_terminal
    assert wants_colour(io.StringIO(), environment) is in_file


@pytest.mark.parametrize(
    ("environment", "is_coloured"), [({}, False), ({"WT_SESSION": "1"}, True), ({"TERM": "xterm"}, True)]
)
def test_the_old_console_of_windows_has_no_colours(
    environment: dict[str, str], is_coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as on_windows:
        on_windows.setattr("os.name", "nt")
        found = wants_colour(Terminal(), environment)
    assert found is is_coloured


def test_first_words_of_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert with_severity("error: a: error: b", Terminal()) == "\033[31merror\033[0m: a: error: b"
    assert with_severity("warning: a", Terminal()) == "\033[33mwarning\033[0m: a"
    assert with_severity("note: a", Terminal()) == "note: a"
    assert with_severity("errors: a", Terminal()) == "errors: a"
    assert with_severity("error: a", io.StringIO()) == "error: a"


def test_a_difference_is_coloured_if_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = io.StringIO()
    assert coloured_difference("x", 0.1, 2.0, stream) == coloured("x", "green", stream) == "\033[32mx\033[0m"
    assert coloured_difference("x", -2.0, -0.1, stream) == coloured("x", "red", stream)
    assert coloured_difference("x", -0.1, 2.0, stream) == coloured_difference("x", 0.0, 0.0, stream) == "x"


EVIL = "e\x1b[2Jv\x9b31m\u202ei\x07l"
# What a terminal obeys, but for ends of lines and what progress bars send themselves.
OBEYED = re.compile(
    "(?!\x1b\\[(?:A|K|0m))[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def at_a_terminal(*arguments: str | bytes | Path) -> tuple[int, str]:
    """Run a verb whose standard output and error are a terminal; return its exit code and what it wrote."""
    reads, writes = pty.openpty()
    command = [sys.executable, "-m", "asr.cli", *arguments]
    environment = {**os.environ, "NO_COLOR": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=writes, stderr=writes, env=environment
    ) as run:
        os.close(writes)
        written = b""
        while True:
            try:
                block = os.read(reads, 1 << 16)
            except OSError:  # nobody writes any more
                break
            if not block:
                break
            written += block
        os.close(reads)
    return run.returncode, written.decode("utf-8", "surrogateescape")


def test_a_terminal_obeys_no_word_and_no_name(trained: Path, tones: Path, tmp_path: Path) -> None:
    folder = tmp_path / EVIL
    folder.mkdir()
    for name in ("1", f"{EVIL}"):
        (folder / f"{name}.wav").write_bytes((tones / "speaker 0" / "0.wav").read_bytes())
        (folder / f"{name}.txt").write_text(f"ASA {EVIL} IMI\n")
    latin = os.fsencode(folder) + b"/\xff\x9b.wav"
    with open(latin, "wb") as file:
        file.write((tones / "speaker 0" / "0.wav").read_bytes())
    said = tmp_path / "said"
    said.write_text(f"u1 ASA {EVIL}\nu2 IMI\n")
    heard = tmp_path / "heard"
    heard.write_text(f"u1 ASA {EVIL}2\nu2 {EVIL}\n")
    shown = r"e\u001b[2Jv\u009b31m\u202ei\u0007l"
    for code, *arguments in (
        (0, "decode", trained, folder / f"{EVIL}.wav"),
        (0, "decode", trained, folder / f"{EVIL}.wav", folder / "1.wav", "--format", "json"),
        (2, "decode", trained, folder / "none.wav"),
        (2, "validate", folder),
        (0, "score", said, heard),
        (0, "score", said, heard, "--json"),
        (0, "score", said, heard, "--against", said),
        (2, "info", folder),
        (2, "clean", folder),
        (2, EVIL),
        (2, "train", "folder", "--corpus", folder, "--out", tmp_path / "x", "--set", f"{EVIL}=1"),
        (2, "evaluate", trained, "--corpus", folder / "none"),
    ):
        found, written = at_a_terminal(*arguments)
        assert found == code, written
        assert OBEYED.findall(written) == [], arguments
        assert (code == 0 and arguments[0] == "decode") or shown in written, arguments
    code, written = at_a_terminal("decode", trained, latin)
    assert (code, OBEYED.findall(written)) == (0, [])


def test_a_pipe_gets_words_as_they_are(tmp_path: Path) -> None:
    said = tmp_path / "said"
    said.write_text(f"u1 ASA {EVIL}\n")
    command = [sys.executable, "-m", "asr.cli", "score", said, said, "--json"]
    found = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    assert '"words": 2' in found.stdout
    assert r"\u202e" not in found.stdout
