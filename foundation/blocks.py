"""Work in blocks: many independent pieces, of which a killed run loses only those under way.

`block_map` is a map over items in blocks whose boundaries depend on nothing but the items. `step` is work
that follows other work, such as one pass of a training. Within ``with checkpoints(directory)`` each block and
each step leaves its result in a file when it is done, whole or not at all; another run of the same work, that
is with the same directory, reads it there. (Threads write none for the first second of a map: files of blocks
of milliseconds would cost too much of them.) What is computed is the same with files and without, for any
number of workers, and for any `Engine`.

The caller has to see to it that one directory belongs to one work: that what a function computes follows from
what the directory is named after. Within it files are numbered in the order of the calls, so these must
follow from it, too.

Blocks are computed by the engine of ``with using(engine)``: by default by threads of this process.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from foundation.errors import AsrError, listed
from foundation.packing import DamagedFileError, pack, unpack
from foundation.threads import parallel_map

Item = TypeVar("Item")
Result = TypeVar("Result")
Held = TypeVar("Held")

N_TRIES = 3  # of a block that fails; by feel
# Processor time of a map whose blocks threads do not write: files would cost too much of it; by feel.
LOSS_S = 1.0

logger = logging.getLogger(__name__)


class BlockError(AsrError):
    """Some blocks failed again and again; all others are done and kept."""


@dataclass(frozen=True)
class Blocks:
    """One map, cut into blocks.

    Attributes
    ----------
    label : what is done, in a word or two
    function : what is done with one item; it changes nothing outside
    items : the items of each block
    directory : where each block leaves its results
    root : the directory of the whole work
    names : the items of each block as an error names them
    """

    label: str
    function: Callable[[Any], Any]
    items: Sequence[Sequence[Any]]
    directory: Path
    root: Path
    names: Callable[[Any], str]

    def __len__(self) -> int:
        return len(self.items)

    def path(self, n: int) -> Path:
        """Return the file of a block's results."""
        return self.directory / f"{n:06d}"

    def describe(self, n: int) -> str:
        """Return a block as an error names it."""
        return listed([self.names(item) for item in self.items[n]], 3)


@dataclass(frozen=True, eq=False)
class Shared(Generic[Held]):
    """A value that the functions of several maps hold; an engine of many processes sends it there once."""

    value: Held


class Engine(Protocol):
    """Computes blocks.

    Attributes
    ----------
    cpu_elsewhere : processor seconds that other processes have used for it
    """

    cpu_elsewhere: float

    def results(self, blocks: Blocks, n_workers: int | None) -> Iterator[list[Any]]:
        """Yield the results of each block in order; those whose file is there are not computed again.

        A block that fails is tried `N_TRIES` times; a `BlockError` after all others are done names those that
        never succeeded. An `AsrError` is raised at once: it says what is wrong with the data.
        """
        ...


class _Unsaved:
    """Counts the time of blocks whose results are not written: computing them again takes no longer."""

    def __init__(self) -> None:
        self._seconds, self._lock = 0.0, threading.Lock()

    def is_worth_a_file(self, seconds: float) -> bool:
        """Return whether a kill would lose more than `LOSS_S` of a map without this block's file."""
        with self._lock:
            self._seconds += seconds
            return self._seconds > LOSS_S


def always(seconds: float) -> bool:
    """Return True: each result is written to a file, however little time it took."""
    return True


def compute_block(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    path: Path,
    is_worth_a_file: Callable[[float], bool] = always,
) -> list[Any]:
    """Return the results of a block, from its file if that is sound; otherwise compute and write them."""
    found: list[Any] | None = finished(path)
    if found is None:
        started = time.thread_time()
        with _at(None):  # maps within have no files of their own
            found = [function(item) for item in items]
        if is_worth_a_file(time.thread_time() - started):
            pack(found, path)
    return found


def finished(path: Path) -> Any:
    """Return what an earlier run left in a file, None if there is nothing or it is damaged."""
    try:
        return unpack(path)
    except FileNotFoundError:
        return None
    except DamagedFileError as error:
        logger.warning("%s: computed again", error)
        return None


class Threads:
    """Computes blocks in threads of this process, which share its memory.

    Parameters
    ----------
    n_workers : number of threads; one a core by default
    """

    def __init__(self, n_workers: int | None = None) -> None:
        self.n_workers = n_workers
        self.cpu_elsewhere = 0.0

    def results(self, blocks: Blocks, n_workers: int | None) -> Iterator[list[Any]]:
        """Yield the results of each block in order, see `Engine`."""
        failed: dict[int, Exception] = {}
        attempt = partial(_attempt, blocks, _Unsaved())
        attempts = parallel_map(attempt, range(len(blocks)), n_workers or self.n_workers)
        for n, found in enumerate(attempts):
            if isinstance(found, Exception):
                failed[n] = found
            elif not failed:
                yield found
        raise_failed(blocks, failed)


def _attempt(blocks: Blocks, unsaved: _Unsaved, n: int) -> list[Any] | Exception:
    """Return the results of a block, or the error of its last try."""
    for n_tries in range(1, N_TRIES + 1):
        try:
            return compute_block(blocks.function, blocks.items[n], blocks.path(n), unsaved.is_worth_a_file)
        except (AsrError, OSError, MemoryError):
            raise
        except Exception as error:
            logger.warning("%s: %s fails (%s)", blocks.label, blocks.describe(n), error, exc_info=True)
            if n_tries == N_TRIES:
                return error
    raise AssertionError  # not reached


def raise_failed(blocks: Blocks, failed: dict[int, Exception]) -> None:
    """Raise an error that names the blocks that failed, if there are any."""
    if not failed:
        return
    said = "; ".join(
        f"{blocks.describe(n)} ({type(error).__name__}: {error})" for n, error in list(failed.items())[:3]
    )
    raise BlockError(
        f"{blocks.label}: {len(failed)} of {len(blocks)} blocks failed {N_TRIES} times: {said}; the others "
        "are done and kept; see the log, mend the cause or leave these out, and run the same command again"
    ) from next(iter(failed.values()))


class _Place:
    """A directory in which the calls of one work leave their results, numbered in order."""

    def __init__(self, directory: Path, root: Path | None = None) -> None:
        self.directory, self.root, self.n_calls = directory, root or directory, 0

    def next(self, label: str) -> Path:
        """Return the path of the next call's results."""
        self.n_calls += 1
        return self.directory / f"{self.n_calls:04d}-{''.join(c if c.isalnum() else '-' for c in label)}"


_place: ContextVar[_Place | None] = ContextVar("place", default=None)
_engine: ContextVar[Engine] = ContextVar("engine")
_THREADS = Threads()


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Let an engine compute the blocks of this thread's maps."""
    token = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(token)


def cpu_elsewhere() -> float:
    """Return the processor seconds that other processes have used for this thread's engine."""
    return _engine.get(_THREADS).cpu_elsewhere


def checkpoints(directory: Path) -> AbstractContextManager[None]:
    """Return a context in which blocks and steps leave their results in a directory."""
    return _at(_Place(directory))


@contextmanager
def _at(place: _Place | None) -> Iterator[None]:
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)


def local_map(
    function: Callable[[Item], Result], items: Sequence[Item], n_workers: int | None = None
) -> Iterator[Result]:
    """Return ``function(item)`` of each item, in order, by as many threads of this machine as the engine has.

    It is for what is too little to be sent elsewhere, or to be kept.
    """
    engine = _engine.get(_THREADS)
    own = engine.n_workers if isinstance(engine, Threads) else None
    return parallel_map(function, items, n_workers or own)


def block_map(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    size: int = 1,
    *,
    label: str,
    names: Callable[[Item], str] = str,
    n_workers: int | None = None,
) -> Iterator[Result]:
    """Return ``function(item)`` of each item, in order, computed in blocks of ``size`` items.

    Parameters
    ----------
    function : what is done with one item; it must change nothing outside, and what it returns is made of
        plain values, arrays and records of this package (see `foundation.packing`)
    items : the items
    size : items of a block; the more, the fewer files
    label : what is done, in a word or two
    names : what an error calls an item
    n_workers : threads, where the engine is of threads; the engine's own number by default
    """
    place, engine = _place.get(), _engine.get(_THREADS)
    if place is None:
        return local_map(function, items, n_workers)
    directory = place.next(f"{label} {len(items)}")
    directory.mkdir(parents=True, exist_ok=True)
    cut = [items[start : start + size] for start in range(0, len(items), size)]
    return chain.from_iterable(
        engine.results(Blocks(label, function, cut, directory, place.root, names), n_workers)
    )


def step(label: str, compute: Callable[[], Result]) -> Result:
    """Return ``compute()``, or its result kept by an earlier run; remove the files that led to it."""
    place = _place.get()
    if place is None:
        return compute()
    path = place.next(label)
    done = path.with_suffix(".done")
    found = finished(done)
    if found is None:
        path.mkdir(parents=True, exist_ok=True)
        with _at(_Place(path, place.root)):
            found = [compute()]
        pack(found, done)
    shutil.rmtree(path, ignore_errors=True)
    return found[0]  # type: ignore[no-any-return]
