"""Mel-frequency cepstra as HTK computes them (``MFCC_E_D_A``), vectorised over the utterance.

Conventions are those of HTK 3.4.1 (HSigP.c, HParm.c; the HTK Book, chapter 5): 16-bit integer scale, energy
of the raw frame, pre-emphasis inside each frame, magnitude spectrum, triangles that are straight in the mel
domain. Columns are c1..cN, E, then their deltas, then their accelerations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import rfft

from features.errors import FeatureError
from features.samples import (
    HIGHEST_RATE_HZ,
    LOWEST_RATE_HZ,
    describe_sample,
    first_unusable,
    is_usual_rate,
)
from foundation.arrays import Flags, Floats, Reals, Singles, check_reals
from foundation.records import check_highest, check_lowest
from foundation.threads import serial_product

INT16_SCALE = 32768.0
MEL_FLOOR = 1.0  # HTK's MELFLOOR
SILENCE_FLOOR_DB = 50.0  # HTK's SILFLOOR
ENERGY_SCALE = 0.1  # HTK's ESCALE
# HTK writes a log energy of -1e10 for digital silence, which would swallow every statistic. This is 50 dB
# below the least energy of a frame of integers that is not silent: with energy_normalize nothing differs.
ENERGY_FLOOR = 1e-5
_MOST_SAMPLES = 1 << 16  # of a window
_N_FRAMES_OF_STEPS = 200  # of which the faintest noise is the mean; by feel
_HIGHEST = {"window_ms": 1000, "shift_ms": 1000, "n_channels": 256, "lifter": 1000, "delta_window": 1000}
# Frames computed at once: the work space stays in the processor's cache, and hours of audio need no more.
BLOCK_FRAMES = 512


@dataclass(frozen=True)
class MfccConfig:
    """What `mfcc` computes; the defaults are HTK's ``MFCC_E_D_A`` with 25/10 ms windows at 16 kHz.

    Parameters
    ----------
    sample_rate : int
        Samples per second of the audio given to `mfcc`.
    window_ms, shift_ms : float
        Length of a frame and distance between two frames.
    n_channels, n_cepstra : int
        Mel triangles; cepstral coefficients kept (c0 is not one of them).
    lifter : int
        HTK's CEPLIFTER; 0 leaves the cepstra as they are.
    preemphasis : float
        HTK's PREEMCOEF, in [0, 1].
    low_hz, high_hz : float
        Edges of the filter bank; ``high_hz=None`` is half the sample rate.
    delta_window : int
        Frames on each side of a regression (HTK's DELTAWINDOW and ACCWINDOW).
    energy : bool
        Append the log energy to the cepstra.
    energy_normalize : bool
        Subtract the utterance's largest log energy as HTK's ENORMALISE does; needs the whole utterance.
    derivatives : int
        0 static, 1 with deltas, 2 with accelerations.
    warp : float
        Vocal-tract-length warp of the frequency axis (HTK's WARPFREQ); 1.0 is none, less moves filters up.
    warp_low_hz, warp_high_hz : float
        HTK's WARPLCUTOFF and WARPUCUTOFF: outside them the warp bends back to the edges of the bank.
        ``warp_high_hz=None`` is 0.85 times the upper edge.
    """

    sample_rate: int = 16000
    window_ms: float = 25.0
    shift_ms: float = 10.0
    n_channels: int = 26
    n_cepstra: int = 12
    lifter: int = 22
    preemphasis: float = 0.97
    low_hz: float = 0.0
    high_hz: float | None = None
    delta_window: int = 2
    energy: bool = True
    energy_normalize: bool = True
    derivatives: int = 2
    warp: float = 1.0
    warp_low_hz: float = 100.0
    warp_high_hz: float | None = None

    @property
    def n_static(self) -> int:
        """Columns without derivatives."""
        return self.n_cepstra + int(self.energy)

    @property
    def n_features(self) -> int:
        """Columns of `mfcc`'s result.

        >>> MfccConfig().n_features
        39
        """
        return self.n_static * (1 + self.derivatives)

    @property
    def window_samples(self) -> int:
        """Samples of one frame."""
        return _whole_samples(self.window_ms, self.sample_rate)

    @property
    def shift_samples(self) -> int:
        """Samples from one frame's start to the next one's."""
        return _whole_samples(self.shift_ms, self.sample_rate)

    @property
    def band(self) -> MelBand:
        """Edges and warp of the filter bank, with the defaults filled in."""
        high_hz = self.sample_rate / 2 if self.high_hz is None else self.high_hz
        warp_high_hz = 0.85 * high_hz if self.warp_high_hz is None else self.warp_high_hz
        return MelBand(self.low_hz, high_hz, self.warp, self.warp_low_hz, warp_high_hz)


def mfcc(samples: Reals, config: MfccConfig = MfccConfig()) -> Singles:
    """Return the features of one utterance.

    Parameters
    ----------
    samples : (n_samples,) float
        Audio in [-1, 1) at ``config.sample_rate``.
    config : MfccConfig
        What to compute.

    Returns
    -------
    (T, config.n_features) float32
        By default HTK's ``MFCC_E_D_A``: c1..c12, E, 13 deltas, 13 accelerations.
    """
    return add_derivatives(static_mfcc(samples, config), config.delta_window, config.derivatives)


def static_mfcc(samples: Reals, config: MfccConfig = MfccConfig()) -> Singles:
    """Return the features of one utterance without derivatives, ``(T, config.n_static)`` float32."""
    check_samples(samples)
    return whole_static(static_frames(samples, mfcc_plan(config)), samples.size, config)


def whole_static(static: Singles, n_samples: int, config: MfccConfig) -> Singles:
    """Return the static features of a whole utterance, the energy normalised in place if the config says so.

    FeatureError if the utterance was shorter than a window.
    """
    if n_samples < config.window_samples:
        raise FeatureError(
            f"audio too short: expected at least one window of {config.window_samples} samples "
            f"({config.window_ms:g} ms), got {n_samples} ({n_samples / config.sample_rate:g} s at "
            f"{config.sample_rate} Hz); leave the utterance out or join it to its neighbour"
        )
    if config.energy and config.energy_normalize:
        static[:, -1] = normalized_energy(static[:, -1], static[:, -1].max())
    return static


def n_frames(n_samples: int, config: MfccConfig = MfccConfig()) -> int:
    """Return how many frames `mfcc` makes of so many samples (0 if they are shorter than a window).

    >>> n_frames(16000)
    98
    """
    beyond_first = n_samples - config.window_samples
    return 0 if beyond_first < 0 else beyond_first // config.shift_samples + 1


def normalized_energy(log_energy: Singles, loudest: float) -> Singles:
    """Return HTK's ENORMALISE of a log energy track: 1 at the loudest frame, floored 50 dB below it."""
    floor = loudest - SILENCE_FLOOR_DB * np.log(10.0) / 10.0
    normalized: Singles = (1.0 - (loudest - np.maximum(log_energy, floor)) * ENERGY_SCALE).astype(np.float32)
    return normalized


@dataclass(frozen=True, eq=False)
class MfccPlan:
    """The arrays `static_frames` needs, made once for each configuration.

    Attributes
    ----------
    window : (window_samples,) float32
        Hamming window.
    filterbank : (n_fft // 2 + 1, n_channels) float32
        Mel triangles.
    cepstra : (n_channels, n_cepstra) float32
        DCT and lifter.
    faintest : (n_channels,) float32
        Log mel spectrum of noise of one step of 16 bits, the least that a microphone gives.
    """

    config: MfccConfig
    n_fft: int
    window: Singles
    filterbank: Singles
    cepstra: Singles
    faintest: Singles


@lru_cache(maxsize=64)
def mfcc_plan(config: MfccConfig) -> MfccPlan:
    """Return the arrays of a configuration; FeatureError names a field that cannot be used."""
    check_config(config)
    n_fft = _next_power_of_two(config.window_samples)
    window = np.hamming(config.window_samples).astype(np.float32)
    filterbank = mel_filterbank(config.n_channels, n_fft, config.sample_rate, config.band)
    cepstra = cepstral_matrix(config.n_channels, config.n_cepstra, config.lifter)
    plan = MfccPlan(config, n_fft, window, filterbank, cepstra, np.zeros(config.n_channels, np.float32))
    plan = replace(plan, faintest=_log_mel_of_steps(plan))
    for array in (window, filterbank, cepstra, plan.faintest):
        array.setflags(write=False)  # shared by every caller of the cache
    return plan


def _log_mel_of_steps(plan: MfccPlan) -> Singles:
    """Return the mean log mel spectrum of random steps of 16 bits, (n_channels,)."""
    length = plan.config.shift_samples * _N_FRAMES_OF_STEPS + plan.config.window_samples
    steps = np.random.default_rng(0).choice(np.array([-1, 1], dtype=np.float32), length)
    log_mel, _ = _log_mel(steps, plan)
    return np.asarray(log_mel.mean(axis=0, dtype=np.float64), dtype=np.float32)


def static_frames(samples: Reals, plan: MfccPlan) -> Singles:
    """Return the static features of every whole frame, the energy as it is, ``(T, n_static)`` float32."""
    config = plan.config
    length, shift = config.window_samples, config.shift_samples
    n = n_frames(samples.size, config)
    static = np.empty((n, config.n_static), dtype=np.float32)
    for first in range(0, n, BLOCK_FRAMES):
        stop = min(first + BLOCK_FRAMES, n)
        block = samples[first * shift : (stop - 1) * shift + length]
        _static_block(block.astype(np.float32) * np.float32(INT16_SCALE), plan, static[first:stop])
    return static


def _static_block(signal: Singles, plan: MfccPlan, out: Singles) -> None:
    """Write the static features of a signal in int16 scale to ``out``, ``(T, n_static)`` float32."""
    config = plan.config
    log_mel, raw = _log_mel(signal, plan)
    # Samples that are all 0, as synthetic, gated and edited sound has them, are like nothing that a model has
    # learned from recordings: they count as the faintest noise.
    log_mel[~log_mel.any(axis=1)] = plan.faintest
    serial_product(log_mel, plan.cepstra, out=out[:, : config.n_cepstra])
    if config.energy:
        energy = np.einsum("ts,ts->t", raw, raw)
        out[:, -1] = np.log(np.maximum(energy, np.float32(ENERGY_FLOOR)))


def _log_mel(signal: Singles, plan: MfccPlan) -> tuple[Singles, Singles]:
    """Return the log mel spectrum of a signal's frames, (T, n_channels), and their samples."""
    raw = _frames_of(signal, plan.config)
    spectrum = _magnitude(_windowed(signal, raw, plan))
    log_mel = serial_product(spectrum, plan.filterbank)
    np.log(np.maximum(log_mel, np.float32(MEL_FLOOR), out=log_mel), out=log_mel)
    return log_mel, raw


def _frames_of(signal: Singles, config: MfccConfig) -> Singles:
    """Return overlapping frames as a view, ``(T, window_samples)``."""
    windows = np.lib.stride_tricks.sliding_window_view(signal, config.window_samples)
    return windows[:: config.shift_samples]


def _windowed(signal: Singles, raw: Singles, plan: MfccPlan) -> Singles:
    """Return pre-emphasised, windowed and zero-padded frames, ``(T, n_fft)`` float32.

    Pre-emphasis is within the frame: its first sample, without predecessor, is multiplied by 1 - preemphasis.
    All others may be computed once for the whole signal instead of once for each frame they lie in.
    """
    length = plan.window.size
    coefficient = np.float32(plan.config.preemphasis)
    emphasized = signal.copy()
    emphasized[1:] -= coefficient * signal[:-1]
    padded = np.zeros((raw.shape[0], plan.n_fft), dtype=np.float32)
    np.multiply(_frames_of(emphasized, plan.config), plan.window, out=padded[:, :length])
    padded[:, 0] = raw[:, 0] * ((1 - coefficient) * plan.window[0])
    return padded


def _magnitude(frames: Singles) -> Singles:
    """Return the magnitude spectrum, ``(T, n_fft // 2 + 1)`` float32."""
    spectrum = rfft(frames, axis=1, overwrite_x=True)
    magnitude: Singles = np.abs(spectrum)
    return magnitude


def check_samples(samples: Reals) -> None:
    """Raise FeatureError unless the array is one channel of finite floating-point samples."""
    if not isinstance(samples, np.ndarray) or isinstance(samples, np.ma.MaskedArray):
        raise FeatureError(
            f"samples: expected an array of floats in [-1, 1), got a {type(samples).__name__}; "
            "make one with numpy.asarray(…, dtype=numpy.float32)"
        )
    if samples.ndim != 1:
        raise FeatureError(
            f"samples: expected ndim = 1, got shape {samples.shape}; mix the channels down first"
        )
    if not np.issubdtype(samples.dtype, np.floating):
        raise FeatureError(f"samples: expected floats in [-1, 1), got {samples.dtype}; divide int16 by 32768")
    where = first_unusable(samples)
    if where is not None:
        value = samples[where]
        raise FeatureError(
            f"samples: expected {describe_sample(value)}, got {value:g} at {where}; "
            "divide integers by 32768, or repair the audio"
        )


def check_config(config: MfccConfig) -> None:
    """Raise FeatureError naming the first field that cannot be used."""
    for field in fields(config):
        value = getattr(config, field.name)
        if value is not None and not math.isfinite(value):
            raise FeatureError(f"{field.name}: expected a finite number, got {value}; change it")
    if not is_usual_rate(config.sample_rate):
        expected = f"{LOWEST_RATE_HZ} to {HIGHEST_RATE_HZ} Hz"
        raise FeatureError(f"sample_rate: expected {expected}, got {config.sample_rate}; change it")
    check_lowest(config, {"window_ms": 0, "shift_ms": 0}, FeatureError)
    check_highest(config, _HIGHEST, FeatureError)
    band, nyquist = config.band, config.sample_rate / 2
    requirements = (
        ("window_ms", config.window_samples >= 2, "a window of at least 2 samples"),
        ("window_ms", config.window_samples <= _MOST_SAMPLES, f"at most {_MOST_SAMPLES} samples"),
        ("shift_ms", config.shift_samples >= 1, "a shift of at least 1 sample"),
        ("n_channels", config.n_channels >= 1, "at least 1"),
        ("n_cepstra", 1 <= config.n_cepstra < max(config.n_channels, 2), "1 to n_channels - 1"),
        ("lifter", config.lifter >= 0, "0 (none) or more"),
        ("preemphasis", 0 <= config.preemphasis <= 1, "0 to 1"),
        ("low_hz", 0 <= config.low_hz < band.high_hz, "0 or more and below high_hz"),
        (
            "high_hz",
            config.low_hz < band.high_hz <= nyquist,
            f"above low_hz and at most {nyquist:g} (half sample_rate)",
        ),
        ("delta_window", config.delta_window >= 1, "at least 1"),
        ("derivatives", config.derivatives in (0, 1, 2), "0, 1 or 2"),
        ("warp", 0.5 <= config.warp <= 2.0, "0.5 to 2"),
    )
    for name, is_met, expected in requirements:
        if not is_met:
            raise FeatureError(f"{name}: expected {expected}, got {getattr(config, name)}; change it")


def _whole_samples(duration_ms: float, sample_rate: int) -> int:
    """Return the samples in a duration, rounded down as HTK does, but not by a rounding error."""
    return int(duration_ms * sample_rate / 1000.0 + 1e-6)


def _next_power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


# The mel filter bank and the cepstral transform as matrices (HTK Book, 5.4 and 5.6; HSigP.c)


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


# Deltas and accelerations: a regression over neighbouring frames (HTK Book, 5.9)


def add_derivatives(static: Singles, window: int, order: int) -> Singles:
    """Return the static columns followed by their deltas (order 1) and accelerations (order 2).

    Parameters
    ----------
    static : (T, D) float32
        At least one frame.
    window : int
        Frames on each side of the regression.
    order : int
        0, 1 or 2.

    Returns
    -------
    (T, D * (1 + order)) float32
    """
    check_reals("static", static, FeatureError, (None, None), "pass one utterance")
    if not len(static) or order not in (0, 1, 2) or window < 1:
        raise FeatureError(
            "derivatives: expected a frame or more, a window from 1 on and an order of 0 to 2, got "
            f"{len(static)} frames, {window} and {order}; change it"
        )
    n_static = static.shape[1]
    features = np.empty((static.shape[0], n_static * (1 + order)), dtype=np.float32)
    features[:, :n_static] = static
    for k in range(order):
        lower = features[:, k * n_static : (k + 1) * n_static]
        features[:, (k + 1) * n_static : (k + 2) * n_static] = _regression(lower, window)
    return features


def _regression(frames: Singles, window: int) -> Singles:
    """Return the slope over ±window frames with the ends replicated (HTK Book, 5.16), ``(T, D)`` float32."""
    n = frames.shape[0]
    padded = np.concatenate([frames[:1].repeat(window, 0), frames, frames[-1:].repeat(window, 0)])
    slope = np.zeros_like(frames)
    for step in range(1, window + 1):
        ahead = padded[window + step : window + step + n]
        behind = padded[window - step : window - step + n]
        slope += step * (ahead - behind)
    slope /= 2 * sum(step * step for step in range(1, window + 1))
    return slope
