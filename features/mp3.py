"""The length of an MP3 that does not state it: libsndfile guesses it from the first frame's bit rate."""

from __future__ import annotations

from pathlib import Path

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
