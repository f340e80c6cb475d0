"""Recordings in, words or alignments out: the routes that programs use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, Response

from asr.errors import CorpusError
from asr.files import file_stem
from asr.formats.aligned import AlignedUtterance, aligned_utterance
from asr.formats.intervals import Interval
from asr.formats.nist import to_ctm
from asr.formats.outputs import ONE_EACH, decoded
from asr.formats.praat_elan import to_textgrid
from asr.recognizer import Recognizer
from asr.serving import answers
from asr.serving.refusals import BAD, Refusal, told
from asr.serving.state import Server
from asr.serving.uploads import checked, uploaded
from decoder.decoder import Hypothesis
from features.audio import AudioInfo
from foundation.errors import AsrError

TranscriptFormat = Literal["json", "ctm", "textgrid", "trn", "srt", "vtt"]
AlignFormat = Literal["json", "ctm", "textgrid", "srt", "vtt"]
WrittenFormat = Literal["ctm", "textgrid", "trn", "srt", "vtt"]
Name = Annotated[str, Query(max_length=100, description="what the recording is called in the answer")]
SUFFIXES = {"ctm": ".ctm", "textgrid": ".TextGrid", "trn": ".trn", "srt": ".srt", "vtt": ".vtt"}
RECORDING: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "the recording itself: wav, flac, ogg or mp3",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
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
    )
}


@asynccontextmanager
async def one_recording(request: Request, server: Server) -> AsyncIterator[tuple[Path, AudioInfo]]:
    """Receive a recording in a place of its own; what its header says comes with it."""
    with server.uploads.one():
        async with uploaded(request, server.limits) as path:
            yield path, checked(path, server.limits)


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
        return answers.model(server.served, server.bounds)

    @router.post("/words", summary="Words as a file", response_class=PlainTextResponse)
    async def words(sentence: answers.Sentence, format: WrittenFormat = "ctm") -> Response:
        try:
            return written(sentence.hypothesis(), sentence.duration_s, format, label_of(sentence.name))
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
    ) -> Any:
        recognizer = server.served.recognizer
        async with one_recording(request, server) as (path, info):
            found = await server.compute(request, lambda: _heard(recognizer, path))
        if format == "json":
            return answers.transcript(found, info.duration_s)
        return written(found, info.duration_s, format, label_of(name))


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
        async with one_recording(request, server) as (path, _):
            found = await server.compute(request, lambda: _aligned(recognizer, path, text, label))
        if format == "json":
            return answers.aligned(found)
        if format == "ctm":
            words = to_ctm(label, found.tiers["words"], confidences=found.confidences)
            return _file(words, format, name)
        return _file(ONE_EACH[format][1](found), format, name)


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


def _heard(recognizer: Recognizer, path: Path) -> Hypothesis:
    try:
        return recognizer.transcribe(path)
    except AsrError as error:
        raise Refusal(told(error, path)) from None


def _aligned(recognizer: Recognizer, path: Path, text: str, name: str) -> AlignedUtterance:
    try:
        words = recognizer.read(text)
        if not words:
            raise Refusal("empty transcript, expected the words spoken; give them", BAD)
        found = recognizer.align_with_confidences(recognizer.frames(path), [word.word for word in words])
    except Refusal:
        raise
    except AsrError as error:
        raise Refusal(told(error, path)) from None
    return aligned_utterance(name, recognizer.model, [word.written for word in words], *found)
