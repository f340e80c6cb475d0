"""What the headers of audio files promise, and the length of an MP3 whose header does not tell it.

libsndfile would shorten a damaged file without a word.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

# From here on a size in a header is a placeholder: ffmpeg (0xFFFFFFFF), sox (0x7FFFF000) and arecord
# (0x80000000) write one when they cannot go back to fill in the length.
STREAM_SIZE = 0x7FFF0000
_IN_DS64 = 0xFFFFFFFF
SPHERE_MAGIC = b"NIST_1A\n"
_LONGEST_SPHERE_HEADER = 1 << 20  # bytes
WAVE64_MAGIC = b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb"
OGG_PAGE_HEADER = 27
OGG_LARGEST_PAGE = 65307


def missing_bytes(path: Path) -> tuple[int, int] | None:
    """Return (promised, held) bytes of audio if the header promises more than the file holds, else None."""
    with path.open("rb") as file:
        magic = file.read(12)
        if magic[:4] in (b"RIFF", b"FORM"):
            sizes = _chunk_sizes(file, magic)
        elif magic[:4] == b"RF64":
            sizes = _rf64_sizes(file)
        elif magic == WAVE64_MAGIC:
            sizes = _wave64_sizes(file)
        elif magic[:4] == b".snd":
            sizes = _au_sizes(file)
        elif magic[:8] == SPHERE_MAGIC:
            sizes = _sphere_sizes(file)
        elif magic[:4] == b"OggS":
            sizes = _last_ogg_page_sizes(file)
        else:
            return None
    return sizes if sizes is not None and sizes[0] > sizes[1] else None


def sphere_compression(path: Path) -> str | None:
    """Return the coding of a compressed NIST SPHERE file, which libsndfile cannot read, else None."""
    with path.open("rb") as file:
        if file.read(8) != SPHERE_MAGIC:
            return None
        coding = _sphere_fields(file).get("sample_coding", "")
        return coding if "embedded" in coding else None


def with_sizes_filled_in(path: Path) -> BytesIO | None:
    """Return a copy in memory of a streamed WAV whose sizes were left 0, corrected; None for any other file.

    libsndfile reads no samples from such a file. A WAV that truly holds none has a RIFF size all the same.
    """
    with path.open("rb") as file:
        header = file.read(12)
        if header != b"RIFF\0\0\0\0WAVE":
            return None
        data = next(
            (start for name, start, size in _chunks(file, "<") if name == b"data" and size == 0), None
        )
        if data is None:
            return None
        file.seek(0)
        content = bytearray(file.read())
    struct.pack_into("<I", content, 4, min(len(content) - 8, STREAM_SIZE - 1))
    struct.pack_into("<I", content, data - 4, min(len(content) - data, STREAM_SIZE - 1))
    return BytesIO(bytes(content))


def _chunk_sizes(file: BinaryIO, magic: bytes) -> tuple[int, int] | None:
    """Return (promised, held) of the audio chunk of WAV or AIFF."""
    order, audio_chunk = ("<", b"data") if magic[:4] == b"RIFF" else (">", b"SSND")
    end = file.seek(0, 2)
    file.seek(12)
    for name, start, size in _chunks(file, order):
        if name == audio_chunk:
            return None if size >= STREAM_SIZE else (size, end - start)
    return None


def _rf64_sizes(file: BinaryIO) -> tuple[int, int] | None:
    """Return (promised, held) of the audio of an RF64, whose chunk ``ds64`` tells the size in 64 bits."""
    end = file.seek(0, 2)
    file.seek(12)
    promised = None
    for name, start, size in _chunks(file, "<"):
        if name == b"ds64":
            fields = file.read(16)
            promised = struct.unpack("<Q", fields[8:])[0] if len(fields) == 16 else None
            file.seek(start)
        elif name == b"data":
            told = promised if size == _IN_DS64 else size
            return None if told is None or _IN_DS64 > told >= STREAM_SIZE else (told, end - start)
    return None


def _wave64_sizes(file: BinaryIO) -> tuple[int, int] | None:
    """Return (promised, held) of the audio of a Wave64: names of 16 bytes, sizes that include the header."""
    end = file.seek(0, 2)
    position = file.seek(40)
    while len(header := file.read(24)) == 24:
        size = struct.unpack("<Q", header[16:])[0]
        if header[:4] == b"data":
            return size - 24, end - position - 24
        if size < 24 or position + size > end:
            return None
        position = file.seek(position + (size + 7) // 8 * 8)
    return None


def _chunks(file: BinaryIO, order: str) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, start of content and size of each chunk from the file's position on."""
    while len(header := file.read(8)) == 8:
        size = struct.unpack(order + "I", header[4:])[0]
        start = file.tell()
        yield header[:4], start, size
        file.seek(start + size + size % 2)  # chunks are padded to an even length


def _au_sizes(file: BinaryIO) -> tuple[int, int] | None:
    file.seek(4)
    header = file.read(8)
    if len(header) < 8:
        return None
    data_start, size = struct.unpack(">II", header)
    return None if size >= STREAM_SIZE else (size, max(file.seek(0, 2) - data_start, 0))


def _sphere_sizes(file: BinaryIO) -> tuple[int, int] | None:
    fields = _sphere_fields(file)
    try:
        promised = (
            int(fields["sample_count"])
            * int(fields.get("channel_count", "1"))
            * int(fields["sample_n_bytes"])
        )
        header_bytes = int(fields["header_bytes"])
    except (KeyError, ValueError):
        return None  # libsndfile says what is wrong with the header
    return promised, max(file.seek(0, 2) - header_bytes, 0)


def _sphere_fields(file: BinaryIO) -> dict[str, str]:
    """Return the header fields of a SPHERE file, and the header's length as ``header_bytes``."""
    file.seek(len(SPHERE_MAGIC))
    length = file.read(8).decode("latin-1").strip()
    file.seek(0)
    # Not isdigit, which takes superscripts for digits.
    n_bytes = min(int(length), _LONGEST_SPHERE_HEADER) if length.isdecimal() else 1024
    header = file.read(n_bytes).decode("latin-1")
    fields = dict(re.findall(r"^(\w+) -\w+ (.*?)\s*$", header.partition("end_head")[0], flags=re.MULTILINE))
    return fields | {"header_bytes": length}


def _last_ogg_page_sizes(file: BinaryIO) -> tuple[int, int] | None:
    """Return (promised, held) bytes of the last Ogg page, the one that a cut leaves incomplete."""
    end = file.seek(0, 2)
    file.seek(max(end - OGG_LARGEST_PAGE, 0))
    tail = file.read()
    page = tail[tail.rfind(b"OggS") :]
    if len(page) < OGG_PAGE_HEADER:
        return OGG_PAGE_HEADER, len(page)
    n_segments = page[26]
    content = sum(page[OGG_PAGE_HEADER : OGG_PAGE_HEADER + n_segments])
    return OGG_PAGE_HEADER + n_segments + content, len(page)


# The length of an MP3 that does not state it: libsndfile guesses it from the first frame's bit rate

FRAME_SAMPLES = 1152  # of MPEG 1; half of it in MPEG 2 and 2.5
# kbit/s by the index in the header of a layer III frame; 0 (free) and 15 are not walked
MPEG1_KBITS = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
MPEG2_KBITS = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
MPEG1_RATES = (44100, 48000, 32000)
# Divisor of MPEG 1's sampling rates by the header's version bits: 2.5, reserved, 2, 1
RATE_DIVISOR = {0: 4, 2: 2, 3: 1}


def unstated_length(path: Path) -> int | None:
    """Return the samples in all frames of an MP3; None if its first frame tells, or if none is found."""
    content = path.read_bytes()
    position = _id3_bytes(content)
    if any(marker in content[position : position + 2048] for marker in (b"Xing", b"Info", b"VBRI")):
        return None
    n_samples = 0
    while (frame := _frame(content[position : position + 4])) is not None:
        n_bytes, n_frame_samples = frame
        position += n_bytes
        n_samples += n_frame_samples
    return n_samples or None


def _id3_bytes(content: bytes) -> int:
    """Return the length of the ID3v2 tag that may come first; its size has seven bits a byte."""
    if content[:3] != b"ID3" or len(content) < 10:
        return 0
    size = 0
    for byte in content[6:10]:
        size = size << 7 | byte & 0x7F
    return 10 + size


def _frame(header: bytes) -> tuple[int, int] | None:
    """Return bytes and samples of the layer III frame with this four-byte header, None if it is none."""
    if len(header) < 4 or header[0] != 0xFF or header[1] & 0xE6 != 0xE2:  # 11 sync bits, layer III
        return None
    divisor = RATE_DIVISOR.get(header[1] >> 3 & 3)
    bit_rate_index, rate_index, padding = header[2] >> 4, header[2] >> 2 & 3, header[2] >> 1 & 1
    if divisor is None or rate_index == 3 or bit_rate_index in (0, 15):
        return None
    kbits = (MPEG1_KBITS if divisor == 1 else MPEG2_KBITS)[bit_rate_index]
    n_samples = FRAME_SAMPLES if divisor == 1 else FRAME_SAMPLES // 2
    sample_rate = MPEG1_RATES[rate_index] // divisor
    return n_samples // 8 * kbits * 1000 // sample_rate + padding, n_samples
