"""Blocks computed by the workers of a Dask cluster.

Command and workers share a file system, on which the experiment lies. A worker writes what it has computed
itself, so that its death, or that of the scheduler or of the command, loses nothing that is done. Tasks are
handed out by ``Client.submit`` under names of our own. Several neighbouring blocks are one task where there
are many, which changes no result.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

from distributed import Client
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError

from asr.engines.tasks import FilesForWorkers, compute
from asr.errors import ClusterError
from foundation.blocks import N_TRIES, Blocks, finished, raise_failed
from foundation.errors import AsrError
from foundation.version import own_code

Task: TypeAlias = Any  # a future of distributed

TASKS_A_WORKER = 16  # of each map at most, so that workers end at about the same time; by feel
_WORTHWHILE_S = 0.25  # of work that a task has at least, where blocks are known to be small; by feel

_LOST = (CancelledError, FutureCancelledError, asyncio.CancelledError, CommClosedError)  # with the scheduler
_PATIENCE_S = 30.0  # between two looks at the workers; by feel
_VISIBLE_S = 60.0  # until what a worker wrote is seen here, on file systems that are slow to tell; by feel

logger = logging.getLogger(__name__)


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
