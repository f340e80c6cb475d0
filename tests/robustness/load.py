"""How many people `asr serve` follows at once: streams in real time over loopback, with bad clients beside.

Each stream plays recordings at the speed of speech. Latency of partial words is the time from when sound was
sent to when the client is told that it was heard; that of final words, from the end of the last word's sound,
which includes the pause that ends a sentence (0.6 s). Clients that read nothing, that say nothing after they
have connected, and that flood the server with uploads can run beside.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import soundfile
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from benchmarks.report import argument_parser, print_table, write_report

CHUNK_S = 0.1
PAUSE_S = 1.0  # between recordings
SAMPLED_S = 1.0


@dataclass
class Stream:
    """What one client sees."""

    partials: list[float] = field(default_factory=list)
    finals: list[float] = field(default_factory=list)
    sent_s: float = 0.0
    heard_s: float = 0.0
    n_words: int = 0
    n_slow: int = 0
    lost: str = ""


def sound_of(paths: list[Path], seconds: float) -> tuple[np.ndarray, int]:
    """Return recordings with pauses between them as often as fills the time, int16, and their rate."""
    rate = soundfile.info(paths[0]).samplerate
    pieces, n_samples, turn = [], 0, 0
    while n_samples < seconds * rate:
        samples, _ = soundfile.read(paths[turn % len(paths)], dtype="int16")
        pieces += [
            samples,
            np.random.default_rng(turn).integers(-20, 20, round(PAUSE_S * rate)).astype(np.int16),
        ]
        n_samples, turn = n_samples + len(pieces[-2]) + len(pieces[-1]), turn + 1
    return np.concatenate(pieces)[: round(seconds * rate)], rate


async def followed(address: str, sound: np.ndarray, rate: int, delay_s: float) -> Stream:
    """Play a sound at the speed of speech, and return what came of it."""
    found = Stream()
    await asyncio.sleep(delay_s)
    try:
        async with connect(f"ws://{address}/api/listen", proxy=None) as socket:
            await socket.send(json.dumps({"sample_rate": rate}))
            first = json.loads(await socket.recv())
            if first["type"] != "ready":
                found.lost = first.get("error", "")
                return found
            reader = asyncio.ensure_future(_read(socket, found, time.monotonic()))
            await _send(socket, sound, rate, found)
            await asyncio.wait_for(reader, 60)
    except (ConnectionClosed, OSError, TimeoutError) as error:
        found.lost = f"{type(error).__name__}: {error}"
    return found


async def _send(socket: Any, sound: np.ndarray, rate: int, found: Stream) -> None:
    step = round(CHUNK_S * rate)
    started = time.monotonic()
    for n, begin in enumerate(range(0, len(sound), step), 1):
        await asyncio.sleep(max(0.0, started + n * CHUNK_S - time.monotonic()))
        await socket.send(sound[begin : begin + step].tobytes())
        found.sent_s = min((begin + step) / rate, len(sound) / rate)
    await socket.send(json.dumps({"type": "finish"}))


async def _read(socket: Any, found: Stream, started: float) -> None:
    async for raw in socket:
        message, now_s = json.loads(raw), time.monotonic() - started
        if message["type"] == "partial":
            found.partials.append(now_s - message["heard_s"])
        elif message["type"] == "final":
            found.n_words += len(message["words"])
            found.finals.append(now_s - message["words"][-1]["end_s"])
        elif message["type"] == "slow":
            found.n_slow += 1
        elif message["type"] == "error":
            found.lost = message["error"]
            return
        found.heard_s = message.get("heard_s", found.heard_s)
        if message["type"] == "done":
            return


async def read_nothing(address: str, sound: np.ndarray, rate: int, seconds: float) -> str:
    """Send sound as fast as it is taken and read no answer; return how that ended."""
    reader, writer = await asyncio.open_connection(*address.split(":"), limit=1024)
    try:
        async with asyncio.timeout(seconds):
            await _upgrade(address, reader, writer)
            writer.write(_frame(json.dumps({"sample_rate": rate}).encode(), 1))
            while True:
                for begin in range(0, len(sound), rate):
                    writer.write(_frame(sound[begin : begin + rate].tobytes(), 2))
                    await writer.drain()
    except TimeoutError:
        return "held back until the end"
    except OSError as error:
        return f"closed: {type(error).__name__}"
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


async def _upgrade(address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Ask for a WebSocket and wait for the answer."""
    head = f"GET /api/listen HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    writer.write((head + key).encode())
    await reader.readuntil(b"\r\n\r\n")


def _frame(payload: bytes, kind: int) -> bytes:
    """Return a frame of a WebSocket, masked with zeros."""
    length = len(payload)
    size = bytes([0x80 | length]) if length < 126 else bytes([0xFE]) + length.to_bytes(2, "big")
    if length > 65535:
        size = bytes([0xFF]) + length.to_bytes(8, "big")
    return bytes([0x80 | kind]) + size + bytes(4) + payload


async def say_nothing(address: str, rate: int, seconds: float) -> str:
    """Connect, say what would be sent, and be silent; return how that ended."""
    try:
        async with connect(f"ws://{address}/api/listen", proxy=None) as socket:
            await socket.send(json.dumps({"sample_rate": rate}))
            told = json.loads(await socket.recv())
            async with asyncio.timeout(seconds):
                while told["type"] != "error":
                    told = json.loads(await socket.recv())
            return str(told["error"])
    except TimeoutError:
        return "still connected at the end"
    except (ConnectionClosed, OSError) as error:
        return type(error).__name__


async def flood(address: str, body: bytes, n_each: int, seconds: float) -> Counter[str]:
    """Upload again and again in several threads; return how often each answer came."""
    end, answers = time.monotonic() + seconds, Counter[str]()

    def upload() -> None:
        while time.monotonic() < end:
            connection = HTTPConnection(address, timeout=30)
            try:
                connection.request("POST", "/api/transcribe", body, {"content-type": "audio/wav"})
                answers[str(connection.getresponse().status)] += 1
            except OSError as error:
                answers[type(error).__name__] += 1
            finally:
                connection.close()
            time.sleep(0.05)

    await asyncio.gather(*(asyncio.to_thread(upload) for _ in range(n_each)))
    return answers


async def memory_of(process: psutil.Process, seconds: float) -> list[float]:
    """Return a process's memory in MB each second."""
    found = []
    for _ in range(round(seconds / SAMPLED_S)):
        found.append(process.memory_info().rss / 1e6)
        await asyncio.sleep(SAMPLED_S)
    return found


def slope_mb_per_minute(memory: list[float]) -> float | None:
    """Return by how much memory grows in the second half.

    >>> slope_mb_per_minute([9.0, 9.0, 10.0, 11.0])
    60.0
    """
    half = memory[len(memory) // 2 :]
    if len(half) < 2:
        return None
    return round(float(np.polyfit(np.arange(len(half)) * SAMPLED_S, half, 1)[0]) * 60, 3)


def percentiles(values: list[float]) -> dict[str, float]:
    """Return the median and the tails of some times in seconds.

    >>> percentiles([1.0, 2.0, 3.0])["50"]
    2.0
    """
    return (
        {str(p): round(float(np.percentile(values, p)), 3) for p in (50, 90, 95, 99, 100)} if values else {}
    )


def row_of(streams: list[Stream], seconds: float, memory: list[float], cpu_s: float) -> dict[str, Any]:
    """Return the figures of one run."""
    unheard_s = sum(max(0.0, each.sent_s - each.heard_s) for each in streams if not each.lost)
    return {
        "streams": len(streams),
        "seconds": seconds,
        "dropped": sum(bool(each.lost) for each in streams),
        "reasons": dict(Counter(each.lost for each in streams if each.lost)),
        "unheard_s": round(unheard_s, 2),
        "words": sum(each.n_words for each in streams),
        "told_slow": sum(each.n_slow for each in streams),
        "partial_latency_s": percentiles([t for each in streams for t in each.partials]),
        "final_latency_s": percentiles([t for each in streams for t in each.finals]),
        "memory_mb": round(max(memory), 1) if memory else None,
        "memory_slope_mb_per_minute": slope_mb_per_minute(memory),
        "cores": round(cpu_s / seconds, 2),
    }


async def measured(options: Any, address: str, process: psutil.Process, n_streams: int) -> dict[str, Any]:
    """Return the figures of so many streams, with the bad clients that are asked for."""
    sound, rate = sound_of(options.wav, options.seconds)
    cpu_s = sum(process.cpu_times()[:2])
    streams, slow, half_open, uploads, memory = await asyncio.gather(
        asyncio.gather(*(followed(address, sound, rate, 0.5 * n / n_streams) for n in range(n_streams))),
        asyncio.gather(*(read_nothing(address, sound, rate, options.seconds) for _ in range(options.slow))),
        asyncio.gather(*(say_nothing(address, rate, options.seconds) for _ in range(options.half_open))),
        flood(address, options.wav[0].read_bytes(), options.flood, options.seconds),
        memory_of(process, options.seconds),
    )
    used_s = sum(process.cpu_times()[:2]) - cpu_s
    beside = {"slow": dict(Counter(slow)), "half_open": dict(Counter(half_open)), "uploads": dict(uploads)}
    return {**row_of(streams, options.seconds, memory, used_s), **beside}


def main() -> None:
    """Start a server, run the clients, and report."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiment", type=Path, help="experiment that is served")
    parser.add_argument("--wav", type=Path, nargs="+", required=True, help="recordings that are played")
    parser.add_argument("--model", help="of the experiment")
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 2, 4, 8], help="clients at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="that each run takes")
    parser.add_argument("--slow", type=int, default=0, help="clients that read nothing")
    parser.add_argument("--half-open", type=int, default=0, help="clients that say nothing")
    parser.add_argument("--flood", type=int, default=0, help="clients that upload again and again")
    options = parser.parse_args()
    most = max(options.streams) + options.slow + options.half_open
    command = [sys.executable, "-m", "asr", "serve", str(options.experiment), "--port", "0", "--json"]
    command += ["--streams", str(most)] + (["--model", options.model] if options.model else [])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            told = server.stdout.readline() if server.stdout is not None else ""
            address = json.loads(told)["address"].removeprefix("http://").rstrip("/")
            process = psutil.Process(server.pid)
            rows = [asyncio.run(measured(options, address, process, n)) for n in options.streams]
        finally:
            server.terminate()
    shown = (
        "streams",
        "dropped",
        "unheard_s",
        "told_slow",
        "cores",
        "memory_mb",
        "memory_slope_mb_per_minute",
    )
    tails = ("partial_latency_s", "final_latency_s")
    print_table(
        [*shown, "partial 50 %", "95 %", "final 50 %", "95 %"],
        [[*(row[k] for k in shown), *(row[k].get(p) for k in tails for p in ("50", "95"))] for row in rows],
    )
    write_report(options.out, {"rows": rows}, ("uvicorn", "fastapi", "websockets"))


if __name__ == "__main__":
    main()
