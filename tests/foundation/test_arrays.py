"""Half precision against what a half holds: 11 binary digits and at most 65504."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from foundation.arrays import half_precision


def test_eleven_binary_digits_are_kept() -> None:
    found = half_precision(np.array([1.0, 1 + 2.0**-10, 1 + 2.0**-12, -1000.3]))
    assert found.dtype == np.float32
    assert_array_equal(found, np.array([1.0, 1 + 2.0**-10, 1.0, -1000.5], np.float32))


@pytest.mark.parametrize("large", [65536.0, -1e6, np.inf])
def test_numbers_too_large_leave_all_in_single_precision(large: float) -> None:
    numbers = np.array([1 / 3, large])
    assert_array_equal(half_precision(numbers), numbers.astype(np.float32))
