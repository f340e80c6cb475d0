"""What a command sends to the workers of a cluster: a function in a file, and blocks to work on.

The function of a map is written once, with all it holds, to a directory that command and workers share; what
several maps hold (`foundation.blocks.Shared`) has a file of its own, written once for all of them. Arrays are
mapped into the workers' memory, so that processes of one machine have them once. A task names the file and
its blocks; results go to the files of the blocks, and only the processor time goes back.
"""

from __future__ import annotations

import ctypes
import io
import pickle
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import cloudpickle

from asr.errors import ClusterError
from foundation.blocks import Shared, compute_block
from foundation.packing import pack, unpack_trusted
from foundation.threads import one_worker
from foundation.version import own_code

Function = Callable[[Any], Any]

_N_FUNCTIONS, _N_SHARED = 2, 2  # that a worker keeps at hand
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


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
