"""The product on one thread equals numpy's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_limits

from foundation.threads import SERIAL_MULTIPLICATIONS, serial_product


@pytest.mark.parametrize("shape", [(0, 3, 2), (1, 3, 2), (500, 257, 26), (3, 2000, 1500)])
def test_equals_numpys(shape):
    n, depth, k = shape
    rng = np.random.default_rng(0)
    left, right = (
        rng.normal(size=(n, depth)).astype(np.float32),
        rng.normal(size=(depth, k)).astype(np.float32),
    )
    assert_allclose(serial_product(left, right), left @ right, rtol=1e-4, atol=1e-3)


def test_writes_into_columns_of_a_larger_array():
    left, right = np.eye(4, dtype=np.float32), np.arange(8, dtype=np.float32).reshape(4, 2)
    whole = np.full((4, 3), -1.0, dtype=np.float32)
    serial_product(left, right, out=whole[:, :2])
    assert_allclose(whole, np.hstack([right, np.full((4, 1), -1.0)]), rtol=0, atol=0)


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(0)
    left, right = (
        rng.normal(size=(3000, 169)).astype(np.float32),
        rng.normal(size=(169, 60)).astype(np.float32),
    )
    assert left.shape[0] * right.size > 10 * SERIAL_MULTIPLICATIONS
    with threadpool_limits(limits=1):
        alone = serial_product(left, right)
    assert serial_product(left, right).tobytes() == alone.tobytes()
