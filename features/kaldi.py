"""Kaldi archives (``.ark``) and their indices (``.scp``): matrices, vectors and rows of integers by key.

An entry is ``key``, a space, and binary (after ``\\0B``) or text. Read are matrices and vectors of floats in
single and double precision, compressed matrices of all three kinds, and vectors of integers as alignments
have them; both in binary, which is little-endian, and in text, where all floats are single precision.

Source: Kaldi's ``kaldi-matrix.cc``, ``compressed-matrix.cc`` and ``kaldi-holder-inl.h``, as described in
https://kaldi-asr.org/doc/io.html.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from features.errors import FeatureError
from foundation.files import as_path, check_regular, files_together

Entry: TypeAlias = NDArray[Any]  # (T, D) or (T,) float32 or float64, or (T,) int32

_BINARY = b"\0B"
_TYPES = {b"F": "<f4", b"D": "<f8"}
_LONGEST_KEY = 4096
_BOM = b"\xef\xbb\xbf"


def read_ark(path: str | os.PathLike[str]) -> Iterator[tuple[str, Entry]]:
    """Yield key and content of each entry of an archive.

    Raises
    ------
    FeatureError
        The file is damaged, holds NaN (logarithms may be infinite), or what Kaldi keeps in other tables than
        of matrices and vectors.
    """
    path = as_path(path, FeatureError)
    with _opened(path) as file:
        if file.read(len(_BOM)) != _BOM:
            file.seek(0)
        while (key := _read_key(file, path)) is not None:
            yield key, _read_entry(file, _Place(path, key))


def read_scp(path: str | os.PathLike[str]) -> Mapping[str, Entry]:
    """Return the entries that an index names, by key; relative archives are looked for beside it, too."""
    path = as_path(path, FeatureError)
    with _opened(path) as file:
        content = file.read()
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise FeatureError(f"{path}: expected UTF-8, got other bytes; convert it with iconv") from error
    found: dict[str, Entry] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        key, _, target = line.strip().partition(" ")
        if key in found:
            raise FeatureError(f'{path}:{number}: key "{key}" again, expected each once; remove the line')
        found[key] = _read_target(target.strip(), key, f"{path}:{number}", path.parent)
    return found


def write_ark(
    path: str | os.PathLike[str],
    entries: Iterable[tuple[str, Entry]],
    scp: str | os.PathLike[str] | None = None,
    *,
    text: bool = False,
) -> list[str]:
    """Write an archive, and on request its index with the archive's path as given; return the keys.

    Parameters
    ----------
    path : archive
    entries : keys with matrices (T, D) or vectors (T,) of floats or integers, one after the other;
        float64 stays float64, other floats become float32, integers int32
    scp : index
    text : whether the numbers are written as text
    """
    lines, path = {}, Path(path)
    with files_together(*([] if scp is None else [scp]), path) as (*index, file):
        for key, entry in entries:
            if not key or key.split() != [key]:
                raise FeatureError(f"{path}: expected keys without white space, got {key!r}; rename it")
            if key in lines:
                raise FeatureError(f'{path}: key "{key}" again, expected distinct keys; rename one')
            file.write(f"{key} ".encode())
            lines[key] = f"{key} {path}:{file.tell()}\n"
            file.write(_as_text(_plain(entry)) if text else _as_binary(_plain(entry)))
        for beside in index:
            beside.write("".join(lines.values()).encode())
    return list(lines)


class _Place:
    """Where an entry is, for errors."""

    def __init__(self, path: Path, key: str) -> None:
        self.path, self.key = path, key

    def error(self, what: str) -> FeatureError:
        """Return an error of this entry."""
        return FeatureError(f'{self.path}: "{self.key}": {what}')


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        check_regular(path)
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise FeatureError(f"{path}: cannot be read ({error.strerror}), expected a file; check it") from error


def _read_key(file: BinaryIO, path: Path) -> str | None:
    """Return the next key, None at the end."""
    start, found = file.tell(), bytearray()
    while (byte := file.read(1)) and not (byte.isspace() and found):
        if not byte.isspace():
            found += byte
        if len(found) > _LONGEST_KEY or byte == b"\0":
            raise _no_archive(path, start)
    if not found:
        return None
    if byte != b" " and byte != b"\t":
        raise _no_archive(path, start)
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError:
        raise _no_archive(path, start) from None


def _no_archive(path: Path, start: int) -> FeatureError:
    what = "no key at byte" if start else "no Kaldi archive: no key at byte"
    return FeatureError(f"{path}: {what} {start}, expected KEY and a space in UTF-8; write the archive again")


def _read_target(target: str, key: str, where: str, directory: Path) -> Entry:
    """Return the entry at ``FILE:BYTE`` or at the beginning of a file."""
    if not target or target.endswith(("|", "]")):
        what = f'"{target}", expected FILE or FILE:BYTE, no command and no range'
        raise FeatureError(f"{where}: {what}; write the index again (copy-feats)")
    name, _, offset = target.rpartition(":")
    name, start = (name, int(offset)) if name and offset.isdecimal() and len(offset) < 19 else (target, 0)
    path = next(
        (p for p in (Path(name), directory / name, directory / Path(name).name) if os.path.isfile(p)), None
    )
    if path is None:
        raise FeatureError(f'{where}: archive "{name}" does not exist; restore it, or correct the path')
    with _opened(path) as file:
        file.seek(start)
        return _read_entry(file, _Place(path, key))


def _read_entry(file: BinaryIO, place: _Place) -> Entry:
    """Return the entry that begins here."""
    begin = file.tell()
    if file.read(2) != _BINARY:
        file.seek(begin)
        found = _read_text(file, place)
    elif (mark := file.read(1)) == b"\4":
        found = _integers(file, place)
    else:
        found = _read_binary(mark + file.read(2), file, place)
    if found.dtype.kind == "f" and np.isnan(found).any():
        raise place.error("NaN in it, expected numbers; compute it again")
    return found


def _read_binary(token: bytes, file: BinaryIO, place: _Place) -> Entry:
    """Return a matrix or vector of floats, given the first three bytes of what it is."""
    if token == b"CM " or token in (b"CM2", b"CM3"):
        if token != b"CM ":
            _take(file, 1, place)
        with np.errstate(all="ignore"):  # what is no number then is refused
            return _compressed(token.strip(), file, place)
    if len(token) != 3 or token[:1] not in _TYPES or token[1:] not in (b"M ", b"V "):
        expected = "a matrix, a vector or integers (FM DM CM FV DV)"
        raise place.error(f"holds {token!r}, expected {expected}; copy it with copy-feats")
    dtype = np.dtype(_TYPES[token[:1]])
    n_rows = _count(file, place)
    shape = (n_rows, _count(file, place)) if token[1:2] == b"M" else (n_rows,)
    return _array(file, shape, dtype, place).astype(dtype.newbyteorder("="))


def _count(file: BinaryIO, place: _Place) -> int:
    """Return a number of rows or columns, with its size in bytes before it."""
    size, count = struct.unpack("<bi", _take(file, 5, place))
    if size != 4 or count < 0:
        raise place.error(f"damaged, expected a count from 0 on, got {count} of {size} bytes; write it again")
    return int(count)


def _integers(file: BinaryIO, place: _Place) -> Entry:
    """Return a vector of integers: their number, then each with its size in bytes before it."""
    (count,) = struct.unpack("<i", _take(file, 4, place))
    if count < 0:
        raise place.error(f"damaged, expected a count from 0 on, got {count}; write it again")
    found = _array(file, (count,), np.dtype([("size", "i1"), ("value", "<i4")]), place)
    if (found["size"] != 4).any():
        raise place.error("expected integers of 4 bytes, got others; write them again")
    return found["value"].astype(np.int32)


def _compressed(kind: bytes, file: BinaryIO, place: _Place) -> Entry:
    """Return a compressed matrix (T, D) as float32."""
    low, span, n_rows, n_columns = struct.unpack("<ffii", _take(file, 16, place))
    if n_rows < 0 or n_columns < 0:
        raise place.error(f"damaged, expected counts from 0 on, got {n_rows} x {n_columns}; write it again")
    if kind != b"CM":  # CM2 and CM3 are steps of one size over the whole range
        dtype, steps = (np.dtype("<u2"), 65535) if kind == b"CM2" else (np.dtype("u1"), 255)
        values = _array(file, (n_rows, n_columns), dtype, place)
        return np.asarray(low + np.float32(span / steps) * values.astype(np.float32), dtype=np.float32)
    marks = low + np.float32(span / 65535) * _array(file, (n_columns, 4), np.dtype("<u2"), place)
    p0, p25, p75, p100 = marks.astype(np.float32).T[:, :, None]
    values = _array(file, (n_columns, n_rows), np.dtype("u1"), place).astype(np.float32)
    columns = np.where(
        values <= 64,
        p0 + (p25 - p0) * values / 64,
        np.where(
            values <= 192, p25 + (p75 - p25) * (values - 64) / 128, p75 + (p100 - p75) * (values - 192) / 63
        ),
    )
    return np.ascontiguousarray(columns.T, dtype=np.float32)


def _array(file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any], place: _Place) -> Entry:
    """Return numbers as they lie in the file, if it is long enough for them."""
    n_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
    return np.frombuffer(_take(file, n_bytes, place), dtype=dtype).reshape(shape)


def _take(file: BinaryIO, n_bytes: int, place: _Place) -> bytes:
    """Return the next bytes; nothing is allocated for more than the file has."""
    left = os.fstat(file.fileno()).st_size - file.tell()
    if left < n_bytes:
        raise place.error(f"truncated, expected {n_bytes} bytes, got {left}; write the archive again")
    return file.read(n_bytes)


def _read_text(file: BinaryIO, place: _Place) -> Entry:
    """Return a matrix or vector in brackets, or the integers of a line."""
    line = file.readline()
    if not line:
        raise place.error("truncated, expected numbers, got the end of the file; write the archive again")
    if not line.lstrip().startswith(b"["):
        numbers = _numbers(line, place)
        if not _are_integers(numbers):
            raise place.error("expected integers, or floats in [ ], got floats alone; put them in brackets")
        return numbers.astype(np.int32)
    first = line.partition(b"[")[2]
    rows = [first]
    while b"]" not in rows[-1]:
        rows.append(file.readline())
        if not rows[-1]:
            raise place.error('truncated, expected "]", got the end of the file; write the archive again')
    rows[-1], _, rest = rows[-1].partition(b"]")
    if rest.strip():
        raise place.error(f'expected nothing after "]", got {rest[:20]!r}; write the archive again')
    parsed = [_numbers(row, place) for row in rows if row.strip()]
    if len({len(row) for row in parsed}) > 1:
        raise place.error("expected rows of one length, got several; write the archive again")
    # Kaldi begins a matrix on a new line, a vector on that of the bracket.
    is_vector = bool(first.strip()) or not parsed
    with np.errstate(over="ignore"):  # as large as single precision goes
        return np.concatenate([np.zeros(0), *parsed] if is_vector else [parsed]).astype(np.float32)


def _numbers(row: bytes, place: _Place) -> NDArray[np.float64]:
    try:
        return np.array([float(field) for field in row.split()], dtype=np.float64)
    except ValueError:
        raise place.error(f"expected numbers, got {row[:40]!r}; write the archive again") from None


def _are_integers(values: NDArray[np.float64]) -> bool:
    return bool((np.abs(values) < 2**31).all() and (values % 1 == 0).all())


def _plain(given: Entry) -> Entry:
    """Return what is written: int32, float64 as it is, other floats as float32."""
    try:
        entry = np.asarray(given)
    except ValueError:  # lists of several lengths
        raise FeatureError(
            "Kaldi archive: expected a matrix or vector, got rows of several lengths"
        ) from None
    if entry.dtype.kind in "iub" and entry.ndim == 1:
        return entry.astype("<i4")
    if entry.dtype.kind in "fiub" and entry.ndim in (1, 2):
        return np.ascontiguousarray(entry, dtype="<f8" if entry.dtype == np.float64 else "<f4")
    raise FeatureError(
        f"Kaldi archive: expected a matrix or vector of numbers, got {entry.dtype} of shape {entry.shape}; "
        "write each utterance by itself"
    )


def _as_binary(entry: Entry) -> bytes:
    if entry.dtype.kind == "i":
        sized = np.empty(len(entry), dtype=[("size", "i1"), ("value", "<i4")])
        sized["size"], sized["value"] = 4, entry
        return _BINARY + struct.pack("<bi", 4, len(entry)) + sized.tobytes()
    token = ("D" if entry.dtype.itemsize == 8 else "F") + ("M " if entry.ndim == 2 else "V ")
    counts = b"".join(struct.pack("<bi", 4, n) for n in entry.shape)
    return _BINARY + token.encode() + counts + entry.tobytes()


def _as_text(entry: Entry) -> bytes:
    """Return numbers with as many digits as it takes to read the same again."""
    rows = [" ".join(map(str, row)) for row in np.atleast_2d(entry)]
    if entry.dtype.kind == "i":
        return f"{rows[0]}\n".encode()
    if entry.ndim == 1 or not entry.size:
        return f" [ {rows[0] if entry.ndim == 1 else ''} ]\n".encode()
    return (" [\n  " + "\n  ".join(rows) + " ]\n").encode()
