"""The sound of one client that waits for the recogniser: bounded in seconds, and in messages."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Literal

import numpy as np

from foundation.arrays import Singles

Command = Literal["finish", "reset"]
MOST_ITEMS = 1000  # many small messages take space, too
AT_ONCE_S = 1.0  # that the recogniser is given in one piece


class SoundQueue:
    """Samples and commands in order.

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
