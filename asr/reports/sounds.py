"""A recording as a page can show and play it: waveform, spectrogram, sound file, each in few bytes."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray
from PIL import Image
from scipy.signal import ShortTimeFFT

from features.mfcc import MelBand, mel_filterbank
from foundation.arrays import Floats, Reals

Bytes = NDArray[np.uint8]

N_BANDS = 80
COLUMNS_PER_S = 100
MOST_COLUMNS = 6000  # of any picture: browsers and WebP have limits
_WINDOW_S = 0.025
_RANGE_DB = 65.0  # below the loudest point all is silence
_WEBP_QUALITY = 70


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
    file = io.BytesIO()
    loudest = max(float(np.abs(samples).max(initial=0.0)), 1.0)  # resampling may overshoot
    soundfile.write(file, samples / loudest, sample_rate, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def file_name(place: int, utterance_id: str) -> str:
    """Return a file name that any system and any URL can hold.

    >>> file_name(7, "añ/1 <b>")
    '0007-a-1-b-.flac'
    """
    return f"{place:04d}-{re.sub(r'[^A-Za-z0-9_]+', '-', utterance_id)[:60]}.flac"


def sounds_directory(page: Path) -> Path:
    """Return where the sounds of a page lie that are not in it."""
    return page.with_name(f"{page.stem}_audio")
