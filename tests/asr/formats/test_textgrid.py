"""TextGrids as Praat writes them, long and short."""

import numpy as np
import pytest

from asr.errors import CorpusError
from asr.formats.intervals import Interval, fill_gaps
from asr.formats.textgrid import from_textgrid, to_textgrid

TEXTGRID = """\
File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 0.6
tiers? <exists>
size = 1
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 0.6
        intervals: size = 4
        intervals [1]:
            xmin = 0
            xmax = 0.1
            text = ""
        intervals [2]:
            xmin = 0.1
            xmax = 0.3
            text = "go"
        intervals [3]:
            xmin = 0.3
            xmax = 0.5
            text = "le""ft"
        intervals [4]:
            xmin = 0.5
            xmax = 0.6
            text = ""
"""

SHORT_TEXTGRID = """\
File type = "ooTextFile"
Object class = "TextGrid"

0
0.6
<exists>
1
"IntervalTier"
"words"
0
0.6
1
0
0.6
"le""ft 1 "
"""


def test_textgrid_text(spoken):
    assert to_textgrid({"words": spoken.words}, 0.6) == TEXTGRID


def test_textgrid_with_every_tier_is_read_back(spoken):
    read = from_textgrid(to_textgrid(spoken.tiers, 0.6))
    assert list(read) == ["words", "phones", "states"]
    assert read["words"] == (Interval(0.0, 0.1, ""), *spoken.words, Interval(0.5, 0.6, ""))
    assert read["phones"] == spoken.phones


@pytest.mark.parametrize("seed", range(5))
def test_textgrid_round_trip_of_awkward_labels(seed, spoken):
    intervals, duration_s = spoken.random_tier(np.random.default_rng(seed))
    read = from_textgrid(to_textgrid({"a 1": intervals, 'b "2"': []}, duration_s))
    spoken.assert_same(read["a 1"], fill_gaps(intervals, duration_s), atol=1e-9)
    assert read['b "2"'] == (Interval(0, round(duration_s, 6), ""),)


def test_short_textgrid_is_read():
    assert from_textgrid("\ufeff" + SHORT_TEXTGRID) == {"words": (Interval(0, 0.6, 'le"ft 1 '),)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "TextGrid: expected more values"),
        (TEXTGRID[:200], "TextGrid: expected more values"),
        (TEXTGRID[:-40], "TextGrid: expected more values"),
        (TEXTGRID.replace("xmin = 0.3", 'xmin = "x"'), "numbers in place of text"),
        (TEXTGRID.replace("IntervalTier", "TextTier"), 'expected interval tiers only, got TextTier "words"'),
        (TEXTGRID.replace('"TextGrid"', '"Sound"'), "expected the header of a Praat text file"),
    ],
)
def test_bad_textgrid(text, message):
    with pytest.raises(CorpusError, match=message):
        from_textgrid(text)


def test_textgrid_with_a_tier_twice():
    twice = to_textgrid({"a": [], "b": []}, 1).replace('"b"', '"a"')
    with pytest.raises(CorpusError, match="expected tiers of different names, got"):
        from_textgrid(twice)
