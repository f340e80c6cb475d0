"""Clients of the load benchmark on the tone language's server."""

import asyncio
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from asr.serving.app import listening_socket, uvicorn_server
from asr.serving.limits import Limits
from asr.serving.state import Served, Server


@pytest.fixture
def load() -> ModuleType:
    return importlib.import_module("load")


def test_figures(load: ModuleType) -> None:
    good, lost = load.Stream([0.1, 0.3], [1.0], 10.0, 9.5, 4, 1), load.Stream(lost="busy")
    row = load.row_of([good, lost], 10.0, [50.0, 51.0, 52.0, 53.0], 5.0)
    assert (row["streams"], row["dropped"], row["reasons"], row["unheard_s"]) == (2, 1, {"busy": 1}, 0.5)
    assert (row["words"], row["told_slow"], row["cores"], row["memory_mb"]) == (4, 1, 0.5, 53.0)
    assert row["partial_latency_s"]["50"] == pytest.approx(0.2)
    assert row["memory_slope_mb_per_minute"] == pytest.approx(60.0)
    assert load.slope_mb_per_minute([1.0]) is None


def test_clients(load: ModuleType, trained: Path, tones: Path, tmp_path: Path) -> None:
    sound, rate = load.sound_of([tones / "speaker 0" / "0.wav"], 3.0)
    assert len(sound) == 3 * rate

    async def main() -> Any:
        served = Served(trained)
        served.load()
        server = Server(served, tmp_path, Limits(streams=3, idle_s=1.0))
        with listening_socket("127.0.0.1", 0) as listening:
            address = f"127.0.0.1:{listening.getsockname()[1]}"
            uvicorn = uvicorn_server(server, "127.0.0.1")
            serving = asyncio.ensure_future(uvicorn.serve(sockets=[listening]))
            body = (tones / "speaker 0" / "0.wav").read_bytes()
            found = await asyncio.gather(
                load.followed(address, sound, rate, 0.3),
                load.say_nothing(address, rate, 4.0),
                load.read_nothing(address, sound, rate, 2.0),
                load.flood(address, body, 2, 1.0),
            )
            uvicorn.should_exit = True
            await serving
            return found

    stream, silent, unread, uploads = asyncio.run(main())
    assert (stream.lost, stream.sent_s) == ("", 3.0)
    assert stream.heard_s == pytest.approx(3.0, abs=0.1)
    assert stream.n_words >= 3
    assert "no sound was sent for 1 s" in silent
    assert unread == "held back until the end"
    assert set(uploads) <= {"200", "503"}
    assert uploads["200"] > 0
