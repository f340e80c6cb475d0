"""A training in a process of its own: begun, watched by what it says, cancelled; it ends with this one."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from asr.serving.refusals import CONFLICT, Refusal

Status = Literal["idle", "running", "done", "failed", "cancelled"]
EXPECTED_STAGES = 33  # of a training of npd on a folder with dev and test; later ones are the longer
PATIENCE_S = 8.0
KEPT_LINES = 30
LONGEST_LINE = 1 << 20  # bytes
_STARTED = re.compile(r"([\w.-]+): started")
# What a stage does, by how its name begins.
STEPS = (
    ("task", "Reading the recordings"),
    ("words", "Reading the recordings"),
    ("features", "Computing features"),
    ("grammars", "Reading the recordings"),
    ("start", "Learning the sounds of the words"),
    ("gmm", "Learning the sounds of the words"),
    ("fit", "Looking for takes that do not fit their prompt"),
    ("units", "Learning the sounds of the words"),
    ("hybrid", "Learning to tell the sounds apart"),
    ("adapting", "Learning to tell the sounds apart"),
    ("tuning", "Weighing sounds against sentences"),
    ("confidence", "Weighing sounds against sentences"),
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

    @property
    def is_running(self) -> bool:
        """Whether a training is under way."""
        return self.progress.status == "running"

    @property
    def pid(self) -> int | None:
        """The process that trains, if one does."""
        return self._process.pid if self._process is not None and self.is_running else None

    async def start(self, arguments: Sequence[str]) -> None:
        """Begin a training with arguments of ``asr``; `Refusal` while another one runs."""
        if self.is_running:
            raise Refusal("a training is under way, expected one at a time; wait, or cancel it", CONFLICT)
        self.progress = Progress("running", "Starting")
        self._started_s = time.monotonic()
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "asr.serving.child",
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
            )
        except OSError as error:
            self.progress.status, self.progress.message = "failed", error.strerror or "cannot be started"
            return
        self._watch = asyncio.create_task(self._watched(self._process))

    async def cancel(self) -> None:
        """End the training that is under way, if there is one, and wait until it has ended."""
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
        """Return how far it is."""
        if self.is_running:
            self.progress.seconds = time.monotonic() - self._started_s
        return self.progress

    async def _watched(self, process: asyncio.subprocess.Process) -> None:
        """Follow what a process says until it ends."""
        progress, stages = self.progress, set[str]()
        async for raw in process.stderr:  # type: ignore[union-attr]  # it is piped
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
        progress.seconds = time.monotonic() - self._started_s
        if progress.status != "running":
            return
        if code == 0:
            await self._when_done()
            progress.status, progress.step, progress.share = "done", "Done", 1.0
        else:
            progress.status, progress.message = "failed", message_of(progress.lines, code)


def step_of(stage: str) -> str:
    """Return what a stage does.

    >>> step_of("hybrid-npd-pools-dev")
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
