"""The recordings of an MP3 file: frames one behind another, the first of which may tell how many follow."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from features.errors import AudioError
from features.pieces import AT_ONCE, HEAD, MOST_RECORDINGS, File, Found, Span, after_tags
from foundation.arrays import Bytes, Flags, Longs

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


def _told(file: File, position: int) -> _Told:
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


def begins_mp3(head: bytes) -> bool:
    """Return whether the first bytes of something are those of a frame."""
    return _Frames(head, 0, is_last=True).at(0) is not None


def mp3_recordings(file: File, start: int, begins_other: Callable[[bytes], bool]) -> Found:
    """Return the recordings that begin with a frame; another container ends them, by its first bytes."""
    told = _told(file, start)
    if told.n_bytes and told.n_frames < np.inf and after_tags(file, start + told.n_bytes) == file.size:
        stop = start + told.n_bytes
        return Found([Span(((start, stop),))], stop, slack=_LARGEST_FRAME)
    streams, stop, has_tags = _streams(file, start, begins_other)
    for stream in streams:
        if stream.n_promised == np.inf:
            _check_lost(file, stream.n_lost)
    by_name = len(streams) == 1 and not has_tags
    return Found([stream.span() for stream in streams], stop, by_name, slack=_LARGEST_FRAME)


def _streams(
    file: File, start: int, begins_other: Callable[[bytes], bool]
) -> tuple[list[_Stream], int, bool]:
    """Return streams of frames, where the last one ends, and whether tags stand between frames of one."""
    streams: list[_Stream] = []
    position = stop = last = start
    frames, n_lost, has_tags, is_behind_tag = None, 0, False, False
    while position < file.size and len(streams) <= MOST_RECORDINGS:
        if frames is None or not frames.start <= position < frames.stop:
            content = file.read(position, AT_ONCE)
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
        elif (after := after_tags(file, position)) > position:
            position, is_behind_tag = after, True
        elif begins_other(file.read(position, HEAD)):
            break
        else:
            file.step()
            is_cut = position == stop and last >= frames.start and frames.after(last) < stop
            if is_cut:
                streams[-1].end(last)
            after = frames.after(last if is_cut else position)
            n_lost, position = n_lost + after - (last if is_cut else position), after
    return _without_last_frames(streams), min(stop, file.size), has_tags


def _check_lost(file: File, n_bytes: int) -> None:
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
