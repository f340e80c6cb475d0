"""Words while one speaks: ``/api/listen``, a WebSocket.

The client first says what it sends, ``{"sample_rate": 48000, "encoding": "pcm_s16le"}``, then sends sound as
binary messages of any size. It is told ``{"type": "partial", …}``, ``{"type": "final", …}``, and of sentences
that count as not spoken ``{"type": "rejected", …}``; ``"reject": false`` in the first message keeps all. With
``{"type": "finish"}`` it asks for the rest, which ends with ``{"type": "done"}``; ``{"type": "reset"}``
forgets the speaker. While the server is behind, it says so (``{"type": "slow", …}``) and then stops reading.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from fastapi import APIRouter
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from asr.formats.outputs import json_words
from asr.live.stream import CommandStream, Partial, Stream
from asr.serving.limits import BAD, BUSY, Refusal
from asr.serving.state import Server
from decoder.decoder import Hypothesis
from features.audio import low_rate
from foundation.arrays import Singles
from foundation.errors import AsrError

Command = Literal["finish", "reset"]
MOST_ITEMS = 1000  # many small messages take space, too; by feel
AT_ONCE_S = 1.0  # that the recogniser is given in one piece; by feel
ENCODINGS = {"pcm_s16le": ("<i2", 1 / 32768), "pcm_f32le": ("<f4", 1.0)}
LOWEST_HZ, HIGHEST_HZ = 8000, 192_000
POLICY_VIOLATION, TRY_AGAIN_LATER = 1008, 1013
_GONE = 1006
TOLD_EVERY_S = 0.5  # how often a client hears how much was heard, though no word has changed; by feel


def listening_routes(server: Server) -> APIRouter:
    """Return the route."""
    router = APIRouter()

    @router.websocket("/api/listen")
    async def listen(socket: WebSocket) -> None:
        await socket.accept()
        try:
            with server.streams.one():
                await _listened(socket, server)
        except AsrError as error:
            status = error.status if isinstance(error, Refusal) else BAD
            with suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
                async with asyncio.timeout(server.limits.send_s):
                    await _close(socket, server.plain(str(error)), status)
        except (WebSocketDisconnect, TimeoutError):
            pass

    return router


async def _close(socket: WebSocket, line: str, status: int) -> None:
    """Tell the client why it is not listened to any more."""
    if socket.application_state is WebSocketState.CONNECTED:
        await socket.send_json({"type": "error", "error": line, "status": status})
        await socket.close(TRY_AGAIN_LATER if status == BUSY else POLICY_VIOLATION)


async def _listened(socket: WebSocket, server: Server) -> None:
    """Listen to a client until it goes away or makes a mistake."""
    first_s = server.limits.first_s
    late = f'nothing was sent for {first_s:g} s, expected {{"sample_rate": 16000}} or the like; begin again'
    sample_rate, encoding, reject = _wish_of(await _received(socket, first_s, late))
    recognizer = server.served.hearing(reject)
    stream = await server.stream_workers.run(lambda: recognizer.stream(sample_rate))
    conversation = Conversation(socket, server, stream, sample_rate, encoding)
    warning = low_rate(sample_rate, recognizer.model.front_end.config.mfcc.sample_rate)
    ready = {"type": "ready", "model": recognizer.name, "encoding": encoding, "warning": warning}
    await conversation.tell(ready)
    await conversation.run()


async def _received(socket: WebSocket, patience_s: float, late: str) -> str | bytes:
    """Return the next message; `Refusal` with the line ``late`` if none comes in time."""
    if patience_s <= 0:  # a time-out lets pass what is there already
        raise Refusal(late, BAD)
    try:
        async with asyncio.timeout(patience_s):
            message = await socket.receive()
    except TimeoutError:
        raise Refusal(late, BAD) from None
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    content: str | bytes = message["text"] if message.get("text") is not None else message["bytes"]
    return content


def _wish_of(message: str | bytes) -> tuple[int, str, bool | None]:
    """Return sample rate and encoding that the first message asks for, and whether sentences are rejected."""
    wish = _json(message)
    rate, encoding = wish.get("sample_rate"), wish.get("encoding", "pcm_s16le")
    if not isinstance(rate, int) or isinstance(rate, bool) or not LOWEST_HZ <= rate <= HIGHEST_HZ:
        raise Refusal(f"sample_rate: expected {LOWEST_HZ} to {HIGHEST_HZ} Hz; send another", BAD)
    if not isinstance(encoding, str) or encoding not in ENCODINGS:
        raise Refusal(f"encoding: expected one of {', '.join(ENCODINGS)}; send another", BAD)
    reject = wish.get("reject")
    if reject is not None and not isinstance(reject, bool):
        raise Refusal("reject: expected true or false; send one of them, or nothing", BAD)
    return rate, encoding, reject


def _json(message: str | bytes) -> dict[str, Any]:
    """Return a text message, which is a JSON object."""
    found = None
    if isinstance(message, str):
        with suppress(ValueError, RecursionError):
            found = json.loads(message)
    if not isinstance(found, dict):
        raise Refusal('expected a JSON object such as {"sample_rate": 16000} as text; send that', BAD)
    return found


def samples_of(message: bytes, encoding: str) -> Singles:
    """Return the samples (n,) float32 of a binary message; `Refusal` if it is none.

    >>> samples_of(bytes([0, 64, 0, 192]), "pcm_s16le").tolist()
    [0.5, -0.5]
    """
    kind, scale = ENCODINGS[encoding]
    if len(message) % np.dtype(kind).itemsize:
        raise Refusal(f"{len(message)} bytes, expected whole samples of {encoding}; send these", BAD)
    with np.errstate(invalid="ignore"):  # of what is no number, which is refused below
        samples: Singles = np.frombuffer(message, kind).astype(np.float32) * np.float32(scale)
    if not np.isfinite(samples).all():
        raise Refusal("a sample is not a number, expected -1 to 1; send these", BAD)
    return samples.clip(-1, 1)


class Conversation:
    """One client: a reader that fills its queue, and a speaker that empties it and tells what is heard.

    Parameters
    ----------
    socket : to the client
    server : whose threads compute
    stream : recogniser of this client alone
    sample_rate, encoding : of what it sends
    """

    def __init__(
        self,
        socket: WebSocket,
        server: Server,
        stream: Stream | CommandStream,
        sample_rate: int,
        encoding: str,
    ) -> None:
        self._socket, self._server, self._stream, self._encoding = socket, server, stream, encoding
        self._queue = SoundQueue(sample_rate, server.limits.behind_s)
        self._shown: list[dict[str, Any]] = []
        self._told_at_s = 0.0
        self._rate, self._n_samples = sample_rate, 0  # of the recording under way

    async def tell(self, message: dict[str, Any]) -> None:
        """Send a message; a client that does not take it in time is left."""
        async with asyncio.timeout(self._server.limits.send_s):
            try:
                await self._socket.send_json(message)
            except RuntimeError as error:  # what is said of a connection that is closed already
                raise WebSocketDisconnect(_GONE) from error

    async def run(self) -> None:
        """Listen and speak until the client goes away; what is under way then is not waited for."""
        tasks = [asyncio.ensure_future(self._read()), asyncio.ensure_future(self._speak())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        for task, result in zip(tasks, results, strict=True):
            if task in done and isinstance(result, BaseException):
                raise result

    async def _read(self) -> None:
        idle_s = self._server.limits.idle_s
        late = f"no sound was sent for {idle_s:g} s, expected some; begin again"
        end_s = time.monotonic() + idle_s
        while True:
            await asyncio.sleep(0)  # a thousand messages may be there: others have a turn between them
            message = await _received(self._socket, end_s - time.monotonic(), late)
            if isinstance(message, bytes):
                samples = samples_of(message, self._encoding)
                await self._queue.put(samples)
                if samples.size:  # a place is for who speaks, not for who sends empty messages and wishes
                    end_s = time.monotonic() + idle_s
                continue
            wish = _json(message).get("type")
            if wish not in ("finish", "reset"):
                raise Refusal('type: expected "finish" or "reset"; send one of them', BAD)
            await self._queue.put(wish)

    async def _speak(self) -> None:
        while True:
            behind_s = self._queue.waiting_s
            item = await self._queue.take()
            if behind_s > self._server.limits.told_s:
                await self.tell({"type": "slow", "behind_s": round(behind_s, 1)})
            if isinstance(item, str):
                await self._obey(item)
            else:
                await self._recognise(item)

    async def _recognise(self, samples: Singles) -> None:
        partial = await self._server.stream_workers.run(lambda: self._stream.accept(samples))
        self._n_samples += samples.size
        for hypothesis in partial.finished:
            await self._ended(sentence_of(hypothesis))
        words, now_s = words_of(partial), time.monotonic()
        if words != self._shown or now_s - self._told_at_s > TOLD_EVERY_S:
            self._shown, self._told_at_s = words, now_s
            await self.tell({"type": "partial", "words": words, "heard_s": self._heard_s})

    @property
    def _heard_s(self) -> float:
        """Seconds of the recording that the recogniser was given."""
        return round(self._n_samples / self._rate, 3)

    async def _ended(self, sentence: dict[str, Any]) -> None:
        if sentence["words"]:
            await self.tell({**sentence, "heard_s": self._heard_s})

    async def _obey(self, command: str) -> None:
        if command == "finish":
            await self._ended(sentence_of(await self._server.stream_workers.run(self._stream.finish)))
            await self.tell({"type": "done", "heard_s": self._heard_s})
        else:
            await self._server.stream_workers.run(self._stream.reset)
        self._shown, self._n_samples = [], 0


def words_of(partial: Partial) -> list[dict[str, Any]]:
    """Return the words of the sentence under way as JSON holds them."""
    return [
        {"word": w.word, "start_s": round(w.start_s, 3), "end_s": round(w.end_s, 3)} for w in partial.words
    ]


def sentence_of(hypothesis: Hypothesis) -> dict[str, Any]:
    """Return a finished sentence as JSON holds it; where no word was spoken, the words that were rejected."""
    kind = "final" if hypothesis.words or not hypothesis.rejected else "rejected"
    found = json_words(hypothesis if kind == "final" else replace(hypothesis, words=hypothesis.rejected))
    return {"type": kind, "text": found["text"], "words": found["words"]}


class SoundQueue:
    """Sound and commands of one client that wait for the recogniser, in order; bounded in seconds and number.

    Parameters
    ----------
    sample_rate : of the samples
    most_s : seconds that wait at most; who puts more waits until some are taken
    """

    def __init__(self, sample_rate: int, most_s: float) -> None:
        self._rate, self._most = sample_rate, max(round(most_s * sample_rate), 1)
        self._at_once = min(round(AT_ONCE_S * sample_rate), self._most)
        self._items: deque[Singles | Command] = deque()
        self._n_samples = 0
        self._changed = asyncio.Condition()

    @property
    def waiting_s(self) -> float:
        """Seconds of sound that wait."""
        return self._n_samples / self._rate

    async def put(self, item: Singles | Command) -> None:
        """Add samples (n,) or a command, as soon as there is room; long samples piece by piece."""
        if isinstance(item, str):
            await self._put(item, 0)
            return
        for start in range(0, item.size, self._at_once):
            piece = item[start : start + self._at_once]
            await self._put(piece, piece.size)

    async def _put(self, item: Singles | Command, n_samples: int) -> None:
        async with self._changed:
            await self._changed.wait_for(
                lambda: self._n_samples + n_samples <= self._most and len(self._items) < MOST_ITEMS
            )
            self._items.append(item)
            self._n_samples += n_samples
            self._changed.notify_all()

    async def take(self) -> Singles | Command:
        """Return the next command, or the samples before it, a second at most, in one piece."""
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._items))
            item = self._items.popleft()
            if not isinstance(item, str):
                item = np.concatenate([item, *self._more(item.size)])
                self._n_samples -= item.size
            self._changed.notify_all()
            return item

    def _more(self, n_samples: int) -> list[Singles]:
        """Return further samples without a command between, up to a second with those that there are."""
        pieces: list[Singles] = []
        while self._items:
            piece = self._items[0]
            if isinstance(piece, str) or n_samples + piece.size > self._at_once:
                break
            self._items.popleft()
            pieces.append(piece)
            n_samples += piece.size
        return pieces
