"""Files that appear whole or not at all, where they are asked for and nowhere else."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

LONGEST_NAME = 255  # bytes, of most file systems
_OPEN_FILES = ("/dev/fd", "/dev/stdout", "/dev/stderr", "/proc")  # what other programs hold open


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file to write; what was at ``path`` before stays until the block ends without an error.

    A symbolic link is followed and stays a link; a file keeps its permissions. What is no file, such as a
    device or a named pipe, is written into as it is.

    Raises
    ------
    OSError : nothing can be written there, or the disk is full
    """
    path = Path(path)
    earlier = _status(path)
    if earlier is not None and stat.S_ISDIR(earlier.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    is_file = earlier is None or stat.S_ISREG(earlier.st_mode)
    place = _replaced(path, earlier) if is_file and not _is_open_file(path) else _as_it_is(path)
    try:
        with place as file:
            yield file
    except OSError as error:
        if error.errno and not error.filename:  # that of a full disk has none
            error.filename = str(path)
        raise


@contextmanager
def _as_it_is(path: Path) -> Iterator[BinaryIO]:
    """Yield what is at a path, to write into it."""
    with open(path, "wb") as file:
        yield file


@contextmanager
def _replaced(path: Path, earlier: os.stat_result | None) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of one behind a path, or of none, when it is whole."""
    target = Path(os.path.realpath(path))
    partial = target.with_name(partial_name(target.name))
    try:
        partial.unlink(missing_ok=True)  # of a killed run; or a link that somebody has put there
        with open(partial, "xb") as file:
            yield file
            file.flush()
            if earlier is not None:
                os.chmod(partial, stat.S_IMODE(earlier.st_mode))
            os.fsync(file.fileno())
        os.replace(partial, target)
    except OSError as error:
        if error.filename == str(partial):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file as `whole_file` does."""
    with whole_file(path) as file:
        file.write(content)


def partial_name(name: str) -> str:
    """Return the name of a file that is not whole yet.

    >>> partial_name("text.txt")
    '.text.txt.partial'
    """
    partial = f".{name}.partial"
    if len(os.fsencode(partial)) <= LONGEST_NAME:
        return partial
    return f".{hashlib.sha256(os.fsencode(name)).hexdigest()}.partial"


def _status(path: Path) -> os.stat_result | None:
    """Return what is at a path, behind links; None if there is nothing."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_open_file(path: Path) -> bool:
    """Return whether a path names a file that a process holds open: another in its place would not do."""
    return any(path.is_relative_to(place) for place in _OPEN_FILES)
