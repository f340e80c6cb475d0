"""Half precision against what a half holds: 11 binary digits and at most 65504."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from foundation.arrays import check_array, check_number, check_starts, half_precision
from foundation.errors import AsrError


def test_eleven_binary_digits_are_kept() -> None:
    found = half_precision(np.array([1.0, 1 + 2.0**-10, 1 + 2.0**-12, -1000.3]))
    assert found.dtype == np.float32
    assert_array_equal(found, np.array([1.0, 1 + 2.0**-10, 1.0, -1000.5], np.float32))


@pytest.mark.parametrize("large", [65536.0, -1e6, np.inf])
def test_numbers_too_large_leave_all_in_single_precision(large: float) -> None:
    numbers = np.array([1 / 3, large])
    assert_array_equal(half_precision(numbers), numbers.astype(np.float32))


# Arrays from files: refused in one line where type, shape or a number is another


GOOD = np.arange(6.0).reshape(3, 2)


def changed(value: float) -> NDArray[np.float64]:
    found = GOOD.copy()
    found[1, 1] = value
    return found


def test_what_fits() -> None:
    with pytest.raises(AsrError, match="x: expected"):  # the others differ in one thing each
        check_array("x", GOOD, np.float64, (3, 3), AsrError)
    check_array("x", GOOD, np.float64, (3, 2), AsrError)
    check_array("x", GOOD, np.float64, (None, 2), AsrError, lowest=0, highest=5)
    check_array("x", GOOD[:0], np.float64, (None, 2), AsrError)
    check_array("x", np.array([True]), np.bool_, (1,), AsrError)
    check_array("x", changed(-np.inf), np.float64, (3, 2), AsrError, lowest=-np.inf)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (GOOD.astype(np.float32), r"expected float64 of shape \(any, 2\), got float32 of shape \(3, 2\)"),
        (GOOD.T, r"got float64 of shape \(2, 3\)"),
        (GOOD.ravel(), r"got float64 of shape \(6,\)"),
        (GOOD.sum(), r"got float64 of shape \(\)"),
        (changed(np.nan), "expected numbers from -1 to 5, got others"),
        (changed(np.inf), "expected numbers from -1 to 5, got others"),
        (changed(-1.5), "expected numbers from -1 to 5, got others"),
        (changed(5.5), "expected numbers from -1 to 5, got others"),
    ],
)
def test_what_does_not_fit(array: NDArray[np.float64], said: str) -> None:
    with pytest.raises(AsrError, match=rf"\Ax: [^\n]*{said}; train again or restore the file\Z"):
        check_array("x", np.asarray(array), np.float64, (None, 2), AsrError, lowest=-1, highest=5)


@pytest.mark.parametrize("starts", [[0, 2, 2, 7], [0, 7]])
def test_places_that_rise(starts: list[int]) -> None:
    check_starts("starts", np.array(starts, np.int32), 7, AsrError)
    with pytest.raises(AsrError, match="starts: expected"):
        check_starts("starts", np.array(starts, np.int32), 8, AsrError)


@pytest.mark.parametrize("starts", [[], [0], [0, 6], [1, 7], [0, 8, 7], [0, 5, 3, 7], [0, -1, 7]])
def test_places_that_do_not_rise_to_the_end(starts: list[int]) -> None:
    with pytest.raises(AsrError, match=r"starts: expected .*; train again or restore the file"):
        check_starts("starts", np.array(starts, np.int32), 7, AsrError)


def test_numbers() -> None:
    check_number("sigma", 1.0, AsrError, lowest=1.0)
    for number in (0.5, np.nan, np.inf):
        with pytest.raises(AsrError, match=r"sigma: expected a number from 1 to 1e\+09, got"):
            check_number("sigma", number, AsrError, lowest=1.0)
