"""How good a take is: how loud, how far above the noise, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asr.corpora.sound_faults import CLIPPED_SHARE, sound_of
from foundation.arrays import Floats, Singles

SHORTEST_S, LONGEST_S = 0.3, 20.0
SPOKEN_S = 0.1  # of sound well above the noise
QUIETEST_DB = -40.0  # peak, relative to full scale
LEAST_SNR_DB = 6.0
FULL_SCALE = 0.985  # flat tops below it are not the microphone's
_FRAME_S = 0.02
_LEAST_POWER = 1e-10


@dataclass(frozen=True)
class Levels:
    """What is measured of a take.

    Attributes
    ----------
    duration_s : its length
    peak_db : largest sample, relative to full scale
    snr_db : level of what is spoken above that of the quiet parts
    spoken_s : how much of it is nearer to the loud parts than to the quiet ones
    clipped : share of the samples in flat tops at full scale
    """

    duration_s: float
    peak_db: float
    snr_db: float
    spoken_s: float
    clipped: float


def levels_of(samples: Singles, sample_rate: int) -> Levels:
    """Return the levels of some samples (n,)."""
    duration_s = samples.size / sample_rate
    peak = float(np.abs(samples).max()) if samples.size else 0.0
    frame = max(round(_FRAME_S * sample_rate), 1)
    n_frames = samples.size // frame
    if not n_frames or not peak:
        return Levels(duration_s, float(_decibels(peak**2)), 0.0, 0.0, 0.0)
    frames = samples[: n_frames * frame].reshape(n_frames, frame)
    powers_db = _decibels(np.var(frames, axis=1, dtype=np.float64))
    quiet, loud = np.percentile(powers_db, (10, 95))
    n_spoken = int(np.count_nonzero(powers_db > (quiet + loud) / 2))
    clipped = sound_of(samples).clipped if peak >= FULL_SCALE else 0.0
    return Levels(
        duration_s, float(_decibels(peak**2)), float(loud - quiet), n_spoken * frame / sample_rate, clipped
    )


def fault_of(levels: Levels) -> str | None:
    """Return what is wrong with a take and what to do, or nothing if it can be kept."""
    if levels.duration_s < SHORTEST_S:
        return (
            f"too short: {levels.duration_s:.2f} s, expected at least {SHORTEST_S:g} s; "
            "leave a moment of quiet around the word"
        )
    if levels.duration_s > LONGEST_S:
        return too_long(levels.duration_s)
    if levels.peak_db < QUIETEST_DB:
        return (
            f"nearly silent: peak {levels.peak_db:.0f} dB, expected at least {QUIETEST_DB:.0f} dB; "
            "check the microphone, or speak closer to it"
        )
    if levels.clipped > CLIPPED_SHARE:
        return (
            f"clipped: {100 * levels.clipped:.0f} % of the samples at full scale, expected at most "
            f"{100 * CLIPPED_SHARE:.0f} %; turn the microphone down, or move away from it"
        )
    if levels.snr_db < LEAST_SNR_DB or levels.spoken_s < SPOKEN_S:
        return (
            f"no speech above the noise: {levels.snr_db:.0f} dB, expected at least {LEAST_SNR_DB:.0f} dB; "
            "speak closer to the microphone, with a moment of quiet before and after"
        )
    return None


def too_long(duration_s: float) -> str:
    """Return what is said of a take that is too long."""
    return f"too long: {duration_s:.0f} s, expected at most {LONGEST_S:g} s; say the prompt alone"


def _decibels(power: Floats | float) -> Floats:
    """Return powers in decibels."""
    return np.asarray(10 * np.log10(np.maximum(power, _LEAST_POWER)))
