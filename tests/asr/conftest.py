"""A tone language, of which a corpus is made in a moment, and what runs verbs and browsers on it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from asr import train
from asr.cli import command_line, main
from asr.commands.parsing import CommandLine
from asr.corpora.tones import write_tones
from foundation.endings import SIGNALS

# Small enough for seconds, large enough to be a real search for weights.
SETTINGS = (
    *("gmm.mixtures=1,2", "gmm.iterations=4,3", "tuning.word_penalties=0,-20", "tuning.lm_scales=5,10"),
    "without_lexicon=letters",
)

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Run = Callable[..., tuple[int, str, str]]
CHROMIUM_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


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


@pytest.fixture(scope="module")
def launched() -> Iterator[Callable[..., Any]]:
    """Return a function that starts a browser with further flags; whoever starts one closes it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright (the extra dev)")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        yield lambda *flags: driver.chromium.launch(executable_path=program, args=[*CHROMIUM_FLAGS, *flags])


class Pages:
    """Opens pages; what they say on the console, or ask of any other place, is an error.

    Attributes
    ----------
    allowed : parts of what they may say all the same
    """

    def __init__(self) -> None:
        self.said: list[str] = []
        self.allowed: tuple[str, ...] = ()
        self.contexts: list[Any] = []

    def open(
        self,
        browser: Any,
        address: str,
        *,
        ready: str = "body[data-ready]",
        width: int = 1100,
        height: int = 900,
        dark: bool = False,
    ) -> Any:
        """Return a page in which a selector is found."""
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
        )
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        origin = "file:" if address.startswith("file:") else address.partition("/#")[0]
        here = (origin, origin.replace("http", "ws"), "blob:", "data:")
        page.on("request", lambda r: None if r.url.startswith(here) else self.said.append(r.url))
        page.goto(address)
        page.wait_for_selector(ready)
        return page

    def close(self) -> None:
        for context in self.contexts:
            context.close()
        unexpected = [line for line in self.said if not any(part in line for part in self.allowed)]
        assert unexpected == []


@pytest.fixture
def pages() -> Iterator[Pages]:
    """Return what opens pages. It is asked for after browsers, so that its pages are closed before them."""
    opened = Pages()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def until() -> Callable[..., None]:
    """Return a function that waits until a condition holds in a page.

    The policy of our pages keeps the driver's own way of waiting from evaluating it.
    """

    def wait(page: Any, condition: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if page.evaluate(condition):
                return
            page.wait_for_timeout(50)
        shown = page.inner_text("main")
        raise AssertionError(f"not within {seconds} s: {condition}; the page shows: {shown}")

    return wait
