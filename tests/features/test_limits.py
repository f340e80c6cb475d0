"""What no recording is like."""

from __future__ import annotations

import numpy as np
import pytest

from features.samples import LOUDEST, describe_sample, first_unusable, is_usual_rate


@pytest.mark.parametrize(
    ("samples", "place"),
    [
        ([], None),
        ([0.0, -LOUDEST, LOUDEST], None),
        ([0.0, 100.5], 1),
        ([-1e30, np.nan], 0),
        ([0.0, np.nan, np.inf], 1),
        ([-np.inf], 0),
    ],
)
def test_first_unusable(samples: list[float], place: int | None) -> None:
    assert first_unusable(np.array(samples, dtype=np.float32)) == place


def test_rates() -> None:
    rates = [3999, 4000, 8000, 768_000, 768_001, float("nan"), float("inf"), -8000]
    assert list(map(is_usual_rate, rates)) == [False, True, True, True, False, False, False, False]


def test_what_is_expected_of_a_sample() -> None:
    assert describe_sample(-np.inf) == "a finite number"
    assert describe_sample(-101.0) == "numbers within ±1, or somewhat above"
