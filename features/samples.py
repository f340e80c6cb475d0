"""Checks of samples before features are computed: are they usable, how strong are they, may they be speech?

Rates, lengths and values beyond the limits here come of a damaged header or a wrong format.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from foundation.arrays import Reals, Singles

# Telephones have 8 kHz, devices of some decades ago less; the fastest converters have 768.
LOWEST_RATE_HZ, HIGHEST_RATE_HZ = 4000, 768_000
# 40 dB above full scale. A mix in floating point may overshoot by 20; integers that nobody divided by 32768
# are above, but for silence.
LOUDEST = 100.0
# No coding writes less of a channel: a frame of FLAC has 65535 samples at most, and 13 bytes at least.
MOST_SAMPLES_A_BYTE = 8192
LONGEST_S = 48 * 3600.0


def is_usual_rate(sample_rate: float) -> bool:
    """Return whether a sample rate is one that recordings have.

    >>> is_usual_rate(44100), is_usual_rate(1)
    (True, False)
    """
    return LOWEST_RATE_HZ <= sample_rate <= HIGHEST_RATE_HZ


def first_unusable(samples: Reals) -> int | None:
    """Return the place of the first sample (n,) that is no number or far above full scale, None for none.

    >>> first_unusable(np.array([0.5, 1.5, 1e30]))
    2
    """
    # The extremes tell of all: NaN is neither below nor above.
    if not samples.size or (samples.min() >= -LOUDEST and samples.max() <= LOUDEST):
        return None
    return int(np.flatnonzero(~(np.abs(samples) <= LOUDEST))[0])


def describe_sample(value: float) -> str:
    """Return what is expected instead of an unusable sample.

    >>> describe_sample(float("nan")), describe_sample(3e4)
    ('a finite number', 'numbers within ±1, or somewhat above')
    """
    return "numbers within ±1, or somewhat above" if np.isfinite(value) else "a finite number"


# How strong the sound is from frame to frame, and whether it may be speech
#
# Features are normalised, so that to a model the faintest hiss is as loud as speech. Speech is not so faint
# that 16 bits cannot hold it, and it rises and falls. The limits are far from any speech
# (docs/results/keywords.md).

FAINTEST_DB = -90.0  # of the loudest part of a recording; one step of 16 bits to and fro has -88
# Between loud and soft parts of a recording; far below all speech, docs/results/keywords.md.
STEADIEST_DB = 2.0
BRIEFLY_STEADIEST_DB = 0.5  # of a recording that may be one vowel; docs/results/keywords.md
BRIEF_S = 0.3
_TOO_BRIEF_S = 0.1  # to tell; hardly any word fits in; by feel
_SMOOTHED = 5  # frames whose mean power is taken; by feel
_EDGE = 5  # frames at either end in which a cut or resampling clicks; by feel
_SHIFT_S = 0.010
_BLOCK_FRAMES = 4096
_USUAL_RATE_HZ = 16000  # whose neighbouring samples the limits are of


def frame_powers(samples: Reals, n_frames: int, shift: int, lag: int = 1) -> Singles:
    """Return the mean square of the differences of samples in each shift, (n_frames,) float32.

    A hum is weak in differences.

    Parameters
    ----------
    samples : (n_samples,)
    n_frames, shift : number of shifts, and samples of each; what lies behind the samples counts as 0
    lag : how many samples lie from one to the other of a difference
    """
    within = samples[: n_frames * shift]
    differences = np.zeros(n_frames * shift, dtype=np.float32)
    np.subtract(within[lag:], within[:-lag], out=differences[lag : within.size], casting="same_kind")
    np.square(differences, out=differences)
    means: Singles = np.mean(differences.reshape(n_frames, shift), axis=1, dtype=np.float32)
    return means


def why_no_speech(powers: Reals, shift_s: float) -> str:
    """Return why the energy of a recording is not that of speech, empty if it may be.

    Parameters
    ----------
    powers : (T,) as of `frame_powers`, T at least 1
    shift_s : seconds from one to the next
    """
    if not np.any(powers):
        return "its samples do not change"
    soft, loud, loudest = _levels_db(powers)
    if loudest < FAINTEST_DB:
        return f"its loudest part has {loudest:.0f} dB of full scale"
    duration_s = len(powers) * shift_s
    limit = BRIEFLY_STEADIEST_DB if duration_s < BRIEF_S else STEADIEST_DB
    if loud - soft < limit and duration_s >= _TOO_BRIEF_S:
        return f"its sound is steady within {loud - soft:.1f} dB"
    return ""


def why_no_speech_in(samples: Reals, sample_rate: int) -> str:
    """Return why samples (n_samples,) at any rate are not speech, empty if they may be, or are too few.

    Examples
    --------
    >>> hiss = np.random.default_rng(0).normal(size=16000).astype(np.float32)
    >>> why_no_speech_in(0.1 * hiss, 16000)
    'its sound is steady within 0.7 dB'
    """
    shift = round(_SHIFT_S * sample_rate)
    n_frames = len(samples) // shift
    if not n_frames:
        return ""
    # At high rates neighbours differ less: what is compared lies as far apart as at the usual rate.
    lag = max(round(sample_rate / _USUAL_RATE_HZ), 1)
    bounds = [*range(0, n_frames, _BLOCK_FRAMES), n_frames]  # an hour's differences are not held at once
    pieces = [
        frame_powers(samples[start * shift : stop * shift], stop - start, shift, lag)
        for start, stop in pairwise(bounds)
    ]
    return why_no_speech(np.concatenate(pieces), _SHIFT_S)


def _levels_db(powers: Reals) -> tuple[float, float, float]:
    """Return the levels that 5 %, 95 % and all but the ends of powers (T,) do not pass, in dB."""
    width = min(_SMOOTHED, len(powers))
    smoothed = np.convolve(powers, np.full(width, 1 / width), "valid")
    within = smoothed[_EDGE:-_EDGE] if len(smoothed) > 4 * _EDGE else smoothed
    levels = np.array([*np.percentile(smoothed, (5, 95)), within.max()])
    soft, loud, loudest = 10 * np.log10(np.maximum(levels, np.finfo(np.float32).tiny))
    return float(soft), float(loud), float(loudest)
