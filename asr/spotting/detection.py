"""How many words are detected at how many false alarms an hour, threshold by threshold.

A detection is a word found where it was spoken: the middle of the one lies within the other. Each spoken word
is detected once at most; whatever else is found is a false alarm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from asr.errors import ConfigError
from asr.scoring.scoring import binomial_interval
from foundation.arrays import Flags, Floats

_TAILS = (0.025, 0.975)
_USUAL_RATE = 1.0  # false alarms an hour; by feel
_SLACK_S = 0.05  # by which the times of two alignments may differ; by feel
RULE_OF_THREE = 3.0  # events that may have been expected, at 95 %, where none was seen


class Spoken(NamedTuple):
    """A word and its time."""

    word: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class OperatingPoint:
    """What a threshold does; intervals are of 95 %, exact ones of binomial and Poisson counts.

    Attributes
    ----------
    threshold : least log odds of a word that is kept
    detected : number of spoken words that are found
    detection : their share, in percent
    detection_interval : of it
    false_alarms : number of other words that are found
    false_alarms_per_hour : their rate
    false_alarms_interval : of it
    """

    threshold: float
    detected: int
    detection: float
    detection_interval: tuple[float, float]
    false_alarms: int
    false_alarms_per_hour: float
    false_alarms_interval: tuple[float, float]


def hits(found: Sequence[Spoken], spoken: Sequence[Spoken]) -> list[bool]:
    """Return for each word found in a recording whether it was spoken there."""
    waiting = list(spoken)
    is_hit = []
    for word in found:
        middle = (word.start_s + word.end_s) / 2
        match = next(
            (
                s
                for s in waiting
                if s.word == word.word and s.start_s - _SLACK_S <= middle <= s.end_s + _SLACK_S
            ),
            None,
        )
        if match is not None:
            waiting.remove(match)
        is_hit.append(match is not None)
    return is_hit


def operating_point(
    threshold: float, log_odds: Floats, is_hit: Flags, n_spoken: int, hours: float
) -> OperatingPoint:
    """Return what a threshold does.

    Parameters
    ----------
    threshold : least log odds of a word that is kept
    log_odds : (N,) of each word found
    is_hit : (N,) whether it was spoken
    n_spoken : number of words that were spoken
    hours : duration of all recordings
    """
    kept = log_odds >= threshold
    detected, false = int(np.sum(kept & is_hit)), int(np.sum(kept & ~is_hit))
    low, high = binomial_interval(detected, n_spoken)
    rates = poisson_interval(false)
    return OperatingPoint(
        float(threshold),
        detected,
        100 * detected / max(n_spoken, 1),
        (100 * low, 100 * high),
        false,
        false / hours,
        (rates[0] / hours, rates[1] / hours),
    )


def detection_curve(
    log_odds: Floats, is_hit: Flags, n_spoken: int, hours: float, n_points: int = 40
) -> list[OperatingPoint]:
    """Return operating points from the strictest to the most lenient; the parameters are the same.

    Each has as its threshold the odds of a detection: between two detections only false alarms are gained.
    """
    thresholds = np.unique(log_odds[is_hit & np.isfinite(log_odds)])[::-1]
    places = np.unique(
        np.linspace(0, len(thresholds) - 1, min(n_points, len(thresholds))).round().astype(int)
    )
    return [operating_point(t, log_odds, is_hit, n_spoken, hours) for t in thresholds[places]]


@dataclass(frozen=True)
class Wanted:
    """What a threshold is to reach: a rate of false alarms, or a detection.

    Attributes
    ----------
    false_alarms : the highest number an hour; 1 if nothing is said
    detection : the least share of spoken words that are found, in percent, instead
    """

    false_alarms: float | None = None
    detection: float | None = None

    def __post_init__(self) -> None:
        if self.false_alarms is not None and self.detection is not None:
            raise ConfigError("got both a rate of false alarms and a detection; expected one of them")
        if self.false_alarms is not None and not 0 <= self.false_alarms < np.inf:
            raise ConfigError(
                f"false alarms: expected 0 an hour or more, got {self.false_alarms}; correct the number"
            )
        if self.detection is not None and not 0 < self.detection <= 100:
            raise ConfigError(
                f"detection: expected a percentage above 0, got {self.detection}; correct the number"
            )

    @property
    def rate(self) -> float | None:
        """The wanted rate of false alarms, None if a detection is wanted."""
        return _USUAL_RATE if self.false_alarms is None and self.detection is None else self.false_alarms

    def threshold(self, log_odds: Floats, is_hit: Flags, n_spoken: int, hours: float) -> float:
        """Return the threshold that does what is wanted, or comes nearest to it.

        The parameters are those of `operating_point`.
        """
        if self.rate is not None:
            return threshold_of_false_alarms(log_odds, is_hit, hours, self.rate)
        of_hits = np.sort(log_odds[is_hit & np.isfinite(log_odds)])[::-1]
        n_wanted = max(int(np.ceil((self.detection or 0.0) / 100 * n_spoken - 1e-9)), 1)
        return float(of_hits[min(n_wanted, len(of_hits)) - 1]) if len(of_hits) else 0.0

    def shortfall(self, point: OperatingPoint) -> tuple[float, float]:
        """Return how far a point is from the best one; the lowest is best."""
        if self.detection is None:
            return -point.detection, point.false_alarms_per_hour
        return max(self.detection - point.detection, 0.0), point.false_alarms_per_hour


def threshold_of_false_alarms(log_odds: Floats, is_hit: Flags, hours: float, wanted: float) -> float:
    """Return the lowest threshold with at most so many false alarms an hour.

    It lies halfway between the last false alarm that is let pass and the first one that is not. Words
    without evidence, whose odds are -inf, pass no threshold.
    """
    is_known = np.isfinite(log_odds)
    known, false = log_odds[is_known], np.sort(log_odds[is_known & ~is_hit])[::-1]
    n_allowed = int(np.floor(wanted * hours))
    if n_allowed >= len(false):
        return float(known.min(initial=0.0))
    first_barred = false[n_allowed]
    above = known[known > first_barred]
    return float((first_barred + above.min()) / 2) if len(above) else float(first_barred) + 1.0


def poisson_interval(n: int) -> tuple[float, float]:
    """Return the exact 95 % interval of an expected number, given the number seen (Garwood 1936).

    Of none seen it is the one-sided bound, the rule of three.
    """
    if n == 0:
        return 0.0, RULE_OF_THREE
    return float(chi2.ppf(_TAILS[0], 2 * n) / 2), float(chi2.ppf(_TAILS[1], 2 * n + 2) / 2)
