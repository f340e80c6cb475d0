"""Whether `asr serve` answers beside crowds of connections that do it harm, each kind by itself.

    python tests/robustness/connections.py EXP

The server may open 1024 files (--handles). Each crowd is a process of its own, which keeps as many
connections as its kind has, and connects again where it was cut off. Beside it a client asks five times a
second, through a new connection each time. A crowd of many addresses comes from 127.0.0.2 and following ones.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import psutil

from benchmarks.report import argument_parser, print_table, write_report

EVERY_S = 0.2  # between the questions of the client beside
AGAIN_S = 1.0  # after which who was cut off connects again
AFTER_S = 12.0  # after which nothing shall be left of a crowd: the deadline for heads, and some more
SMALL_BUFFER = 4096  # of a client that reads nothing
HEAD = b"GET /api/model HTTP/1.1\r\nHost: 127.0.0.1\r\n"
POST = b"POST /api/words HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
UPLOAD = b"POST /api/transcribe HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
UPGRADE = (
    b"GET /api/listen HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
WISH = b'{"sample_rate": 16000}'
MASK = bytes(4)

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
Act = Callable[[Reader, Writer], Awaitable[None]]


def frame(payload: bytes, kind: int, *, is_last: bool = True) -> bytes:
    """Return a short frame of a WebSocket, masked with zeros.

    >>> frame(b"ab", 2)
    b'\\x82\\x82\\x00\\x00\\x00\\x00ab'
    """
    return bytes([(0x80 if is_last else 0) | kind, 0x80 | len(payload)]) + MASK + payload


async def silent(reader: Reader, writer: Writer) -> None:
    """Send nothing."""
    await reader.read()


async def drip(reader: Reader, writer: Writer, first: bytes = HEAD) -> None:
    """Send a byte a second of what never ends."""
    writer.write(first)
    reading = asyncio.ensure_future(reader.read())
    while not reading.done():
        await asyncio.wait([reading], timeout=1.0)
        writer.write(b"x")
        await writer.drain()


async def drip_body(reader: Reader, writer: Writer) -> None:
    """Send a body of JSON that comes a byte a second."""
    await drip(reader, writer, POST + b"Content-Length: 100000\r\n\r\n")


async def drip_after_the_answer(reader: Reader, writer: Writer) -> None:
    """Send a body, a byte a second, with a request that is answered without it."""
    await drip(reader, writer, HEAD + b"Content-Length: 100000\r\n\r\n")


async def pipelined(reader: Reader, writer: Writer) -> None:
    """Send two hundred requests at once, and read the answers."""
    while not reader.at_eof():
        writer.write((HEAD + b"\r\n") * 200)
        for _ in range(200):
            await reader.readuntil(b"\r\n\r\n{")


async def unread(reader: Reader, writer: Writer) -> None:
    """Ask again and again and read no answer."""
    while True:
        writer.write((b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") * 50)
        await writer.drain()


async def half_closed(reader: Reader, writer: Writer) -> None:
    """Send half a head, or a whole request, and say that nothing more comes."""
    writer.write(HEAD if id(writer) % 32 else HEAD + b"\r\n")
    writer.write_eof()
    await reader.read()


async def upgraded(reader: Reader, writer: Writer) -> None:
    """Become a WebSocket and be silent."""
    writer.write(UPGRADE)
    await reader.read()


async def _talk(reader: Reader, writer: Writer, messages: bytes) -> None:
    writer.write(UPGRADE)
    await reader.readuntil(b"\r\n\r\n")
    writer.write(frame(WISH, 1))
    reading = asyncio.ensure_future(reader.read())
    while not reading.done():
        writer.write(messages)
        await writer.drain()


async def tiny_messages(reader: Reader, writer: Writer) -> None:
    """Send messages of one sample each, and empty ones, as fast as they are taken."""
    await _talk(reader, writer, (frame(b"\0\0", 2) + frame(b"", 2)) * 1000)


async def tiny_fragments(reader: Reader, writer: Writer) -> None:
    """Send a message that never ends, in fragments without a byte."""
    await _talk(reader, writer, frame(b"\0\0", 2, is_last=False) + frame(b"", 0, is_last=False) * 1000)


async def pings(reader: Reader, writer: Writer) -> None:
    """Send pings and read none of the answers."""
    writer.write(UPGRADE)
    await reader.readuntil(b"\r\n\r\n")
    writer.write(frame(WISH, 1))
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    while True:
        writer.write(frame(bytes(125), 9) * 1000)
        await writer.drain()


async def tiny_chunks(reader: Reader, writer: Writer) -> None:
    """Upload a recording in chunks of one byte, as fast as they are taken."""
    writer.write(UPLOAD)
    reading = asyncio.ensure_future(reader.read())
    while not reading.done():
        writer.write(b"1\r\nx\r\n" * 1000)
        await writer.drain()


async def hurried(reader: Reader, writer: Writer) -> None:
    """Go away at once."""


@dataclass(frozen=True)
class Crowd:
    """Connections of one kind.

    Attributes
    ----------
    act : what each does
    n_connections : at a time
    n_addresses : from which they come
    again_s : after which who was cut off connects again
    """

    act: Act
    n_connections: int
    n_addresses: int = 1
    again_s: float = AGAIN_S


CROWDS = {
    "send nothing": Crowd(silent, 1030),
    "send nothing, of 200 addresses": Crowd(silent, 1030, 200),
    "send a byte a second of a head": Crowd(drip, 1030),
    "send a byte a second of a body": Crowd(drip_body, 1030),
    "send a byte a second of a body, of 200 addresses": Crowd(drip_body, 1030, 200),
    "send a byte a second after the answer": Crowd(drip_after_the_answer, 1030),
    "send half a request and close their half": Crowd(half_closed, 1030),
    "connect and go away at once": Crowd(hurried, 64, again_s=0.0),
    "send 200 requests at once": Crowd(pipelined, 64),
    "read no answer": Crowd(unread, 300),
    "become WebSockets and send nothing": Crowd(upgraded, 1030),
    "send messages of one sample and empty ones": Crowd(tiny_messages, 64),
    "send fragments of nothing": Crowd(tiny_fragments, 64),
    "send pings and read no answer": Crowd(pings, 64),
    "upload in chunks of one byte": Crowd(tiny_chunks, 64),
}


async def _member(crowd: Crowd, port: int, address: str, end_s: float) -> None:
    while time.monotonic() < end_s:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(end_s - time.monotonic()):
                raw = socket.socket()
                if crowd.act in (unread, pings):
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
                raw.setblocking(False)
                raw.bind((address, 0))
                await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
                limit = 1024 if crowd.act in (unread, pings) else 1 << 20
                reader, writer = await asyncio.open_connection(sock=raw, limit=limit)
                try:
                    await crowd.act(reader, writer)
                finally:
                    writer.transport.abort()
        await asyncio.sleep(crowd.again_s)


def _run(crowd: Crowd, port: int, seconds: float) -> None:
    """Be a crowd (in a process of its own)."""

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        end_s = time.monotonic() + seconds
        places = [f"127.0.{n // 250}.{2 + n % 250}" for n in range(crowd.n_addresses)]
        places = places if crowd.n_addresses > 1 else ["127.0.0.1"]
        await asyncio.gather(
            *(_member(crowd, port, places[n % len(places)], end_s) for n in range(crowd.n_connections))
        )

    asyncio.run(main())


def asked(port: int, path: str = "/api/model") -> tuple[str, float]:
    """Return what a new client is answered, and after how many seconds."""
    began_s = time.monotonic()
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        return str(answer.status), time.monotonic() - began_s
    except (OSError, HTTPException) as error:
        return type(error).__name__, time.monotonic() - began_s
    finally:
        connection.close()


def beside(crowd: Crowd, port: int, seconds: float, process: psutil.Process, said: Path) -> dict[str, Any]:
    """Return what a client saw beside a crowd, what the server needed, and how much it said."""
    n_said = said.stat().st_size
    attackers = multiprocessing.get_context("spawn").Process(target=_run, args=(crowd, port, seconds))
    attackers.start()
    end_s = time.monotonic() + seconds
    answers, handles, memory = list[tuple[str, float]](), 0, 0.0
    while time.monotonic() < end_s:
        answers.append(asked(port, "/" if len(answers) % 2 else "/api/model"))
        handles = max(handles, process.num_fds())
        memory = max(memory, process.memory_info().rss / 1e6)
        time.sleep(EVERY_S)
    attackers.join()
    time.sleep(AFTER_S)
    return {
        "connections": crowd.n_connections,
        "addresses": crowd.n_addresses,
        "asked": len(answers),
        "unanswered": sum(status != "200" for status, _ in answers),
        "instead": dict(Counter(status for status, _ in answers if status != "200")),
        "slowest_s": round(max(seconds for _, seconds in answers), 3),
        "handles": handles,
        "handles_after": process.num_fds(),
        "memory_mb": round(memory, 1),
        "said_bytes": said.stat().st_size - n_said,
    }


def main() -> None:
    """Start a server, send the crowds one after the other, and report."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiment", type=Path, help="experiment that is served")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each crowd")
    parser.add_argument("--handles", type=int, default=1024, help="files that the server may open")
    parser.add_argument("--only", nargs="+", default=list(CROWDS), metavar="CROWD", help="these crowds alone")
    options = parser.parse_args()
    serve = [
        sys.executable,
        "-m",
        "asr",
        "serve",
        str(options.experiment.absolute()),
        "--port",
        "0",
        "--json",
    ]
    command = ["bash", "-c", f'ulimit -n {options.handles}; exec "$@"', "bash", *serve]
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        rows = {}
        with (
            said.open("wb") as errors,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as server,
        ):
            try:
                told = server.stdout.readline() if server.stdout is not None else ""
                port = int(json.loads(told)["address"].rstrip("/").rpartition(":")[2])
                process = psutil.Process(server.pid)
                for name in options.only:
                    rows[name] = beside(CROWDS[name], port, options.seconds, process, said)
                    print(f"{name}: {rows[name]}", flush=True)
            finally:
                server.terminate()
        lines = said.read_text(errors="replace").splitlines()
    columns = list(next(iter(rows.values())))
    print_table(["crowd", *columns], [[name, *row.values()] for name, row in rows.items()])
    print("\n".join(lines[:40]))
    load = round(os.getloadavg()[1], 1)  # of the whole machine, the crowds and the server among it
    report = {"handles": options.handles, "seconds": options.seconds, "load": load, "crowds": rows}
    write_report(options.out, {**report, "said": lines[:40]}, ("uvicorn", "fastapi", "websockets"))


if __name__ == "__main__":
    main()
