"""Where in a file its recordings lie: one behind another, between tags, in containers that promise a size.

libsndfile hears the first of several recordings, or takes the header of the second for sound, and would
shorten a damaged file without a word. Here each recording of a file is found, and what is neither sound nor
tag is an `AudioError`. No walk takes more than some thousand steps, whatever the file holds.
"""

from __future__ import annotations

import io
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import accumulate, islice, product
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from features.errors import AudioError
from foundation.arrays import Bytes, Flags, Longs

MOST_STEPS = 10_000  # chunks, tags and gaps of a file; by feel: recordings have some ten
MOST_RECORDINGS = 1000  # in a file; by feel: a day of radio has some hundred
_FEW_BYTES = 64  # behind the end, in which no word fits; by feel
_PIECE = 1 << 18  # bytes that are read at once
_HEAD = 64  # bytes that tell what begins

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


class _Found(NamedTuple):
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


def recordings_in(path: Path) -> tuple[Span, ...]:
    """Return the recordings in a file in their order; AudioError if one is cut short or bytes are no sound.

    Ogg, FLAC, and MP3 whose first frame does not tell where it ends are read for it, a piece at a time. The
    answer is kept: a recording may be read in hundreds of segments.
    """
    stat = path.stat()
    return _recordings_in(path, stat.st_mtime_ns, stat.st_size, stat.st_ino)


@lru_cache(maxsize=1024)
def _recordings_in(path: Path, time_ns: int, size: int, number: int) -> tuple[Span, ...]:
    with path.open("rb") as opened:
        return tuple(_walk(_File(path, opened)))


class _File:
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
        longest, n_bytes = max(map(len, marks)), _PIECE // 64
        while position < self.size:
            piece = self.read(position, n_bytes + longest)
            if places := [place for mark in marks if (place := piece.find(mark)) >= 0]:
                return position + min(places)
            position, n_bytes = position + n_bytes, min(2 * n_bytes, _PIECE)
        return self.size

    def find_last(self, mark: bytes, start: int, stop: int) -> int:
        """Return where the last of some marks lies between two positions; one is known to be at the first."""
        while stop > start:
            position = max(stop - _PIECE, start)
            place = self.read(position, stop - position).rfind(mark)
            if place >= 0:
                return position + place
            stop = position + len(mark) - 1 if position > start else start
        return start

    def match(self, mark: re.Pattern[bytes], position: int, stop: int) -> int:
        """Return where a header of a FLAC frame like a mark lies between two positions, or the latter."""
        while position < stop:
            piece = self.read(position, min(_PIECE, stop - position))
            for found in mark.finditer(piece):
                self.step()
                if any(_crc_8(found[0][:n]) == found[0][n] for n in range(len(found[0]) - 5, len(found[0]))):
                    return position + found.start()
            position += max(len(piece) - _HEAD, 1) if position + len(piece) < stop else len(piece)
        return stop

    def after_zeros(self, position: int) -> int:
        """Return where the first byte from a position on lies that is not zero, or the end of the file."""
        n_bytes = _HEAD
        while position < self.size:
            piece = self.read(position, n_bytes)
            if rest := len(piece.lstrip(b"\0")):
                return position + len(piece) - rest
            position, n_bytes = position + len(piece), _PIECE
        return self.size


_Reader = Callable[[_File, int], _Found]


def _walk(file: _File) -> Iterator[Span]:
    """Yield the recordings of a file one behind another."""
    position, n_found = _after_tags(file, 0), 0
    # libmpg123 steps over a tag, but complains of each of many on standard error.
    n_of_one_tag = _tag_bytes(file, 0, file.read(0, _HEAD))
    is_usual = position == 0
    is_usual_mp3 = is_usual or position == n_of_one_tag
    while position < file.size:
        reader = _reader_at(file, position)
        if reader is None and not n_found:
            yield Span()  # libsndfile says what it is
            return
        if reader is None:
            raise _stray(file, position, file.size)
        found = reader(file, position)
        n_found += len(found.spans)
        if n_found > MOST_RECORDINGS:
            expected = f"at most {MOST_RECORDINGS}"
            raise AudioError.of(
                file.path, "recordings one behind another", expected, "more", "cut it into files"
            )
        position = _after_tags(file, found.stop)
        if 0 < file.size - position < found.slack and _reader_at(file, position) is None:
            position = file.size
        is_alone = n_found == 1 and position == file.size and (is_usual_mp3 if reader is _mp3 else is_usual)
        behind = file.after_zeros(found.stop) if found.reads_on else file.size
        if is_alone and found.by_name and behind == file.size:
            yield Span(None, found.spans[0].n_samples)
        else:
            yield from found.spans
    if not n_found:
        yield Span()


def _stray(file: _File, start: int, stop: int) -> AudioError:
    """Return the error of bytes behind a recording that are neither tag nor recording."""
    what, expected = "bytes behind the end of the recording", "tags, another recording or none"
    got = f"{stop - start} others from byte {start} on"
    return AudioError.of(file.path, what, expected, got, "correct the sizes in its header, or cut it off")


def _reader_at(file: _File, position: int) -> _Reader | None:
    """Return the reader of the recording that begins at a position, None if none is known."""
    head = file.read(position, _HEAD)
    if reader := _container_reader(head):
        return reader
    return _mp3 if _Frames(head, position, is_last=True).at(position) is not None else None


def _container_reader(head: bytes) -> _Reader | None:
    """Return the reader of a container, by its first bytes, None if they are of none."""
    return next((reader for begins, reader in _BEGINNINGS if begins.match(head)), None)


# Tags and padding, which may stand before, between and behind recordings


def _after_tags(file: _File, position: int) -> int:
    """Return where tags and zeros end that begin at a position."""
    while position < file.size:
        file.step()
        head = file.read(position, _HEAD)
        after = position + _tag_bytes(file, position, head) if head[0] else file.after_zeros(position)
        if after == position:
            return position
        position = min(after, file.size)
    return position


def _tag_bytes(file: _File, position: int, head: bytes) -> int:
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


# Containers of chunks: WAV, RF64, AIFF, Wave64, CAF

# From here on a size in a header is a placeholder: ffmpeg (0xFFFFFFFF), sox (0x7FFFF000) and arecord
# (0x80000000) write one when they cannot go back to fill in the length.
STREAM_SIZE = 0x7FFF0000
_IN_DS64 = 0xFFFFFFFF
# Chunks that only describe the sound: a file that ends within one of them lacks nothing.
_NAMES = (
    b"LISTid3 ID3 bextiXMLaXMLcue smplinstplstfactPEAKJUNKjunkPAD FLLRDISPafsp_PMXcartchnaNAMEAUTHANNO(c) "
    b"COMTMARKINSTAPPLMIDIAESDCHANinfofreestrguuid"
)
_USUAL = frozenset(_NAMES[i : i + 4] for i in range(0, len(_NAMES), 4))


class _Chunk(NamedTuple):
    name: bytes
    start: int  # of its content
    size: int  # of its content, as its header says


@dataclass(frozen=True)
class _Family:
    """How chunks are written.

    Attributes
    ----------
    header : name and size
    first : where the first chunk lies in the file
    audio : names of the chunk that holds the sound
    multiple : to which chunks are padded
    counts_header : whether a chunk's size includes its header
    """

    header: struct.Struct
    first: int
    audio: tuple[bytes, ...]
    multiple: int
    counts_header: bool = False

    def chunk(self, file: _File, position: int) -> _Chunk | None:
        """Return the chunk that begins at a position, None at the end of the file."""
        header = file.read(position, self.header.size)
        if len(header) < self.header.size:
            return None
        file.step()
        name, size = self.header.unpack(header)
        start = position + self.header.size
        return _Chunk(name, start, size - self.header.size if self.counts_header else size)

    def after(self, chunk: _Chunk) -> int:
        """Return where the next chunk should begin."""
        return chunk.start + -(-chunk.size // self.multiple) * self.multiple

    def is_audio(self, chunk: _Chunk) -> bool:
        """Return whether a chunk holds the sound."""
        return chunk.name.startswith(self.audio)

    def is_sound_in(self, file: _File, chunk: _Chunk) -> bool:
        """Return whether a chunk behind the sound is one: its name can be read, and it lies in the file."""
        name = chunk.name[:4].rstrip(b"\0").decode("latin-1")
        if not (name and name.isascii() and name.isprintable()) or chunk.size < 0:
            return False
        return chunk.start + chunk.size <= file.size or chunk.name in _USUAL


_WAV = _Family(struct.Struct("<4sI"), 12, (b"data",), 2)
_BIG_ENDIAN = _Family(struct.Struct(">4sI"), 12, (b"data", b"SSND", b"BODY"), 2)  # AIFF, 8SVX, RIFX
_WAVE64 = _Family(struct.Struct("<16sQ"), 40, (b"data",), 8, counts_header=True)
_CAF = _Family(struct.Struct(">4sq"), 8, (b"data",), 1)


def _wav(file: _File, start: int) -> _Found:
    return _of_chunks(file, start, _WAV)


def _big_endian(file: _File, start: int) -> _Found:
    return _of_chunks(file, start, _BIG_ENDIAN)


def _wave64(file: _File, start: int) -> _Found:
    return _of_chunks(file, start, _WAVE64)


def _caf(file: _File, start: int) -> _Found:
    return _of_chunks(file, start, _CAF)


def _of_chunks(file: _File, start: int, family: _Family) -> _Found:
    """Return the recording in a container of chunks, up to where these end."""
    whole = _Found([Span(((start, file.size),))], file.size)
    position, told = start + family.first, None
    while (chunk := family.chunk(file, position)) is not None and not family.is_audio(chunk):
        if chunk.name == b"ds64":
            told = int.from_bytes(file.read(chunk.start + 8, 8), "little")
        if chunk.size < 0:
            return whole
        position = family.after(chunk)
    if chunk is None and start:
        raise AudioError.truncated(file.path, "a chunk that holds the sound", "none")
    if chunk is None:
        return whole  # libsndfile says what is missing
    if family is _WAV and not chunk.size and not any(file.read(start + 4, 4)):
        return _with_sizes_filled_in(file, start, chunk.start)
    if told is not None and chunk.size == _IN_DS64:
        chunk = chunk._replace(size=told)
        is_endless = _IN_DS64 > told >= STREAM_SIZE
    else:
        is_endless = chunk.size >= STREAM_SIZE if family.header.size == 8 else chunk.size < 0
    if is_endless:
        stop = _next_wav(file, chunk.start) if family is _WAV else file.size
        return _Found([Span(((start, stop),))], stop)
    if chunk.start + chunk.size > file.size:
        raise AudioError.truncated(file.path, *_bytes_of_audio(chunk.size, file.size - chunk.start))
    audio_stop = chunk.start + chunk.size
    stop = _after_chunks(file, chunk, family)
    if family is _WAVE64 or chunk.name == b"BODY":  # libsndfile hears what lies behind, too
        return _Found([Span(((start, audio_stop),))], stop, stop <= family.after(chunk), reads_on=True)
    return _Found([Span(((start, stop),))], stop)


def _after_chunks(file: _File, chunk: _Chunk, family: _Family) -> int:
    """Return where the chunks end that follow one, which some programs pad and some do not."""
    while True:
        end = chunk.start + chunk.size
        for position in (family.after(chunk), end, end + 1):
            following = family.chunk(file, position)
            if following is not None and family.is_sound_in(file, following):
                break
        else:
            return min(end, file.size)
        if family.is_audio(following) or _container_reader(file.read(position, _HEAD)):
            return position
        chunk = following


def _with_sizes_filled_in(file: _File, start: int, data: int) -> _Found:
    """Return a streamed WAV whose sizes were left 0, corrected: libsndfile reads no samples from it."""
    stop = _next_wav(file, data)
    riff, sound = (struct.pack("<I", min(stop - place, STREAM_SIZE - 1)) for place in (start + 8, data))
    pieces = ((start, start + 4), riff, (start + 8, data - 4), sound, (data, stop))
    return _Found([Span(pieces)], stop, by_name=False)


def _next_wav(file: _File, position: int) -> int:
    """Return where another WAV begins behind one that was streamed, or the end of the file."""
    while (position := file.find((b"WAVEfmt ",), position)) < file.size:
        if _container_reader(file.read(position - 8, _HEAD)):
            return position - 8
        file.step()
        position += 8
    return file.size


def _bytes_of_audio(*n_bytes: int) -> Iterator[str]:
    return (f"{n} bytes of audio" for n in n_bytes)


# AU and NIST SPHERE: a header, and samples

SPHERE_MAGIC = b"NIST_1A\n"
_SHORTEST_HEADER, _LONGEST_SPHERE_HEADER = 16, 1 << 20  # bytes


def _au(file: _File, start: int) -> _Found:
    header = file.read(start, 12)
    if len(header) < 12:
        return _Found([Span(((start, file.size),))], file.size)
    first, size = struct.unpack(">4xII", header)
    if size >= STREAM_SIZE:
        return _Found([Span(((start, file.size),))], file.size)
    return _of_header(file, start, first, size)


def _of_header(file: _File, start: int, first: int, size: int, *, reads_on: bool = False) -> _Found:
    """Return the recording of some bytes behind a header."""
    if size < 0 or first < _SHORTEST_HEADER:
        return _Found([Span(((start, file.size),))], file.size)  # libsndfile says what is wrong with it
    held = max(file.size - start - first, 0)
    if size > held:
        raise AudioError.truncated(file.path, *_bytes_of_audio(size, held))
    stop = start + first + size
    return _Found([Span(((start, stop),))], stop, reads_on=reads_on)


def _sphere(file: _File, start: int) -> _Found:
    fields = _sphere_fields(file, start)
    coding = fields.get("sample_coding", "")
    if "embedded" in coding:
        cure = "expand with `sph2pipe -f wav IN OUT`"
        raise AudioError.of(file.path, "compressed NIST SPHERE", "pcm or ulaw", coding, cure)
    try:
        n_samples, n_bytes = int(fields["sample_count"]), int(fields["sample_n_bytes"])
        size = n_samples * int(fields.get("channel_count", "1")) * n_bytes
        first = int(fields["header_bytes"])
    except (KeyError, ValueError):
        return _Found([Span(((start, file.size),))], file.size)  # libsndfile says what is wrong with it
    return _of_header(file, start, first, size, reads_on=True)


def _sphere_fields(file: _File, start: int) -> dict[str, str]:
    """Return the header fields of a SPHERE file, and the header's length as ``header_bytes``."""
    length = file.read(start + len(SPHERE_MAGIC), 8).decode("latin-1").strip()
    # Not isdigit, which takes superscripts for digits.
    n_bytes = min(int(length), _LONGEST_SPHERE_HEADER) if length.isdecimal() else 1024
    header = file.read(start, n_bytes).decode("latin-1")
    fields = dict(re.findall(r"^(\w+) -\w+ (.*?)\s*$", header.partition("end_head")[0], flags=re.MULTILINE))
    return fields | {"header_bytes": length}


# FLAC and Ogg, which do not tell where they end: up to where another one begins

_FLAC_MARKS = (b"fLaC\x00\x00\x00\x22", b"fLaC\x80\x00\x00\x22")
_FEW_TAGS = 16  # that seem to begin where one may; by feel
_OGG_MARKS = (b"OggS\x00\x02", b"OggS\x00\x06")  # pages with which a stream begins
_OGG_HEADER, _OGG_LARGEST_PAGE = 27, 65307
_OGG_BEGIN = 2  # flag of a page


def _flac(file: _File, start: int) -> _Found:
    position = start + 4
    while len(header := file.read(position, 4)) == 4:
        file.step()
        position += 4 + int.from_bytes(header[1:], "big")
        if header[0] & 0x80:  # the last block that describes the sound
            break
    stop = file.find(_FLAC_MARKS, position)
    _check_flac_end(file, start, position, stop)
    return _Found([Span(((start, stop),))], stop)


def _check_flac_end(file: _File, start: int, first: int, stop: int) -> None:
    """Raise AudioError if more bytes than a frame has lie behind the last frame, whose number is known.

    Parameters
    ----------
    start, stop : of the recording, as far as is known
    first : where its frames begin
    """
    header = file.read(start + 8, 18)
    numbers = int.from_bytes(header[10:], "big")
    n_samples, n_bits, n_channels = numbers & (1 << 36) - 1, (numbers >> 36 & 31) + 1, (numbers >> 41 & 7) + 1
    block = int.from_bytes(header[:2], "big")
    if header[:2] != header[2:4] or not n_samples or not block:
        return  # blocks of different lengths are not numbered
    longest = int.from_bytes(header[7:10], "big") or block * n_channels * (n_bits + 1) // 8 + _HEAD
    number = _flac_number((n_samples - 1) // block)
    mark = re.compile(rb"\xff\xf8.." + re.escape(number) + rb".{1,5}", re.DOTALL)
    place = file.match(mark, max(stop - longest, first), stop)
    if place < stop or (place := file.match(mark, first, stop)) == stop:
        return  # where it should be; or the recording is cut short, as libFLAC finds
    behind = place + longest
    tags = re.finditer(rb"TAG|ID3|APETAGEX", file.read(place, min(longest, _PIECE) + _HEAD))
    places = [file.after_zeros(behind), *(place + tag.start() for tag in islice(tags, _FEW_TAGS))]
    if all(_after_tags(file, each) < stop for each in places):
        raise _stray(file, behind, stop)


def _flac_number(number: int) -> bytes:
    """Return how a frame's number is written: as UTF-8 does it, up to 31 bits.

    >>> _flac_number(300) == chr(300).encode()
    True
    """
    if number < 0x80:
        return bytes([number])
    n_more = next(n for n in range(1, 6) if number < 1 << (5 * n + 6))
    rest = [0x80 | number >> 6 * i & 0x3F for i in range(n_more)]
    return bytes([(0xFF00 >> n_more + 1 & 0xFF) | number >> 6 * n_more, *rest[::-1]])


def _ogg(file: _File, start: int) -> _Found:
    """Return a link of a chain: streams that begin together and end before another one begins."""
    position = start
    while (page := file.read(position, _OGG_HEADER + 255))[5:6] and page[5] & _OGG_BEGIN:
        file.step()
        position += _ogg_page_bytes(page)
        if file.read(position, 4) != b"OggS":
            break
    stop = file.find(_OGG_MARKS, position)
    last = file.find_last(b"OggS", start, stop)
    page = file.read(last, min(stop - last, _OGG_LARGEST_PAGE))
    n_bytes = _ogg_page_bytes(page)
    if n_bytes > len(page):
        raise AudioError.truncated(file.path, *_bytes_of_audio(n_bytes, len(page)))
    # Whether it is marked as the last one tells nothing: Telegram and radios leave that out.
    return _Found([Span(((start, last + n_bytes),))], last + n_bytes)


def _crc_8(content: bytes) -> int:
    """Return the check sum of a header of a FLAC frame."""
    found = 0
    for byte in content:
        found ^= byte
        for _ in range(8):
            found = (found << 1 ^ (7 if found & 0x80 else 0)) & 0xFF
    return found


def _ogg_page_bytes(page: bytes) -> int:
    """Return the length of the page that begins with some bytes."""
    if len(page) < _OGG_HEADER:
        return _OGG_HEADER
    n_segments = page[_OGG_HEADER - 1]
    return _OGG_HEADER + n_segments + sum(page[_OGG_HEADER : _OGG_HEADER + n_segments])


# MP3: frames one behind another, the first of which may tell how many follow

FRAME_SAMPLES = 1152  # of layer III in MPEG 1; half of it in MPEG 2 and 2.5
LOWEST_MPEG_1_HZ = 32000
_LARGEST_FRAME = 2881  # bytes
_INFO_BYTES = 64  # of a frame, in which it tells what follows
_INFO_PLACES = (13, 21, 36)  # within these, by channels and version
_MPEG1, _LAYER_1, _LAYER_2, _LAYER_3 = 3, 3, 2, 1  # as headers have them
# kbit/s by the index in the header; 0 (free) and 15 are not walked
_KBITS = {
    (True, _LAYER_1): range(0, 449, 32),
    (True, _LAYER_2): (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, _LAYER_3): (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, _LAYER_1): (0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (False, _LAYER_2): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (False, _LAYER_3): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_RATES = (44100, 48000, 32000)  # of MPEG 1
_RATE_DIVISOR = {0: 4, 2: 2, 3: 1}  # by the version in the header: 2.5, 2, 1


@cache
def _frame_tables() -> tuple[Longs, Longs]:
    """Return bytes, without padding, and samples of frames; bytes by version, layer, bit rate and rate.

    Both are indexed by bits as they lie in the header, the second by version and layer alone.
    """
    n_bytes, n_samples = np.zeros(1 << 10, np.int64), np.zeros(1 << 4, np.int64)
    for (version, divisor), layer in product(_RATE_DIVISOR.items(), (_LAYER_1, _LAYER_2, _LAYER_3)):
        samples = {_LAYER_1: 384, _LAYER_2: 1152, _LAYER_3: FRAME_SAMPLES // (1 if divisor == 1 else 2)}[
            layer
        ]
        n_samples[version << 2 | layer] = samples
        unit = 4 if layer == _LAYER_1 else 1
        for (k, kbits), (r, rate) in product(enumerate(_KBITS[version == _MPEG1, layer]), enumerate(_RATES)):
            at = (version << 2 | layer) << 6 | k << 2 | r
            n_bytes[at] = samples // 8 // unit * kbits * 1000 // (rate // divisor) * unit
    return n_bytes, n_samples


class _Frames:
    """The frames that may begin in a block of a file.

    Parameters
    ----------
    content : bytes of the file from ``start`` on; what begins in the last ones of them is left to the next
        block, but for the last block
    """

    def __init__(self, content: bytes, start: int, *, is_last: bool) -> None:
        block = np.frombuffer(content, np.uint8)
        n = max(len(block) - 3, 0)
        places = np.flatnonzero((block[:n] == 0xFF) & (block[1 : n + 1] >= 0xE0))
        second, third, fourth = (block[places + i].astype(np.int64) for i in (1, 2, 3))
        kinds = second >> 1 & 15
        n_bytes = _frame_tables()[0][kinds << 6 | third >> 2]
        kept = n_bytes > 0
        places, kinds, third, fourth = (each[kept] for each in (places, kinds, third, fourth))
        n_bytes = n_bytes[kept] + (third >> 1 & 1) * np.where(kinds & 3 == _LAYER_1, 4, 1)
        is_mono = fourth >> 6 == 3
        self.formats = kinds << 3 | (third >> 2 & 3) << 1 | is_mono
        self.is_info = _tells_length(block, places, kinds, is_mono)
        self.start, self.stop = start, start + len(content)
        if not is_last:
            self.stop -= _LARGEST_FRAME + _INFO_BYTES
        self.places, self.stops = places + start, places + n_bytes + start
        following = np.searchsorted(self.places, self.stops)
        following[following == len(places)] = 0
        follows = (self.places[following] == self.stops) & (self.formats[following] == self.formats)
        follows &= ~self.is_info[following]
        self.is_sure = follows | self.is_info
        self._following: list[int] = np.where(
            follows & (self.places[following] < self.stop), following, -1
        ).tolist()
        self._sure = self.places[self.is_sure]

    def at(self, position: int) -> int | None:
        """Return the index of the frame that begins at a position, None if there is none."""
        index = int(np.searchsorted(self.places, position))
        return index if index < len(self.places) and self.places[index] == position else None

    def run(self, index: int, most: float) -> tuple[int, int, int]:
        """Return how many frames of one kind lie one behind another, where the last one begins and ends."""
        n_frames = 1
        while n_frames < most and self._following[index] >= 0:
            index, n_frames = self._following[index], n_frames + 1
        return n_frames, int(self.places[index]), int(self.stops[index])

    def after(self, position: int) -> int:
        """Return where the next frame behind a position begins that is surely one, or the block's end."""
        index = np.searchsorted(self._sure, position, "right")
        return int(min(self._sure[index], self.stop)) if index < len(self._sure) else self.stop


def _tells_length(block: Bytes, places: Longs, kinds: Longs, is_mono: Flags) -> Flags:
    """Return which frames hold no sound but how many follow, behind the place of their side information."""
    tells = np.zeros(len(places), bool)
    is_mpeg_1 = kinds >> 2 == _MPEG1
    side = np.where(is_mpeg_1, np.where(is_mono, 17, 32), np.where(is_mono, 9, 17))
    last = max(len(block) - 4, 0)
    for behind, marks in ((side, (b"Xing", b"Info")), (32, (b"VBRI",))):
        at = np.minimum(places + 4 + behind, last)
        for mark in marks:
            is_mark = kinds & 3 == _LAYER_3
            for i, byte in enumerate(mark):
                is_mark &= block[at + i] == byte
            tells |= is_mark
    return tells


class _Told(NamedTuple):
    """Frames and bytes that follow, as the first frame tells; infinite or 0 if it does not."""

    n_frames: float
    n_bytes: int


def _told(file: _File, position: int) -> _Told:
    head = file.read(position, _INFO_BYTES)
    if (at := head.find(b"VBRI")) == 36 and len(head) == _INFO_BYTES:
        return _Told(int.from_bytes(head[at + 14 : at + 18], "big"), 0)
    at = max(head.find(b"Xing"), head.find(b"Info"))
    fields = head[at + 4 : at + 16]
    if at not in _INFO_PLACES or len(fields) < 12:
        return _Told(np.inf, 0)
    flags, *values = struct.unpack(">III", fields)
    n_frames = values.pop(0) if flags & 1 else np.inf
    return _Told(n_frames, values[0] if flags & 2 else 0)


@dataclass
class _Stream:
    """Frames of one kind, as they are found.

    Attributes
    ----------
    format : as `_Frames.formats`
    n_promised : frames, infinite if nothing tells
    runs : places [start, stop) of frames without a gap
    n_frames : found so far
    n_lost : bytes between them that are no tag
    """

    format: int
    n_promised: float
    runs: list[tuple[int, int]] = field(default_factory=list)
    n_frames: int = 0
    n_lost: int = 0

    def add(self, start: int, stop: int, n_frames: int) -> None:
        """Add frames."""
        if self.runs and self.runs[-1][1] == start:
            start = self.runs.pop()[0]
        self.runs.append((start, stop))
        self.n_frames += n_frames

    def end(self, stop: int) -> None:
        """Leave out the last frame, in which another recording begins."""
        self.runs[-1] = (self.runs[-1][0], stop)
        self.n_frames -= 1

    def span(self) -> Span:
        """Return the recording; its samples are counted where nothing tells."""
        if self.n_promised < np.inf:
            return Span(tuple(self.runs))
        return Span(tuple(self.runs), self.n_frames * int(_frame_tables()[1][self.format >> 3]))


def _mp3(file: _File, start: int) -> _Found:
    told = _told(file, start)
    if told.n_bytes and told.n_frames < np.inf and _after_tags(file, start + told.n_bytes) == file.size:
        stop = start + told.n_bytes
        return _Found([Span(((start, stop),))], stop, slack=_LARGEST_FRAME)
    streams, stop, has_tags = _streams(file, start)
    for stream in streams:
        if stream.n_promised == np.inf:
            _check_lost(file, stream.n_lost)
    by_name = len(streams) == 1 and not has_tags
    return _Found([stream.span() for stream in streams], stop, by_name, slack=_LARGEST_FRAME)


def _streams(file: _File, start: int) -> tuple[list[_Stream], int, bool]:
    """Return streams of frames, where the last one ends, and whether tags stand between frames of one."""
    streams: list[_Stream] = []
    position = stop = last = start
    frames, n_lost, has_tags, is_behind_tag = None, 0, False, False
    while position < file.size and len(streams) <= MOST_RECORDINGS:
        if frames is None or not frames.start <= position < frames.stop:
            content = file.read(position, _PIECE)
            frames = _Frames(content, position, is_last=position + len(content) == file.size)
        index = frames.at(position)
        if index is not None and _goes_on(streams, frames, index):
            stream = streams[-1]
            stream.n_lost, n_lost = stream.n_lost + n_lost, 0
            has_tags, is_behind_tag = has_tags or is_behind_tag, False
            n_frames, last, stop = frames.run(index, stream.n_promised - stream.n_frames)
            stream.add(position, stop, n_frames)
            position = stop
        elif index is not None and _begins(streams, frames, index):
            is_info = bool(frames.is_info[index])
            n_promised = _told(file, position).n_frames if is_info else np.inf
            streams.append(_Stream(int(frames.formats[index]), n_promised))
            _check_lost(file, n_lost)
            n_lost, is_behind_tag = 0, False
            if is_info:
                last, stop = position, int(frames.stops[index])
                streams[-1].add(position, stop, 0)
                position = stop
        elif (after := _after_tags(file, position)) > position:
            position, is_behind_tag = after, True
        elif _container_reader(file.read(position, _HEAD)):
            break
        else:
            file.step()
            is_cut = position == stop and last >= frames.start and frames.after(last) < stop
            if is_cut:
                streams[-1].end(last)
            after = frames.after(last if is_cut else position)
            n_lost, position = n_lost + after - (last if is_cut else position), after
    return _without_last_frames(streams), min(stop, file.size), has_tags


def _check_lost(file: _File, n_bytes: int) -> None:
    """Raise AudioError of more bytes between frames than a part of one is."""
    if n_bytes > _LARGEST_FRAME:
        got, cure = f"{n_bytes} other bytes", "copy it again, or re-encode it to keep what is there"
        raise AudioError.of(file.path, "damaged MP3", "frames one behind another", got, cure)


def _goes_on(streams: list[_Stream], frames: _Frames, index: int) -> bool:
    """Return whether a frame belongs to the last stream."""
    if not streams or frames.is_info[index] or frames.formats[index] != streams[-1].format:
        return False
    return streams[-1].n_frames < streams[-1].n_promised


def _begins(streams: list[_Stream], frames: _Frames, index: int) -> bool:
    """Return whether a stream begins with a frame: surely, or behind what the last one promised."""
    return not streams or bool(frames.is_sure[index] or frames.formats[index] == streams[-1].format)


def _without_last_frames(streams: list[_Stream]) -> list[_Stream]:
    """Return the streams; one or two frames behind the promised ones are counted differently, not another."""
    found: list[_Stream] = []
    for stream in streams:
        is_rest = found and stream.n_promised == np.inf and stream.n_frames <= 2
        if is_rest and found[-1].format == stream.format and found[-1].runs[-1][1] == stream.runs[0][0]:
            found[-1].add(*stream.runs[0], 0)
        else:
            found.append(stream)
    return found


_BEGINNINGS: tuple[tuple[re.Pattern[bytes], _Reader], ...] = tuple(
    (re.compile(mark, re.DOTALL), reader)
    for mark, reader in (
        (rb"(RIFF|RF64)....WAVE", _wav),
        (rb"RIFX....WAVE|FORM....(AIFF|AIFC|8SVX|16SV)", _big_endian),
        (rb"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00", _wave64),
        (rb"caff", _caf),
        (rb"\.snd", _au),
        (SPHERE_MAGIC, _sphere),
        (rb"fLaC", _flac),
        (rb"OggS", _ogg),
    )
)


# What ffmpeg decodes: it hears the first of several, too

_ISO_BOX = struct.Struct(">I4s")
_MOST_BOXES = 100_000  # of a fragmented file; by feel: ten hours have some ten thousand
_MARKS_FOR_FFMPEG = {
    b"\x1a\x45\xdf\xa3": re.compile(
        rb"\x1a\x45\xdf\xa3((?!\x1a\x45\xdf\xa3).){0,60}?\x42\x82.(webm|matroska)", re.DOTALL
    ),
    b"\x30\x26\xb2\x75": re.compile(rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c"),
    b"#!AM": re.compile(rb"#!AMR(-WB)?\n"),
    b"RIFF": re.compile(rb"RIFF....AVI ", re.DOTALL),
}


def check_one_for_ffmpeg(path: Path) -> None:
    """Raise AudioError of an MP4, Matroska, ASF, AMR or AVI file behind which another one lies."""
    with path.open("rb") as opened:
        file = _File(path, opened)
        head = file.read(0, _HEAD)
        mark = _MARKS_FOR_FFMPEG.get(head[:4])
        if head[4:8] == b"ftyp":
            place = _second_movie(file)
        elif mark is not None:
            place = _second(file, head[:4], mark)
        else:
            return
    if place < file.size:
        cure = "cut it there, or join them with `ffmpeg -f concat`"
        raise AudioError.of(path, "two recordings in one file", "one", f"another from byte {place} on", cure)


def _second_movie(file: _File) -> int:
    """Return where a second MP4 begins behind the first, or the end of the file."""
    position = 0
    for n in range(_MOST_BOXES):
        header = file.read(position, 16)
        if len(header) < _ISO_BOX.size:
            return file.size
        size, name = _ISO_BOX.unpack(header[: _ISO_BOX.size])
        if name == b"ftyp" and n:
            return position
        size = int.from_bytes(header[8:], "big") if size == 1 else size
        if size < _ISO_BOX.size:
            return file.size  # up to the end, or damaged
        position += size
    raise AudioError.of(
        file.path, "not a usual recording", f"at most {_MOST_BOXES} boxes", "more", "convert it"
    )


def _second(file: _File, first: bytes, mark: re.Pattern[bytes]) -> int:
    """Return where a mark is found again behind the beginning of the file, or its end."""
    place = 0
    while (place := file.find((first,), place + 1)) < file.size:
        if mark.match(file.read(place, 2 * _HEAD)):
            return place
        file.step()
    return file.size


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
