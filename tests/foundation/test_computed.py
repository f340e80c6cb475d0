"""Sequences that are computed when they are needed."""

import pytest

from foundation.sequences import Computed


def test_items_are_computed_each_time_they_are_asked_for() -> None:
    asked: list[int] = []

    def function(n: int) -> int:
        asked.append(n)
        return 10 * n

    found = Computed(function, 3)
    assert asked == []
    assert [found[1], found[-1], found[1]] == [10, 20, 10]
    assert asked == [1, 2, 1]
    assert found[1:] == [10, 20]
    assert list(found) == [0, 10, 20]


def test_map_is_computed_late_too() -> None:
    found = Computed(lambda n: 10 // n, 3).map(str)  # the first cannot be computed
    assert len(found) == 3
    assert found[2] == "5"
    with pytest.raises(ZeroDivisionError, match="by zero"):
        found[0]


def test_no_item_beyond_the_last() -> None:
    with pytest.raises(IndexError, match="out of range"):
        Computed(lambda n: n, 2)[2]
