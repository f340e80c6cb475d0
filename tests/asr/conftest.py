"""A tone language: five sounds, four words, eight speakers, made of sines and noise in a moment."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from asr import train
from asr.cli import command_line, main
from asr.corpora.tones import write_tones
from asr.endings import SIGNALS
from asr.parsing import CommandLine

# Small enough for seconds, large enough to be a real search for weights.
SETTINGS = ("gmm.mixtures=1,2", "gmm.iterations=4,3", "tuning.word_penalties=0,-20", "tuning.lm_scales=5,10")

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def tones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the tone language; not to be changed."""
    return write_tones(tmp_path_factory.mktemp("tönes and spaces") / "corpus")


@pytest.fixture(scope="session")
def many_tones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of more speakers and recordings of the tone language; not to be changed."""
    return write_tones(tmp_path_factory.mktemp("many") / "corpus", n_speakers=20, n_each=10)


@pytest.fixture(scope="session")
def settings() -> tuple[str, ...]:
    """Return the settings of the small training of the model ``gmm2``."""
    return SETTINGS


@pytest.fixture(scope="session")
def trained(tones: Path) -> Path:
    """Return a finished experiment on the tone language; not to be changed."""
    out = tones.parent / "exp"
    train("folder", corpus=tones, out=out, models=["gmm2"], settings=SETTINGS)
    return out


@pytest.fixture(scope="session")
def train_arguments(tones: Path) -> list[str]:
    """Return the command line of that training, without ``--out``."""
    options = [word for setting in SETTINGS for word in ("--set", setting)]
    return ["train", "folder", "--corpus", str(tones), "--model", "gmm2", *options]


@pytest.fixture(scope="session")
def digests() -> Callable[[Path], dict[str, str]]:
    """Return a function that gives the hash of every file below a directory but for logs, locks and times."""

    def content(path: Path) -> bytes:
        if path.name != "stage.json":
            return path.read_bytes()
        record = json.loads(path.read_text())
        assert set(record.pop("seconds")) == {"cpu", "wall"}
        return json.dumps(record).encode()

    def of(directory: Path) -> dict[str, str]:
        return {
            path.relative_to(directory).as_posix(): hashlib.sha256(content(path)).hexdigest()
            for path in sorted(directory.rglob("*"))
            if path.is_file() and path.name not in ("log.txt", ".lock")
        }

    return of


@pytest.fixture(scope="session")
def asr_command() -> Command:
    """Return a function that runs ``asr …`` in a process of its own."""

    def run(*arguments: str | Path, env: dict[str, str] | None = None, **options: object):  # type: ignore[no-untyped-def]
        return subprocess.run(
            [sys.executable, "-m", "asr.cli", *map(str, arguments)],
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
            timeout=120,
            env={**os.environ, **(env or {})},
            **options,  # type: ignore[call-overload]
        )

    return run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a verb and gives exit code, standard output and standard error."""

    def verb(*arguments: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return verb


@pytest.fixture(scope="session")
def one_error() -> Callable[[tuple[int, str, str]], str]:
    """Return a function that gives the one line of an error, of what `run` gives."""

    def of(result: tuple[int, str, str]) -> str:
        code, _, errors = result
        assert code == 2
        (line,) = errors.splitlines()
        assert line.startswith("asr: ")
        return line

    return of


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that gives the one line with which a parser refuses a command line."""

    def of(line: str, parser: CommandLine | None = None) -> str:
        with pytest.raises(SystemExit, match=r"^2$"):
            (parser or command_line()).parse(line.split())
        out, errors = capsys.readouterr()
        assert out == ""
        assert errors.count("\n") == 1
        assert errors.startswith("asr: ")
        return str(errors.strip())

    return of


@pytest.fixture(scope="session")
def wav(tones: Path) -> Path:
    """Return a recording of the tone language."""
    return tones / "speaker 0" / "0.wav"


@pytest.fixture(scope="session")
def words(wav: Path) -> str:
    """Return what is said in it."""
    return wav.with_suffix(".txt").read_text().strip()


@pytest.fixture(scope="session")
def at_terminal() -> Callable[..., subprocess.Popen[str]]:
    """Return a function that starts Python code with arguments, in a process with the signals of a terminal.

    Tests under nohup, or behind an &, inherit that signals are ignored.
    """
    setup = "import signal\n"
    setup += "".join(f"signal.signal({number:d}, signal.SIG_DFL)\n" for number in SIGNALS)
    setup += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"

    def started(code: str, *arguments: str, **options: object) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([sys.executable, "-c", setup + code, *arguments], **{**pipes, **options})  # type: ignore[call-overload,no-any-return]

    return started
