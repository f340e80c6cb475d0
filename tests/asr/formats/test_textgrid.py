"""TextGrids as Praat writes them."""

import numpy as np
import pytest

from asr.corpora.layouts.textgrid import read_textgrid
from asr.formats.intervals import Interval, fill_gaps
from asr.formats.textgrid import to_textgrid

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


def from_textgrid(text):
    return {
        tier.name: tuple(Interval(s.start_s, s.end_s, s.text) for s in tier.stretches)
        for tier in read_textgrid(text, "x.TextGrid")
    }


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
