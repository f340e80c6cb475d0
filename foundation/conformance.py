"""Checks of plugins: all that is wrong with a part that somebody else wrote, listed at once.

The checks for authors of plugins (`acoustic.testing`, `decoder.testing`, `asr.testing`) are made of this.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from foundation.errors import AsrError

try:  # the pickler of clusters writes functions, too
    import cloudpickle as pickling
except ImportError:  # without the extra "cluster"
    import pickle as pickling

N_THREADS = 8  # by feel
_SWITCHES_S = 1e-5  # threads then change places often enough to get into each other's way

Result = TypeVar("Result")


class ConformanceError(AsrError):
    """A plugin does not do what its protocol says; each line says what, what was expected, what to do."""


def conform(subject: str, complaints: Iterable[str]) -> None:
    """Raise an error that lists all complaints about a plugin; without any do nothing.

    Examples
    --------
    >>> conform("model", [])
    >>> conform("model", ["n_states is 0, expected 1 or more"])
    Traceback (most recent call last):
    foundation.conformance.ConformanceError: model: 1 thing is wrong:
      n_states is 0, expected 1 or more
    """
    found = list(complaints)
    if found:
        count = "1 thing is" if len(found) == 1 else f"{len(found)} things are"
        raise ConformanceError("\n  ".join([f"{subject}: {count} wrong:", *found]))


def raised(error: BaseException) -> str:
    """Return an error as a complaint names it.

    >>> raised(KeyError("x"))
    "raises KeyError: 'x'"
    """
    return f"raises {type(error).__name__}: {error}"


def from_threads(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    """Return the results of calls in order, all of them made at once by many threads."""
    with _frequent_switches(), ThreadPoolExecutor(N_THREADS) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def copied(value: Any) -> Any:
    """Return a value as another process would get it."""
    with io.BytesIO(pickling.dumps(value)) as file:
        return pickling.load(file)  # noqa: S301 (of what was written in the line above)


@contextmanager
def _frequent_switches() -> Iterator[None]:
    """Let threads change places often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCHES_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
