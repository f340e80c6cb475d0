"""Streams: what is said to them, how they end, and the sound that waits."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile
from starlette.websockets import WebSocketDisconnect
from websockets.exceptions import ConnectionClosed

from asr import Recognizer
from asr.serving import listening
from asr.serving.limits import Limits
from asr.serving.listening import MOST_ITEMS, SoundQueue, sentence_of, words_of
from decoder.decoder import Hypothesis
from features.audio import read_audio

WISH = {"sample_rate": 16000}


def pcm(path: Path) -> bytes:
    samples, _ = soundfile.read(path, dtype="int16")
    return bytes(samples.tobytes())


def pieces(data: bytes, n_bytes: int = 3200) -> list[bytes]:
    return [data[n : n + n_bytes] for n in range(0, len(data), n_bytes)]


def until_done(stream: Any) -> list[dict[str, Any]]:
    """Return the messages up to the last one."""
    found = []
    while not found or found[-1]["type"] not in ("done", "error"):
        found.append(json.loads(stream.recv(30)))
    return found


def spoken_to(stream: Any, data: bytes) -> list[dict[str, Any]]:
    for piece in pieces(data):
        stream.send(piece)
    stream.send(json.dumps({"type": "finish"}))
    return until_done(stream)


def words(messages: list[dict[str, Any]]) -> list[str]:
    return [w["word"] for m in messages if m["type"] == "final" for w in m["words"]]


def is_free(running: Any) -> bool:
    """Return whether nothing runs for anybody, within some seconds."""
    server = running.server
    for _ in range(200):
        if not (server.streams.taken or server.workers.running or server.stream_workers.running):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("rate", "warning"), [(8000, "8000 Hz, fewer samples a second"), (16000, ""), (48000, "")]
)
def test_too_few_samples_a_second_are_told_at_once(started: Any, rate: int, warning: str) -> None:
    with started.listening() as stream:
        stream.send(json.dumps({"sample_rate": rate}))
        ready = json.loads(stream.recv(30))
    assert ready["warning"].split(" than")[0] == warning


def test_words_are_those_of_the_recording(started: Any, spoken: Path) -> None:
    by_file = started.ask("POST", "/api/transcribe", spoken.read_bytes()).json
    with started.listening(WISH) as stream:
        first = spoken_to(stream, pcm(spoken))
        again = spoken_to(stream, pcm(spoken))
    assert words(first) == [w["word"] for w in by_file["words"]]
    assert words(again) == words(first)
    assert [m["type"] for m in first][-1] == "done"
    partials = [m for m in first if m["type"] == "partial"]
    assert any(m["words"] for m in partials)
    assert [m["heard_s"] for m in partials] == sorted(m["heard_s"] for m in partials)
    assert first[-1]["heard_s"] == pytest.approx(len(pcm(spoken)) / 32000, abs=0.2)
    assert is_free(started)


def test_floats_and_other_rates(started: Any, spoken: Path) -> None:
    samples, rate = soundfile.read(spoken, dtype="float32")
    doubled = np.repeat(samples, 3)  # at 48 kHz, roughly
    with started.listening({"sample_rate": 3 * rate, "encoding": "pcm_f32le"}) as stream:
        found = spoken_to(stream, doubled.tobytes())
    assert words(found) == spoken.with_suffix(".txt").read_text().split()


def test_speakers_are_forgotten_on_request(started: Any, spoken: Path) -> None:
    with started.listening(WISH) as stream:
        before = words(spoken_to(stream, pcm(spoken)))
        stream.send(json.dumps({"type": "reset"}))
        assert words(spoken_to(stream, pcm(spoken))) == before


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (["hello"], "expected a JSON object"),
        ([b"\x00\x00"], "expected a JSON object"),
        (["[1]"], "expected a JSON object"),
        (["[" * 100_000], "expected a JSON object"),
        (["{}"], "sample_rate: expected 8000 to 192000 Hz"),
        (['{"sample_rate": true}'], "sample_rate"),
        (['{"sample_rate": 1e9}'], "sample_rate"),
        (['{"sample_rate": 16000, "encoding": []}'], "encoding: expected one of pcm_s16le"),
        (['{"sample_rate": 16000, "encoding": "mp3"}'], "encoding: expected one of pcm_s16le"),
        ([json.dumps(WISH), b"\x00"], "expected whole samples"),
        ([json.dumps(WISH), '{"type": "dance"}'], 'expected "finish" or "reset"'),
        (
            ['{"sample_rate": 16000, "encoding": "pcm_f32le"}', np.array([np.nan], "<f4").tobytes()],
            "not a number",
        ),
    ],
)
def test_mistakes_are_told_and_end_the_stream(started: Any, sent: list[Any], reason: str) -> None:
    with started.listening() as stream:
        for message in sent:
            stream.send(message)
        found = until_done(stream)
        assert reason in found[-1]["error"]
        with pytest.raises(ConnectionClosed, match="1008"):
            stream.recv(10)
    assert is_free(started)


def test_messages_are_bounded(start: Any) -> None:
    running = start(Limits(message_bytes=1000))
    with running.listening(WISH) as stream:
        stream.send(bytes(2000))
        with pytest.raises(ConnectionClosed, match="1009"):
            stream.recv(10)
    assert is_free(running)


def test_so_many_clients_and_no_more(start: Any, spoken: Path) -> None:
    running = start(Limits(streams=2))
    with running.listening(WISH) as first, running.listening(WISH) as second:
        with running.listening() as third:
            told = json.loads(third.recv(10))
            assert (told["type"], told["status"]) == ("error", 503)
            assert "busy with 2 streams" in told["error"]
            with pytest.raises(ConnectionClosed, match="1013"):
                third.recv(10)
        found: dict[int, list[str]] = {}
        threads = [
            threading.Thread(target=lambda n=n, s=s: found.update({n: words(spoken_to(s, pcm(spoken)))}))  # type: ignore[misc]
            for n, s in enumerate((first, second))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert found[0] == found[1] == spoken.with_suffix(".txt").read_text().split()
    assert is_free(running)


def test_who_sends_nothing_is_not_waited_for(start: Any) -> None:
    running = start(Limits(idle_s=0.3, first_s=0.2))
    for wish, reason in ((None, "nothing was sent for 0.2 s"), (WISH, "no sound was sent for 0.3 s")):
        with running.listening(wish) as stream:
            told = json.loads(stream.recv(10))
            assert reason in told["error"]
    assert is_free(running)


@pytest.mark.parametrize("sent", [b"", json.dumps({"type": "reset"}), json.dumps({"type": "finish"})])
def test_only_sound_keeps_a_place(start: Any, sent: bytes | str) -> None:
    running = start(Limits(idle_s=0.5))
    told = {"type": ""}
    with running.listening(WISH) as stream:
        end = time.monotonic() + 60
        while told["type"] != "error" and time.monotonic() < end:
            with suppress(ConnectionClosed):
                stream.send(sent)
            with suppress(TimeoutError):  # what was said before the connection closed is still to be read
                told = json.loads(stream.recv(0.1))
    assert "no sound was sent for 0.5 s" in told.get("error", "")
    assert is_free(running)


def test_sound_keeps_a_place(start: Any) -> None:
    running = start(Limits(idle_s=2))
    with running.listening(WISH) as stream:
        for _ in range(12):
            stream.send(bytes(320))
            time.sleep(0.2)
        stream.send(json.dumps({"type": "finish"}))
        assert until_done(stream)[-1]["type"] == "done"


def test_a_connection_that_breaks_leaves_nothing_running(started: Any, spoken: Path) -> None:
    with started.listening(WISH) as stream:
        for piece in pieces(pcm(spoken))[:5]:
            stream.send(piece)
        assert started.server.streams.taken == 1
        stream.socket.shutdown(socket.SHUT_RDWR)  # without a word of farewell
        assert is_free(started)


def test_long_transcriptions_do_not_stall_streams(
    start: Any, spoken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, begun = threading.Event(), threading.Event()

    def heard(recognizer: Any, path: Path) -> Hypothesis:
        begun.set()
        gate.wait(60)
        return Hypothesis((), 0.0, True)

    monkeypatch.setattr(Recognizer, "transcribe", heard)
    running = start(Limits(workers=1))
    upload = threading.Thread(target=running.ask, args=("POST", "/api/transcribe", spoken.read_bytes()))
    upload.start()
    try:
        assert begun.wait(10)
        with running.listening(WISH) as stream:
            assert words(spoken_to(stream, pcm(spoken))) == spoken.with_suffix(".txt").read_text().split()
    finally:
        gate.set()
        upload.join(20)
    assert is_free(running)


class Slow:
    """A stream of a recogniser that is much slower than speech."""

    def __init__(self) -> None:
        self.n_samples = 0

    def accept(self, samples: Any) -> Any:
        time.sleep(0.3)
        self.n_samples += samples.size
        return SimpleNamespace(words=(), finished=(), heard_s=self.n_samples / 16000)

    def finish(self) -> Hypothesis:
        return Hypothesis((), 0.0, True)


def test_a_slow_server_says_so_and_does_not_grow(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[float] = []
    original = listening.SoundQueue.put

    async def put(queue: Any, item: Any) -> None:
        await original(queue, item)
        waiting.append(queue.waiting_s)

    monkeypatch.setattr(listening.SoundQueue, "put", put)
    running = start(Limits(behind_s=4, told_s=1))
    monkeypatch.setattr(Recognizer, "stream", lambda recognizer, rate: Slow())
    with running.listening(WISH) as stream:

        def send() -> None:
            for _ in range(120):  # twelve seconds of sound at once
                stream.send(bytes(3200))
            stream.send(json.dumps({"type": "finish"}))

        thread = threading.Thread(target=send)
        thread.start()
        told = until_done(stream)
        thread.join(20)
    assert told[-1]["heard_s"] == pytest.approx(12.0)  # nothing was dropped
    assert max(m["behind_s"] for m in told if m["type"] == "slow") >= 3
    assert max(waiting) <= 4.1  # and no more than that waited
    assert is_free(running)


def test_what_is_said_to_a_closed_connection_ends_the_conversation() -> None:
    class Closed:
        async def send_json(self, message: Any) -> None:
            raise RuntimeError("Unexpected ASGI message 'websocket.send', after sending 'websocket.close'.")

    server = SimpleNamespace(limits=Limits())
    conversation = listening.Conversation(Closed(), server, SimpleNamespace(), 16000, "pcm_s16le")  # type: ignore[arg-type]
    with pytest.raises(WebSocketDisconnect, match="1006"):
        asyncio.run(conversation.tell({"type": "partial"}))


def test_pieces_are_joined_up_to_a_second_and_commands_keep_their_place() -> None:
    async def run() -> list[object]:
        queue = SoundQueue(100, 10)
        for n in range(5):
            await queue.put(np.full(40, n, np.float32))
        await queue.put("finish")
        await queue.put(np.ones(10, np.float32))
        assert queue.waiting_s == pytest.approx(2.1)
        found: list[object] = []
        while queue.waiting_s:
            item = await queue.take()
            found.append(item if isinstance(item, str) else (item.size, float(item[0]), float(item[-1])))
        return found

    assert asyncio.run(run()) == [(80, 0.0, 1.0), (80, 2.0, 3.0), (40, 4.0, 4.0), "finish", (10, 1.0, 1.0)]


def test_who_puts_too_much_waits() -> None:
    async def run() -> None:
        queue = SoundQueue(100, 1)
        await queue.put(np.zeros(100, np.float32))
        waiting = asyncio.ensure_future(queue.put(np.zeros(10, np.float32)))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        assert (await queue.take()).size == 100  # type: ignore[union-attr]
        await waiting
        assert queue.waiting_s == pytest.approx(0.1)

    asyncio.run(run())


def test_long_messages_keep_the_bounds() -> None:
    sound = np.arange(1650, dtype=np.float32)  # sixteen seconds and a half in one message

    async def run() -> list[np.ndarray]:
        queue = SoundQueue(100, 3)
        await queue.put(np.zeros(50, np.float32))
        putting = asyncio.ensure_future(queue.put(sound))
        found = []
        while sum(piece.size for piece in found) < 1700:
            await asyncio.sleep(0)
            assert queue.waiting_s <= 3
            piece = await queue.take()
            assert not isinstance(piece, str)
            found.append(piece)
        await putting
        return found

    pieces = asyncio.run(run())
    assert max(piece.size for piece in pieces) <= 100
    np.testing.assert_array_equal(np.concatenate(pieces)[50:], sound)


def test_many_small_messages_are_bounded_too() -> None:
    async def run() -> bool:
        queue = SoundQueue(16000, 10)
        for _ in range(MOST_ITEMS):
            await queue.put(np.zeros(1, np.float32))
        try:
            async with asyncio.timeout(0.02):
                await queue.put(np.zeros(1, np.float32))
        except TimeoutError:
            return True
        return False

    assert asyncio.run(run()) is True


def test_a_stream_finds_what_a_recording_holds(trained: Path, spoken: Path) -> None:
    recognizer = Recognizer.load(trained).with_options(confidence=True)
    text = spoken.with_suffix(".txt").read_text().split()
    stream = recognizer.stream(16000)
    samples = read_audio(spoken, 16000)
    partials = [words_of(stream.accept(piece)) for piece in np.array_split(samples, 20)]
    found = sentence_of(stream.finish())
    assert [word["word"] for word in found["words"]] == text == found["text"].split()
    assert any(partials)
    assert all({"word", "start_s", "end_s"} == set(word) for words in partials for word in words)
    assert all(0 <= word["confidence"] <= 1 for word in found["words"])
    assert json.loads(json.dumps(found)) == found
