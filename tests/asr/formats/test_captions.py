"""Captions: what is shown when, and what other programs and our own reader make of the files."""

from __future__ import annotations

import io
from itertools import pairwise

import numpy as np
import pytest
import srt
import webvtt

from asr.formats.captions import (
    LINE_CHARACTERS,
    LONGEST_S,
    N_LINES,
    Caption,
    captions,
    read_srt,
    read_vtt,
    to_srt,
    to_vtt,
)
from asr.formats.intervals import Interval, Passage


def speech(seed: int, n_words: int = 120) -> list[Interval]:
    """Return random words without white space, with random pauses."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("adé&<>'-日"))
    words, time = [], 0.0
    for _ in range(n_words):
        time += float(rng.choice([0.0, 0.1, 0.5, 0.9, 4.0], p=[0.5, 0.2, 0.15, 0.1, 0.05]))
        end = time + float(rng.integers(3, 90)) / 100
        words.append(Interval(time, end, "".join(rng.choice(letters, rng.integers(1, 14)))))
        time = end
    return words


def test_a_pause_ends_a_caption_and_a_short_one_stays_a_second() -> None:
    words = [
        Interval(0.5, 0.7, "GO"),
        Interval(0.7, 0.9, "ON"),
        Interval(1.7, 1.9, "STOP"),
        Interval(5, 7, "X"),
    ]
    assert captions(words) == [
        Caption(0.5, 1.5, ("GO ON",)),
        Caption(1.7, 2.7, ("STOP",)),
        Caption(5, 7, ("X",)),
    ]


def test_a_short_caption_ends_where_the_next_begins() -> None:
    words = [Interval(0.0, 0.1, "a" * 42), Interval(0.2, 0.3, "b" * 42), Interval(0.4, 0.5, "c" * 42)]
    assert captions(words) == [
        Caption(0.0, 0.4, ("a" * 42, "b" * 42)),
        Caption(0.4, 1.4, ("c" * 42,)),
    ]


def test_a_word_of_any_length_is_one_line() -> None:
    words = [Interval(0.0, 9.0, "x" * 99), Interval(9.0, 9.5, "y")]
    assert [c.lines for c in captions(words)] == [("x" * 99,), ("y",)]
    assert captions([]) == captions([Interval(0, 1, "")]) == []


@pytest.mark.parametrize("seed", range(5))
def test_captions_are_short_and_in_order_and_hold_every_word_once(seed: int) -> None:
    words = speech(seed)
    found = captions(words)
    assert " ".join(line for c in found for line in c.lines).split() == [w.label for w in words]
    for caption in found:
        assert 1 <= len(caption.lines) <= N_LINES
        assert max(map(len, caption.lines)) <= LINE_CHARACTERS
        assert caption.end_s - caption.start_s <= LONGEST_S + 1e-9
    for first, second in pairwise(found):
        assert first.end_s <= second.start_s
    starts = {w.start_s for w in words}
    assert {c.start_s for c in found} <= starts


@pytest.mark.parametrize("seed", range(3))
def test_other_readers_find_the_same(seed: int) -> None:
    words = speech(seed)
    expected = [("\n".join(c.lines), round(c.start_s, 3), round(c.end_s, 3)) for c in captions(words)]
    subrip = [(s.content, s.start.total_seconds(), s.end.total_seconds()) for s in srt.parse(to_srt(words))]
    assert subrip == expected
    vtt = webvtt.from_buffer(io.StringIO(to_vtt(words)), format="vtt")
    shown = [(c.text, c.start_in_seconds, c.end_in_seconds) for c in vtt]
    # This reader knows neither entities nor fractions of seconds.
    assert [
        (t.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"), s, e) for t, s, e in shown
    ] == [(text, int(start), int(end)) for text, start, end in expected]
    for text, read in ((to_srt(words), read_srt), (to_vtt(words), read_vtt)):
        passages, problems = read(text, "x")
        assert problems == []
        own = [(s.text, round(s.start_s, 3), round(s.end_s or 0.0, 3)) for s in passages]
        assert own == [(text.replace("\n", " "), start, end) for text, start, end in expected]


def test_an_arrow_is_no_times() -> None:
    words = [Interval(0, 1, "a-->b")]
    assert read_srt(to_srt(words), "x")[0][0].text == "a-->b"
    assert read_vtt(to_vtt(words), "x")[0][0].text == "a-->b"
    assert (to_srt([]), to_vtt([])) == ("", "WEBVTT\n")


SRT = """1\r
00:00:01,500 --> 00:00:02,750 X1:10\r
<i>Yes</i>, {\\an8}no\r
<go>\r
\r
\r
2
01:02:03,4 --> 01:02:05.000
a < b &amp; c
"""

VTT = """WEBVTT - title
Kind: captions

STYLE
::cue { color: red }

NOTE
a comment

intro
00:01.500 --> 00:02.750 align:start
<v.loud Anna &amp; B>Yes <c.x>no</c></v> <00:02.000>go &lt;x&gt;

00:03.000 --> 1:00:04.000
<v A>one</v> <v B>two</v>
"""


def test_srt() -> None:
    assert read_srt(SRT, "a.srt") == (
        [
            Passage(1.5, 2.75, "Yes, no <go>", "a.srt:2"),
            Passage(3723.4, 3725.0, "a < b &amp; c", "a.srt:8"),
        ],
        [],
    )


def test_vtt() -> None:
    assert read_vtt(VTT, "a.vtt") == (
        [
            Passage(1.5, 2.75, "Yes no go <x>", "a.vtt:11", "Anna & B"),
            Passage(3.0, 3604.0, "one two", "a.vtt:14"),
        ],
        [],
    )


def test_problems() -> None:
    passages, problems = read_srt("1\n00:01 -> 00:02\nyes\n\n00:00:01,000 --> 00:00:02,000\n", "a.srt")
    assert passages == [Passage(1.0, 2.0, "", "a.srt:5")]
    assert [str(p) for p in problems] == [
        'a.srt:1: "1" has no times, expected "00:00:01,000 --> 00:00:02,000"; correct the block'
    ]
    assert [str(p) for p in read_vtt(SRT, "a.vtt")[1]] == [
        "a.vtt: no WebVTT, expected WEBVTT in the first line; save it anew"
    ]


def test_hours_that_are_no_hours() -> None:
    passages, problems = read_srt(f"1\n{'9' * 5000}:00:01,000 --> 00:00:02,000\nhello\n", "x.srt")
    assert not passages
    assert "has no times" in problems[0].what
