"""Stretches that no recording can have."""

import pytest

from asr.formats.intervals import Passage, time_problem


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
