"""What one server holds and all its routes share: the model, the folder of takes, the training, threads."""

from __future__ import annotations

import asyncio
import gc
import logging
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from starlette.requests import Request

from asr.errors import ExperimentError
from asr.files import read_object
from asr.formats.model_directories import model_directory
from asr.language.grammars import read_commands
from asr.recognizer import Recognizer
from asr.serving.limits import BAD, CONFLICT, TOO_SLOW, Limits, Places, Refusal
from asr.serving.takes import Takes
from asr.serving.training import Training
from asr.spotting.rejection import COMMAND_RULE
from foundation.errors import in_a_line
from foundation.files import sweep_temporary

Result = TypeVar("Result")
UPLOADS = "asr-upload-"  # the names of temporary folders begin so
logger = logging.getLogger(__name__)


class Served:
    """The recogniser that clients use, if there is one yet: loaded at the start and after each training.

    Parameters
    ----------
    experiment : directory that ``asr train`` wrote, or will
    model, grammar : names; the experiment's own by default
    reject, keywords : see `Recognizer.sure`
    """

    def __init__(
        self,
        experiment: Path,
        model: str | None = None,
        grammar: str | None = None,
        *,
        reject: bool | None = None,
        keywords: bool = False,
    ) -> None:
        self.experiment, self.model, self.grammar = experiment, model, grammar
        self._reject, self._keywords = reject, keywords
        self._recognizer: Recognizer | None = None

    @property
    def is_ready(self) -> bool:
        """Whether there is a model."""
        return self._recognizer is not None

    def hearing(self, reject: bool | None) -> Recognizer:
        """Return the recogniser, which leaves out what was probably not spoken or not; None: as usual."""
        usual = self.recognizer
        return usual if reject is None or self._keywords else usual.sure(reject=reject)

    @property
    def recognizer(self) -> Recognizer:
        """The recogniser; `Refusal` if there is none yet."""
        if self._recognizer is None:
            raise Refusal("there is no model yet, expected one; record commands and train first", CONFLICT)
        return self._recognizer

    @property
    def rejects(self) -> bool:
        """Whether clients who do not ask otherwise are told only what was probably spoken."""
        rule = self.recognizer.rejection
        return rule is not None and rule.threshold > -np.inf

    def commands(self) -> Sequence[Sequence[str]]:
        """Return the commands of which a sentence is one, none where there is no list of them."""
        recognizer = self.recognizer
        return read_commands(model_directory(self.experiment, self.model)) if recognizer.one_each else ()

    def heard_takes(self) -> list[Any]:
        """Return what was heard in takes that were left out of a training, as JSON holds it."""
        if self._recognizer is None:
            return []
        path = model_directory(self.experiment, self.model) / COMMAND_RULE
        try:
            found = read_object(path).get("takes") if path.is_file() else []
        except ExperimentError:  # damaged since it was loaded
            return []
        return found if isinstance(found, list) else []

    def load(self) -> None:
        """Load the model and hear two bursts of noise: the first words shall not wait for compiling."""
        loaded = Recognizer.load(self.experiment, self.model, self.grammar)
        found = loaded.sure(reject=self._reject, keywords=self._keywords)
        rate = found.model.front_end.config.mfcc.sample_rate
        loudness = np.repeat([1e-3, 0.1, 1e-3, 0.1, 1e-3], rate // 4)
        noise = (loudness * np.random.default_rng(0).normal(size=loudness.size)).astype(np.float32)
        stream = found.stream()
        stream.accept(noise)
        stream.finish()
        self._recognizer = found
        # A search for garbage stops all threads: what stays, such as the model, is left out of it.
        gc.unfreeze()
        gc.collect()
        gc.freeze()


class Server:
    """All that routes share.

    Parameters
    ----------
    served : the model
    folder : where takes are kept
    limits : of what clients may ask
    """

    def __init__(self, served: Served, folder: Path, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.served = served
        self.takes = Takes(folder, self.limits.takes)
        self.workers = Workers(self.limits.workers)
        self.stream_workers = Workers(self.limits.workers)  # speech does not wait for long recordings
        self.uploads = Places(self.limits.uploads, "recordings")
        self.streams = Places(self.limits.streams, "streams")
        self.training = Training(self._load)

    async def _load(self) -> None:
        await self.workers.run(self.served.load)

    def _tidy(self) -> None:
        """Finish or remove what killed servers have left; what cannot be tidied hinders nobody."""
        for tidy in (self.takes.finish, partial(sweep_temporary, UPLOADS)):
            try:
                tidy()
            except OSError as error:
                logger.warning("left by an earlier server: %s", error)

    @property
    def place(self) -> str:
        """The experiment, as one writes it where the server was started; elsewhere its name alone."""
        experiment, here = self.served.experiment.absolute(), Path.cwd()
        is_below = experiment.is_relative_to(here)
        return in_a_line(str(experiment.relative_to(here)) if is_below else experiment.name)

    @property
    def hidden(self) -> dict[str, str]:
        """Paths that no answer shall hold, the longest first, and what stands in their place."""
        named = {
            self.served.experiment: self.place,
            self.takes.folder: "the folder of takes",
            Path.cwd(): ".",
        }
        named[Path(tempfile.gettempdir())] = "the temporary folder"
        named[Path.home()] = "~"
        found = {str(path.absolute()): name for path, name in named.items()}
        return dict(sorted(found.items(), key=lambda item: -len(item[0])))

    def plain(self, line: str) -> str:
        """Return a line without paths of the machine."""
        for path, name in self.hidden.items():
            line = line.replace(path, name)
        return line

    async def compute(self, request: Request, function: Callable[[], Result]) -> Result:
        """Return what a function returns, from a thread; given up when the client has gone away."""
        work = asyncio.ensure_future(self.workers.run(function))
        async with in_background(_until_gone(request, work)) as gone:
            try:
                return await within(self.limits.answer_s, work)
            except asyncio.CancelledError:
                if not gone.done():  # the server itself ends
                    raise
                raise Refusal("the client went away before the answer", BAD) from None

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Serve, once what killed servers have left is out of the way; at the end leave nothing running."""
        await asyncio.to_thread(self._tidy)
        try:
            yield
        finally:
            await self.training.cancel()
            await asyncio.to_thread(self.workers.close)
            await asyncio.to_thread(self.stream_workers.close)


async def _until_gone(request: Request, work: asyncio.Future[Result]) -> None:
    """Cancel some work when the client goes away; the body has been read, so nothing else comes."""
    while not await request.is_disconnected():
        await asyncio.sleep(0.2)
    work.cancel()


class Workers:
    """A bounded number of threads that compute, beside the loop of events, which only passes messages on.

    Parameters
    ----------
    n_threads : how many
    """

    def __init__(self, n_threads: int) -> None:
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="asr-serving")
        self.running = 0

    async def run(self, function: Callable[[], Result]) -> Result:
        """Return what a function returns; it is not begun if nobody waits for it any more."""
        self.running += 1
        future = self._pool.submit(function)
        future.add_done_callback(lambda _: self._ended())
        return await asyncio.wrap_future(future)

    def _ended(self) -> None:
        self.running -= 1

    def close(self) -> None:
        """Start no more work, and wait for what is under way."""
        self._pool.shutdown(wait=True, cancel_futures=True)


async def within(seconds: float, work: Awaitable[Result]) -> Result:
    """Return what some work returns; `Refusal` if it takes longer."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise Refusal(
            f"not done within {seconds:g} s, expected an answer sooner; send a shorter recording", TOO_SLOW
        ) from None


@asynccontextmanager
async def in_background(work: Awaitable[None]) -> AsyncIterator[asyncio.Future[None]]:
    """Run some work beside the block of this context; it is cancelled when the block ends."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
