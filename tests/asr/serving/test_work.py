import asyncio
import threading

import pytest

from asr.serving.refusals import Refusal
from asr.serving.work import Places, Workers, in_background, within


def test_places_are_given_back() -> None:
    places = Places(2, "streams")
    with places.one(), places.one():
        with pytest.raises(Refusal, match="busy with 2 streams") as refused, places.one():
            pass
        assert refused.value.status == 503
    assert places.taken == 0
    with places.one():
        assert places.taken == 1


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
