"""Bodies of requests that are not recordings: small, and there in time.

What becomes a recording is bounded while it is written to its file (`asr.serving.uploads`); other bodies are
JSON, which is read as a whole.
"""

from __future__ import annotations

import asyncio
import time

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from asr.serving.limits import Limits
from asr.serving.refusals import TOO_LARGE, TOO_SLOW

OF_RECORDINGS = ("/api/transcribe", "/api/align", "/api/takes")


class BoundedBodies:
    """Refuses what is too large or too slow, before it is taken for JSON.

    Parameters
    ----------
    app : what answers
    limits : how large and how slow it may be
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["path"] in OF_RECORDINGS:
            await self.app(scope, receive, send)
        else:
            await self.app(scope, bounded(receive, self.limits), send)


def bounded(receive: Receive, limits: Limits) -> Receive:
    """Return a function that hands a body on, and raises an error when it is too large or too slow."""
    n_bytes, is_whole, end_s = 0, False, time.monotonic() + limits.arrival_s

    async def next_message() -> Message:
        nonlocal n_bytes, is_whole
        if is_whole:  # what comes now is the client's farewell
            return await receive()
        try:
            async with asyncio.timeout(max(end_s - time.monotonic(), 0)):
                message = await receive()
        except TimeoutError:
            raise HTTPException(
                TOO_SLOW, f"the request did not arrive within {limits.arrival_s:g} s; send it again"
            ) from None
        n_bytes += len(message.get("body", b""))
        is_whole = not message.get("more_body", False)
        if n_bytes > limits.json_bytes:
            mega = limits.json_bytes / 1e6
            raise HTTPException(
                TOO_LARGE, f"the request is too large, expected at most {mega:g} MB; send less"
            )
        return message

    return next_message
