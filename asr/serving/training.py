"""A training in a process of its own: begun, watched by what it says, cancelled; it ends with this one.

That process runs this module: ``python -m asr.serving.training VERB …`` is the command line until it is done
or its standard input ends. The server holds the other end of that pipe, which is closed however it ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import runpy
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from asr.serving.limits import CONFLICT, Refusal
from foundation.errors import AsrError

logger = logging.getLogger(__name__)

Status = Literal["idle", "running", "done", "failed", "cancelled"]
EXPECTED_STAGES = 87  # of a training of pools on takes of commands, with folds; later ones are the longer
PATIENCE_S = 8.0  # for a training that is cancelled to end by itself; by feel
CLEANING_S = 5.0  # within which it cleans up after the signal; by feel
KEPT_LINES = 30  # by feel
LONGEST_LINE = 1 << 20  # bytes; by feel
_STARTED = re.compile(r"([\w.-]+): started")
# What a stage does, by how its name begins.
STEPS = (
    ("task", "Reading the recordings"),
    ("words", "Reading the recordings"),
    ("features", "Computing features"),
    ("grammars", "Reading the recordings"),
    ("usable", "Reading the recordings"),
    ("pronunciations", "Learning the sounds of the words"),
    ("start", "Learning the sounds of the words"),
    ("gmm", "Learning the sounds of the words"),
    ("fit", "Looking for wrong transcripts"),
    ("judged", "Looking for wrong transcripts"),
    ("units", "Learning the sounds of the words"),
    ("hybrid", "Learning to tell the sounds apart"),
    ("adapting", "Learning to tell the sounds apart"),
    ("tuning", "Weighing sounds against sentences"),
    ("confidence", "Weighing sounds against sentences"),
    ("heard", "Learning what is none of the commands"),
    ("recognizer", "Putting the recogniser together"),
    ("test", "Testing it on takes it has not heard"),
)


@dataclass
class Progress:
    """How far a training is.

    Attributes
    ----------
    status : what became of it
    step : what it does, for people
    share : how much is done, from 0 to 1
    seconds : since it began
    message : why it failed
    lines : the last things it said
    """

    status: Status = "idle"
    step: str = ""
    share: float = 0.0
    seconds: float = 0.0
    message: str = ""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))


class Training:
    """At most one training at a time.

    Parameters
    ----------
    when_done : called after a training that succeeded, before it is said to be done
    """

    def __init__(self, when_done: Callable[[], Awaitable[None]]) -> None:
        self.progress = Progress()
        self._when_done = when_done
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._started_s = 0.0
        self._turn = asyncio.Lock()  # of who starts or cancels

    @property
    def is_running(self) -> bool:
        """Whether a training is under way."""
        return self.progress.status == "running"

    def check_idle(self) -> None:
        """Refuse to go on while a training is under way."""
        if self.is_running:
            raise Refusal("a training is under way, expected one at a time; wait, or cancel it", CONFLICT)

    @property
    def pid(self) -> int | None:
        """The process that trains, if one does."""
        return self._process.pid if self._process is not None and self.is_running else None

    async def start(self, arguments: Sequence[str]) -> None:
        """Begin a training with arguments of ``asr``; `Refusal` while another one runs."""
        async with self._turn:
            self.check_idle()
            try:
                self._process = await _begun(arguments)
            except OSError as error:
                self.progress = Progress("failed", message=error.strerror or "cannot be started")
                return
            self.progress, self._started_s = Progress("running", "Starting"), time.monotonic()
            self._watch = asyncio.create_task(self._watched(self._process, self.progress))

    async def cancel(self) -> None:
        """End the training that is under way, if there is one, and wait until it has ended."""
        async with self._turn:
            if self._process is None or self._watch is None or not self.is_running:
                return
            self.progress.status = "cancelled"
            with suppress(ProcessLookupError):
                self._process.terminate()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await asyncio.shield(self._watch)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    self._process.kill()
                await self._watch

    def now(self) -> Progress:
        """Return the progress of the training."""
        if self.is_running:
            self.progress.seconds = time.monotonic() - self._started_s
        return self.progress

    async def _watched(self, process: asyncio.subprocess.Process, progress: Progress) -> None:
        """Follow a training until it has ended and what it made is loaded, or the reason why not is known."""
        code = await _followed(process, progress)
        fault = "" if code == 0 else message_of(progress.lines, code)
        if progress.status == "running" and not fault:
            fault = await self._fault_of_loading()
        progress.seconds = time.monotonic() - self._started_s
        if progress.status == "running" and fault:
            progress.status, progress.message = "failed", fault
        elif progress.status == "running":
            progress.status, progress.step, progress.share = "done", "Done", 1.0

    async def _fault_of_loading(self) -> str:
        """Return why what was trained cannot be used, in one line; nothing if it can."""
        try:
            await self._when_done()
        except AsrError as error:
            return _first_line(error)
        except Exception as error:  # nobody else hears of it, and the page would wait for ever
            logger.exception("what was trained cannot be loaded")
            return f"the model cannot be loaded: {_first_line(error)}"
        return ""


async def _begun(arguments: Sequence[str]) -> asyncio.subprocess.Process:
    """Return a process that runs ``asr`` with some arguments."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # no modules from the current folder, which is the user's and may hold a soxr.py
        "-m",
        "asr.serving.training",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
    )


async def _followed(process: asyncio.subprocess.Process, progress: Progress) -> int:
    """Note what a process says until it ends, and return its exit code."""
    stages = set[str]()
    while raw := await _line(process.stderr):  # type: ignore[arg-type]  # it is piped
        line = raw.decode("utf-8", errors="replace").strip()
        if line:
            progress.lines.append(line)
        if found := _STARTED.fullmatch(line):
            stages.add(found[1])
            progress.step = step_of(found[1])
            progress.share = min(len(stages) / EXPECTED_STAGES, 0.98)
    code = await process.wait()
    if process.stdin is not None:
        process.stdin.close()
    return code


async def _line(stream: asyncio.StreamReader) -> bytes:
    """Return the next line with its end, of one that is too long what is left; nothing at the end."""
    while True:
        with suppress(ValueError):  # longer than the reader's limit: it has dropped what it held
            return await stream.readline()


def _first_line(error: Exception) -> str:
    """Return what an error says in one line, its kind if it says nothing."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def step_of(stage: str) -> str:
    """Return what a step of the training does, in words for the page.

    >>> step_of("hybrid-pools-dev")
    'Learning to tell the sounds apart'
    """
    return next((step for prefix, step in STEPS if stage.startswith(prefix)), stage)


def message_of(lines: Sequence[str] | deque[str], code: int) -> str:
    """Return why a training ended with an exit code: the line that says so.

    >>> message_of(["words: started", "asr: out: no space left"], 2)
    'out: no space left'
    """
    said = [line for line in lines if line.startswith("asr: ")]
    return said[-1].removeprefix("asr: ") if said else f"the training ended with exit code {code}"


def end_with_input() -> None:
    """Wait until the standard input ends, then end the process (in the process that trains)."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(CLEANING_S)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    runpy.run_module("asr", run_name="__main__")
