"""Captions: SubRip (``.srt``) and WebVTT (``.vtt``).

Marks of typography are left out; a WebVTT voice is the speaker.
"""

from __future__ import annotations

import html
import re

from asr.corpora.layouts.scan import Stretch
from asr.corpora.tables import lines_of
from asr.errors import Problem

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?")
_VOICE = re.compile(r"<v(?:\.[^ \t>]*)?[ \t]+([^>]+)>")
# Tags such as <i>, <c.loud>, <00:01.500> and SubRip's {\an8}; other text in angle brackets is text.
_TAG = re.compile(r"</?(?:[biucv]|ruby|rt|lang|font)(?:[. ][^>]*)?>|<[\d:.]+>|\{\\[^}]*\}", re.IGNORECASE)


def read_srt(text: str, where: str) -> tuple[list[Stretch], list[Problem]]:
    """Return the captions of a SubRip file, and the problems of its other blocks."""
    return _read(text, where, is_vtt=False)


def read_vtt(text: str, where: str) -> tuple[list[Stretch], list[Problem]]:
    """Return the captions of a WebVTT file, and the problems of its other blocks."""
    if not text.startswith("WEBVTT"):
        return [], [Problem(where, "no WebVTT, expected WEBVTT in the first line; save it anew")]
    return _read(text, where, is_vtt=True)


def _read(text: str, where: str, *, is_vtt: bool) -> tuple[list[Stretch], list[Problem]]:
    stretches: list[Stretch] = []
    problems: list[Problem] = []
    for number, lines in _blocks(text):
        if is_vtt and lines[0].split()[0] in ("WEBVTT", "NOTE", "STYLE", "REGION"):
            continue
        # The times are in the first line, or after the caption's number or name.
        position = next((i for i, line in enumerate(lines[:2]) if _TIMES.fullmatch(line)), None)
        if position is None:
            what = f'"{lines[0][:50]}" has no times, expected "00:00:01,000 --> 00:00:02,000"'
            problems.append(Problem(f"{where}:{number}", f"{what}; correct the block"))
            continue
        place = f"{where}:{number + position}"
        start_s, end_s = _times(lines[position])
        speaker, words = _voice(" ".join(lines[position + 1 :]), is_vtt=is_vtt)
        stretches.append(Stretch(start_s, end_s, words, place, speaker))
    return stretches, problems


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


def _times(line: str) -> tuple[float, float]:
    match = _TIMES.fullmatch(line)
    groups = match.groups() if match else ()
    start_s, end_s = (
        int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000
        for hours, minutes, seconds, fraction in (groups[:4], groups[4:])
    )
    return start_s, end_s


def _voice(text: str, *, is_vtt: bool) -> tuple[str | None, str]:
    """Return speaker and words of a caption, the speaker None if it has none or several."""
    if not is_vtt:
        return None, _TAG.sub("", text)
    voices = {html.unescape(name).strip() for name in _VOICE.findall(text)}
    words = html.unescape(_TAG.sub("", _VOICE.sub("", text)))
    return (voices.pop() if len(voices) == 1 else None), words
