"""Recordings of any usual format, rate and channel count as mono float32 samples.

libsndfile decodes (`features.ffmpeg` what it cannot) and soxr resamples. What they would pass over in
silence (a file cut short, samples that are not numbers) is an `AudioError` here: one line with the path, what
is wrong, what was expected, what was got, what to do.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr

from features.containers import (
    FRAME_SAMPLES,
    missing_bytes,
    sphere_compression,
    unstated_length,
    with_sizes_filled_in,
)
from features.errors import AudioError
from features.ffmpeg import is_for_ffmpeg, open_decoded
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
# A decoder may swallow its delay from the ends of an MP3.
MP3_SLACK = 2 * FRAME_SAMPLES
BLOCK_SAMPLES = 1 << 18
_FEW_CHANNELS = 8  # of more, fewer samples are read at once; by feel
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
    """Return rate, channels and duration from the header alone; AudioError if the file cannot be used."""
    path = as_path(path, AudioError)
    with _open(path) as file:
        return AudioInfo(file.samplerate, file.channels, _n_samples(path, file) / file.samplerate)


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
        Samples per second of the result; None keeps the file's own.
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
        raise AudioError(_line(Path(path), what, "a shorter one", "this", "cut it into pieces")) from error
    if not samples.size:  # of a few samples none may be left at a lower rate
        at_rate = f"at least one at {sample_rate} Hz"
        raise AudioError(_line(Path(path), "no samples", at_rate, 0, "record it again or leave it out"))
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
        raise AudioError(_line(path, "sample rate", _RATES, f"{sample_rate:g}", "ask for another"))
    with _open(path) as file:
        start, stop = _segment(path, file, start_s, end_s)
        blocks = _mono_blocks(path, file, start, stop)
        if sample_rate is None or sample_rate == file.samplerate:
            yield from blocks
        else:
            yield from _resampled(blocks, file.samplerate, sample_rate)


def _open(path: Path) -> soundfile.SoundFile:
    """Return the opened file once its header is known to be sound."""
    _check_is_file(path)
    _check_complete(path)
    try:
        file = _sound_file(path)
    except soundfile.LibsndfileError as error:
        # Of an MP3 without one whole frame libsndfile says that the file does not exist.
        reason = "a damaged file" if "not exist" in error.error_string else error.error_string
        raise AudioError(_not_audio(path, reason)) from error
    except TypeError as error:  # soundfile wants a rate and a format for the name *.raw
        raise AudioError(_not_audio(path, "samples without a header")) from error
    try:
        _check_header(path, file)
    except AudioError:
        file.close()
        raise
    return file


def _check_header(path: Path, file: soundfile.SoundFile) -> None:
    """Raise AudioError if a header says what no recording is like, before anything is made of that size."""
    if file.frames <= 0:
        raise AudioError(_line(path, "no samples", "at least one", 0, "record it again or leave it out"))
    if not is_usual_rate(file.samplerate):
        cure = "correct the header (sox -r RATE IN OUT)"
        raise AudioError(_line(path, "damaged header", _RATES, f"{file.samplerate} Hz", cure))
    if file.frames > MOST_SAMPLES_A_BYTE * path.stat().st_size and not is_for_ffmpeg(path):
        raise AudioError(_truncated(path, f"{file.frames} samples", f"{path.stat().st_size} bytes"))
    if file.frames > LONGEST_S * file.samplerate:
        hours = f"{file.frames / file.samplerate / 3600:.0f} hours"
        expected = f"at most {LONGEST_S / 3600:.0f} hours"
        raise AudioError(_line(path, "too long", expected, hours, "cut it into pieces"))


def _sound_file(path: Path) -> soundfile.SoundFile:
    """Return the opened file, decoded by ffmpeg if libsndfile cannot and the file is of that kind."""
    # As bytes: soundfile cannot encode names that are not in the file system's encoding.
    name = path if os.name == "nt" else os.fsencode(path)
    try:
        return soundfile.SoundFile(with_sizes_filled_in(path) or name)
    except soundfile.LibsndfileError:
        if not is_for_ffmpeg(path):
            raise
    return soundfile.SoundFile(open_decoded(path))


def _check_is_file(path: Path) -> None:
    cure = "check the path"
    try:
        size = check_regular(path).st_size
        if path.is_dir():
            raise AudioError(_line(path, "not a recording", "an audio file", "a directory", cure))
        if size == 0:
            raise AudioError(_line(path, "empty file", "an audio file", "0 bytes", "copy or record it again"))
        path.open("rb").close()
    except FileNotFoundError as error:
        raise AudioError(_line(path, "no such file", "an audio file", "nothing", cure)) from error
    except OSError as error:
        raise AudioError(_line(path, "cannot be opened", "a readable file", error.strerror, cure)) from error


def _check_complete(path: Path) -> None:
    coding = sphere_compression(path)
    if coding is not None:
        cure = "expand with `sph2pipe -f wav IN OUT`"
        raise AudioError(_line(path, "compressed NIST SPHERE", "pcm or ulaw", coding, cure))
    missing = missing_bytes(path)
    if missing is not None:
        promised, held = (f"{n} bytes of audio" for n in missing)
        raise AudioError(_truncated(path, promised, held))


def _n_samples(path: Path, file: soundfile.SoundFile) -> int:
    """Return the samples of each channel; for an MP3 that does not state them counted, not guessed."""
    counted = unstated_length(path) if file.format == "MP3" else None
    if counted is None:
        return int(file.frames)
    if counted > file.frames + MP3_SLACK:
        what, cure = "MP3 of variable bit rate that does not state its length", "convert it to wav"
        raise AudioError(_line(path, what, f"{counted} samples", f"{file.frames} from libsndfile", cure))
    return min(counted, int(file.frames))


def _segment(path: Path, file: soundfile.SoundFile, start_s: float, end_s: float | None) -> tuple[int, int]:
    """Return the segment's first sample and the one after its last."""
    n_samples = _n_samples(path, file)
    duration_s = n_samples / file.samplerate
    last_s = duration_s if end_s is None else end_s
    if not (0.0 <= start_s < min(last_s, duration_s) and last_s <= duration_s + SEGMENT_SLACK_S):
        got = f"{start_s:g} to {last_s:g} s"
        raise AudioError(
            _line(
                path,
                "segment out of range",
                f"0 <= start < end <= {duration_s:.3f} s",
                got,
                "correct the segment",
            )
        )
    start, stop = round(start_s * file.samplerate), round(last_s * file.samplerate)
    start = min(start, n_samples - 1)
    return start, max(min(stop, n_samples), start + 1)


def _mono_blocks(path: Path, file: soundfile.SoundFile, start: int, stop: int) -> Iterator[Singles]:
    """Yield the mean of the channels of some samples."""
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
                yield mono
            n_read += len(block)
            if len(block) < n_wanted:
                break
    except soundfile.LibsndfileError as error:
        raise AudioError(
            _truncated(path, f"{file.frames} samples", f"damage after {start + n_read}")
        ) from error
    if n_read < n_samples - (MP3_SLACK if file.format == "MP3" else 0):
        raise AudioError(_truncated(path, f"{file.frames} samples", f"{start + n_read}"))
    if not n_read:
        raise AudioError(_line(path, "no samples", "at least one", 0, "record it again or leave it out"))


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
        raise AudioError(_line(path, what, describe_sample(value), f"{value:g}", cure))


def _not_audio(path: Path, reason: str) -> str:
    expected = "wav, flac, ogg, mp3 or NIST SPHERE"
    return _line(
        path, "not audio that libsndfile can read", expected, reason.strip().rstrip("."), "convert it to wav"
    )


def _truncated(path: Path, promised: str, held: str) -> str:
    return _line(path, "truncated", promised, held, "copy it again, or re-encode it to keep what is there")


def _line(path: Path, what: str, expected: object, got: object, cure: str) -> str:
    return f"{path}: {what}; expected {expected}; got {got}; {cure}"


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
        "(%d Hz): nothing is heard above half of that; train with --set sample_rate=%d",
        len(low),
        len(paths),
        sample_rate,
        path,
        lowest,
        lowest,
    )


def _sample_rate(path: Path) -> int | None:
    try:
        return audio_info(path).sample_rate
    except AsrError:
        return None  # reported when its samples are read
