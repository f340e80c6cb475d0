"""Captions, SubRip (``.srt``) and WebVTT (``.vtt``): words with times as lines that can be read in time.

A caption that we write is at most two lines of 42 characters and six seconds; a new one begins at a pause of
0.8 s. One shorter than a second stays until the next begins, but no longer than that second. Times are in
milliseconds. Of captions that are read, marks of typography are left out; a WebVTT voice is the speaker.
White space within a word is written as a space; a word that would be read as such a mark, or as times, is an
error.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from asr.errors import CorpusError, Problem
from asr.formats.intervals import MICROSECONDS, Interval, Passage, without_breaks
from asr.formats.tables import lines_of

LINE_CHARACTERS = 42
N_LINES = 2
LONGEST_S = 6.0
SHORTEST_S = 1.0
PAUSE_S = 0.8  # a pause of this length ends a caption; by feel

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?")
# No mark has another within it: what is looked for ends at the next one, and no line is gone through anew.
_VOICE = re.compile(r"<v(?:\.[^ \t<>]*)?[ \t]+([^<>\s][^<>]*)>")
_NO_CHARACTER = re.compile(r"&#[0-9]{8,};?")  # no character has such a number, and Python reads none so long
# Tags such as <i>, <c.loud>, <00:01.500> and SubRip's {\an8}; other text in angle brackets is text.
_TAG = re.compile(r"</?(?:[biucv]|ruby|rt|lang|font)(?:[. ][^<>]*)?>|<[\d:.]+>|\{\\[^{}]*\}", re.IGNORECASE)


@dataclass(frozen=True)
class Caption:
    """One or two lines of text, and when they are shown."""

    start_s: float
    end_s: float
    lines: tuple[str, ...]


def to_srt(words: Iterable[Interval]) -> str:
    """Return words in order of time as a SubRip file."""
    blocks = (
        f"{number}\n{_clock(c.start_s, ',')} --> {_clock(c.end_s, ',')}\n{_text(c, is_vtt=False)}\n"
        for number, c in enumerate(captions(words), 1)
    )
    return "\n".join(blocks)


def to_vtt(words: Iterable[Interval]) -> str:
    """Return words in order of time as a WebVTT file."""
    blocks = (
        f"\n{_clock(c.start_s, '.')} --> {_clock(c.end_s, '.')}\n{_text(c, is_vtt=True)}\n"
        for c in captions(words)
    )
    return "".join(["WEBVTT\n", *blocks])


def captions(words: Iterable[Interval]) -> list[Caption]:
    """Return the captions of words in order of time; intervals with empty labels are pauses."""
    groups: list[list[Interval]] = []
    for word in words:
        word = replace(word, label=without_breaks(word.label, "captions"))
        if not word.label:
            continue
        if not groups or not _fits(groups[-1], word):
            groups.append([])
        groups[-1].append(word)
    begins_s = [group[0].start_s for group in groups]
    found = []
    for group, start_s, next_s in zip(groups, begins_s, [*begins_s[1:], float("inf")], strict=False):
        # A caption stays for a moment, if the next one does not begin before.
        end_s = max(group[-1].end_s, min(start_s + SHORTEST_S, next_s))
        found.append(Caption(start_s, end_s, _broken([word.label for word in group])))
    return found


def _fits(group: Sequence[Interval], word: Interval) -> bool:
    """Return whether a caption may take one more word."""
    return (
        round(word.start_s - group[-1].end_s, MICROSECONDS) < PAUSE_S
        and round(word.end_s - group[0].start_s, MICROSECONDS) <= LONGEST_S
        and len(_broken([w.label for w in (*group, word)])) <= N_LINES
    )


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


def _text(caption: Caption, *, is_vtt: bool) -> str:
    """Return the text as it is written; an error if it would not be read as it is."""
    said = " ".join(caption.lines)
    lines = [html.escape(line, quote=False) if is_vtt else line for line in caption.lines]
    if _spoken(" ".join(lines), is_vtt=is_vtt) != said or any(map(_TIMES.fullmatch, lines)):
        name = "WebVTT" if is_vtt else "SubRip"
        raise CorpusError(
            f'{name}: "{said}" would be read as markup or times, expected plain words; write json'
            ", or TextGrids"
        )
    return "\n".join(lines)


def _spoken(text: str, *, is_vtt: bool) -> str:
    """Return the words of a caption without marks of typography and voices."""
    return _unescaped(_TAG.sub("", _VOICE.sub("", text))) if is_vtt else _TAG.sub("", text)


def _unescaped(text: str) -> str:
    return html.unescape(_NO_CHARACTER.sub("\ufffd", text))


def _clock(time_s: float, mark: str) -> str:
    """Return hours, minutes, seconds and milliseconds.

    >>> _clock(3661.0625, ",")
    '01:01:01,062'
    """
    seconds, milliseconds = divmod(round(time_s * 1000), 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{mark}{milliseconds:03}"


def read_srt(text: str, where: str) -> tuple[list[Passage], list[Problem]]:
    """Return the captions of a SubRip file, and the problems of its other blocks."""
    return _read_captions(text, where, is_vtt=False)


def read_vtt(text: str, where: str) -> tuple[list[Passage], list[Problem]]:
    """Return the captions of a WebVTT file, and the problems of its other blocks."""
    if not text.startswith("WEBVTT"):
        return [], [Problem(where, "no WebVTT, expected WEBVTT in the first line; save it anew")]
    return _read_captions(text, where, is_vtt=True)


def _read_captions(text: str, where: str, *, is_vtt: bool) -> tuple[list[Passage], list[Problem]]:
    passages: list[Passage] = []
    problems: list[Problem] = []
    for number, lines in _blocks(text):
        if is_vtt and lines[0].split()[0] in ("WEBVTT", "NOTE", "STYLE", "REGION"):
            continue
        # The times are in the first line, or after the caption's number or name.
        matches = ((i, _TIMES.fullmatch(line)) for i, line in enumerate(lines[:2]))
        position, times = next(((i, match) for i, match in matches if match), (0, None))
        if times is None:
            what = f'"{lines[0][:50]}" has no times, expected "00:00:01,000 --> 00:00:02,000"'
            problems.append(Problem(f"{where}:{number}", f"{what}; correct the block"))
            continue
        groups = times.groups()
        words, speaker = " ".join(lines[position + 1 :]), None
        if is_vtt:
            voices = {_unescaped(name).strip() for name in _VOICE.findall(words)}
            speaker = voices.pop() if len(voices) == 1 else None
        words = _spoken(words, is_vtt=is_vtt)
        place = f"{where}:{number + position}"
        passages.append(Passage(_seconds(*groups[:4]), _seconds(*groups[4:]), words, place, speaker))
    return passages, problems


def _blocks(text: str) -> list[tuple[int, list[str]]]:
    """Return the first line's number and the lines of each block between empty lines."""
    blocks: list[tuple[int, list[str]]] = []
    is_open = False
    for number, line in enumerate(lines_of(text), 1):
        if line.strip() and not is_open:
            blocks.append((number, []))
        is_open = bool(line.strip())
        if is_open:
            blocks[-1][1].append(line)
    return blocks


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000
