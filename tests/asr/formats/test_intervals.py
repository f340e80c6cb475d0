"""Gaps are filled to the microsecond, and what is no tier is named."""

from itertools import pairwise

import numpy as np
import pytest

from asr.errors import CorpusError
from asr.formats.intervals import Interval, Passage, fill_gaps, joined_at_pauses, rounded, time_problem


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


@pytest.mark.parametrize(
    ("start_s", "end_s", "said"),
    [
        (2.0, 1.0, "from 2 s to 1 s"),
        (1.0, 1.0, "from 1 s to 1 s"),
        (-1.0, 1.0, "from -1 s to 1 s"),
        (0.0, float("inf"), "from 0 s to inf s"),
        (float("nan"), 1.0, "from nan s to 1 s"),
        (0.0, float("nan"), "from 0 s to nan s"),
    ],
)
def test_stretches_backwards(start_s: float, end_s: float, said: str) -> None:
    problem = time_problem(Passage(start_s, end_s, "yes", "a.stm:3"))
    assert str(problem) == f"a.stm:3: goes {said}, expected 0 <= start < end; correct the times"


def test_good_stretches() -> None:
    assert time_problem(Passage(0.0, None, "yes", "a")) is None
    assert time_problem(Passage(0.0, 0.1, "yes", "a")) is None


def words(*times: tuple[float, float]) -> list[Passage]:
    return [Passage(start, end, f"w{i}", f"line {i}") for i, (start, end) in enumerate(times)]


def test_words_are_parted_at_long_pauses_with_some_of_the_silence() -> None:
    found = joined_at_pauses(words((1.0, 1.5), (1.9, 2.0), (2.5, 3.0), (20.1, 20.2)), 20.3)
    assert [(s.start_s, s.end_s, s.text, s.where) for s in found] == [
        (0.8, 2.2, "w0 w1", "line 0"),
        (2.3, 3.2, "w2", "line 2"),
        (19.9, 20.25, "w3", "line 3"),
    ]


def test_nothing_is_added_beyond_an_end_that_is_not_known() -> None:
    (found,) = joined_at_pauses(words((0.0, 0.4), (0.3, 0.5), (0.35, 0.45)))
    assert (found.start_s, found.end_s, found.text) == (0.0, 0.5, "w0 w1 w2")


def test_a_short_recording_is_one_utterance() -> None:
    (found,) = joined_at_pauses(words((1.0, 1.5), (5.0, 5.5)), 15.0)
    assert (found.start_s, found.end_s, found.text) == (0.0, None, "w0 w1")
    assert joined_at_pauses([]) == ()
