"""CPU and wall seconds of a call, and the medians of many."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

Found = TypeVar("Found")


class Seconds(NamedTuple):
    """What a call took; CPU seconds are those of all threads."""

    cpu: float
    wall: float


def timed(call: Callable[[], Found]) -> tuple[Found, Seconds]:
    """Return what a call returns, and how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    return found, Seconds(time.process_time() - cpu, time.perf_counter() - wall)


def median(measured: Sequence[Seconds]) -> dict[str, float]:
    """Return the medians, for the JSON."""
    cpu, wall = (round(statistics.median(column), 4) for column in zip(*measured, strict=True))
    return {"cpu_s": cpu, "wall_s": wall}
