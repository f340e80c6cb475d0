"""An alignment in memory: labelled stretches of a recording on several tiers.

It is a mapping from tier names ("words", "phones", "states") to intervals in order of time. Gaps are allowed;
an interval with an empty label is a gap. Each format is a module beside this one (`textgrid`, `ctm`, `mlf`);
however it rounds times, neighbours that touch still touch in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from asr.errors import CorpusError

MICROSECONDS = 6  # decimals of times in seconds


@dataclass(frozen=True)
class Interval:
    """A stretch of a recording and what is said in it."""

    start_s: float
    end_s: float
    label: str


Tiers = Mapping[str, Sequence[Interval]]


def rounded(interval: Interval, decimals: int) -> Interval:
    """Return an interval with its times rounded to so many decimals of a second."""
    return replace(interval, start_s=round(interval.start_s, decimals), end_s=round(interval.end_s, decimals))


def fill_gaps(intervals: Iterable[Interval], duration_s: float) -> tuple[Interval, ...]:
    """Return contiguous intervals from 0 to the duration, gaps with empty labels, to the microsecond.

    Raises
    ------
    CorpusError
        An interval is empty, overlaps the one before it, or lies outside the recording.
    """
    filled: list[Interval] = []
    end_s = 0.0
    for interval in (rounded(i, MICROSECONDS) for i in intervals):
        if not end_s <= interval.start_s < interval.end_s:
            raise CorpusError(
                f'interval "{interval.label}": expected a start at or after {end_s:g} s and before its end, '
                f"got {interval.start_s:g} to {interval.end_s:g} s; put the intervals in order"
            )
        if interval.start_s > end_s:
            filled.append(Interval(end_s, interval.start_s, ""))
        filled.append(interval)
        end_s = interval.end_s
    duration_s = round(duration_s, MICROSECONDS)
    if end_s > duration_s:
        raise CorpusError(f"expected intervals within {duration_s:g} s, got an end at {end_s:g} s")
    if end_s < duration_s:
        filled.append(Interval(end_s, duration_s, ""))
    return tuple(filled)
