"""Reading and writing whole files: only regular ones are read; what is written appears whole or not at all.

A pipe or a device may never end; a file half written would be taken for a whole one.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import glob
import gzip
import hashlib
import io
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, BinaryIO

from foundation.errors import AsrError

try:
    import fcntl
except ImportError:  # Windows, where nobody can remove an open file
    fcntl = None  # type: ignore[assignment]

_MOST_MARKS = 500  # by feel
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


def reason_of(error: OSError) -> str:
    """Return what is wrong by an error of the system; of what stands in a folder's place, what it is."""
    if isinstance(error.filename, str | bytes | os.PathLike) and error.errno in (errno.EEXIST, errno.ENOENT):
        path = Path(os.fsdecode(error.filename))
        with contextlib.suppress(OSError):
            if path.is_symlink() and not path.exists():
                return f"a link to nothing ({os.readlink(path)})"
            if error.errno == errno.EEXIST and not path.is_dir():
                kind = _KINDS.get(stat.S_IFMT(path.stat().st_mode), "a file").partition(",")[0]
                return f"{kind}, not a folder"
    return error.strerror or str(error)


def text_of(path: str | os.PathLike[str]) -> str:
    """Return a file's text in UTF-8, line ends as ``\\n``; OSError or UnicodeDecodeError if it has none."""
    return content_of(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def composed(text: str) -> str:
    """Return a text in Unicode normal form C; one with hundreds of marks on a letter stays as it is.

    To put the marks of a letter in order takes the square of their number, and no writing has so many.

    >>> composed("e\\u0301") == "\\u00e9"
    True
    """
    if len(text) > _MOST_MARKS and not text.isascii() and _many_marks().search(text):
        return text
    return unicodedata.normalize("NFC", text)


@cache
def _many_marks() -> re.Pattern[str]:
    """Return the pattern of more marks on one letter than there are."""
    marks = "".join(c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.combining(c))
    return re.compile(f"[{marks}]{{{_MOST_MARKS}}}")


def unpacked(content: bytes) -> bytes:
    """Return what a gzip file holds; OSError, EOFError or zlib.error if it is damaged or holds far too much.

    Texts shrink to a tenth or so; a file that grows a hundredfold is made to fill the memory.
    """
    with gzip.open(io.BytesIO(content)) as file:
        return b"".join(pieces_of(file, len(content)))


def pieces_of(
    file: gzip.GzipFile | IO[bytes], n_packed: int, longest_line: int | None = None
) -> Iterator[bytes]:
    """Yield what a gzip file holds, of which the packed size is given; errors are those of `unpacked`.

    Where the longest line is given, the pieces are lines, of which longer ones are cut.
    """
    most = left = max(_MOST_GROWTH * n_packed, _SMALL)
    while piece := file.readline(longest_line) if longest_line else file.read(_PIECE):
        left -= len(piece)
        if left < 0:
            raise gzip.BadGzipFile(errno.EFBIG, f"More than {most} bytes in a gzip file of {n_packed}")
        yield piece


# Files that appear whole or not at all, where they are asked for and nowhere else

_PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5)
LONGEST_NAME = 255  # bytes, of most file systems
_HELD = ".held"  # the file that is open for as long as somebody uses a temporary folder
_OLD_S = 86400.0  # from which on nobody uses any more what cannot be locked; by feel
_RANDOM = "[a-z0-9_]" * 8  # what `tempfile.mkdtemp` puts behind a prefix
_N_TRIES = 9  # to make a file before a sweep takes it for left; the first one or two do
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


@contextmanager
def files_together(
    first: str | os.PathLike[str], *others: str | os.PathLike[str], gone: Iterable[Path] = ()
) -> Iterator[tuple[BinaryIO, ...]]:
    """Yield files that belong together, as `whole_file` does: readers find the others by the first.

    When all are whole, the first one that was there before goes, then the others change, then the new first
    one comes. So whenever that is broken off, there is no first one, and never a mixture of old and new.

    Parameters
    ----------
    first, others : the files
    gone : files that only belonged to what was there before
    """
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(whole_file(path)) for path in (first, *others)]
        yield tuple(files)
        for path, file in zip((first, *others), files, strict=True):
            if is_replaced(Path(path)):  # a full disk is noticed before anything goes
                file.flush()
                os.fsync(file.fileno())
        if others and is_replaced(Path(first)):
            Path(os.path.realpath(first)).unlink(missing_ok=True)
        for path in gone:
            path.unlink(missing_ok=True)


def write_together(contents: Mapping[Path, bytes], gone: Iterable[Path] = ()) -> None:
    """Write files as `files_together` does, the first one first."""
    with files_together(*contents, gone=gone) as files:
        for file, content in zip(files, contents.values(), strict=True):
            file.write(content)


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
        if (file := locked_file(partial)) is not None:
            return partial, file
    for _ in range(_N_TRIES):
        partial = target.with_name(partial_name(f"{target.name}.{secrets.token_hex(8)}"))
        if (file := locked_file(partial)) is not None:
            return partial, file
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(partial))


def locked_file(path: Path) -> BinaryIO | None:
    """Return a new file, locked for as long as it is open if there are locks; None if there is one already.

    None is returned, too, if somebody who takes it for left by a killed run came between.
    """
    try:
        file = open(path, "xb")  # noqa: SIM115  # the caller closes it
    except FileExistsError:
        return None
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
    if _is_at(file, path):
        return file
    file.close()
    return None


def sweep_partials(folder: Path, names: re.Pattern[str]) -> None:
    """Remove from a folder what killed runs have left of files that have some names.

    What is still being written stays; so does what has another name, or is no regular file.
    """
    for partial in sorted(folder.glob(".*.partial")):
        of = _PARTIAL.fullmatch(partial.name)
        if of and names.fullmatch(of[1]) and not partial.is_symlink():
            _is_abandoned(partial)


_PARTIAL = re.compile(r"\.(.+?)(?:\.[0-9a-f]{16})?\.partial", re.DOTALL)


def _is_abandoned(partial: Path) -> bool:
    """Return whether a name is free, once what a killed run has left there, or a link, is removed."""
    try:
        if partial.is_symlink():
            partial.unlink()
            return True
        if not stat.S_ISREG(os.lstat(partial).st_mode):
            return False
        with held(partial) as is_left:
            if is_left:
                partial.unlink()
        return is_left
    except FileNotFoundError:
        return True
    except OSError:  # it is none of ours
        return False


@contextmanager
def held(path: Path, old_s: float = _OLD_S) -> Iterator[bool]:
    """Hold a file that may be left by a killed run; yield False while somebody else holds it.

    Parameters
    ----------
    path : the file
    old_s : on a file system without locks, nobody holds what has not changed for so long; 0: nobody anything

    Raises
    ------
    OSError : it is not there, or cannot be opened
    """
    if fcntl is None:  # Windows neither removes nor renames what is open
        yield True
        return
    try:
        descriptor = os.open(path, os.O_RDWR)  # NFS locks nothing that is open to be read alone
    except PermissionError:
        descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_left = True
        except OSError as error:
            is_locked = error.errno in (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)
            is_old = not old_s or time.time() - os.fstat(descriptor).st_ctime > old_s
            is_left = not is_locked and is_old
        yield is_left and os.path.samestat(os.fstat(descriptor), os.stat(path))
    finally:
        os.close(descriptor)


def _is_at(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


class TemporaryFolder:
    """A new temporary folder, held until it is removed; of a killed run, `sweep_temporary` removes it.

    Parameters
    ----------
    prefix : of its name

    Attributes
    ----------
    path : where it lies
    """

    def __init__(self, prefix: str) -> None:
        for _ in range(_N_TRIES):
            self.path = Path(tempfile.mkdtemp(prefix=prefix))
            file = None
            try:
                with contextlib.suppress(FileNotFoundError):
                    file = locked_file(self.path / _HELD)
            finally:
                if file is None:
                    shutil.rmtree(self.path, ignore_errors=True)
            if file is not None:
                self._held = file
                return
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(self.path))

    def remove(self) -> None:
        """Remove it with what it holds."""
        _remove_inside(self.path)
        self._held.close()
        shutil.rmtree(self.path, ignore_errors=True)
        if self.path.exists():  # on Windows, while a thread that nobody waits for any more reads it
            atexit.register(shutil.rmtree, self.path, ignore_errors=True)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Yield a new temporary folder, once those that killed runs have left are removed."""
    sweep_temporary(prefix)
    folder = TemporaryFolder(prefix)
    try:
        yield folder.path
    finally:
        folder.remove()


def folder_until_exit(prefix: str) -> Path:
    """Return a new temporary folder that is there until the program ends, as `temporary_folder` does."""
    sweep_temporary(prefix)
    folder = TemporaryFolder(prefix)
    atexit.register(folder.remove)
    return folder.path


def sweep_temporary(prefix: str) -> None:
    """Remove the temporary folders of a prefix that killed runs of this user have left."""
    for folder in Path(tempfile.gettempdir()).glob(f"{glob.escape(prefix)}{_RANDOM}"):
        with contextlib.suppress(OSError):
            found = os.lstat(folder)
            is_ours = stat.S_ISDIR(found.st_mode) and (fcntl is None or found.st_uid == os.getuid())
            if is_ours:
                _sweep_folder(folder, is_old=time.time() - found.st_mtime > _OLD_S)


def _sweep_folder(folder: Path, is_old: bool) -> None:
    """Remove a temporary folder that nobody uses; of those that nobody can hold, an old one."""
    with contextlib.suppress(OSError):
        folder.rmdir()  # an empty one: who has just made it makes another
        return
    try:
        with held(folder / _HELD) as is_left:
            if is_left:
                if fcntl is None:  # Windows, where that fails if the file is open
                    (folder / _HELD).unlink()
                _remove_inside(folder)
                shutil.rmtree(folder, ignore_errors=True)
    except FileNotFoundError:
        if is_old:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_inside(folder: Path) -> None:
    """Remove what a temporary folder holds but for the file that says that it is in use: that goes last."""
    for inside in folder.glob("*"):
        if inside.name != _HELD:
            try:
                inside.unlink()
            except OSError:  # it is a folder, or open on Windows
                shutil.rmtree(inside, ignore_errors=True)


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
