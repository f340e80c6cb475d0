"""What no recording is like: rates, lengths and samples that come of a damaged header or a wrong format."""

from __future__ import annotations

import numpy as np

from foundation.arrays import Reals

# Telephones have 8 kHz, devices of some decades ago less; the fastest converters have 768.
LOWEST_RATE_HZ, HIGHEST_RATE_HZ = 4000, 768_000
# 40 dB above full scale. A mix in floating point may overshoot by 20; integers that nobody divided by 32768
# are above, but for silence.
LOUDEST = 100.0
# No coding writes less of a channel: a frame of FLAC has 65535 samples at most, and 13 bytes at least.
MOST_SAMPLES_A_BYTE = 8192
LONGEST_S = 48 * 3600.0


def is_usual_rate(sample_rate: float) -> bool:
    """Return whether a number of samples a second is one that recordings have.

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
