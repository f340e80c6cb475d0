"""Computing for clients: threads of a bounded number, and a bounded number of clients who wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

from asr.serving.refusals import BUSY, TOO_SLOW, Refusal

Result = TypeVar("Result")


class Places:
    """A number of places, each taken by one client at a time.

    Parameters
    ----------
    most : how many there are
    what : what they are for, as a refusal says it
    """

    def __init__(self, most: int, what: str) -> None:
        self.most, self.what, self.taken = most, what, 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a place; `Refusal` if none is free."""
        if self.taken >= self.most:
            raise Refusal(
                f"the server is busy with {self.taken} {self.what}, expected at most {self.most} at a time; "
                "try again in a moment",
                BUSY,
            )
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


class Workers:
    """Threads that compute, beside the loop of events, which only passes messages on.

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
        """Begin nothing more, and wait for what is under way."""
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
    """Let something run beside; it is ended when the context is left."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
