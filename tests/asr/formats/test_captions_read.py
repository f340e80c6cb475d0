"""SubRip and WebVTT."""

from asr.formats.captions import read_srt, read_vtt
from asr.formats.intervals import Passage

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
