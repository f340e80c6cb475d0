"""Where in a file its recordings lie: one behind another, between tags, in containers that promise a size.

libsndfile hears the first of several recordings, or takes the header of the second for sound, and would
shorten a damaged file without a word. Here each recording of a file is found, and what is neither sound nor
tag is an `AudioError`. No walk takes more than some thousand steps, whatever the file holds.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from features.errors import AudioError
from features.mp3 import begins_mp3, mp3_recordings
from features.pieces import (
    AT_ONCE,
    HEAD,
    MOST_RECORDINGS,
    File,
    Found,
    Span,
    after_padding,
    after_tags,
    tag_bytes,
)


def recordings_in(path: Path) -> tuple[Span, ...]:
    """Return the recordings in a file in their order; AudioError if one is cut short or bytes are no sound.

    Ogg, FLAC, and MP3 whose first frame does not tell where it ends are read for it, a piece at a time. The
    answer is kept: a recording may be read in hundreds of segments.
    """
    stat = path.stat()
    return _recordings_in(path, stat.st_mtime_ns, stat.st_size, stat.st_ino)


_MOST_KEPT = 1 << 16  # files: training and its checks go through a corpus several times; some 20 MB
_WHOLE = (Span(),)  # one for all files that are read by their names


@lru_cache(maxsize=_MOST_KEPT)
def _recordings_in(path: Path, time_ns: int, size: int, number: int) -> tuple[Span, ...]:
    with path.open("rb") as opened:
        spans = tuple(_walk(File(path, opened)))
    return _WHOLE if spans == _WHOLE else spans


_Reader = Callable[[File, int], Found]


def _walk(file: File) -> Iterator[Span]:
    """Yield the recordings of a file one behind another."""
    position, n_found = after_tags(file, 0), 0
    # libmpg123 steps over a tag, but complains of each of many on standard error.
    n_of_one_tag = tag_bytes(file, 0, file.read(0, HEAD))
    is_usual = position == 0
    is_usual_mp3 = is_usual or position == n_of_one_tag
    while position < file.size:
        reader = _reader_at(file, position)
        if reader is None and not n_found:
            _check_read_to_end(file, position)
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
        position = after_padding(file, found.stop)
        if 0 < file.size - position < found.slack and _reader_at(file, position) is None:
            position = file.size
        is_alone = n_found == 1 and position == file.size and (is_usual_mp3 if reader is _mp3 else is_usual)
        behind = file.after_run(found.stop) if found.reads_on else file.size
        if is_alone and found.by_name and behind == file.size:
            yield Span(None, found.spans[0].n_samples)
        else:
            yield from found.spans
    if not n_found:
        yield Span()


def _stray(file: File, start: int, stop: int) -> AudioError:
    """Return the error of bytes behind a recording that are neither tag nor recording."""
    what, expected = "bytes behind the end of the recording", "tags, another recording or none"
    got = f"{stop - start} others from byte {start} on"
    return AudioError.of(file.path, what, expected, got, "correct the sizes in its header, or cut it off")


def _reader_at(file: File, position: int) -> _Reader | None:
    """Return the reader of the recording that begins at a position, None if none is known."""
    head = file.read(position, HEAD)
    if reader := _container_reader(head):
        return reader
    return _mp3 if begins_mp3(head) else None


def _container_reader(head: bytes) -> _Reader | None:
    """Return the reader of a container, by its first bytes, None if they are of none."""
    return next((reader for begins, reader in _BEGINNINGS if begins.match(head)), None)


# Containers of chunks: WAV, RF64, AIFF, Wave64, CAF

# From here on a size in a header is a placeholder: ffmpeg (0xFFFFFFFF), sox (0x7FFFF000) and arecord
# (0x80000000) write one when they cannot go back to fill in the length.
STREAM_SIZE = 0x7FFF0000
_IN_DS64 = 0xFFFFFFFF
# The end of a file may cut a chunk that describes the sound: nothing is lost. What seems a chunk, but is
# longer than this, is text or samples: four bytes of these make no small number.
_LONGEST_CUT_CHUNK = 1 << 28
_CHUNK_NAME = re.compile(rb"[\x21-\x7e\xa9][\x20-\x7e]{0,3}\0*")  # \xa9 is ©, as in the names of iTunes


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

    def chunk(self, file: File, position: int) -> _Chunk | None:
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

    def is_sound_in(self, file: File, chunk: _Chunk) -> bool:
        """Return whether what begins like a chunk behind the sound is one: it has a name and an end."""
        name = chunk.name[:4]
        if not _CHUNK_NAME.fullmatch(name) or chunk.size < 0:
            return False
        if chunk.start + chunk.size <= file.size:
            return True
        is_usual = chunk.size <= _LONGEST_CUT_CHUNK and b"\0" not in name
        return is_usual and file.find(_BEGINNINGS_ANYWHERE, chunk.start) == file.size


_WAV = _Family(struct.Struct("<4sI"), 12, (b"data",), 2)
_BIG_ENDIAN = _Family(struct.Struct(">4sI"), 12, (b"data", b"SSND", b"BODY"), 2)  # AIFF, 8SVX, RIFX
_WAVE64 = _Family(struct.Struct("<16sQ"), 40, (b"data",), 8, counts_header=True)
_CAF = _Family(struct.Struct(">4sq"), 8, (b"data",), 1)


def _wav(file: File, start: int) -> Found:
    return _of_chunks(file, start, _WAV)


def _big_endian(file: File, start: int) -> Found:
    return _of_chunks(file, start, _BIG_ENDIAN)


def _wave64(file: File, start: int) -> Found:
    return _of_chunks(file, start, _WAVE64)


def _caf(file: File, start: int) -> Found:
    return _of_chunks(file, start, _CAF)


def _of_chunks(file: File, start: int, family: _Family) -> Found:
    """Return the recording in a container of chunks, up to where these end."""
    whole = Found([Span(((start, file.size),))], file.size)
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
        return Found([Span(((start, stop),))], stop)
    if chunk.start + chunk.size > file.size:
        raise AudioError.truncated(file.path, *_bytes_of_audio(chunk.size, file.size - chunk.start))
    audio_stop = chunk.start + chunk.size
    stop = _after_chunks(file, chunk, family)
    if family is _WAVE64 or chunk.name == b"BODY":  # libsndfile hears what lies behind, too
        return Found([Span(((start, audio_stop),))], stop, stop <= family.after(chunk), reads_on=True)
    return Found([Span(((start, stop),))], stop)


def _after_chunks(file: File, chunk: _Chunk, family: _Family) -> int:
    """Return where the chunks end that follow one, which some programs pad and some do not."""
    while True:
        end = chunk.start + chunk.size
        for position in (family.after(chunk), end, end + 1):
            if _container_reader(file.read(position, HEAD)):
                return position
            following = family.chunk(file, position)
            if following is not None and family.is_sound_in(file, following):
                break
        else:
            return min(end, file.size)
        if family.is_audio(following):
            return position
        chunk = following


def _with_sizes_filled_in(file: File, start: int, data: int) -> Found:
    """Return a streamed WAV whose sizes were left 0, corrected: libsndfile reads no samples from it."""
    stop = _next_wav(file, data)
    riff, sound = (struct.pack("<I", min(stop - place, STREAM_SIZE - 1)) for place in (start + 8, data))
    pieces = ((start, start + 4), riff, (start + 8, data - 4), sound, (data, stop))
    return Found([Span(pieces)], stop, by_name=False)


def _next_wav(file: File, position: int) -> int:
    """Return where another WAV begins behind one that was streamed, or the end of the file."""
    while (position := file.find((b"WAVEfmt ",), position)) < file.size:
        if _container_reader(file.read(position - 8, HEAD)):
            return position - 8
        file.step()
        position += 8
    return file.size


def _bytes_of_audio(*n_bytes: int) -> Iterator[str]:
    return (f"{n} bytes of audio" for n in n_bytes)


# AU and NIST SPHERE: a header, and samples

SPHERE_MAGIC = b"NIST_1A\n"
_SHORTEST_HEADER, _LONGEST_SPHERE_HEADER = 16, 1 << 20  # bytes


def _au(file: File, start: int) -> Found:
    header = file.read(start, 12)
    if len(header) < 12:
        return Found([Span(((start, file.size),))], file.size)
    first, size = struct.unpack(">4xII", header)
    if size >= STREAM_SIZE:
        return Found([Span(((start, file.size),))], file.size)
    return _of_header(file, start, first, size)


def _of_header(file: File, start: int, first: int, size: int, *, reads_on: bool = False) -> Found:
    """Return the recording of some bytes behind a header."""
    if size < 0 or first < _SHORTEST_HEADER:
        return Found([Span(((start, file.size),))], file.size)  # libsndfile says what is wrong with it
    held = max(file.size - start - first, 0)
    if size > held:
        raise AudioError.truncated(file.path, *_bytes_of_audio(size, held))
    stop = start + first + size
    return Found([Span(((start, stop),))], stop, reads_on=reads_on)


def _sphere(file: File, start: int) -> Found:
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
        return Found([Span(((start, file.size),))], file.size)  # libsndfile says what is wrong with it
    return _of_header(file, start, first, size, reads_on=True)


def _sphere_fields(file: File, start: int) -> dict[str, str]:
    """Return the header fields of a SPHERE file, and the header's length as ``header_bytes``."""
    length = file.read(start + len(SPHERE_MAGIC), 8).decode("latin-1").strip()
    # Not isdigit, which takes superscripts for digits.
    n_bytes = min(int(length), _LONGEST_SPHERE_HEADER) if length.isdecimal() else 1024
    header = file.read(start, n_bytes).decode("latin-1")
    fields = dict(re.findall(r"^(\w+) -\w+ (.*?)\s*$", header.partition("end_head")[0], flags=re.MULTILINE))
    return fields | {"header_bytes": length}


# FLAC and Ogg, which do not tell where they end: up to where another one begins
#
# Both are read once, in whole. That the last frame of a FLAC has the number that its header lets expect tells
# nothing of what lies before it: two recordings of one length behind each other end with the same number.

_FLAC_MARKS = (b"fLaC\x00\x00\x00\x22", b"fLaC\x80\x00\x00\x22")
_FEW_TAGS = 16  # that seem to begin where one may; by feel
_OGG_MARKS = (b"OggS\x00\x02", b"OggS\x00\x06")  # pages with which a stream begins
_OGG_HEADER, _OGG_LARGEST_PAGE = 27, 65307
_OGG_BEGIN = 2  # flag of a page


def _flac(file: File, start: int) -> Found:
    position = start + 4
    while len(header := file.read(position, 4)) == 4:
        file.step()
        position += 4 + int.from_bytes(header[1:], "big")
        if header[0] & 0x80:  # the last block that describes the sound
            break
    stop = file.find(_FLAC_MARKS, position)
    _check_flac_end(file, start, position, stop)
    return Found([Span(((start, stop),))], stop)


def _check_flac_end(file: File, start: int, first: int, stop: int) -> None:
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
    longest = int.from_bytes(header[7:10], "big") or block * n_channels * (n_bits + 1) // 8 + HEAD
    number = _flac_number((n_samples - 1) // block)
    mark = re.compile(rb"\xff\xf8.." + re.escape(number) + rb".{1,5}", re.DOTALL)
    place = _frame_like(file, mark, max(stop - longest, first), stop)
    if place < stop or (place := _frame_like(file, mark, first, stop)) == stop:
        return  # where it should be; or the recording is cut short, as libFLAC finds
    behind = place + longest
    tags = re.finditer(rb"TAG|ID3|APETAGEX", file.read(place, min(longest, AT_ONCE) + HEAD))
    places = [after_padding(file, behind), *(place + tag.start() for tag in islice(tags, _FEW_TAGS))]
    if all(after_padding(file, each) < stop for each in places):
        raise _stray(file, behind, stop)


def _frame_like(file: File, mark: re.Pattern[bytes], position: int, stop: int) -> int:
    """Return where a header of a FLAC frame like a mark lies between two positions, or the latter."""
    while position < stop:
        piece = file.read(position, min(AT_ONCE, stop - position))
        for found in mark.finditer(piece):
            file.step()
            if any(_crc_8(found[0][:n]) == found[0][n] for n in range(len(found[0]) - 5, len(found[0]))):
                return position + found.start()
        position += max(len(piece) - HEAD, 1) if position + len(piece) < stop else len(piece)
    return stop


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


def _ogg(file: File, start: int) -> Found:
    """Return a link of a chain: streams that begin together and end before another one begins."""
    position = last = start
    while (page := file.read(position, _OGG_HEADER + 255))[5:6] and page[5] & _OGG_BEGIN:
        file.step()
        last, position = position, position + _ogg_page_bytes(page)
        if file.read(position, 4) != b"OggS":
            break
    stop, found = file.find_after_others(_OGG_MARKS, b"OggS", position)
    last = last if found is None else found
    page = file.read(last, min(stop - last, _OGG_LARGEST_PAGE))
    n_bytes = _ogg_page_bytes(page)
    if n_bytes > len(page):
        raise AudioError.truncated(file.path, *_bytes_of_audio(n_bytes, len(page)))
    # Whether it is marked as the last one tells nothing: Telegram and radios leave that out.
    return Found([Span(((start, last + n_bytes),))], last + n_bytes)


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


# Formats that libsndfile hears up to the end of the file, whatever lies there, as noise

_READ_TO_END = re.compile(
    rb"2BIT|MATLAB 5\.0| paf|fap |PVF1|\x01\x04[ -~]{8}|Creative Voice File|ALawSoundFile|Extended Instrument"
    rb"|\x64\xa3[\x01-\x04]\x00|\x00[\x01-\x04]\xa3\x64"
)
_OWN_HEAD = 12  # bytes: the name of the format, and what is the same in recordings of one program
_BEGINNINGS_ANYWHERE = (
    *(b"WAVEfmt ", b"WAVEJUNK", b"WAVEds64", b"AIFFCOMM", b"AIFCFVER", b"8SVXVHDR", b"caff\0\1\0\0"),
    *(b".snd\0\0\0", SPHERE_MAGIC, *_FLAC_MARKS, *_OGG_MARKS, b"\x2e\x91\xcf\x11\xa5\xd6\x28\xdb"),
)


def _check_read_to_end(file: File, start: int) -> None:
    """Raise AudioError if another recording begins within one whose format does not tell where it ends.

    An MP3 behind it has no mark to be seen by.
    """
    head = file.read(start, HEAD)
    if _READ_TO_END.match(head):
        place = file.find((*_BEGINNINGS_ANYWHERE, head[:_OWN_HEAD]), start + 1)
        if place < file.size:
            got = f"another from about byte {place} on"
            raise AudioError.of(file.path, "two recordings in one file", "one", got, "cut it there")


def _mp3(file: File, start: int) -> Found:
    return mp3_recordings(file, start, lambda head: _container_reader(head) is not None)


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
