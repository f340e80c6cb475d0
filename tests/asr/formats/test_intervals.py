"""Gaps are filled to the microsecond, and what is no tier is named."""

from itertools import pairwise

import numpy as np
import pytest

from asr.errors import CorpusError
from asr.formats.intervals import Interval, fill_gaps, rounded


def test_filled_tier_is_contiguous_in_text_too(spoken):
    intervals, duration_s = spoken.random_tier(np.random.default_rng(9))
    filled = fill_gaps(intervals, duration_s)
    assert filled[0].start_s == 0
    assert filled[-1].end_s == round(duration_s, 6)
    assert all(a.end_s == b.start_s for a, b in pairwise(filled))


def test_rounding_leaves_no_sliver():
    filled = fill_gaps([Interval(0, 0.1 + 0.2, "a"), Interval(0.3, 0.6000000001, "b")], 0.6)
    assert filled == (Interval(0, 0.3, "a"), Interval(0.3, 0.6, "b"))


@pytest.mark.parametrize(
    ("intervals", "message"),
    [
        (
            [Interval(0, 0.2, "a"), Interval(0.1, 0.3, "b")],
            'interval "b": expected a start at or after 0.2',
        ),
        ([Interval(0.2, 0.2, "a")], 'interval "a": .* got 0.2 to 0.2 s'),
        ([Interval(-0.1, 0.2, "a")], 'interval "a": expected a start at or after 0 s'),
        ([Interval(float("nan"), 0.2, "a")], 'interval "a": .* got nan'),
        ([Interval(0, 0.7, "a")], "expected intervals within 0.6 s, got an end at 0.7 s"),
    ],
)
def test_intervals_that_are_no_tier(intervals, message):
    with pytest.raises(CorpusError, match=message):
        fill_gaps(intervals, 0.6)


def test_rounded_keeps_the_label_and_both_times():
    assert rounded(Interval(0.12345, 0.98765, "a"), 3) == Interval(0.123, 0.988, "a")
