"""What a server shares: the recogniser, threads, and work for clients who go away."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from asr.errors import ConfigError, ExperimentError
from asr.serving.limits import Limits, Refusal
from asr.serving.state import Served, Server, Workers, in_background, within


class Client:
    """A request whose client goes away when it is told to."""

    def __init__(self) -> None:
        self.is_gone = False

    async def is_disconnected(self) -> bool:
        return self.is_gone


def test_no_path_is_told(tmp_path: Path) -> None:
    server = Server(Served(tmp_path / "exp"), tmp_path / "takes")
    line = server.plain(f"{tmp_path}/exp/models: no; {tmp_path}/takes: no; {Path.home()}/x")
    assert line.startswith("exp/models: no; the folder of takes: no")
    assert str(tmp_path) not in line
    assert str(Path.home()) not in line


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


def test_there_is_a_model_once_it_is_loaded(trained: Path) -> None:
    served = Served(trained)
    assert not served.is_ready
    with pytest.raises(Refusal, match="there is no model yet") as refused:
        _ = served.recognizer
    assert refused.value.status == 409
    served.load()
    assert (served.recognizer.name, served.recognizer.decoder.config.confidence) == ("gmm2", True)


def test_words_are_rejected_and_keywords_spotted_if_wanted(trained: Path) -> None:
    served = Served(trained, reject=True)
    served.load()
    assert served.recognizer.rejection is not None
    with pytest.raises(ExperimentError, match="no keywords are chosen"):
        Served(trained, keywords=True).load()
    with pytest.raises(ConfigError, match="both reject and keywords"):
        Served(trained, reject=True, keywords=True).load()


def test_what_cannot_be_loaded_says_so_and_leaves_the_model_before_it(trained: Path, tmp_path: Path) -> None:
    served = Served(trained)
    served.load()
    before = served.recognizer
    served.experiment = tmp_path
    with pytest.raises(ExperimentError, match="no trained model in it"):
        served.load()
    assert served.recognizer is before


def test_work_is_done_by_so_many_threads_and_no_more() -> None:
    async def several() -> set[str]:
        workers = Workers(2)
        try:
            names = await asyncio.gather(
                *(workers.run(lambda: threading.current_thread().name) for _ in range(20))
            )
        finally:
            workers.close()
        assert workers.running == 0
        return set(names)

    found = asyncio.run(several())
    assert 1 <= len(found) <= 2
    assert all(name.startswith("asr-serving") for name in found)


def test_what_nobody_waits_for_is_not_begun() -> None:
    done: list[int] = []

    async def given_up() -> None:
        workers, gate = Workers(1), threading.Event()
        first = asyncio.ensure_future(workers.run(gate.wait))
        second = asyncio.ensure_future(workers.run(lambda: done.append(1)))
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.sleep(0)
        gate.set()
        assert await first is True
        workers.close()
        assert workers.running == 0

    asyncio.run(given_up())
    assert done == []


def test_too_long_is_a_refusal() -> None:
    async def slow() -> None:
        with pytest.raises(Refusal, match=r"not done within 0\.01 s") as refused:
            await within(0.01, asyncio.sleep(5))
        assert refused.value.status == 408
        assert await within(5, asyncio.sleep(0, "done")) == "done"

    asyncio.run(slow())


def test_what_runs_beside_ends_with_the_context() -> None:
    async def beside() -> bool:
        async with in_background(asyncio.sleep(100)) as task:
            await asyncio.sleep(0)
        return task.cancelled()

    assert asyncio.run(beside()) is True
