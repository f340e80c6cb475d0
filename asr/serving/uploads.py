"""Recordings that clients send: bounded in bytes, in time and in sound, in a file that is always removed.

The body of a request is the recording itself, in any format that `features.audio` reads without a second
program: a decoder that a stranger's file sets to work should be bounded by its header.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.requests import ClientDisconnect, Request

from asr.serving.limits import Limits
from asr.serving.refusals import BAD, TOO_LARGE, TOO_SLOW, WRONG_KIND, Refusal, told
from features.audio import AudioInfo, audio_info
from features.ffmpeg import is_for_ffmpeg
from foundation.errors import AsrError


@asynccontextmanager
async def uploaded(request: Request, limits: Limits) -> AsyncIterator[Path]:
    """Receive the body of a request in a file of its own, which is gone when the context is left."""
    _check_promise(request, limits)
    with tempfile.TemporaryDirectory(prefix="asr-upload-") as folder:
        path = Path(folder) / "recording"
        try:
            async with asyncio.timeout(limits.arrival_s):
                await _receive(request, path, limits)
        except TimeoutError:
            raise Refusal(
                f"the recording did not arrive within {limits.arrival_s:g} s; send a shorter one", TOO_SLOW
            ) from None
        except ClientDisconnect:
            raise Refusal("the client went away before the recording had arrived", BAD) from None
        yield path


def _check_promise(request: Request, limits: Limits) -> None:
    """Refuse at once what says that it is too large."""
    promised = request.headers.get("content-length", "")
    if promised.isdecimal() and int(promised) > limits.upload_bytes:
        raise _too_large(limits)
    if request.headers.get("content-type", "").startswith("multipart/"):
        raise Refusal(
            "got a form (multipart), expected the recording itself as the body of the request; "
            "with curl use --data-binary @FILE",
            WRONG_KIND,
        )


async def _receive(request: Request, path: Path, limits: Limits) -> None:
    n_bytes = 0
    with path.open("wb") as file:
        async for chunk in request.stream():
            n_bytes += len(chunk)
            if n_bytes > limits.upload_bytes:
                raise _too_large(limits)
            file.write(chunk)


def _too_large(limits: Limits) -> Refusal:
    mega = limits.upload_bytes / 1e6
    return Refusal(f"the recording is too large, expected at most {mega:g} MB; send a part of it", TOO_LARGE)


def checked(path: Path, limits: Limits) -> AudioInfo:
    """Return what a recording's header says; `Refusal` if it is none, or too long."""
    try:
        # What needs a second program is told by how it begins: the file's name says nothing.
        if path.stat().st_size and is_for_ffmpeg(path):
            raise Refusal("m4a, mp4, webm or wma; expected wav, flac, ogg or mp3; convert it", WRONG_KIND)
        found = audio_info(path)
    except Refusal:
        raise
    except AsrError as error:
        raise Refusal(told(error, path), WRONG_KIND) from None
    if found.duration_s > limits.audio_s:
        raise Refusal(
            f"{found.duration_s:.0f} s of sound, expected at most {limits.audio_s:g} s; send a part of it",
            TOO_LARGE,
        )
    if found.n_channels > limits.channels:
        raise Refusal(f"{found.n_channels} channels, expected at most {limits.channels}; mix them down")
    return found
