import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from asr.serving.limits import Limits
from asr.serving.refusals import Refusal
from asr.serving.served import Served
from asr.serving.state import Server


class Client:
    """A request whose client goes away when it is told to."""

    def __init__(self) -> None:
        self.is_gone = False

    async def is_disconnected(self) -> bool:
        return self.is_gone


def test_no_path_is_told(tmp_path: Path) -> None:
    server = Server(Served(tmp_path / "exp"), tmp_path / "takes")
    line = server.plain(f"{tmp_path}/exp/models: no; {tmp_path}/takes: no; {Path.home()}/x")
    assert line.startswith("EXP/models: no; the folder of takes: no")
    assert str(tmp_path) not in line
    assert str(Path.home()) not in line


def test_bounds_are_those_of_the_limits(tmp_path: Path) -> None:
    server = Server(Served(tmp_path), tmp_path, Limits(upload_bytes=5, audio_s=6, streams=7))
    assert (server.bounds.upload_bytes, server.bounds.audio_s, server.bounds.streams) == (5, 6.0, 7)


def test_work_for_a_client_who_has_gone_is_given_up(tmp_path: Path) -> None:
    done: list[int] = []

    async def main() -> None:
        server = Server(Served(tmp_path), tmp_path, Limits(workers=1))
        client: Any = Client()
        gate = threading.Event()
        async with server.lifespan():
            first = asyncio.ensure_future(server.compute(client, gate.wait))
            other: Any = Client()
            second = asyncio.ensure_future(server.compute(other, lambda: done.append(1)))
            await asyncio.sleep(0.05)
            other.is_gone = True
            try:
                with pytest.raises(Refusal, match="the client went away"):
                    await second
            finally:
                gate.set()
            assert await first is True
        assert server.workers.running == 0

    asyncio.run(main())
    assert done == []
