"""The bytes of a file, read at any place and in bounded walks, and some of them as a file of their own.

A recording within a file is one or more pieces of it (`Span`); tags and zeros may stand before, between and
behind recordings.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from features.errors import AudioError

MOST_STEPS = 10_000  # chunks, tags and gaps of a file; by feel: recordings have some ten
MOST_RECORDINGS = 1000  # in a file; by feel: a day of radio has some hundred
_SHORTEST_RUN = 16  # of one byte, that is padding; by feel
_FEW_BYTES = 64  # behind the end, in which no word fits; by feel
AT_ONCE = 1 << 18  # bytes that are read at once
HEAD = 64  # bytes that tell what begins

Piece = bytes | tuple[int, int]


@dataclass(frozen=True)
class Span:
    """A recording within a file.

    Attributes
    ----------
    pieces : what libsndfile is given, one behind another: bytes [start, stop) of the file, or bytes that it
        does not hold; None if the file is read by its name
    n_samples : of each channel, where they had to be counted, else None
    """

    pieces: tuple[Piece, ...] | None = None
    n_samples: int | None = None

    @property
    def n_bytes(self) -> int:
        """Number of bytes of the pieces."""
        return sum(map(_n_bytes, self.pieces or ()))


def _n_bytes(piece: Piece) -> int:
    return len(piece) if isinstance(piece, bytes) else piece[1] - piece[0]


class Found(NamedTuple):
    """What begins at a place of a file.

    Attributes
    ----------
    spans : recordings one behind another
    stop : where the bytes behind them begin
    by_name : whether libsndfile reads it as it should if nothing else is in the file
    reads_on : whether libsndfile then takes what lies behind for sound
    slack : other bytes than tags behind the end that are no loss
    """

    spans: list[Span]
    stop: int
    by_name: bool = True
    reads_on: bool = False
    slack: int = _FEW_BYTES


class File:
    """An open file, read at any place, whose walks are counted."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self._file, self._n_steps = path, file, 0
        self.size = file.seek(0, io.SEEK_END)

    def read(self, position: int, n_bytes: int) -> bytes:
        """Return bytes from a position on, fewer at the end."""
        if position >= self.size:
            return b""
        self._file.seek(position)
        return self._file.read(min(n_bytes, self.size - position))

    def step(self) -> None:
        """Count a step of a walk; AudioError of too many."""
        self._n_steps += 1
        if self._n_steps > MOST_STEPS:
            expected = f"at most {MOST_STEPS} chunks, tags and gaps"
            raise AudioError.of(self.path, "not a usual recording", expected, "more", "convert it to wav")

    def find(self, marks: tuple[bytes, ...], position: int) -> int:
        """Return where the first of some marks lies from a position on, or the end of the file."""
        return self.find_after_others(marks, marks[0], position)[0]

    def find_after_others(
        self, marks: tuple[bytes, ...], other: bytes, position: int
    ) -> tuple[int, int | None]:
        """Return where the first of some marks lies, as `find` does, and the last of others before it."""
        longest, n_bytes, last = max(map(len, (*marks, other))), AT_ONCE // 64, None
        while position < self.size:
            piece = self.read(position, n_bytes + longest)
            found = min((place for mark in marks if (place := piece.find(mark)) >= 0), default=-1)
            before = piece.rfind(other, 0, found if found >= 0 else len(piece))
            last = position + before if before >= 0 else last
            if found >= 0:
                return position + found, last
            position, n_bytes = position + n_bytes, min(2 * n_bytes, AT_ONCE)
        return self.size, last

    def after_run(self, position: int, byte: bytes = b"\0") -> int:
        """Return where the first other byte lies from a position on, or the end of the file."""
        n_bytes = HEAD
        while position < self.size:
            piece = self.read(position, n_bytes)
            if rest := len(piece.lstrip(byte)):
                return position + len(piece) - rest
            position, n_bytes = position + len(piece), AT_ONCE
        return self.size


# Tags and padding, which may stand before, between and behind recordings


def after_tags(file: File, position: int) -> int:
    """Return where tags and zeros end that begin at a position."""
    while position < file.size:
        file.step()
        head = file.read(position, HEAD)
        after = position + tag_bytes(file, position, head) if head[0] else file.after_run(position)
        if after == position:
            return position
        position = min(after, file.size)
    return position


def after_padding(file: File, position: int) -> int:
    """Return where tags end that begin at a position, and runs of any byte, with which some programs pad."""
    while (position := after_tags(file, position)) < file.size:
        byte = file.read(position, 1)
        after = file.after_run(position, byte)
        if byte == b"\xff" and file.read(after, 1) >= b"\xe0":
            after -= 1  # with which a frame of MP3 begins
        if after - position < _SHORTEST_RUN:
            return position
        position = after
    return file.size


def tag_bytes(file: File, position: int, head: bytes) -> int:
    """Return the length of the tag at a position, 0 if there is none."""
    if re.match(rb"ID3[\2-\4].{2}[\0-\x7f]{4}", head, re.DOTALL):  # seven bits a byte of its size
        size = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
        return 10 + size + (10 if head[5] & 0x10 else 0)
    if head[:3] == b"TAG":
        return 227 if head[3:4] == b"+" else 128
    if head[:8] == b"APETAGEX" and len(head) >= 32:
        return 32 + int.from_bytes(head[12:16], "little")
    if head[:11] == b"LYRICSBEGIN":
        marks = (b"LYRICS200", b"LYRICSEND")
        return file.find(marks, position) + len(marks[0]) - position
    if not position:
        return 0
    tail = file.read(max(file.size - 128, 0), 3) == b"TAG"  # APE's first version begins without a mark
    footer = file.read(max(file.size - (160 if tail else 32), 0), 32)
    ends_at = position + int.from_bytes(footer[12:16], "little") + (128 if tail else 0)
    return file.size - position if footer[:8] == b"APETAGEX" and ends_at == file.size else 0


class Pieces(io.RawIOBase):
    """Some bytes of a file, as one that can be read by itself.

    Parameters
    ----------
    file : open, and read by nobody else meanwhile
    pieces : as of `Span`
    """

    def __init__(self, file: BinaryIO, pieces: Sequence[Piece]) -> None:
        self._file, self._pieces, self._position = file, pieces, 0
        self._stops = list(accumulate(map(_n_bytes, pieces)))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place of the whole."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._stops[-1]}[whence]
        self._position = max(origin + offset, 0)
        return self._position

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._position

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that any place can be gone to."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what fits into a buffer; return how many bytes that are, 0 at the end."""
        wanted, n_read = memoryview(buffer), 0
        while n_read < len(wanted) and self._position < self._stops[-1]:
            index = bisect_right(self._stops, self._position)
            piece = self._pieces[index]
            n_left = min(self._stops[index] - self._position, len(wanted) - n_read)
            content = self._content(piece, self._stops[index] - self._position, n_left)
            if not content:
                break
            wanted[n_read : n_read + len(content)] = content
            n_read, self._position = n_read + len(content), self._position + len(content)
        return n_read

    def _content(self, piece: Piece, n_before_end: int, n_bytes: int) -> bytes:
        """Return bytes of a piece, which begin so many before its end."""
        if isinstance(piece, bytes):
            return piece[len(piece) - n_before_end :][:n_bytes]
        try:
            self._file.seek(piece[1] - n_before_end)
            return self._file.read(n_bytes)
        except OSError:
            return b""  # that the recording is shorter than promised is said where it is decoded
