"""HTK's mel filter bank and cepstral transform as matrices (HTK Book, 5.4 and 5.6; HSigP.c)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from features.errors import FeatureError
from foundation.arrays import Flags, Floats, Singles


@dataclass(frozen=True)
class MelBand:
    """Edges of a filter bank and the vocal-tract-length warp within them (see `MfccConfig`)."""

    low_hz: float
    high_hz: float
    warp: float = 1.0
    warp_low_hz: float = 0.0
    warp_high_hz: float = 0.0


def mel(hz: ArrayLike) -> Floats:
    """Return HTK's mel scale of a frequency.

    >>> round(float(mel(1000.0)))
    1000
    """
    return 1127.0 * np.log1p(np.asarray(hz, dtype=np.float64) / 700.0)


def inverse_mel(mels: ArrayLike) -> Floats:
    """Return the frequency in Hz of a point on the mel scale."""
    return 700.0 * np.expm1(np.asarray(mels, dtype=np.float64) / 1127.0)


def mel_filterbank(n_channels: int, n_fft: int, sample_rate: int, band: MelBand) -> Singles:
    """Return the weight of each FFT bin in each channel, ``(n_fft // 2 + 1, n_channels)`` float32.

    The triangles are straight in the mel domain and each reaches to its neighbours' centres. HTK leaves out
    bin 0, the Nyquist bin, and those outside the edges once these have been rounded to bins.
    """
    edges = _channel_edges(n_channels, band)
    bin_hz = np.arange(n_fft // 2 + 1) * sample_rate / n_fft
    bin_mel = mel(bin_hz)[:, None]
    rising = (bin_mel - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bin_mel) / (edges[2:] - edges[1:-1])
    weights = np.maximum(np.minimum(rising, falling), 0.0)
    weights[~_used_bins(n_fft, sample_rate, band)] = 0.0
    _check_no_channel_empty(weights, n_channels, n_fft)
    return weights.astype(np.float32)


def _channel_edges(n_channels: int, band: MelBand) -> Floats:
    """Return lower edge, centres and upper edge in mel, ``(n_channels + 2,)``."""
    edges = np.linspace(mel(band.low_hz), mel(band.high_hz), n_channels + 2)
    if band.warp != 1.0:
        edges = mel(warp_frequency(inverse_mel(edges), band))
    return edges


def warp_frequency(hz: ArrayLike, band: MelBand) -> Floats:
    """Return frequencies scaled by 1/warp between the cut-offs and bent back to the edges outside them.

    >>> warp_frequency([0.0, 920.0, 8000.0], MelBand(0.0, 8000.0, 0.92, 100.0, 6800.0)).round().tolist()
    [0.0, 1000.0, 8000.0]
    """
    scale = 1.0 / band.warp
    lower = band.warp_low_hz * 2 / (1 + scale)  # HTK moves the cut-offs with the warp
    upper = band.warp_high_hz * 2 / (1 + scale)
    if not (
        band.low_hz < min(lower, lower * scale) and max(upper, upper * scale) < band.high_hz and lower < upper
    ):
        raise FeatureError(
            f"warp: expected cut-offs that stay within low_hz {band.low_hz:g} and high_hz {band.high_hz:g} "
            f"when warped, got warp {band.warp:g} with warp_low_hz {band.warp_low_hz:g} and warp_high_hz "
            f"{band.warp_high_hz:g}; take a warp nearer to 1 or other cut-offs"
        )
    knots = [band.low_hz, lower, upper, band.high_hz]
    warped = [band.low_hz, lower * scale, upper * scale, band.high_hz]
    return np.interp(np.asarray(hz, dtype=np.float64), knots, warped)


def _used_bins(n_fft: int, sample_rate: int, band: MelBand) -> Flags:
    """Return which FFT bins enter the bank, ``(n_fft // 2 + 1,)`` (HTK's klo and khi, counted from zero)."""
    first = max(1, int(band.low_hz * n_fft / sample_rate + 1.5))
    last = min(n_fft // 2 - 1, int(band.high_hz * n_fft / sample_rate - 0.5))
    bins = np.arange(n_fft // 2 + 1)
    return (bins >= first) & (bins <= last)


def _check_no_channel_empty(weights: Floats, n_channels: int, n_fft: int) -> None:
    empty = np.flatnonzero(weights.sum(axis=0) == 0.0)
    if empty.size:
        raise FeatureError(
            f"n_channels: expected at least one FFT bin in each triangle, got none in channel {empty[0] + 1} "
            f"of {n_channels} with an FFT of {n_fft}; take fewer channels, a longer window or a wider band"
        )


def cepstral_matrix(n_channels: int, n_cepstra: int, lifter: int) -> Singles:
    """Return DCT and lifter of log channels as one matrix, ``(n_channels, n_cepstra)`` float32."""
    order = np.arange(1, n_cepstra + 1)
    channel = np.arange(n_channels)[:, None] + 0.5
    dct = np.sqrt(2.0 / n_channels) * np.cos(np.pi / n_channels * channel * order)  # HTK Book (5.14)
    weights = (
        1.0 + lifter / 2.0 * np.sin(np.pi * order / lifter) if lifter else np.ones(n_cepstra)
    )  # HTK Book (5.15)
    liftered: Singles = (dct * weights).astype(np.float32)
    return liftered
