"""The types of arrays, named once, and checks of arrays that come from files.

The precision is part of a function's contract: features are single precision, scores and statistics double;
numbers of classes, states and words are 32 bits wide, rows of large arrays 64. Shapes are said in docstrings.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from foundation.errors import AsrError

Singles: TypeAlias = NDArray[np.float32]
Floats: TypeAlias = NDArray[np.float64]
Reals: TypeAlias = NDArray[np.floating]  # of either precision

Ints: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]
Integers: TypeAlias = NDArray[np.integer]  # of any width

Flags: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]

Tensors: TypeAlias = dict[str, NDArray[Any]]  # by the names under which a file holds them

FARTHEST = np.float32(1e6)


def bounded(frames: Reals) -> Reals:
    """Return the frames with values clipped to ±1e6, so that sums of their squares stay finite.

    Features are some hundreds at most; what is far beyond is as far from every state as what is here.
    """
    return np.asarray(np.clip(frames, -FARTHEST, FARTHEST))


def half_precision(numbers: Reals) -> Singles:
    """Return the numbers rounded to what half precision holds; only to single where they are too large."""
    with np.errstate(over="ignore"):
        halves = np.asarray(numbers, dtype=np.float16)
    kept = halves if np.isfinite(halves).all() else numbers
    return np.asarray(kept, dtype=np.float32)


# Whether arrays that a file brings are what the functions that work on them take for granted

LARGEST = 1e9  # of numbers learned from frames: far above all that occur, and products of several stay finite
_CURE = "train again or restore the file"


def check_array(
    name: str,
    array: NDArray[Any],
    dtype: DTypeLike,
    shape: Sequence[int | None],
    error: type[AsrError],
    *,
    lowest: float = -LARGEST,
    highest: float = LARGEST,
) -> None:
    """Raise the error unless an array has this type and shape, and all its numbers lie within two bounds.

    Parameters
    ----------
    name : what the error calls the array
    array : what a file brings
    dtype : type of the numbers, exactly
    shape : length of each axis; None for any
    error : kind of error
    lowest, highest : bounds of the numbers, both allowed; NaN never is. Flags have none.

    >>> check_array("means", np.zeros((3, 2)), np.float64, (None, 2), AsrError)
    """
    fits = array.ndim == len(shape) and all(
        n is None or n == m for n, m in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        said = ", ".join("any" if n is None else str(n) for n in shape)
        raise error(
            f"{name}: expected {np.dtype(dtype)} of shape ({said}), got {array.dtype} of shape "
            f"{array.shape}; {_CURE}"
        )
    if array.dtype != np.bool_ and not (lowest <= array).all() & (array <= highest).all():
        raise error(f"{name}: expected numbers from {lowest:g} to {highest:g}, got others; {_CURE}")


def check_reals(
    name: str, value: object, error: type[AsrError], shape: Sequence[int | None] | None = None, cure: str = ""
) -> None:
    """Raise the error unless what a caller gives is an array of real numbers, and of this shape.

    Parameters
    ----------
    name : what the error calls it
    value : anything
    error : kind of error
    shape : length of each axis, None for any; without it, the caller looks at the shape
    cure : what the error tells to do about the shape

    >>> check_reals("frames", np.zeros((3, 2)), AsrError, (None, 2), "pass one utterance")
    """
    expected = f"{name}: expected an array of floats"
    if not isinstance(value, np.ndarray):
        raise error(f"{expected}, got a {type(value).__name__}; make one with numpy.asarray")
    if value.dtype.kind not in "fiub" or isinstance(value, np.ma.MaskedArray):
        raise error(f"{expected}, got numbers of type {value.dtype}; convert them to float32")
    if shape is None:
        return
    if value.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, value.shape, strict=True)):
        said = ", ".join("any" if n is None else str(n) for n in shape)
        raise error(f"{expected} of shape ({said}), got {value.shape}; {cure}")


def check_starts(name: str, starts: NDArray[Any], n: int, error: type[AsrError]) -> None:
    """Raise the error unless starts of parts, and the end of the last, (K + 1,) int32, rise from 0 to n."""
    check_array(name, starts, np.int32, (None,), error, lowest=0, highest=n)
    if len(starts) < 2 or starts[0] or starts[-1] != n or (np.diff(starts) < 0).any():
        raise error(f"{name}: expected places of parts that rise from 0 to {n}, got others; {_CURE}")


def check_number(
    name: str, number: float, error: type[AsrError], *, lowest: float = -LARGEST, highest: float = LARGEST
) -> None:
    """Raise the error unless a number lies within two bounds or on them; NaN never does."""
    if not lowest <= number <= highest:
        raise error(f"{name}: expected a number from {lowest:g} to {highest:g}, got {number:g}; {_CURE}")


# Arrays that are larger than the machine: a matrix of all pairs of many points, say

_CONTAINER = Path("/sys/fs/cgroup/memory.max")
_WORD = 8  # bytes of a number


@cache
def memory_bytes() -> float:
    """Return the bytes of memory of this machine or container, or of this process; infinity if unknown."""
    found = [math.inf]
    with suppress(AttributeError, OSError, ValueError):  # Windows does not tell it so
        found.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    with suppress(OSError, ValueError):
        found.append(float(_CONTAINER.read_text(encoding="ascii")))
    return min(found)


def check_memory(what: str, shape: Sequence[int], error: type[AsrError], cure: str) -> None:
    """Raise the error if an array of doubles is larger than the machine's memory, before it is asked for.

    >>> check_memory("the kernel of all points", (1000, 1000), AsrError, "take fewer points")
    """
    n_bytes, most = math.prod(map(int, shape)) * _WORD, memory_bytes()
    if n_bytes > most:
        said = " x ".join(f"{n:,}" for n in shape)
        raise error(
            f"{what}: {said} numbers need {n_bytes / 1e9:,.0f} GB, expected no more than the "
            f"{most / 1e9:,.0f} GB of this machine; {cure}"
        )
