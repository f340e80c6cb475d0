"""The types of arrays, named once: the precision is part of a function's contract.

Features are single precision, scores and statistics double; numbers of classes, states and words are 32 bits
wide, rows of large arrays 64. Shapes are said in docstrings.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Singles: TypeAlias = NDArray[np.float32]
Floats: TypeAlias = NDArray[np.float64]
Reals: TypeAlias = NDArray[np.floating]  # of either precision

Ints: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]
Integers: TypeAlias = NDArray[np.integer]  # of any width

Flags: TypeAlias = NDArray[np.bool_]

Tensors: TypeAlias = dict[str, NDArray[Any]]  # by the names under which a file holds them


FARTHEST = np.float32(1e6)


def bounded(frames: Reals) -> Reals:
    """Return the frames with values beyond ±1e6 brought to that, so that their squares have finite sums.

    Features are some hundreds at most; what is far beyond is as far from every state as what is here.
    """
    return np.asarray(np.clip(frames, -FARTHEST, FARTHEST))


def half_precision(numbers: Reals) -> Singles:
    """Return the numbers rounded to what half precision holds; only to single where they are too large."""
    with np.errstate(over="ignore"):
        halves = np.asarray(numbers, dtype=np.float16)
    kept = halves if np.isfinite(halves).all() else numbers
    return np.asarray(kept, dtype=np.float32)
