"""An utterance as a page can show and play it, in few bytes: its line in the list, and pictures of some.

Both are plain data for the page's scripts, ``assets/utterances.js`` and ``view.js``, which draw them: words
with times, waveform, spectrogram, posteriors, sound.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray
from PIL import Image
from scipy.signal import ShortTimeFFT

from acoustic.alignment import Alignment
from asr.corpora.corpus import Utterance
from asr.reports.hearing import HeardUtterance
from asr.scoring.edit_distance import WordPair, align_words
from asr.text.forms import NOT_WORDS
from features.mfcc import MelBand, mel_filterbank
from foundation.arrays import Floats, Ints, Reals, Singles

Bytes = NDArray[np.uint8]
N_BANDS = 80  # by feel
COLUMNS_PER_S = 100  # by feel
MOST_COLUMNS = 6000  # of any picture: browsers and WebP have limits
_WINDOW_S = 0.025
_RANGE_DB = 65.0  # below the loudest point all is silence; by feel
_WEBP_QUALITY = 70  # by feel
_MOST_COLUMNS = 2400  # of a waveform; by feel
_MOST_PHONES = 16  # rows of posteriors; by feel
_SEEN = 0.2  # a phone whose posterior stays below is not shown; by feel
_MP3_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
Plain = dict[str, Any]


def line(utterance_id: str, speaker: str, pairs: Sequence[WordPair]) -> Plain:
    """Return an utterance's line of the list: its speaker and its words (as `short` returns them)."""
    return {"id": utterance_id, "speaker": speaker, "pairs": short(pairs)}


def short(pairs: Iterable[WordPair]) -> list[str | list[str | None] | None]:
    """Return aligned words, a right one as itself and a wrong one as a pair.

    >>> short([("go", "go"), ("left", "lift"), (None, "uh")])
    ['go', ['left', 'lift'], [None, 'uh']]
    """
    return [said if said == heard else [said, heard] for said, heard in pairs]


def view(
    heard: HeardUtterance,
    samples: Singles,
    sample_rate: int,
    phones: Sequence[str],
    labels: Ints | None,
    shift_s: float,
) -> Plain:
    """Return what an open utterance shows: pictures, words, phones and posteriors.

    Parameters
    ----------
    heard : the utterance as the model hears it
    samples, sample_rate : its sound
    phones : (P,) names of the phones
    labels : (T,) phones of the transcript, None if they are not known
    shift_s : time between frames
    """
    duration = len(samples) / sample_rate
    said, recognised = said_and_heard(heard, shift_s)
    posteriors = np.exp(heard.log_posteriors)
    rows = posterior_rows(labels, posteriors)
    n_columns = min(_MOST_COLUMNS, max(1, round(2 * COLUMNS_PER_S * duration)))
    return {
        "duration": round(duration, 3),
        "topHz": sample_rate // 2,
        "wave": base64.b64encode(envelope(samples, n_columns).tobytes()).decode(),
        "spectrogram": picture(as_grey(spectrogram(samples, sample_rate))),
        "said": said,
        "heard": recognised,
        "phones": runs(labels, phones, shift_s),
        "posteriors": {
            "names": [phones[row] for row in rows],
            "end": round(len(posteriors) * shift_s, 3),
            "picture": picture(
                np.round(255 * narrowed(posteriors[:, rows].T)).astype(np.uint8), lossless=True
            ),
        },
    }


def said_and_heard(heard: HeardUtterance, shift_s: float) -> tuple[list[Plain], list[Plain]]:
    """Return the words said and those heard, with times and what stands for each on the other side.

    A word without ``other`` was deleted or inserted; a noise, which is not scored, has none either but is
    marked.
    """
    utterance, hypothesis = heard.utterance, heard.hypothesis
    others: list[str | None] = [None] * len(utterance.spoken)
    for_heard: list[str | None] = []
    place = 0
    for said, found in align_words(utterance.spoken, hypothesis.text):
        if said is not None:
            others[place] = found
            place += 1
        if found is not None:
            for_heard.append(said)
    said_words = _said(utterance, others, heard.alignment, shift_s)
    heard_words = [
        {
            "start": round(word.start_s, 3),
            "end": round(word.end_s, 3),
            "word": word.word,
            "other": other,
            "sure": None if word.confidence is None else round(word.confidence, 3),
        }
        for word, other in zip(hypothesis.words, for_heard, strict=True)
    ]
    return said_words, heard_words


def _said(
    utterance: Utterance, others: Sequence[str | None], alignment: Alignment | None, shift_s: float
) -> list[Plain]:
    if alignment is None:
        return []
    scored = np.cumsum([word not in NOT_WORDS for word in utterance.words]) - 1
    found = []
    for segment in alignment.words:
        word = utterance.words[segment.index]
        is_noise = word in NOT_WORDS
        entry = {
            "start": round(segment.start * shift_s, 3),
            "end": round(segment.end * shift_s, 3),
            "word": word,
            "other": None if is_noise else others[scored[segment.index]],
        }
        found.append({**entry, "noise": True} if is_noise else entry)
    return found


def posterior_rows(labels: Ints | None, posteriors: Floats) -> list[int]:
    """Return the phones worth showing, in the order in which they are first the most probable.

    Parameters
    ----------
    labels : (T,) phones of the transcript, None if they are not known
    posteriors : (T, P)
    """
    best = np.argmax(posteriors, axis=1)
    seen = set(np.flatnonzero(posteriors.max(axis=0, initial=0.0) >= _SEEN).tolist())
    if labels is not None:
        seen |= set(labels[labels >= 0].tolist())
    mass = posteriors.sum(axis=0)
    kept = sorted(seen, key=lambda phone: -mass[phone])[:_MOST_PHONES]

    def first(phone: int) -> int:
        at = np.flatnonzero(best == phone)
        return int(at[0]) if len(at) else int(np.argmax(posteriors[:, phone]))

    return sorted(kept, key=lambda phone: (first(phone), phone))


def runs(labels: Ints | None, names: Sequence[str], shift_s: float) -> list[tuple[float, float, str]]:
    """Return start, end and name of each run of one phone (T,); frames without one are left out."""
    if labels is None or not len(labels):
        return []
    bounds = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    return [
        (round(start * shift_s, 3), round(end * shift_s, 3), names[labels[start]])
        for start, end in pairwise(bounds)
        if labels[start] >= 0
    ]


def envelope(samples: Reals, n_columns: int) -> NDArray[np.int8]:
    """Return the lowest and highest sample in each of some stretches, (n_columns, 2) in ±127.

    The loudest sample of the recording becomes 127.
    """
    bounds = np.linspace(0, len(samples), n_columns + 1).astype(int)
    starts = np.minimum(bounds[:-1], len(samples) - 1)
    scale = 127.0 / max(float(np.abs(samples).max()), 1e-9)
    lowest, highest = (ufunc.reduceat(samples, starts) for ufunc in (np.minimum, np.maximum))
    return np.round(scale * np.column_stack([lowest, highest])).astype(np.int8)


def spectrogram(samples: Reals, sample_rate: int) -> Floats:
    """Return the power in mel bands in decibels below the loudest, (N_BANDS, n_columns), low bands first.

    There are `COLUMNS_PER_S` columns, fewer where they would be more than `MOST_COLUMNS` in all.
    """
    window = np.hanning(round(_WINDOW_S * sample_rate))
    hop = max(sample_rate // COLUMNS_PER_S, -(-len(samples) // MOST_COLUMNS))
    n_fft = max(512, 1 << (len(window) - 1).bit_length()) * 2  # fine enough for the lowest bands
    transform = ShortTimeFFT(window, hop, sample_rate, mfft=n_fft, scale_to="magnitude")
    padded = np.pad(samples, (0, max(0, len(window) - len(samples))))
    power = transform.spectrogram(padded, p0=0, p1=max(1, -(-len(samples) // hop)))
    bands = mel_filterbank(N_BANDS, n_fft, sample_rate, MelBand(0.0, sample_rate / 2)).T @ power
    decibels = 10 * np.log10(np.maximum(bands, 1e-12))
    return np.asarray(decibels - decibels.max(), dtype=np.float64)


def narrowed(columns: Floats) -> Floats:
    """Return the largest value of each row in neighbouring columns, so that there are not too many columns.

    >>> narrowed(np.array([[0.0, 1.0, 0.5]])).tolist()
    [[0.0, 1.0, 0.5]]
    """
    width = columns.shape[1]
    starts = np.unique(np.linspace(0, width, min(width, MOST_COLUMNS), endpoint=False).astype(int))
    return np.asarray(np.maximum.reduceat(columns, starts, axis=1))


def as_grey(decibels: Floats) -> Bytes:
    """Return decibels (bands, columns) as levels of grey, the highest band on top, silence black."""
    levels = np.clip(1.0 + decibels / _RANGE_DB, 0.0, 1.0)
    return np.round(255 * levels[::-1]).astype(np.uint8)


def picture(grey: Bytes, *, lossless: bool = False) -> str:
    """Return a data URL of a picture (height, width): WebP, with losses that nobody sees, or PNG."""
    file = io.BytesIO()
    image = Image.fromarray(grey)
    if lossless:
        image.save(file, "PNG", optimize=True)
    else:
        image.save(file, "WEBP", quality=_WEBP_QUALITY)
    return data_url(file.getvalue(), "image/png" if lossless else "image/webp")


def data_url(content: bytes, kind: str) -> str:
    """Return bytes as a URL that a page can hold."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def as_flac(samples: Reals, sample_rate: int) -> bytes:
    """Return the bytes of a FLAC file, which all browsers play."""
    return _encoded(samples, sample_rate, "FLAC", "PCM_16")


def sound_url(samples: Reals, sample_rate: int) -> str:
    """Return a sound as a URL in few bytes: as MP3, or as FLAC where the rate or the library has no MP3."""
    if sample_rate in _MP3_RATES and "MP3" in soundfile.available_formats():
        return data_url(_encoded(samples, sample_rate, "MP3", "MPEG_LAYER_III"), "audio/mpeg")
    return data_url(as_flac(samples, sample_rate), "audio/flac")


def _encoded(samples: Reals, sample_rate: int, format: str, subtype: str) -> bytes:
    file = io.BytesIO()
    loudest = max(float(np.abs(samples).max(initial=0.0)), 1.0)  # resampling may overshoot
    soundfile.write(file, samples / loudest, sample_rate, format=format, subtype=subtype)
    return file.getvalue()
