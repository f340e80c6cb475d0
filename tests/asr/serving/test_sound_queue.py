import asyncio

import numpy as np
import pytest

from asr.serving.sound_queue import MOST_ITEMS, SoundQueue


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
