"""What one server holds: its model, its folder of takes, the training, threads and places."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from starlette.requests import Request

from asr.serving.answers import Bounds
from asr.serving.limits import Limits
from asr.serving.refusals import BAD, Refusal
from asr.serving.served import Served
from asr.serving.takes import Takes
from asr.serving.training import Training
from asr.serving.work import Places, Workers, in_background, within

Result = TypeVar("Result")


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

    @property
    def bounds(self) -> Bounds:
        """What clients are told of the limits."""
        limits = self.limits
        return Bounds(upload_bytes=limits.upload_bytes, audio_s=limits.audio_s, streams=limits.streams)

    @property
    def hidden(self) -> dict[str, str]:
        """Paths that no answer shall hold, the longest first, and what stands in their place."""
        named = {self.served.experiment: "EXP", self.takes.folder: "the folder of takes", Path.cwd(): "."}
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
        """Load the model if there is one; at the end leave nothing running."""
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
