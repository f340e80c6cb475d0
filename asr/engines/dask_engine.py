"""Blocks computed by the workers of a Dask cluster.

Command and workers share a file system, on which the experiment lies. A worker writes what it has computed
itself, so that its death, or that of the scheduler or of the command, loses nothing that is done. Tasks are
handed out by ``Client.submit`` under names of our own. Several neighbouring blocks are one task where there
are many, which changes no result.

The function of a map is written once, with all it holds, to a directory that command and workers share; what
several maps hold (`foundation.blocks.Shared`) has a file of its own, written once for all of them. Arrays are
mapped into the workers' memory, so that processes of one machine have them once. A task names the file and
its blocks; results go to the files of the blocks, and only the processor time goes back.
"""

from __future__ import annotations

import asyncio
import ctypes
import io
import logging
import pickle
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import cloudpickle
from distributed import Client
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError

from asr.errors import ClusterError
from foundation.blocks import N_TRIES, Blocks, Shared, compute_block, finished, raise_failed
from foundation.errors import AsrError
from foundation.packing import pack, unpack_trusted
from foundation.threads import one_worker
from foundation.version import own_code

logger = logging.getLogger(__name__)

Function = Callable[[Any], Any]
Task: TypeAlias = Any  # a future of distributed

TASKS_A_WORKER = 16  # of each map at most, so that workers end at about the same time; by feel
_WORTHWHILE_S = 0.25  # of work that a task has at least, where blocks are known to be small; by feel

_LOST = (CancelledError, FutureCancelledError, asyncio.CancelledError, CommClosedError)  # with the scheduler
_PATIENCE_S = 30.0  # between two looks at the workers; by feel
_VISIBLE_S = 60.0  # until what a worker wrote is seen here, on file systems that are slow to tell; by feel
_N_FUNCTIONS, _N_SHARED = 2, 2  # that a worker keeps at hand
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


class DaskEngine:
    """Computes blocks on a cluster.

    Parameters
    ----------
    client : connection to the scheduler
    name : what errors call the cluster
    """

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name
        self.cpu_elsewhere = 0.0
        self.block_s: dict[str, float] = {}  # processor seconds of a block of the last task with a label
        self._files = FilesForWorkers()

    def results(self, blocks: Blocks, n_workers: int | None) -> Iterator[list[Any]]:
        """Yield the results of each block in order, see `foundation.blocks.Engine`."""
        missing = [n for n in range(len(blocks)) if not blocks.path(n).exists()]
        tasks = _Tasks(self, blocks)
        failed: dict[int, Exception] = {}
        try:
            tasks.submit(missing)
            for n in range(len(blocks)):
                found = tasks.results(n)
                if isinstance(found, Exception):
                    failed[n] = found
                elif not failed:
                    yield found
        finally:
            tasks.end()
        raise_failed(blocks, failed)

    def written(self, function: Callable[[Any], Any], directory: Path) -> Path:
        """Return a new file of a function with all it holds."""
        return self._files.written(function, directory)

    def n_workers(self) -> int:
        """Return how many workers there are now."""
        try:
            return len(self.client.scheduler_info(n_workers=-1)["workers"])
        except (*_LOST, OSError) as error:
            raise self.lost(error) from error

    def lost(self, error: BaseException | None) -> ClusterError:
        """Return the error to raise when the scheduler is gone."""
        reason = f" ({type(error).__name__})" if error is not None else ""
        return ClusterError(
            f"{self.name}: the scheduler does not answer any more{reason}; finished blocks are kept; start "
            "it again with its workers and run the same command, it goes on where it was"
        )


def task_size(n_blocks: int, n_workers: int, block_s: float) -> int:
    """Return how many neighbouring blocks make one task; results do not depend on it.

    >>> task_size(150, 2, 0.5), task_size(27, 2, 0.01), task_size(3, 8, 0.01)
    (5, 14, 1)
    """
    least = -(-n_blocks // (TASKS_A_WORKER * n_workers))
    most = -(-n_blocks // n_workers)
    return min(max(least, int(_WORTHWHILE_S / max(block_s, 1e-6))), most)


class _Tasks:
    """The tasks of one map."""

    def __init__(self, engine: DaskEngine, blocks: Blocks) -> None:
        self.engine, self.blocks = engine, blocks
        self._of_block: dict[int, Task] = {}
        self._together: frozenset[int] = frozenset()  # blocks whose task has others, too
        self._counted: set[str] = set()  # tasks whose processor time is known

    @cached_property
    def _function(self) -> Path:
        return self.engine.written(self.blocks.function, self.blocks.root.absolute())

    def submit(self, missing: Sequence[int]) -> None:
        """Hand out some blocks, neighbours together where there are many."""
        if missing:
            size = task_size(
                len(missing), max(self.engine.n_workers(), 1), self.engine.block_s.get(self.blocks.label, 1.0)
            )
            for start in range(0, len(missing), size):
                self._submit_together(missing[start : start + size])

    def _submit_together(self, part: Sequence[int]) -> None:
        key = f"{self.blocks.label}-{self.blocks.root.name}-{part[0]}-{uuid4().hex[:8]}"
        work = [(self.blocks.items[n], str(self.blocks.path(n).absolute())) for n in part]
        try:
            task = self.engine.client.submit(
                compute, own_code(), str(self._function), work, key=key, pure=False
            )
        except _LOST as error:
            raise self.engine.lost(error) from error
        self._of_block.update(dict.fromkeys(part, task))
        self._together = self._together.union(part) if len(part) > 1 else self._together.difference(part)

    def results(self, n: int) -> list[Any] | Exception:
        """Return the results of a block, or the error of its last try."""
        path, n_tries, error = self.blocks.path(n), 0, None
        while True:
            if n in self._of_block:
                error = self._error_of(self._of_block[n])
                n_tries += n not in self._together  # where another may be to blame, it is no try of this one
                if isinstance(error, AsrError):
                    raise error
            found = self._read(path, is_expected=n in self._of_block and error is None)
            if found is not None:
                return found
            if n in self._of_block:
                error = error or OSError(f"{path} does not appear")
                if n_tries:
                    logger.warning("%s: %s fails (%s)", self.blocks.label, self.blocks.describe(n), error)
                if n_tries == N_TRIES:
                    return error
            self._submit_together([n])

    def _error_of(self, task: Task) -> Exception | None:
        """Return the error of a task, None when it is done; tell meanwhile if there are no workers."""
        while True:
            try:
                cpu_s = task.result(timeout=_PATIENCE_S)
            except (FutureTimeoutError, TimeoutError) as error:
                if task.done():  # it is the task's own error
                    return error
                if self.engine.client.status != "running":
                    raise self.engine.lost(None) from None
                if not self.engine.n_workers():
                    logger.warning("%s has no workers; waiting for some", self.engine.name)
            except _LOST as error:
                raise self.engine.lost(error) from error
            except Exception as error:  # of the worker, or that workers died with it again and again
                return error
            else:
                if task.key not in self._counted:
                    self._counted.add(task.key)
                    self.engine.cpu_elsewhere += cpu_s
                    n_blocks = sum(other is task for other in self._of_block.values())
                    self.engine.block_s[self.blocks.label] = cpu_s / max(n_blocks, 1)
                return None

    def _read(self, path: Path, *, is_expected: bool) -> list[Any] | None:
        """Return the results in a file, waiting for it if a worker says that it wrote it."""
        deadline = time.monotonic() + (_VISIBLE_S if is_expected else 0.0)
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        found: list[Any] | None = finished(path)
        return found

    def end(self) -> None:
        """Take back what is not done, if the map ends early, and remove the function."""
        pending = [task for task in dict.fromkeys(self._of_block.values()) if not task.done()]
        if pending and self.engine.client.status == "running":
            self.engine.client.cancel(pending)  # type: ignore[no-untyped-call, unused-ignore]
        if self._of_block:
            with suppress(PermissionError):  # Windows, where workers map it; it goes with its directory
                self._function.unlink(missing_ok=True)


# What workers get, and what they do with it


class FilesForWorkers:
    """The files of functions and of what several of them hold."""

    def __init__(self) -> None:
        self._paths: weakref.WeakKeyDictionary[Shared[Any], Path] = weakref.WeakKeyDictionary()

    def path(self, shared: Shared[Any], directory: Path) -> Path:
        """Return the file of a value, in the directory if it is not written yet."""
        if shared not in self._paths:
            self._paths[shared] = self.written(shared.value, directory)
        return self._paths[shared]

    def written(self, value: object, directory: Path) -> Path:
        """Return a new file of a function or other value, under a name that workers never saw."""

        def dumps(value: object, **options: Any) -> bytes:
            with io.BytesIO() as file:
                _Pickler(file, self, directory, **options).dump(value)
                return file.getvalue()

        path = directory / f"for-workers-{uuid4().hex[:12]}"
        pack(value, path, dumps)
        return path


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc, unused-ignore]
    """Writes functions with all they hold, but for what is shared."""

    def __init__(self, file: io.BytesIO, files: FilesForWorkers, directory: Path, **options: Any) -> None:
        super().__init__(file, **options)
        self._files, self._directory = files, directory

    def persistent_id(self, value: object) -> str | None:
        """Return the path of a shared value."""
        return str(self._files.path(value, self._directory)) if isinstance(value, Shared) else None


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` wrote."""

    def persistent_load(self, path: str) -> Shared[Any]:
        """Return a shared value."""
        return _shared(path)


def _loads(skeleton: memoryview, buffers: Sequence[memoryview]) -> Any:
    return _Unpickler(io.BytesIO(skeleton), buffers=buffers).load()


@lru_cache(_N_SHARED)
def _shared(path: str) -> Shared[Any]:
    return Shared(unpack_trusted(Path(path), _loads))


@lru_cache(_N_FUNCTIONS)
def _function(path: str) -> Function:
    function: Function = unpack_trusted(Path(path), _loads)
    return function


@cache
def _keep_freed_memory() -> None:
    """Let glibc keep freed memory for the next array, as it does by itself.

    Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536, so that every larger array would be mapped, and its
    pages cleared, anew: that costs as much time again as the work.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_M_TRIM_THRESHOLD, 256 << 20)
            mallopt(_M_MMAP_THRESHOLD, 32 << 20)  # the most that glibc takes


def compute(code: str, function: str, blocks: Sequence[tuple[Sequence[Any], str]]) -> float:
    """Compute some blocks and return the processor seconds that took; a worker runs this.

    Parameters
    ----------
    code : code of the command; the worker's must be the same
    function : file of the function
    blocks : items and file of each block
    """
    if code != own_code():
        raise ClusterError(
            f"a worker runs {own_code()}, expected {code}, as the command does; install the same version for "
            "all of them, and start the workers again"
        )
    _keep_freed_memory()
    started = time.process_time()
    with one_worker():
        for items, path in blocks:
            compute_block(_function(function), items, Path(path))
    return time.process_time() - started
