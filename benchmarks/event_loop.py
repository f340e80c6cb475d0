"""What holds the server's loop of events longest, under each request with the worst input that it takes.

    python benchmarks/event_loop.py EXP [--only NAME…]

While a callback or a step of a task runs, nobody else is answered. The server runs in a process of its own,
in which each run of a handle of its loop is timed: CPU time of the loop's thread, which other processes of
the machine do not lengthen, and wall time, in which the thread may also have waited for others of the server.
Of each request the longest are told, and which task or callback it was.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import io
import json
import logging
import multiprocessing
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from report import argument_parser, print_table, write_report

ADDRESS = "127.0.0.1"
MOST_BYTES = 1_990_000  # of a request that is no recording
RECORDING_BYTES = 49_000_000
TAKES = 2000
RATE = 16_000
TALK_S = 3.0
CHUNKS = b"1\r\nx\r\n" * 1000
MOST_MS = 20.0  # what is longer is marked


class Holds:
    """How long handles of a loop ran since the last reset."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all."""
        self.cpu_s, self.wall_s, self.what, self.n = 0.0, 0.0, "", 0

    def timed(self, run: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a handle's run, timed."""

        @functools.wraps(run)
        def timed(handle: Any) -> Any:
            cpu_s, wall_s = time.thread_time(), time.perf_counter()
            callback = handle._callback  # gone afterwards, where it was cancelled
            run(handle)
            cpu_s, wall_s = time.thread_time() - cpu_s, time.perf_counter() - wall_s
            self.n += 1
            self.wall_s = max(self.wall_s, wall_s)
            if cpu_s > self.cpu_s:
                self.cpu_s, self.what = cpu_s, name_of(callback)

        return timed


def name_of(callback: Any) -> str:
    """Return what a handle runs: the coroutine of a task, or a function."""
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        coroutine = task.get_coro()
        inner = coroutine
        while getattr(inner, "cr_await", None) is not None and hasattr(inner.cr_await, "cr_code"):
            inner = inner.cr_await
        return f"{getattr(coroutine, '__qualname__', coroutine)} … {getattr(inner, '__qualname__', inner)}"
    return str(getattr(callback, "__qualname__", callback))


def served(experiment: Path, folder: Path, control: Connection) -> None:
    """Serve (in a process of its own), and tell on request how long the loop was held."""
    from asr.serving import app
    from asr.serving.limits import Limits
    from asr.serving.state import Served, Server

    logging.disable(logging.CRITICAL)
    holds = Holds()
    asyncio.events.Handle._run = holds.timed(asyncio.events.Handle._run)  # type: ignore[method-assign]
    found = Served(experiment)
    found.load()
    listening = app.listening_socket(ADDRESS, 0)

    def obey() -> None:
        control.send(listening.getsockname()[1])
        while control.recv() == "tell":
            control.send((1000 * holds.cpu_s, 1000 * holds.wall_s, holds.what, holds.n))
            holds.reset()
        server.should_exit = True

    server = app.uvicorn_server(Server(found, folder, Limits()), ADDRESS)
    threading.Thread(target=obey, daemon=True).start()
    asyncio.run(server.serve(sockets=[listening]))


def ask(port: int, method: str, path: str, body: Any = None, kind: str = "application/octet-stream") -> str:
    """Return the status of an answer, and read it."""
    connection = HTTPConnection(ADDRESS, port, timeout=120)
    try:
        connection.request(method, path, body, {"content-type": kind})
        answer = connection.getresponse()
        answer.read()
        return str(answer.status)
    except (OSError, HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()


def send(port: int, content: bytes, seconds: float = 0.0, again: bytes = b"") -> str:
    """Send bytes, then others for some seconds, and return how the answer begins."""
    end_s, said = time.monotonic() + seconds, "no answer"
    with socket.create_connection((ADDRESS, port), 120) as raw:
        try:
            raw.sendall(content)
            while again and time.monotonic() < end_s:
                raw.sendall(again)
            raw.settimeout(5)
            said = raw.recv(12).decode(errors="replace")[9:] or "closed"
            raw.settimeout(0.5)
            while raw.recv(65536):
                pass
            return said
        except TimeoutError:
            return said
        except OSError as error:
            return type(error).__name__


def talk(port: int, wish: dict[str, Any], messages: bytes, seconds: float = TALK_S) -> str:
    """Send frames of a WebSocket for some seconds and read what comes; return the last message's kind."""
    head = (
        f"GET /api/listen HTTP/1.1\r\nHost: {ADDRESS}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    with socket.create_connection((ADDRESS, port), 120) as raw:
        raw.sendall(head.encode())
        raw.recv(65536)
        raw.sendall(frame(json.dumps(wish).encode(), 1))
        said = raw.recv(65536)
        over = threading.Event()

        def read() -> None:
            nonlocal said
            while not over.is_set():
                try:
                    found = raw.recv(65536)
                except OSError:
                    return
                if not found:
                    return
                said = found

        reader = threading.Thread(target=read)
        reader.start()
        end_s = time.monotonic() + seconds
        try:
            while time.monotonic() < end_s:
                raw.sendall(messages)
        except OSError as error:
            said = said or type(error).__name__.encode()
        over.set()
        raw.close()
        reader.join()
    return said[:40].decode(errors="replace").partition('"type":"')[2].partition('"')[0] or "closed"


def frame(payload: bytes, kind: int, *, is_last: bool = True) -> bytes:
    """Return a frame of a WebSocket, masked with zeros."""
    length = len(payload)
    size = bytes([0x80 | min(length, 125)])
    if length > 125:
        size = b"\xfe" + struct.pack(">H", length) if length < 65536 else b"\xff" + struct.pack(">Q", length)
    return bytes([(0x80 if is_last else 0) | kind]) + size + bytes(4) + payload


def sound(seconds: float, rate: int = RATE, format: str = "WAV", channels: int = 1) -> bytes:
    """Return a recording of noise and bursts."""
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(round(seconds * rate), channels)).astype(np.float32) * 1e-3
    t = np.arange(len(samples)) / rate
    samples += (0.2 * np.sin(2 * np.pi * 440 * t) * (np.sin(2 * np.pi * t) > 0.3))[:, None].astype(np.float32)
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=format)
    return file.getvalue()


def empty_chunks(kind: str) -> bytes:
    """Return an AIFF, W64 or FLAC of nothing but empty pieces of its container."""
    if kind == "aiff":
        inside = b"AIFF" + b"ANNO\0\0\0\0" * (RECORDING_BYTES // 8)
        return b"FORM" + struct.pack(">I", len(inside)) + inside
    if kind == "flac":
        info = sound(0.1, format="FLAC")[:42]
        return info[:4] + b"\0" + info[5:42] + b"\1\0\0\0" * (RECORDING_BYTES // 4)
    if kind == "w64":
        guid = bytes.fromhex("f3acd3118cd100c04f8edb8a")
        return sound(0.1, format="W64")[:40] + (b"junk" + guid + struct.pack("<Q", 24)) * (
            RECORDING_BYTES // 24
        )
    inside = b"WAVE" + b"junk\0\0\0\0" * (RECORDING_BYTES // 8)
    return b"RIFF" + struct.pack("<I", len(inside)) + inside


def sentence(n_words: int) -> bytes:
    """Return the words of a sentence as the page sends them."""
    words = [
        {"word": f"w{n}", "start_s": n, "end_s": n + 0.5, "confidence": 0.123456} for n in range(n_words)
    ]
    return json.dumps({"name": "x", "duration_s": 1e6, "words": words}).encode()


def padded(text: bytes) -> bytes:
    """Return JSON that takes as many bytes as a request may."""
    return text[:MOST_BYTES]


def cases(port: int) -> dict[str, Callable[[], str]]:
    """Return the requests, each of which gives what came of it."""
    js, get = "application/json", functools.partial(ask, port, "GET")
    post, put = functools.partial(ask, port, "POST"), functools.partial(ask, port, "PUT")
    host = f"Host: {ADDRESS}\r\n".encode()
    chunked = b"POST %s HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n"
    wide, float32 = {"sample_rate": 192_000}, {"sample_rate": 192_000, "encoding": "pcm_f32le"}
    heads = b"".join(b"h%d:\r\n" % n for n in range(2000))[:15_000].rpartition(b"\r\n")[0] + b"\r\n"
    numbers = b'{"duration_s":1,"words":[' + b"1," * (MOST_BYTES // 2 - 50) + b"1]}"
    objects = b'{"duration_s":1,"words":[' + b"{}," * (MOST_BYTES // 3 - 50) + b"{}]}"
    lists = b"[" + b"[]," * (MOST_BYTES // 3 - 50) + b"[]]"
    unknown = b'{"duration_s":1,"words":[],"x":[' + b"[]," * (MOST_BYTES // 3 - 50) + b"[]]}"
    one_text = b'{"duration_s":1,"words":[],"name":"' + b"x" * (MOST_BYTES - 50) + b'"}'
    keys = b"{" + b",".join(b'"%d":0' % n for n in range(MOST_BYTES // 12)) + b"}"
    prompts = json.dumps(
        {"prompts": [f"word{chr(97 + n // 26)}{chr(97 + n % 26)} " + "word " * 9 for n in range(200)]}
    ).encode()
    sixty = sound(60.0)
    return {
        "GET /": lambda: get("/"),
        "GET /openapi.json": lambda: get("/openapi.json"),
        "GET /api/model": lambda: get("/api/model"),
        "GET /api/training": lambda: get("/api/training"),
        "GET /api/takes": lambda: get("/api/takes"),
        "GET /api/takes/one-001": lambda: get("/api/takes/one-001"),
        "GET, head of 15 KB": lambda: send(port, b"GET / HTTP/1.1\r\n" + host + heads + b"\r\n"),
        "GET, path of 15 KB": lambda: send(
            port, b"GET /" + b"%41" * 5000 + b" HTTP/1.1\r\n" + host + b"\r\n"
        ),
        "GET, query of 15 KB": lambda: get("/api/model?" + "a=b&" * 3700),
        "GET, 2,000 at once": lambda: send(port, (b"GET /api/model HTTP/1.1\r\n" + host + b"\r\n") * 2000),
        "GET, no HTTP": lambda: send(port, bytes(range(256)) * 2000),
        "POST words, ctm": lambda: post("/api/words?format=ctm", sentence(20_000), js),
        "POST words, TextGrid": lambda: post("/api/words?format=textgrid", sentence(20_000), js),
        "POST words, SRT": lambda: post("/api/words?format=srt", sentence(20_000), js),
        "POST words, 2 MB of numbers": lambda: post("/api/words", padded(numbers), js),
        "POST words, 2 MB of objects": lambda: post("/api/words", padded(objects), js),
        "POST words, 2 MB of lists": lambda: post("/api/words", padded(lists), js),
        "POST words, 2 MB of lists beside": lambda: post("/api/words", padded(unknown), js),
        "POST words, 2 MB of one text": lambda: post("/api/words", padded(one_text), js),
        "POST words, 2 MB of keys": lambda: post("/api/words", padded(keys), js),
        "POST words, 2 MB of brackets": lambda: post("/api/words", b"[" * MOST_BYTES, js),
        "POST words, chunks of a byte": lambda: send(
            port, chunked % b"/api/words", 3.0, b"1\r\nx\r\n" * 1000
        ),
        "PUT prompts, as many as may be": lambda: put("/api/prompts", prompts, js),
        "PUT prompts, 150 KB of lists": lambda: put("/api/prompts", lists[:149_998] + b"]]", js),
        "PUT prompts, 2 MB of numbers": lambda: put(
            "/api/prompts", padded(b'{"prompts":[' + numbers[25:]), js
        ),
        "POST transcribe, 60 s": lambda: post("/api/transcribe", sixty),
        "POST transcribe, 60 s as TextGrid": lambda: post("/api/transcribe?format=textgrid", sixty),
        "POST transcribe, 600 s of FLAC": lambda: post(
            "/api/transcribe", sound(600, rate=8000, format="FLAC")
        ),
        "POST transcribe, 49 MB of empty chunks of AIFF": lambda: post(
            "/api/transcribe", empty_chunks("aiff")
        ),
        "POST transcribe, 49 MB of empty chunks of WAV": lambda: post("/api/transcribe", empty_chunks("wav")),
        "POST transcribe, 49 MB of empty chunks of W64": lambda: post("/api/transcribe", empty_chunks("w64")),
        "POST transcribe, 49 MB of empty blocks of FLAC": lambda: post(
            "/api/transcribe", empty_chunks("flac")
        ),
        "POST transcribe, 49 MB of zeros": lambda: post("/api/transcribe", bytes(RECORDING_BYTES)),
        "POST transcribe, chunks of a byte": lambda: send(port, chunked % b"/api/transcribe", TALK_S, CHUNKS),
        "POST align, 4,000 letters": lambda: post("/api/align?text=" + "one%20" * 900, sixty),
        "POST takes, 20 s": lambda: post("/api/takes?prompt=one", sound(19.9, rate=192_000)),
        "WebSocket, messages of one sample": lambda: talk(port, wide, frame(b"\0\0", 2) * 2000),
        "WebSocket, empty messages": lambda: talk(port, wide, frame(b"", 2) * 2000),
        "WebSocket, fragments of nothing": lambda: talk(
            port, wide, frame(b"\0\0", 2, is_last=False) + frame(b"", 0, is_last=False) * 20_000
        ),
        "WebSocket, pings": lambda: talk(port, wide, frame(b"", 9) * 2000),
        "WebSocket, finish and finish": lambda: talk(port, wide, frame(b'{"type":"finish"}', 1) * 100),
        "WebSocket, 256 KB of sound": lambda: talk(port, wide, frame(bytes(262_144), 2)),
        "WebSocket, 256 KB of floats": lambda: talk(port, float32, frame(bytes(262_144), 2)),
        "WebSocket, 256 KB of JSON": lambda: talk(
            port, wide, frame(b'{"type":[' + b"[]," * 87_000 + b"[]]}", 1)
        ),
    }


def fill(folder: Path) -> None:
    """Write takes."""
    folder.mkdir(parents=True, exist_ok=True)
    content = sound(1.0)
    for n in range(TAKES):
        (folder / f"one-{n + 1:03d}.wav").write_bytes(content)
        (folder / f"one-{n + 1:03d}.txt").write_text("one\n")


def measured(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the longest hold under each request."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder) / "takes")
        server = context.Process(
            target=served, args=(options.experiment.absolute(), Path(folder) / "takes", there)
        )
        server.start()
        port = here.recv()
        ask(port, "GET", "/api/takes")
        for name, request in cases(port).items():
            if options.only and not any(part in name for part in options.only):
                continue
            request() if options.warm else None
            here.send("tell")
            here.recv()
            began_s = time.monotonic()
            said = [request() for _ in range(options.times)]
            seconds = time.monotonic() - began_s
            here.send("tell")
            cpu_ms, wall_ms, what, n_handles = here.recv()
            row = {
                "request": name,
                "answer": said[-1],
                "cpu_ms": round(cpu_ms, 1),
                "wall_ms": round(wall_ms, 1),
            }
            rows.append({**row, "handles": n_handles, "seconds": round(seconds, 2), "what": what})
            mark = " <<<" if cpu_ms > MOST_MS else ""
            print(f"{name:52} {said[-1]:10} {cpu_ms:8.1f} {wall_ms:8.1f}  {what}{mark}", flush=True)
        here.send("end")
        server.join()
    return rows


def main() -> None:
    """Measure and report."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiment", type=Path, help="experiment that is served")
    parser.add_argument("--times", type=int, default=2, help="that each request is sent")
    parser.add_argument("--only", nargs="+", help="parts of names of requests")
    parser.add_argument("--warm", action="store_true", help="send each once before")
    options = parser.parse_args()
    rows = measured(options)
    head = ("request", "answer", "cpu_ms", "wall_ms", "seconds")
    print_table(head, [[row[key] for key in head] for row in rows])
    write_report(options.out, {"rows": rows}, ("uvicorn", "fastapi", "websockets", "pydantic"))


if __name__ == "__main__":
    sys.exit(main())
