"""Sequences whose items are not all in memory: computed whenever they are asked for, or kept in a file."""

from __future__ import annotations

import math
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from foundation.arrays import Singles

Item = TypeVar("Item", covariant=True)
Other = TypeVar("Other")
Place: TypeAlias = tuple[int, tuple[int, ...]]  # first byte and shape of an array
Bytes: TypeAlias = NDArray[np.uint8]

IN_MEMORY = 256 << 20  # bytes, some four hours of 39 features; by feel


class Computed(Sequence[Item]):
    """The sequence ``function(0), …, function(length − 1)``, of which nothing is kept.

    >>> squares = Computed(lambda n: n * n, 4)
    >>> squares[3], list(squares), list(squares.map(str))
    (9, [0, 1, 4, 9], ['0', '1', '4', '9'])
    """

    def __init__(self, function: Callable[[int], Item], length: int) -> None:
        self._function, self._length = function, length

    def __len__(self) -> int:
        """Return the number of items."""
        return self._length

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        """Compute an item, or all items of a slice."""
        places = range(self._length)[index]
        return self._function(places) if isinstance(places, int) else [self._function(n) for n in places]

    def map(self, function: Callable[[Item], Other]) -> Computed[Other]:
        """Return the sequence of what a function makes of the items."""
        return Computed(lambda n: function(self[n]), self._length)


def kept(arrays: Iterable[Singles], in_memory: int = IN_MEMORY) -> Sequence[Singles]:
    """Return arrays, taken one after the other, as a sequence; if they need more bytes, in a temporary file.

    >>> pieces = kept([np.zeros(2, np.float32), np.ones(3, np.float32)], in_memory=12)
    >>> len(pieces), pieces[1]
    (2, array([1., 1., 1.], dtype=float32))
    """
    found: list[Singles] = []
    n_bytes, remaining = 0, iter(arrays)
    for array in remaining:
        found.append(array)
        n_bytes += array.nbytes
        if n_bytes > in_memory:
            return InFile(chain(found, remaining))
    return found


class InFile(Sequence[Singles]):
    """Arrays in a file from which each is read when it is asked for, by one thread at a time.

    The file lies in the directory for temporary files (``TMPDIR``) and is gone with the sequence.
    """

    def __init__(self, arrays: Iterable[Singles]) -> None:
        self._file = tempfile.TemporaryFile(prefix="asr-")  # noqa: SIM115 (it lives as long as the sequence)
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()
        self._places: list[Place] = []
        for array in arrays:
            self._append(array)

    def _append(self, array: Singles) -> None:
        """Write an array; an error names the directory that has no space for it."""
        self._places.append((self._file.tell(), array.shape))
        try:
            self._file.write(np.ascontiguousarray(array, dtype=np.float32).tobytes())
            self._file.flush()
        except OSError as error:
            with suppress(OSError):  # what is not written yet fails again
                self._file.close()
            raise OSError(error.errno, error.strerror, tempfile.gettempdir()) from error

    def __len__(self) -> int:
        """Return the number of arrays."""
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Singles: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Singles]: ...

    def __getitem__(self, index: int | slice) -> Singles | Sequence[Singles]:
        """Read an array, or all arrays of a slice."""
        if isinstance(index, slice):
            return [self[n] for n in range(len(self))[index]]
        start, shape = self._places[index]
        with self._lock:
            self._file.seek(start)
            return np.fromfile(self._file, np.float32, math.prod(shape)).reshape(shape)

    def __reduce__(self) -> tuple[Callable[..., Computed[Singles]], tuple[Bytes, list[Place]]]:
        """Return what another process makes the sequence of: all bytes, here mapped and not read."""
        is_empty = not any(math.prod(shape) for _, shape in self._places)
        content = np.empty(0, np.uint8) if is_empty else np.memmap(self._file, np.uint8, "c")
        return _in_buffer, (content.view(np.ndarray), self._places)


def _in_buffer(content: Bytes, places: Sequence[Place]) -> Computed[Singles]:
    """Return the arrays of an `InFile` in another process, from the bytes of them all."""

    def array(n: int) -> Singles:
        start, shape = places[n]
        return content[start : start + 4 * math.prod(shape)].view(np.float32).reshape(shape)

    return Computed(array, len(places))
