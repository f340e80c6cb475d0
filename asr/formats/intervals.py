"""Stretches of a recording with what is said in them, as formats with times are written and read.

What is written is a mapping from tier names ("words", "phones", "states") to intervals in order of time. Gaps
are allowed; an interval with an empty label is a gap. However a format rounds times, neighbours that touch
still touch in it. What is read are passages: they know their place in the file, and perhaps the speaker and
the recording. Formats that hold single words have them joined to utterances at pauses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from asr.errors import CorpusError, Problem

MICROSECONDS = 6  # decimals of times in seconds
# By feel:
SHORT_S = 15.0  # a recording no longer than this is one utterance, whatever pauses are in it
PAUSE_S = 0.5  # between words of two utterances, at least
MARGIN_S = 0.2  # of the pause, this much at most is left on either side of an utterance
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
_LONGEST_S = 1e9  # thirty years: what is later is no time in a recording


@dataclass(frozen=True)
class Interval:
    """A stretch of a recording and its label."""

    start_s: float
    end_s: float
    label: str


Tiers = Mapping[str, Sequence[Interval]]


def without_breaks(label: str, format: str) -> str:
    """Return a label as a line of text can hold it, with single spaces for any white space.

    >>> without_breaks("New\\r\\n York", "SRT")
    'New York'
    """
    check_text(label, format)
    return " ".join(label.split())


def check_text(label: str, format: str) -> None:
    """Raise an error if a label has a zero byte, which ends a text, or half a character."""
    if found := _NOT_TEXT.search(label):
        raise CorpusError(
            f"{format}: expected characters that a text can hold, got U+{ord(found[0]):04X} in {label!r}; "
            "remove it"
        )


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


@dataclass(frozen=True)
class Passage:
    """What a transcript says of a stretch of a recording.

    Attributes
    ----------
    start_s, end_s : the stretch in seconds; ``end_s`` None is the end of the recording
    text : the words
    where : place in the transcript
    speaker : who speaks, None if the transcript does not say
    recording : the recording's name, None if it is that of the transcript
    """

    start_s: float
    end_s: float | None
    text: str
    where: str
    speaker: str | None = None
    recording: str | None = None


def time_problem(passage: Passage) -> Problem | None:
    """Return the problem of a passage that ends before it starts, or starts before the recording."""
    end_s = passage.end_s
    if passage.start_s >= 0 and (end_s is None or passage.start_s < end_s < _LONGEST_S):
        return None
    what = f"goes from {passage.start_s:g} s to {end_s:g} s, expected 0 <= start < end; correct the times"
    return Problem(passage.where, what)


def joined_at_pauses(words: Sequence[Passage], end_s: float | None = None) -> tuple[Passage, ...]:
    """Return utterances made of the words of one speaker.

    Parameters
    ----------
    words : in order of time, each with an end
    end_s : the recording's end, None if it is not known
    """
    if not words:
        return ()
    if end_s is not None and end_s <= SHORT_S:
        return (Passage(0.0, None, " ".join(w.text for w in words), words[0].where, words[0].speaker),)
    groups = [[words[0]]]
    for word in words[1:]:
        if word.start_s - _end_of_word(groups[-1][-1]) >= PAUSE_S:
            groups.append([])
        groups[-1].append(word)
    starts = [group[0].start_s for group in groups]
    ends = [max(map(_end_of_word, group)) for group in groups]
    before = [0.0, *ends[:-1]]
    after = [*starts[1:], ends[-1] if end_s is None else max(end_s, ends[-1])]
    return tuple(
        Passage(
            round(start - min(MARGIN_S, max(0.0, start - previous) / 2), 6),
            round(end + min(MARGIN_S, max(0.0, following - end) / 2), 6),
            " ".join(word.text for word in group),
            group[0].where,
            group[0].speaker,
        )
        for group, start, end, previous, following in zip(groups, starts, ends, before, after, strict=True)
    )


def _end_of_word(word: Passage) -> float:
    return word.start_s if word.end_s is None else word.end_s
