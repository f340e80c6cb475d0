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
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

from distributed import Client
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from asr.engines.tasks import SharedFiles, compute
from asr.errors import ClusterError
from asr.version import own_code
from foundation.blocks import N_TRIES, Blocks, finished, raise_failed
from foundation.errors import AsrError

Task: TypeAlias = Any  # a future of distributed

TASKS_A_WORKER = 8  # of each map, so that workers of different speed end at about the same time

_LOST = (CancelledError, FutureCancelledError, OSError, asyncio.CancelledError)  # with the scheduler
_PATIENCE_S = 30.0  # between two looks at the workers
_VISIBLE_S = 60.0  # until what a worker wrote is seen here, on file systems that are slow to tell

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
        self._shared = SharedFiles()

    def results(self, blocks: Blocks, n_workers: int | None) -> Iterator[list[Any]]:
        """Yield the results of each block in order, see `foundation.blocks.Engine`."""
        missing = [n for n in range(len(blocks)) if not blocks.path(n).exists()]
        submitted = self._submit(blocks, missing) if missing else {}
        failed: dict[int, Exception] = {}
        try:
            for n in range(len(blocks)):
                try:
                    found = self._result(blocks, n, submitted)
                except ClusterError:
                    raise
                except _FailedBlockError as error:
                    failed[n] = error.reason
                    continue
                if not failed:
                    yield found
        finally:
            self._cancel(submitted)
        raise_failed(blocks, failed)

    def _submit(self, blocks: Blocks, missing: Sequence[int]) -> dict[int, Task]:
        """Return the task of each missing block."""
        function = blocks.directory / "function"
        self._shared.write(blocks.function, function)
        n_tasks = TASKS_A_WORKER * max(len(self._workers()), 1)
        size = -(-len(missing) // n_tasks)
        parts = [missing[start : start + size] for start in range(0, len(missing), size)]
        tasks = [self._task(blocks, part) for part in parts]
        return {n: task for part, task in zip(parts, tasks, strict=True) for n in part}

    def _task(self, blocks: Blocks, part: Sequence[int]) -> Task:
        key = f"{blocks.label}-{blocks.root.name}-{part[0]}-{uuid4().hex[:8]}"
        work = [(blocks.items[n], str(blocks.path(n))) for n in part]
        try:
            return self.client.submit(
                compute, own_code(), str(blocks.directory / "function"), work, key=key, pure=False
            )
        except _LOST as error:
            raise self._lost(error) from error

    def _result(self, blocks: Blocks, n: int, submitted: dict[int, Task]) -> list[Any]:
        """Return the results of a block whose task, if it has one, is under way."""
        for n_tries in range(1, N_TRIES + 1):
            if n in submitted:
                error = self._error(submitted[n])
                if isinstance(error, AsrError):
                    raise error
                if error is not None and not blocks.path(n).exists():
                    logger.warning("%s: %s fails (%s)", blocks.label, blocks.describe(n), error)
                    if n_tries == N_TRIES:
                        raise _FailedBlockError(error)
                    submitted[n] = self._task(blocks, [n])  # alone: it may not be the one to blame
                    continue
            found = self._read(blocks.path(n), is_expected=n in submitted)
            if found is not None:
                return found
            submitted.update(self._submit(blocks, [n]))  # damaged or gone
        raise _FailedBlockError(OSError(f"{blocks.path(n)} does not appear here"))

    def _error(self, task: Task) -> Exception | None:
        """Return the error of a task, None if it is done; tell of a cluster without workers meanwhile."""
        while True:
            try:
                self.cpu_elsewhere += task.result(timeout=_PATIENCE_S)
            except (FutureTimeoutError, TimeoutError):
                if self.client.status != "running":
                    raise self._lost(None) from None
                if not self._workers():
                    logger.warning("%s has no workers; waiting for some", self.name)
            except KilledWorker as error:
                return error
            except _LOST as error:
                if self.client.status != "running" or isinstance(error, _LOST[:2]):
                    raise self._lost(error) from error
                return error if isinstance(error, Exception) else RuntimeError(str(error))
            except Exception as error:
                return error
            else:
                return None

    def _read(self, path: Path, *, is_expected: bool) -> list[Any] | None:
        """Return the results in a file, waiting for it if a worker says that it wrote it."""
        deadline = time.monotonic() + (_VISIBLE_S if is_expected else 0.0)
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        found: list[Any] | None = finished(path)
        return found

    def _workers(self) -> Sequence[str]:
        return list(self.client.scheduler_info(n_workers=-1)["workers"])

    def _cancel(self, submitted: dict[int, Task]) -> None:
        """Take back what is not begun, if the run ends early."""
        pending = [task for task in dict.fromkeys(submitted.values()) if not task.done()]
        if pending and self.client.status == "running":
            self.client.cancel(pending)  # type: ignore[no-untyped-call, unused-ignore]

    def _lost(self, error: BaseException | None) -> ClusterError:
        reason = f" ({type(error).__name__})" if error is not None else ""
        return ClusterError(
            f"{self.name}: the scheduler does not answer any more{reason}; finished blocks are kept; start "
            "it again with its workers and run the same command, it goes on where it was"
        )


class _FailedBlockError(Exception):
    """A block failed for the last time."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason
