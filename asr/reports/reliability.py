"""Whether probabilities keep what they promise: of what is said to be 80 % sure, are 80 % right?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from foundation.arrays import Flags, Reals

N_BINS = 10


@dataclass(frozen=True)
class Bin:
    """Events of about the same probability.

    Attributes
    ----------
    promised : mean of their probabilities
    kept : share of them that came true
    interval : 95 % interval of this share (Clopper and Pearson), if the events are independent
    count : how many they are
    """

    promised: float
    kept: float
    interval: tuple[float, float]
    count: int


@dataclass(frozen=True)
class Reliability:
    """Probabilities against what came true.

    Attributes
    ----------
    bins : those that are not empty, in order
    error : expected calibration error: the mean distance of promise and share, weighed by the counts
    """

    bins: tuple[Bin, ...]
    error: float

    @property
    def count(self) -> int:
        """All events."""
        return sum(b.count for b in self.bins)


def reliability(probabilities: Reals, came_true: Flags, n_bins: int = N_BINS) -> Reliability:
    """Return how reliable probabilities (M,) of events are, of which some came true (M,)."""
    places = np.minimum((probabilities * n_bins).astype(int), n_bins - 1)
    found = [_bin(probabilities[places == n], came_true[places == n]) for n in np.unique(places)]
    total = sum(b.count for b in found)
    error = sum(b.count * abs(b.promised - b.kept) for b in found) / total if total else float("nan")
    return Reliability(tuple(found), float(error))


def _bin(probabilities: Reals, came_true: Flags) -> Bin:
    n, k = len(came_true), int(np.sum(came_true))
    low = float(beta.ppf(0.025, k, n - k + 1)) if k else 0.0
    high = float(beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0
    return Bin(float(np.mean(probabilities)), k / n, (low, high), n)
