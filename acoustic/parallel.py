"""Work on many cores in threads, with results in the order of the work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


class Watch(Protocol):
    """Passes results on while someone is shown how many of them there are."""

    def __call__(self, results: Iterable[Result], total: int) -> Iterable[Result]:
        """Yield the results; there will be ``total``."""
        ...


def unwatched(results: Iterable[Result], total: int) -> Iterable[Result]:
    """Return the results: nobody watches."""
    return results


def default_workers() -> int:
    """Return the number of cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


def parallel_map(
    function: Callable[[Item], Result], items: Sequence[Item], n_workers: int | None = None
) -> Iterator[Result]:
    """Yield ``function(item)`` in order, computed by ``n_workers`` threads (default: one a core).

    BLAS is held to one thread meanwhile: the items are the axis of parallelism, and its results then do not
    depend on the machine's number of cores.
    """
    with single_blas_thread(), ThreadPoolExecutor(n_workers or default_workers()) as pool:
        yield from pool.map(function, items)


def single_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS uses one thread: for products of one utterance's size more only wait."""
    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits
