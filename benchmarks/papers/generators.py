"""The synthetic benchmarks by their definitions: twonorm and ringnorm (Breiman 1996), waveform (1984).

Breiman, *Bias, variance, and arcing classifiers*, technical report 460, 1996, gives the least possible errors
of 2.3 % (twonorm) and 1.3 % (ringnorm); Breiman et al., *Classification and Regression Trees*, 1984, that of
waveform with three classes, 14 %. The benchmark of the papers tells one class of waveform from the other two.
"""

from __future__ import annotations

import numpy as np

from foundation.arrays import Longs, Reals

N_FEATURES = 20  # of twonorm and ringnorm
SHIFT = 2.0 / np.sqrt(N_FEATURES)
N_WAVE = 21  # features of waveform
_PEAKS = (11, 15, 7)  # of the three waves, features counted from 1
_MIXED = ((0, 1), (0, 2), (1, 2))  # waves that make up each of the three classes


def twonorm(n_points: int, rng: np.random.Generator) -> tuple[Reals, Longs]:
    """Return points (M, 20) and labels ±1: unit Gaussians about ±(a, …, a), a = 2/√20."""
    y = rng.choice([-1, 1], size=n_points)
    return rng.normal(size=(n_points, N_FEATURES)) + SHIFT * y[:, None], y


def ringnorm(n_points: int, rng: np.random.Generator) -> tuple[Reals, Longs]:
    """Return points (M, 20) and labels ±1: N(0, 4I) for +1, and a unit Gaussian about (a, …, a) for −1."""
    y = rng.choice([-1, 1], size=n_points)
    noise = rng.normal(size=(n_points, N_FEATURES))
    return np.where(y[:, None] > 0, 2.0 * noise, noise + SHIFT), y


def three_waves(n_points: int, rng: np.random.Generator) -> tuple[Reals, Longs]:
    """Return points (M, 21) and classes 0 to 2: random mixtures of two of three triangles, plus noise."""
    classes, share = rng.integers(3, size=n_points), rng.random((n_points, 1))
    waves = np.array([np.maximum(6.0 - np.abs(np.arange(1, N_WAVE + 1) - peak), 0.0) for peak in _PEAKS])
    first, second = (waves[[_MIXED[c][side] for c in classes]] for side in (0, 1))
    return share * first + (1.0 - share) * second + rng.normal(size=(n_points, N_WAVE)), classes


def waveform(n_points: int, rng: np.random.Generator) -> tuple[Reals, Longs]:
    """Return points (M, 21) and labels ±1; +1 is the class that mixes the first and the last wave."""
    x, classes = three_waves(n_points, rng)
    return x, np.where(classes == 1, 1, -1)


GENERATORS = {"ringnorm": ringnorm, "twonorm": twonorm, "waveform": waveform}
