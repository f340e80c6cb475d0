"""Recordings in, words or alignments out: the routes that programs use.

A recording is the body of its request, in any format that `features.audio` reads without a second program: a
decoder that a stranger's file sets to work should be bounded by its header. It is bounded in bytes, in time
and in sound, and lies in a file that is always removed. The loop of events only passes its bytes on: other
threads write, open, read and remove the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from asr.errors import CorpusError
from asr.files import file_stem
from asr.formats.aligned import AlignedUtterance, aligned_utterance
from asr.formats.intervals import Interval
from asr.formats.nist import to_ctm
from asr.formats.outputs import ONE_EACH, decoded
from asr.formats.praat_elan import to_textgrid
from asr.recognizer import Recognizer
from asr.serving import answers
from asr.serving.limits import BAD, TOO_LARGE, TOO_SLOW, WRONG_KIND, Limits, Refusal, told
from asr.serving.state import UPLOADS, Server
from decoder.decoder import Hypothesis
from features.audio import AudioInfo, audio_info, low_rate
from features.ffmpeg import is_for_ffmpeg
from foundation.errors import AsrError
from foundation.files import TemporaryFolder

TranscriptFormat = Literal["json", "ctm", "textgrid", "trn", "srt", "vtt"]
AlignFormat = Literal["json", "ctm", "textgrid", "srt", "vtt"]
WrittenFormat = Literal["ctm", "textgrid", "trn", "srt", "vtt"]
Name = Annotated[str, Query(max_length=100, description="what the recording is called in the answer")]
_WRITTEN_AT_ONCE = 1 << 20  # bytes
SUFFIXES = {"ctm": ".ctm", "textgrid": ".TextGrid", "trn": ".trn", "srt": ".srt", "vtt": ".vtt"}
RECORDING: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "the recording itself: wav, flac, ogg, mp3, aiff, au, caf or NIST SPHERE",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
WORDS: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": answers.Sentence.model_json_schema(ref_template="#/components/schemas/{model}")
            }
        },
    }
}
WORDS["requestBody"]["content"]["application/json"]["schema"].pop("$defs")  # they are among the answers
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": answers.Problem, "description": what}
    for status, what in (
        (403, "another site's page"),
        (408, "too slow"),
        (409, "no model yet"),
        (413, "too large or too long"),
        (415, "no recording"),
        (422, "of no use"),
        (503, "busy"),
        (507, "a disk that is full, or may not be written to"),
    )
}


def recognition_routes(server: Server) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/api", responses=PROBLEMS)
    _route_words(router, server)
    _route_transcribe(router, server)
    _route_align(router, server)
    return router


def _route_words(router: APIRouter, server: Server) -> None:
    @router.get("/model", summary="What is in use")
    async def model() -> answers.Model:
        return await asyncio.to_thread(answers.model, server)

    @router.post("/words", summary="Words as a file", response_class=PlainTextResponse, openapi_extra=WORDS)
    async def words(request: Request, format: WrittenFormat = "ctm") -> Response:
        body = await request.body()
        return await asyncio.to_thread(_written_words, body, format)


def _written_words(body: bytes, format: WrittenFormat) -> Response:
    try:
        sentence = answers.Sentence.read(body)
        return written(sentence.hypothesis(), sentence.duration_s, format, label_of(sentence.name))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise RequestValidationError([{**first, "loc": ("body", *first["loc"])}]) from None
    except ValueError as error:
        raise RequestValidationError([{"loc": ("body",), "msg": str(error)}]) from None
    except CorpusError as error:
        raise Refusal(str(error), BAD) from None


def _route_transcribe(router: APIRouter, server: Server) -> None:
    @router.post(
        "/transcribe",
        summary="Words of a recording",
        response_model=answers.Transcript,
        openapi_extra=RECORDING,
    )
    async def transcribe(
        request: Request,
        format: TranscriptFormat = "json",
        name: Name = "recording",
        reject: Annotated[bool | None, Query(description="leave out what was probably not spoken")] = None,
    ) -> Any:
        recognizer = server.served.hearing(reject)
        async with one_recording(request, server) as (path, info):

            def heard() -> Response:
                found = recognizer.transcribe(path)
                if format == "json":
                    return _json(answers.transcript(found, info.duration_s, _warning(recognizer, info)))
                return written(found, info.duration_s, format, label_of(name))

            return await server.compute(request, heard)


def _route_align(router: APIRouter, server: Server) -> None:
    @router.post(
        "/align",
        summary="When each word and phone of a transcript is spoken",
        response_model=answers.Aligned,
        openapi_extra=RECORDING,
    )
    async def align(
        request: Request,
        text: Annotated[str, Query(max_length=4000, description="what is said in the recording")],
        format: AlignFormat = "json",
        name: Name = "recording",
    ) -> Any:
        recognizer, label = server.served.recognizer, label_of(name)
        async with one_recording(request, server) as (path, info):

            def found_times() -> Response:
                found = _aligned(recognizer, path, text, label)
                if format == "json":
                    return _json(answers.aligned(found, _warning(recognizer, info)))
                if format == "ctm":
                    words = to_ctm(label, found.tiers["words"], confidences=found.confidences)
                    return _file(words, format, name)
                return _file(ONE_EACH[format][1](found), format, name)

            return await server.compute(request, found_times)


def _warning(recognizer: Recognizer, info: AudioInfo) -> str:
    return low_rate(info.sample_rate, recognizer.model.front_end.config.mfcc.sample_rate)


@asynccontextmanager
async def one_recording(request: Request, server: Server) -> AsyncIterator[tuple[Path, AudioInfo]]:
    """Receive a recording in a place of its own; what its header says comes with it.

    Errors of what is done with it within this context name the recording, not the file of the server.
    """
    with server.uploads.one():
        async with uploaded(request, server.limits) as path:
            try:
                yield path, await server.compute(request, lambda: checked(path, server.limits))
            except Refusal:
                raise
            except AsrError as error:
                raise Refusal(told(error, path)) from None


@asynccontextmanager
async def uploaded(request: Request, limits: Limits) -> AsyncIterator[Path]:
    """Receive the body of a request in a file of its own, which is gone when the context is left."""
    _check_promise(request, limits)
    folder = await asyncio.to_thread(TemporaryFolder, UPLOADS)
    try:
        path = folder.path / "recording"
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
    finally:
        await asyncio.to_thread(folder.remove)


def _check_promise(request: Request, limits: Limits) -> None:
    """Refuse at once what says that it is too large."""
    promised = request.headers.get("content-length", "")
    if promised.isdecimal() and int(promised) > limits.upload_bytes:
        raise _too_large(limits)
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        raise Refusal(
            "got a form (multipart), expected the recording itself as the body of the request; "
            "with curl use --data-binary @FILE",
            WRONG_KIND,
        )


async def _receive(request: Request, path: Path, limits: Limits) -> None:
    n_bytes, waiting = 0, bytearray()
    async for chunk in request.stream():
        n_bytes += len(chunk)
        if n_bytes > limits.upload_bytes:
            raise _too_large(limits)
        waiting += chunk
        if len(waiting) >= _WRITTEN_AT_ONCE:
            await asyncio.to_thread(_write, path, waiting)
            waiting = bytearray()
    await asyncio.to_thread(_write, path, waiting)


def _write(path: Path, content: bytearray) -> None:
    with path.open("ab") as file:
        file.write(content)


def _too_large(limits: Limits) -> Refusal:
    mega = limits.upload_bytes / 1e6
    return Refusal(f"the recording is too large, expected at most {mega:g} MB; send a part of it", TOO_LARGE)


def checked(path: Path, limits: Limits) -> AudioInfo:
    """Return what a recording's header says; `Refusal` if it is none, or too long."""
    try:
        # What needs a second program is told by how it begins: the file's name says nothing.
        if path.stat().st_size and is_for_ffmpeg(path):
            raise Refusal(
                "m4a, mp4, webm or wma; expected wav, flac, ogg, mp3, aiff, au or caf; convert it", WRONG_KIND
            )
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


def written(found: Hypothesis, duration_s: float, format: str, name: str) -> Response:
    """Return words as a file of a format."""
    if format == "textgrid":
        words = [Interval(w.start_s, w.end_s, w.word) for w in found.words]
        end_s = max(duration_s, *(w.end_s for w in found.words)) if words else max(duration_s, 0.01)
        return _file(to_textgrid({"words": words}, end_s), format, name)
    return _file(decoded([(Path(name), found)], format, with_path=False), format, name)


def label_of(name: str) -> str:
    """Return a name that can be an id in a file, and a file's name.

    >>> label_of("../my recording.wav"), label_of("a:b")
    ('my_recording', 'a%3Ab')
    """
    return file_stem("_".join(Path(name.rpartition("/")[2] or "x").stem.split()) or "recording")


def _file(text: str, format: str, name: str) -> Response:
    """Return a text to be kept as a file; its name is of letters that every header can hold."""
    stem = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in label_of(name))
    disposition = f'attachment; filename="{stem}{SUFFIXES[format]}"'
    return PlainTextResponse(text, headers={"content-disposition": disposition})


def _json(found: BaseModel) -> Response:
    """Return an answer in JSON, made in the thread that has found it: of an hour it is a megabyte."""
    return Response(found.model_dump_json(), media_type="application/json")


def _aligned(recognizer: Recognizer, path: Path, text: str, name: str) -> AlignedUtterance:
    words = recognizer.read(text, path)
    if not words:
        raise Refusal("empty transcript, expected the words spoken; give them", BAD)
    found = recognizer.align_with_confidences(recognizer.frames(path), [word.word for word in words])
    return aligned_utterance(name, recognizer.model, [word.written for word in words], *found)
