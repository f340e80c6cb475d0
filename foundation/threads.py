"""Work on many cores in threads, with results in the order of the work; products that stay on one thread."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

import numpy as np
from threadpoolctl import OpenBLASController, ThreadpoolController

from foundation.arrays import Singles
from foundation.errors import AsrError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Watch(Protocol):
    """A function that passes results on and shows how many of them are done."""

    def __call__(self, results: Iterable[Result], total: int) -> Iterable[Result]:
        """Yield the results; there will be ``total``."""
        ...


def unwatched(results: Iterable[Result], total: int) -> Iterable[Result]:
    """Return the results without showing anything."""
    return results


_one_worker: ContextVar[bool] = ContextVar("one_worker", default=False)


@contextmanager
def one_worker() -> Iterator[None]:
    """Make `default_workers` return 1 in this thread, whose process is one of many."""
    token = _one_worker.set(True)
    try:
        with single_threaded_libraries():
            yield
    finally:
        _one_worker.reset(token)


NUMBA_THREADS = "NUMBA_NUM_THREADS"


def drop_unusable_threads() -> str | None:
    """Return numba's number of threads, removed from the environment, if numba cannot start with it.

    It starts with any whole number from 1 on, written as `int` reads it.
    """
    value = os.environ.get(NUMBA_THREADS)
    try:
        is_usable = value is None or int(value) >= 1
    except ValueError:
        is_usable = False
    return None if is_usable else os.environ.pop(NUMBA_THREADS)


def default_workers() -> int:
    """Return the number of cores this process may use."""
    if _one_worker.get():
        return 1
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


def parallel_map(
    function: Callable[[Item], Result], items: Sequence[Item], n_workers: int | None = None
) -> Iterator[Result]:
    """Yield ``function(item)`` in order, computed by ``n_workers`` threads (default: one a core).

    BLAS and OpenMP are held to one thread until the last item is done: the items are the axis of parallelism,
    and results then do not depend on the machine's number of cores. The limit is lifted when the last item is
    computed, even if the caller still takes results.
    """
    with ThreadPoolExecutor(n_workers or default_workers(), initializer=_LIMIT.hold_this_thread) as pool:
        with single_threaded_libraries():
            futures = deque(_submitted(pool, function, item) for item in items)
        try:
            while futures:
                yield futures.popleft().result()
        finally:
            for future in futures:  # of a caller who wants no more, or after an error
                future.cancel()


def _submitted(pool: ThreadPoolExecutor, function: Callable[[Item], Result], item: Item) -> Future[Result]:
    """Return the future of an item, which holds the limit until it is done."""
    _LIMIT.hold()
    try:
        future = pool.submit(function, item)
    except BaseException:
        _LIMIT.release()
        raise
    future.add_done_callback(lambda _: _LIMIT.release())
    return future


@contextmanager
def single_threaded_libraries() -> Iterator[None]:
    """Keep BLAS to one thread for a while: on small products its threads mostly wait for each other."""
    _LIMIT.hold()
    try:
        yield
    finally:
        _LIMIT.release()


class OneAtATime:
    """Lets one thread at a time use an object that changes; another one meanwhile gets an error.

    Compiled code that two threads share an array in would write outside of it.

    Parameters
    ----------
    what : the object, for the error
    error : class of the error
    """

    def __init__(self, what: str, error: type[AsrError]) -> None:
        self._what, self._error = what, error
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise self._error(
                f"{self._what}: already in use by another thread, expected one thread at a time; "
                "make one for each thread, or let the threads wait for each other"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy of the object is in use by nobody."""
        return OneAtATime, (self._what, self._error)


# OpenBLAS wakes its threads for a product of more multiplications than this. For some hundred frames that
# costs more than it saves, twenty times so on a busy machine: the threads spin while they wait. In pieces of
# this size the product stays on the caller's thread, and its rounding does not depend on the others.
SERIAL_MULTIPLICATIONS = 1 << 18


def serial_product(left: Singles, right: Singles, out: Singles | None = None) -> Singles:
    """Return ``left @ right`` computed on one thread.

    Parameters
    ----------
    left : (T, D) float32
    right : (D, R) float32
    out : (T, R) float32, optional
        Where to put the result.

    Returns
    -------
    (T, R) float32

    Examples
    --------
    >>> serial_product(np.array([[1.0, 2.0]], dtype=np.float32), np.array([[3.0], [4.0]], dtype=np.float32))
    array([[11.]], dtype=float32)
    """
    if out is None:
        out = np.empty((left.shape[0], right.shape[1]), dtype=np.float32)
    n_rows = max(SERIAL_MULTIPLICATIONS // max(right.size, 1), 1)
    for first in range(0, left.shape[0], n_rows):
        rows = slice(first, first + n_rows)
        # Of five columns and a vector OpenBLAS also multiplies what it throws away (`for_blocks_of_frames`).
        with np.errstate(invalid="ignore"):
            np.matmul(left[rows], right, out=out[rows])
    return out


class _Limit:
    """The process's limit of threads: set by its first holder, lifted when its last holder releases it.

    BLAS knows one number for all threads of a process, so there is one count of holders for all. OpenMP
    has a number for each thread, but for Microsoft's, which has one for all as BLAS.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_holders = 0
        self._limits: list[Any] = []  # of the libraries there were, of those that came while it was held
        self._controller = ThreadpoolController()
        self._n_modules = len(sys.modules)

    def hold(self) -> None:
        with self._lock:
            known = (
                {library.filepath for library in self._controller.lib_controllers} if self._limits else set()
            )
            n_before, libraries = self._n_modules, self._libraries()
            if not self._limits or n_before != self._n_modules:
                new = [lib.filepath for lib in libraries.lib_controllers if lib.filepath not in known]
                _disown()
                shared = None if _OPENMP_IS_SHARED else "blas"
                self._limits.append(libraries.select(filepath=new).limit(limits=1, user_api=shared))
            self._n_holders += 1

    def release(self) -> None:
        with self._lock:
            self._n_holders -= 1
            if self._n_holders <= 0:
                self._lift()

    def forget_holders(self) -> None:
        """Lift the limit on BLAS in a forked process: the threads that asked for it are not in there."""
        self._lock = threading.Lock()
        self._lift()

    def _lift(self) -> None:
        _disown()
        for limits in self._limits:
            limits.restore_original_limits()
        _disown()
        self._limits, self._n_holders = [], 0

    def hold_this_thread(self) -> None:
        """Keep OpenMP to one thread in the calling thread, for as long as that lives."""
        if not _OPENMP_IS_SHARED:
            with self._lock:
                self._libraries().limit(limits=1, user_api="openmp")

    def _libraries(self) -> ThreadpoolController:
        if len(sys.modules) != self._n_modules:  # they may have brought a library; looking for it takes 4 ms
            self._controller, self._n_modules = ThreadpoolController(), len(sys.modules)
        return self._controller


def _disown() -> None:
    """Let any thread set the limit: threadpoolctl 3.8 ignores all but the one that did so first."""
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


_OPENMP_IS_SHARED = sys.platform == "win32"
_LIMIT = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LIMIT.forget_holders)
