"""The fast Gaussian kernel against its definition in double precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.kernels.kernel import CenteredGaussian, mean_point


def defined(x, centers, sigma):
    squared = ((x[:, None].astype(np.float64) - centers.astype(np.float64)) ** 2).sum(axis=2)
    return np.exp(-squared / (2 * sigma**2))


@pytest.mark.parametrize("sigma", [1.0, 5.0])
@pytest.mark.parametrize("offset", [0.0, 100.0, -1e4])
def test_values_are_those_of_the_definition_wherever_the_points_lie(offset, sigma):
    rng = np.random.default_rng(0)
    x = (offset + rng.normal(size=(50, 6))).astype(np.float32)
    centers = (offset + rng.normal(size=(40, 6))).astype(np.float32)
    kernel = CenteredGaussian(sigma, mean_point(centers))
    found = kernel.values(kernel.left(x), kernel.right(centers))
    assert_allclose(found, defined(x, centers, sigma), rtol=0, atol=2e-6)


def test_no_value_exceeds_one():
    x = np.random.default_rng(1).normal(scale=300, size=(200, 4)).astype(np.float32)
    kernel = CenteredGaussian(0.5, mean_point(x))
    values = kernel.values(kernel.left(x), kernel.right(x))
    assert values.max() <= 1.0
    assert values.min() >= 0.0


def test_the_mean_point_is_summed_in_double_precision():
    points = np.full((100_000, 1), 0.1, dtype=np.float32)
    points[0] = 1e7
    assert_array_equal(mean_point(points), np.float32(points.astype(np.float64).mean(axis=0)))
