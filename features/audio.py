"""Recordings of any usual format, rate and channel count as mono float32 samples.

libsndfile decodes (`features.ffmpeg` what it cannot) and soxr resamples. Recordings that lie one behind
another in a file are heard one behind another. What these libraries would pass over in silence (a file cut
short, bytes behind its end, samples that are not numbers) is an `AudioError` here: one line with the path,
what is wrong, what was expected, what was got, what to do.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby
from pathlib import Path

import numpy as np
import soundfile
import soxr

from features.containers import recordings_in
from features.errors import AudioError
from features.ffmpeg import is_for_ffmpeg, open_decoded
from features.mp3 import FRAME_SAMPLES, LOWEST_MPEG_1_HZ
from features.pieces import Piece, Pieces, Span
from features.samples import (
    HIGHEST_RATE_HZ,
    LONGEST_S,
    LOWEST_RATE_HZ,
    MOST_SAMPLES_A_BYTE,
    describe_sample,
    first_unusable,
    is_usual_rate,
)
from foundation.arrays import Singles
from foundation.errors import AsrError
from foundation.files import as_path, check_regular
from foundation.threads import parallel_map

logger = logging.getLogger(__name__)

# Tables of segments are rounded to a hundredth of a second or so: that far past the end is not a mistake.
SEGMENT_SLACK_S = 0.1  # by feel
MP3_SLACK_FRAMES = 2  # a decoder may swallow its delay from the ends of an MP3
BLOCK_SAMPLES = 1 << 18
# Of formats that may hold several recordings, of which libsndfile hears the first.
_BYTES_A_SAMPLE = {
    ("MAT4", "PCM_16"): 2.0,
    ("MAT4", "PCM_32"): 4.0,
    ("MAT4", "FLOAT"): 4.0,
    ("MAT4", "DOUBLE"): 8.0,
}
# A block of 127 bytes holds 120 bytes of samples, each of which takes two, three or four.
_BYTES_A_SAMPLE |= {
    ("SDS", subtype): 127 / 120 * n for subtype, n in (("PCM_S8", 2), ("PCM_16", 3), ("PCM_24", 4))
}
_LONGEST_HEADER = 4096  # bytes; by feel
_UNTOLD = (1 << 63) - 1  # samples that libsndfile names where a header names none
_FEW_CHANNELS = 8  # of more, fewer samples are read at once; by feel
_CANCELLED = 0.01  # of what the channels have, less in their mean is a rest of rounding or coding; by feel
_RATES = f"{LOWEST_RATE_HZ} to {HIGHEST_RATE_HZ} Hz"


@dataclass(frozen=True)
class AudioInfo:
    """What a recording's header says.

    Attributes
    ----------
    sample_rate : int
        Samples per second.
    n_channels : int
    duration_s : float
    """

    sample_rate: int
    n_channels: int
    duration_s: float


def audio_info(path: str | os.PathLike[str]) -> AudioInfo:
    """Return rate, channels and duration from the header alone; AudioError if the file cannot be used.

    Of recordings one behind another these are the rate of the first one, the most channels, and the duration
    of all. Ogg, FLAC and some MP3 are looked through for others (see `recordings_in`).
    """
    with _opened(as_path(path, AudioError)) as parts:
        duration_s = sum(part.n_samples / part.sample_rate for part in parts)
        return AudioInfo(parts[0].sample_rate, max(part.n_channels for part in parts), duration_s)


def read_audio(
    path: str | os.PathLike[str],
    sample_rate: int | None = 16000,
    start_s: float = 0.0,
    end_s: float | None = None,
) -> Singles:
    """Return the samples of a recording or of a segment of it.

    Parameters
    ----------
    path : path
        Any file libsndfile opens: wav, flac, ogg, opus, mp3, aiff, au, NIST SPHERE (not "shortened"), ...;
        m4a, mp4, webm, aac, wma and others of `FFMPEG_SUFFIXES` where ffmpeg is installed.
    sample_rate : int or None
        Samples per second of the result; None keeps the file's own, that of the first of several recordings.
    start_s, end_s : float
        The segment in seconds; ``end_s=None`` is the end of the recording.

    Returns
    -------
    (n_samples,) float32
        Mean of the channels, in [-1, 1) but for the overshoot of a resampled, lossy or floating-point signal.
    """
    try:
        blocks = list(audio_blocks(path, sample_rate, start_s, end_s))
        samples = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    except MemoryError as error:
        what = "needs more memory than there is"
        raise AudioError.of(Path(path), what, "a shorter one", "this", "cut it into pieces") from error
    if not samples.size:  # of a few samples none may be left at a lower rate
        at_rate = f"at least one at {sample_rate} Hz"
        raise AudioError.of(Path(path), "no samples", at_rate, 0, "record it again or leave it out")
    return samples


def audio_blocks(
    path: str | os.PathLike[str],
    sample_rate: int | None = 16000,
    start_s: float = 0.0,
    end_s: float | None = None,
) -> Iterator[Singles]:
    """Yield the samples of `read_audio`, which has the same parameters, in blocks of some seconds."""
    path = as_path(path, AudioError)
    if sample_rate is not None and not is_usual_rate(sample_rate):
        raise AudioError.of(path, "sample rate", _RATES, f"{sample_rate:g}", "ask for another")
    with _opened(path) as parts:
        wanted = _segments(path, parts, start_s, end_s)
        to_rate, levels = sample_rate or parts[0].sample_rate, _Levels()
        for from_rate, group in groupby(wanted, lambda segment: segment[0].sample_rate):
            blocks = chain.from_iterable(part.blocks(start, stop, levels) for part, start, stop in group)
            yield from blocks if from_rate == to_rate else _resampled(blocks, from_rate, to_rate)
    if levels.mean < _CANCELLED * levels.channels:
        what, expected = "its channels cancel each other", "the same speech in each"
        raise AudioError.of(path, what, expected, "one upside down", "save one of them alone")


@dataclass
class _Levels:
    """Sums of magnitudes: of the mean of the channels, and what that of alike channels would have."""

    mean: float = 0.0
    channels: float = 0.0

    def add(self, block: Singles, mono: Singles) -> None:
        """Add some samples (n, channels) and their mean (n,)."""
        self.mean += float(np.abs(mono).sum(dtype=np.float64))
        self.channels += float(np.abs(block).sum(dtype=np.float64)) / block.shape[1]


@dataclass(frozen=True)
class _Part:
    """One of the recordings in a file, its header sound.

    Attributes
    ----------
    path, span : where it lies
    sample_rate, n_channels, n_samples : as its header says, or as counted
    file : while it is open, else None
    """

    path: Path
    span: Span
    sample_rate: int
    n_channels: int
    n_samples: int
    file: soundfile.SoundFile | None

    def blocks(self, start: int, stop: int, levels: _Levels) -> Iterator[Singles]:
        """Yield the mean of the channels of some samples, and add to their levels."""
        if self.file is not None:
            yield from _mono_blocks(self.path, self.file, start, stop, levels)
        else:
            with _open(self.path, self.span) as file:
                yield from _mono_blocks(self.path, file, start, stop, levels)


@contextmanager
def _opened(path: Path) -> Iterator[Sequence[_Part]]:
    """Yield the recordings in a file; one alone stays open, of several each is opened when it is read."""
    spans = _spans_of(path)
    parts: Sequence[_Part]
    with ExitStack() as stack:
        if len(spans) == 1:
            file = stack.enter_context(_open(path, spans[0]))
            parts = [_Part(path, spans[0], *_described(path, spans[0], file), file)]
        else:
            parts = _closed_parts(path, spans, path.stat().st_mtime_ns)
        _check_length(path, parts)
        yield parts


@lru_cache(maxsize=64)
def _closed_parts(path: Path, spans: tuple[Span, ...], time_ns: int) -> tuple[_Part, ...]:
    """Return those of several recordings that have samples: a link of a chain may have none."""
    parts = []
    for span in spans:
        with _open(path, span) as file:
            if file.frames:
                parts.append(_Part(path, span, *_described(path, span, file), None))
    return tuple(parts)


def _described(path: Path, span: Span, file: soundfile.SoundFile) -> tuple[int, int, int]:
    """Return rate, channels and samples of each."""
    return file.samplerate, file.channels, _n_samples(path, span, file)


@contextmanager
def _open(path: Path, span: Span) -> Iterator[soundfile.SoundFile]:
    """Open a recording of a file once its header is known to be sound."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(_sound_file(path, span, stack))
        except soundfile.LibsndfileError as error:
            # Of an MP3 without one whole frame libsndfile says that the file does not exist.
            reason = "a damaged file" if "not exist" in error.error_string else error.error_string
            raise _not_audio(path, reason) from error
        except TypeError as error:  # soundfile wants a rate and a format for the name *.raw
            raise _not_audio(path, "samples without a header") from error
        _check_header(path, span, file)
        yield file


def _check_header(path: Path, span: Span, file: soundfile.SoundFile) -> None:
    """Raise AudioError if a header says what no recording is like, before anything is made of that size."""
    if not is_usual_rate(file.samplerate):
        cure = "correct the header (sox -r RATE IN OUT)"
        raise AudioError.of(path, "damaged header", _RATES, f"{file.samplerate} Hz", cure)
    if file.format == "FLAC" and file.frames == _UNTOLD:
        what, cure = "FLAC that does not tell its length", "write it again with `flac`, or convert it to wav"
        raise AudioError.of(path, what, "a number of samples in its header", "none", cure)
    n_bytes = path.stat().st_size if span.pieces is None else span.n_bytes
    n_heard = _BYTES_A_SAMPLE.get((file.format, file.subtype), np.inf) * file.frames * file.channels
    if n_bytes > n_heard + _LONGEST_HEADER:
        got, cure = f"{n_bytes}", "keep one recording in it, or convert it to wav"
        raise AudioError.of(path, "bytes that are not heard", f"some {n_heard:.0f} in all", got, cure)
    if file.frames > MOST_SAMPLES_A_BYTE * n_bytes and not is_for_ffmpeg(path):
        raise AudioError.truncated(path, f"{file.frames} samples", f"{n_bytes} bytes")


def _check_length(path: Path, parts: Sequence[_Part]) -> None:
    """Raise AudioError of recordings without samples, or of more hours than anybody records."""
    if not sum(part.n_samples for part in parts):
        raise AudioError.of(path, "no samples", "at least one", 0, "record it again or leave it out")
    duration_s = sum(part.n_samples / part.sample_rate for part in parts)
    if duration_s > LONGEST_S:
        expected = f"at most {LONGEST_S / 3600:.0f} hours"
        raise AudioError.of(
            path, "too long", expected, f"{duration_s / 3600:.0f} hours", "cut it into pieces"
        )


def _sound_file(path: Path, span: Span, stack: ExitStack) -> soundfile.SoundFile:
    """Return the opened recording, decoded by ffmpeg if libsndfile cannot and the file is of that kind."""
    if span.pieces is not None:
        return _pieces_file(path, span.pieces, stack)
    try:
        # As bytes: soundfile cannot encode names that are not in the file system's encoding.
        return soundfile.SoundFile(path if os.name == "nt" else os.fsencode(path))
    except soundfile.LibsndfileError:
        if is_for_ffmpeg(path):
            return soundfile.SoundFile(open_decoded(path))
        # Macs leave such files on other disks, which libsndfile takes for a part of an MP3.
        if os.path.exists(path.with_name(f"._{path.name}")):
            return _pieces_file(path, ((0, path.stat().st_size),), stack)
        raise


def _pieces_file(path: Path, pieces: Sequence[Piece], stack: ExitStack) -> soundfile.SoundFile:
    return soundfile.SoundFile(Pieces(stack.enter_context(path.open("rb")), pieces))


def _spans_of(path: Path) -> tuple[Span, ...]:
    """Return where the recordings of a file lie."""
    cure = "check the path"
    try:
        size = check_regular(path).st_size
        if path.is_dir():
            raise AudioError.of(path, "not a recording", "an audio file", "a directory", cure)
        if size == 0:
            raise AudioError.of(path, "empty file", "an audio file", "0 bytes", "copy or record it again")
        path.open("rb").close()
        return recordings_in(path)
    except FileNotFoundError as error:
        raise AudioError.of(path, "no such file", "an audio file", "nothing", cure) from error
    except OSError as error:
        raise AudioError.of(path, "cannot be opened", "a readable file", error.strerror, cure) from error


def _n_samples(path: Path, span: Span, file: soundfile.SoundFile) -> int:
    """Return the samples of each channel; for an MP3 that does not state them counted, not guessed."""
    if span.n_samples is None:
        return int(file.frames)
    if span.n_samples > file.frames + _slack(file):
        what, cure = "MP3 of variable bit rate that does not state its length", "convert it to wav"
        got = f"{file.frames} from libsndfile"
        raise AudioError.of(path, what, f"{span.n_samples} samples", got, cure)
    return min(span.n_samples, int(file.frames))


def _slack(file: soundfile.SoundFile) -> int:
    """Return how many samples may be missing."""
    if file.format != "MP3":
        return 0
    return MP3_SLACK_FRAMES * (FRAME_SAMPLES if file.samplerate >= LOWEST_MPEG_1_HZ else FRAME_SAMPLES // 2)


def _segments(
    path: Path, parts: Sequence[_Part], start_s: float, end_s: float | None
) -> Iterator[tuple[_Part, int, int]]:
    """Yield the recordings in which a segment lies, its first sample there and the one after its last."""
    duration_s = sum(part.n_samples / part.sample_rate for part in parts)
    last_s = duration_s if end_s is None else end_s
    if not (0.0 <= start_s < min(last_s, duration_s) and last_s <= duration_s + SEGMENT_SLACK_S):
        expected, got = f"0 <= start < end <= {duration_s:.3f} s", f"{start_s:g} to {last_s:g} s"
        raise AudioError.of(path, "segment out of range", expected, got, "correct the segment")
    before_s, is_found, start = 0.0, False, 0
    for part in parts:
        start = max(round((start_s - before_s) * part.sample_rate), 0)
        stop = min(round((last_s - before_s) * part.sample_rate), part.n_samples)
        if start < stop:
            is_found = True
            yield part, start, stop
        before_s += part.n_samples / part.sample_rate
    if not is_found:  # less than a sample
        start = min(start, parts[-1].n_samples - 1)
        yield parts[-1], start, start + 1


def _mono_blocks(
    path: Path, file: soundfile.SoundFile, start: int, stop: int, levels: _Levels
) -> Iterator[Singles]:
    """Yield the mean of the channels of some samples, and add to their levels."""
    n_samples, n_read = stop - start, 0
    at_once = max(BLOCK_SAMPLES * _FEW_CHANNELS // max(file.channels, _FEW_CHANNELS), 1)
    try:
        _go_to(file, start, at_once)
        while n_read < n_samples:
            n_wanted = min(at_once, n_samples - n_read)
            block = file.read(n_wanted, dtype="float32", always_2d=True)
            if len(block):
                mono = block[:, 0] if file.channels == 1 else block.mean(axis=1)
                _check_samples(path, mono, n_read)
                if file.channels > 1:
                    levels.add(block, mono)
                yield mono
            n_read += len(block)
            if len(block) < n_wanted:
                break
    except soundfile.LibsndfileError as error:
        held = f"damage after {start + n_read}"
        raise AudioError.truncated(path, f"{file.frames} samples", held) from error
    if n_read < n_samples - _slack(file):
        raise AudioError.truncated(path, f"{file.frames} samples", f"{start + n_read}")
    if not n_read:
        raise AudioError.of(path, "no samples", "at least one", 0, "record it again or leave it out")


def _go_to(file: soundfile.SoundFile, start: int, at_once: int) -> None:
    """Go to a sample; some codings (GSM 6.10) can only be read from the beginning on."""
    try:
        if start:
            file.seek(start)
    except soundfile.LibsndfileError:
        while start > 0 and (n_read := len(file.read(min(start, at_once), dtype="float32"))):
            start -= n_read


def _resampled(blocks: Iterator[Singles], from_rate: int, to_rate: int) -> Iterator[Singles]:
    """Yield the samples at another rate, the same as if all were resampled at once."""
    stream = soxr.ResampleStream(from_rate, to_rate, 1, dtype="float32", quality="HQ")
    for block in blocks:
        yield stream.resample_chunk(block)
    yield stream.resample_chunk(np.empty(0, dtype=np.float32), last=True)


def _check_samples(path: Path, samples: Singles, n_before: int) -> None:
    where = first_unusable(samples)
    if where is not None:
        value = samples[where]
        cure = "divide integers by 32768, repair it or leave it out"
        what = f"sample {n_before + where}"
        raise AudioError.of(path, what, describe_sample(value), f"{value:g}", cure)


def _not_audio(path: Path, reason: str) -> AudioError:
    what, expected = "not audio that libsndfile can read", "wav, flac, ogg, mp3, aiff, au, caf or NIST SPHERE"
    return AudioError.of(path, what, expected, reason.strip().rstrip("."), "convert it to wav")


def warn_of_low_rates(recordings: Iterable[Path], sample_rate: int) -> None:
    """Log once how many recordings have fewer samples a second than the front end wants, and the cure."""
    paths = list(dict.fromkeys(recordings))
    rates = list(parallel_map(_sample_rate, paths))
    low = [(rate, path) for rate, path in zip(rates, paths, strict=True) if rate and rate < sample_rate]
    if not low:
        return
    lowest, path = min(low)
    logger.warning(
        "%d of %d recordings have fewer samples a second than the front end expects (%d Hz), such as %s "
        "(%d Hz): %s",
        len(low),
        len(paths),
        sample_rate,
        path,
        lowest,
        _cure_of_low_rate(lowest),
    )


def low_rate(rate: int, expected: int) -> str:
    """Return what is lost if a recording has fewer samples a second than the front end wants, else "".

    >>> low_rate(8000, 16000)[:72]
    '8000 Hz, fewer samples a second than the front end expects (16000 Hz): n'
    """
    if rate >= expected:
        return ""
    what = f"{rate} Hz, fewer samples a second than the front end expects ({expected} Hz)"
    return f"{what}: {_cure_of_low_rate(rate)}"


def _cure_of_low_rate(rate: int) -> str:
    return f"nothing is heard above half of that; train with --set sample_rate={rate}"


def _sample_rate(path: Path) -> int | None:
    try:
        return audio_info(path).sample_rate
    except AsrError:
        return None  # reported when its samples are read
