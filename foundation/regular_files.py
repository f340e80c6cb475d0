"""Files that are read whole: regular ones alone, for a pipe or a device may never end."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
from pathlib import Path

_MOST_GROWTH, _SMALL, _PIECE = 100, 1 << 26, 1 << 20
_KINDS = {
    stat.S_IFIFO: "a pipe, not a file",
    stat.S_IFSOCK: "a socket, not a file",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
}


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
