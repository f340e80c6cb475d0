"""Values in files: nested records with their arrays, written whole or not at all, checked when they are read.

A file holds a head of 64 bytes (magic, number of buffers, length of the skeleton, checksum), the lengths of
the buffers, a skeleton (pickle, protocol 5), and the buffers of its arrays, each at a multiple of 64 bytes,
so that arrays can be mapped into memory.

A pickle could run code. `unpack` builds nothing but plain values, numpy arrays and records (dataclasses,
named tuples and errors) of this package's own rooms, and refuses all others, so that a file from elsewhere
can do no harm.
"""

from __future__ import annotations

import importlib
import io
import mmap
import os
import pickle
import struct
import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from foundation.errors import AsrError
from foundation.files import content_of, put_in_place

ROOMS = frozenset({"acoustic", "asr", "decoder", "features", "foundation"})

_MAGIC = b"asrpack1"
_HEAD = struct.Struct(
    "<8sQQI"
)  # magic, number of buffers, bytes of the skeleton, checksum of all that follows
_ALIGNMENT = 64
_CORES = ("numpy.core", "numpy._core")  # of numpy 1 and 2
_OUTSIDE = frozenset(  # what arrays and paths are built by
    {
        *((f"{core}.numeric", "_frombuffer") for core in _CORES),
        *((f"{core}.multiarray", name) for core in _CORES for name in ("_reconstruct", "scalar")),
        *(("numpy", name) for name in ("ndarray", "dtype")),
        *(
            (room, f"{kind}Path")
            for room in ("pathlib", "pathlib._local")
            for kind in ("", "Posix", "Windows")
        ),
    }
)

Dumps = Callable[..., bytes]  # pickle's, or cloudpickle's for functions


class DamagedFileError(ValueError):
    """A file that is not whole, not as it was written, or of another kind."""


def _dumps(value: object, **options: Any) -> bytes:
    with io.BytesIO() as file:
        _Pickler(file, **options).dump(value)
        return file.getvalue()


class _Pickler(pickle.Pickler):
    """Writes our errors by their kind and words, whatever other packages make of errors (tblib does)."""

    def reducer_override(self, value: object) -> Any:
        """Return how an error is made."""
        return (type(value), value.args) if isinstance(value, AsrError) else NotImplemented


def pack(value: object, path: Path, dumps: Dumps = _dumps) -> None:
    """Write a value to a file, whole or not at all; what was there before is replaced.

    ``dumps`` makes the skeleton, as `pickle.dumps` does.
    """
    buffers: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> None:
        buffers.append(buffer.raw())

    skeleton = dumps(value, protocol=5, buffer_callback=keep)
    lengths = struct.pack(f"<{len(buffers)}Q", *(b.nbytes for b in buffers))
    pieces: list[bytes | memoryview] = [lengths, skeleton]
    place = _ALIGNMENT + len(lengths) + len(skeleton)
    for buffer in buffers:
        pieces += [bytes(-place % _ALIGNMENT), buffer]
        place += -place % _ALIGNMENT + buffer.nbytes
    head = _HEAD.pack(_MAGIC, len(buffers), len(skeleton), _checksum(pieces))
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        with open(partial, "wb") as file:
            file.write(head.ljust(_ALIGNMENT, b"\0"))
            file.writelines(pieces)
        put_in_place(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def unpack(path: Path) -> Any:
    """Return the value in a file; its arrays are copies that may be written to.

    Raises
    ------
    DamagedFileError : the file is not whole, was changed, or holds what `unpack` does not build
    """
    content = bytearray(content_of(path))
    skeleton, buffers = _parts(memoryview(content), path, is_checked=True)
    try:
        return _Unpickler(io.BytesIO(skeleton), buffers=buffers).load()
    except (pickle.UnpicklingError, AttributeError, ImportError, EOFError, TypeError, ValueError) as error:
        raise DamagedFileError(f"{path}: cannot be read ({error})") from error


def unpack_trusted(path: Path, loads: Callable[..., Any] = pickle.loads) -> Any:
    """Return a value of any kind from a file of one's own; its arrays are mapped.

    What is written to them stays in this process. Arrays that could not be written to would be of another
    type to compiled functions, which would be compiled once more for them. ``loads`` reads the skeleton, as
    `pickle.loads` does.
    """
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    skeleton, buffers = _parts(memoryview(mapped), path, is_checked=False)
    return loads(skeleton, buffers=buffers)


def _checksum(pieces: Sequence[bytes | memoryview]) -> int:
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    return checksum


def _parts(content: memoryview, path: Path, *, is_checked: bool) -> tuple[memoryview, list[memoryview]]:
    """Return the skeleton and the buffers in the bytes of a file."""
    try:
        magic, n_buffers, n_skeleton, checksum = _HEAD.unpack_from(content)
        if magic != _MAGIC:
            raise DamagedFileError(f"{path}: is no file of packed values")
        lengths = struct.unpack_from(f"<{n_buffers}Q", content, _ALIGNMENT)
    except (struct.error, OverflowError, MemoryError) as error:
        raise DamagedFileError(f"{path}: ends too early ({error})") from error
    place = _ALIGNMENT + 8 * n_buffers + n_skeleton
    skeleton, buffers = content[place - n_skeleton : place], []
    for length in lengths:
        place += -place % _ALIGNMENT
        buffers.append(content[place : place + length])
        place += length
    if place != len(content):
        raise DamagedFileError(f"{path}: has {len(content)} bytes, expected {place}")
    if is_checked and checksum != zlib.crc32(content[_ALIGNMENT:]):
        raise DamagedFileError(f"{path}: was changed after it was written")
    return skeleton, buffers


class _Unpickler(pickle.Unpickler):
    """Builds records of our own and arrays, and calls nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function that a skeleton may name."""
        if (module, name) in _OUTSIDE:
            return getattr(importlib.import_module(module), name)
        if module.partition(".")[0] in ROOMS and "." not in name:
            found = getattr(importlib.import_module(module), name)
            if isinstance(found, type) and _is_record(found):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not expected in it")


def _is_record(kind: type) -> bool:
    is_named_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return is_dataclass(kind) or is_named_tuple or issubclass(kind, AsrError)
