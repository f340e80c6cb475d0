"""Captions, SubRip (``.srt``) and WebVTT (``.vtt``): words with times as lines that can be read in time.

A caption is at most two lines of 42 characters and six seconds; a new one begins at a pause of 0.8 s. One
shorter than a second stays until the next begins, but no longer than that second. Times are in milliseconds.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from asr.formats.intervals import MICROSECONDS, Interval

LINE_CHARACTERS = 42
N_LINES = 2
LONGEST_S = 6.0
SHORTEST_S = 1.0
PAUSE_S = 0.8  # a pause of this length ends a caption


@dataclass(frozen=True)
class Caption:
    """One or two lines of text, and when they are shown."""

    start_s: float
    end_s: float
    lines: tuple[str, ...]


def to_srt(words: Iterable[Interval]) -> str:
    """Return words in order of time as a SubRip file."""
    blocks = (
        f"{number}\n{_time(c.start_s, ',')} --> {_time(c.end_s, ',')}\n{_lines(c)}\n"
        for number, c in enumerate(captions(words), 1)
    )
    return "\n".join(blocks)


def to_vtt(words: Iterable[Interval]) -> str:
    """Return words in order of time as a WebVTT file."""
    blocks = (
        f"\n{_time(c.start_s, '.')} --> {_time(c.end_s, '.')}\n{html.escape(_lines(c), quote=False)}\n"
        for c in captions(words)
    )
    return "".join(["WEBVTT\n", *blocks])


def captions(words: Iterable[Interval]) -> list[Caption]:
    """Return the captions of words in order of time; intervals with empty labels are pauses."""
    found = [_caption(group) for group in _groups([word for word in words if word.label])]
    following = [caption.start_s for caption in found[1:]] + [float("inf")] * bool(found)
    return list(map(_held, found, following))


def _groups(words: Sequence[Interval]) -> Iterator[list[Interval]]:
    """Yield the words of each caption."""
    group: list[Interval] = []
    for word in words:
        if group and not _fits(group, word):
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _fits(group: Sequence[Interval], word: Interval) -> bool:
    """Return whether a caption may take one more word."""
    return (
        round(word.start_s - group[-1].end_s, MICROSECONDS) < PAUSE_S
        and round(word.end_s - group[0].start_s, MICROSECONDS) <= LONGEST_S
        and len(_broken([w.label for w in (*group, word)])) <= N_LINES
    )


def _caption(group: Sequence[Interval]) -> Caption:
    return Caption(group[0].start_s, group[-1].end_s, _broken([word.label for word in group]))


def _broken(labels: Sequence[str]) -> tuple[str, ...]:
    """Return words as lines: one if they fit, else two that differ in length as little as possible.

    >>> _broken("IT WAS THE BEST OF TIMES AND IT WAS THE WORST".split())
    ('IT WAS THE BEST OF TIMES', 'AND IT WAS THE WORST')
    """
    whole = " ".join(labels)
    if len(whole) <= LINE_CHARACTERS:
        return (whole,)
    halves = [(" ".join(labels[:n]), " ".join(labels[n:])) for n in range(1, len(labels))]
    fitting = [half for half in halves if max(map(len, half)) <= LINE_CHARACTERS]
    if fitting:
        return min(fitting, key=lambda half: abs(len(half[0]) - len(half[1])))
    # One word that is too long stays whole; others are too many for a caption.
    return (whole,) if len(labels) == 1 else ("",) * (N_LINES + 1)


def _held(caption: Caption, limit_s: float) -> Caption:
    """Return a caption that stays for a moment, if the next one does not begin before."""
    end_s = max(caption.end_s, min(caption.start_s + SHORTEST_S, limit_s))
    return replace(caption, end_s=end_s)


def _lines(caption: Caption) -> str:
    """Return the text; an arrow would pass for times."""
    return "\n".join(caption.lines).replace("-->", "→")


def _time(time_s: float, mark: str) -> str:
    """Return hours, minutes, seconds and milliseconds.

    >>> _time(3661.0625, ",")
    '01:01:01,062'
    """
    seconds, milliseconds = divmod(round(time_s * 1000), 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{mark}{milliseconds:03}"
