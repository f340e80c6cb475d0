"""Reliability of probabilities: predicted against observed frequency, as numbers and as a diagram."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from foundation.arrays import Flags, Floats

MARKERS = "sov^D<>p"


class Outcome(NamedTuple):
    """Predicted probabilities (M,) of events, and whether each event occurred, (M,) bool."""

    promised: Floats
    happened: Flags

    def curve(self, n_bins: int) -> tuple[Floats, Floats, Floats]:
        """Return mean prediction, observed share and number of points of each bin that is not empty."""
        bins = np.minimum((self.promised * n_bins).astype(int), n_bins - 1)
        counts = np.bincount(bins, minlength=n_bins)
        used = counts > 0
        promises = np.bincount(bins, self.promised, n_bins)[used] / counts[used]
        shares = np.bincount(bins, self.happened, n_bins)[used] / counts[used]
        return promises, shares, counts[used].astype(float)

    def calibration_error(self, n_bins: int) -> float:
        """Return the expected calibration error: the mean distance of prediction and share, in per cent."""
        promises, shares, counts = self.curve(n_bins)
        return 100 * float(np.average(np.abs(promises - shares), weights=counts))

    def log_loss(self) -> float:
        """Return the mean −log probability of the observed outcomes, in nats."""
        p = np.clip(np.where(self.happened, self.promised, 1.0 - self.promised), 1e-300, 1.0)
        return float(-np.mean(np.log(p)))


def draw_reliability(
    panel: Axes, outcomes: Mapping[str, Outcome], colors: Mapping[str, str], n_bins: int, fewest: int = 1
) -> None:
    """Draw observed shares against predictions for bins that are not empty; the legend has the errors."""
    panel.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    markers = dict(zip(colors, cycle(MARKERS), strict=False))
    for name, outcome in outcomes.items():
        promises, shares, counts = outcome.curve(n_bins)
        drawn = counts >= fewest
        panel.plot(
            promises[drawn],
            shares[drawn],
            marker=markers[name],
            color=colors[name],
            markersize=4,
            linewidth=1.2,
            label=f"{name}: {outcome.calibration_error(n_bins):.1f} %",
        )
    panel.set(xlim=(0, 1), ylim=(0, 1))
    panel.set_aspect("equal")
    panel.legend(title="calibration error", loc="upper left", fontsize=8, title_fontsize=8)
