"""Reading and writing whole files: only regular ones are read; what is written appears whole or not at all.

A pipe or a device may never end; a file half written would be taken for a whole one.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import io
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from foundation.errors import AsrError

try:
    import fcntl
except ImportError:  # Windows, where nobody can remove an open file
    fcntl = None  # type: ignore[assignment]

_MOST_GROWTH, _SMALL, _PIECE = 100, 1 << 26, 1 << 20
_KINDS = {
    stat.S_IFIFO: "a pipe, not a file",
    stat.S_IFSOCK: "a socket, not a file",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
}


def as_path(value: object, error: type[AsrError]) -> Path:
    """Return the path that a caller gives; the error if it is none, such as a list or None.

    >>> as_path("a/b", AsrError).name
    'b'
    """
    try:
        return Path(value)  # type: ignore[arg-type]
    except TypeError:
        raise error(
            f"expected the path of a file or directory, got a {type(value).__name__}; give one"
        ) from None


def content_of(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file; OSError with a reason for people where there is no regular file to read."""
    check_regular(path)
    return Path(path).read_bytes()


def check_regular(path: str | os.PathLike[str]) -> os.stat_result:
    """Return what the system says of a file; OSError if it is a pipe, socket or device, or cannot be named.

    A name with a zero byte, or with characters that the file system cannot encode, is an OSError, too, where
    Python raises ValueError. Directories pass: to open them is an error of its own.
    """
    try:
        found = os.stat(path)
    except ValueError as error:
        raise OSError(errno.EINVAL, "No file can have this name", str(path)) from error
    if (what := _KINDS.get(stat.S_IFMT(found.st_mode))) is not None:
        raise OSError(errno.EINVAL, what, str(path))
    return found


def text_of(path: str | os.PathLike[str]) -> str:
    """Return a file's text in UTF-8, line ends as ``\\n``; OSError or UnicodeDecodeError if it has none."""
    return content_of(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def unpacked(content: bytes) -> bytes:
    """Return what a gzip file holds; OSError, EOFError or zlib.error if it is damaged or holds far too much.

    Texts shrink to a tenth or so; a file that grows a hundredfold is made to fill the memory.
    """
    found, most = bytearray(), max(_MOST_GROWTH * len(content), _SMALL)
    with gzip.open(io.BytesIO(content)) as file:
        while piece := file.read(_PIECE):
            found += piece
            if len(found) > most:
                raise OSError(errno.EFBIG, f"More than {most} bytes in a gzip file of {len(content)}")
    return bytes(found)


# Files that appear whole or not at all, where they are asked for and nowhere else

_PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5)
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
    place = _replaced(path, earlier) if _gives_way(path, earlier) else _as_it_is(path)
    try:
        with place as file:
            yield file
    except OSError as error:
        if error.errno and not error.filename:  # that of a full disk has none
            error.filename = str(path)
        raise


def is_replaced(path: Path) -> bool:
    """Return whether a new file takes the place of what is at a path: of a file, or of nothing."""
    return _gives_way(path, _status(path))


def _gives_way(path: Path, earlier: os.stat_result | None) -> bool:
    """Return whether what is at a path, given its status, is a file or nothing, and held open by nobody."""
    return (earlier is None or stat.S_ISREG(earlier.st_mode)) and not _is_open_file(path)


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
        partial, file = _new_partial(target)
        try:
            with file:
                yield file
                file.flush()
                if earlier is not None:
                    os.chmod(partial, stat.S_IMODE(earlier.st_mode))
                os.fsync(file.fileno())
                if fcntl is not None:  # before it is unlocked; Windows renames only what is closed
                    put_in_place(partial, target)
            if fcntl is None:
                put_in_place(partial, target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        if error.filename == str(partial):
            error.filename, error.filename2 = str(path), None
        raise


def _new_partial(target: Path) -> tuple[Path, BinaryIO]:
    """Return a new file beside a target, locked for as long as it is open, and where it is.

    What a killed run has left there goes; of a run that still writes, the name is left to it.
    """
    partial = target.with_name(partial_name(target.name))
    while _is_abandoned(partial):
        with contextlib.suppress(FileExistsError):
            file = open(partial, "xb")  # noqa: SIM115  # the caller closes it
            if _is_locked_as(file, partial):
                return partial, file
            file.close()
    partial = target.with_name(partial_name(f"{target.name}.{secrets.token_hex(8)}"))
    return partial, open(partial, "xb")


def _is_abandoned(partial: Path) -> bool:
    """Return whether a name is free, once what a killed run has left there, or a link, is removed."""
    try:
        kind = os.lstat(partial).st_mode
        if stat.S_ISLNK(kind) or (fcntl is None and stat.S_ISREG(kind)):
            partial.unlink()
            return True
        if not stat.S_ISREG(kind):
            return False
        with open(partial, "rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(left, partial):
                partial.unlink()
        return True
    except FileNotFoundError:
        return True
    except OSError:  # somebody writes it; or it is none of ours
        return False


def _is_locked_as(file: BinaryIO, partial: Path) -> bool:
    """Lock a new file; return whether it is still there, for who came between has removed it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)
    return _is_at(file, partial)


def _is_at(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def put_in_place(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Rename a file over another, or a directory to a name that is free, as `os.replace` does.

    Windows refuses that while a scanner looks into what was just written: there it is tried for some seconds.
    """
    for pause_s in _PAUSES_S if os.name == "nt" else ():
        with contextlib.suppress(PermissionError):
            os.replace(source, target)
            return
        time.sleep(pause_s)
    os.replace(source, target)


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
