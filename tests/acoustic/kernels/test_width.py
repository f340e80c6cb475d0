"""Widths from the points, and the search by leave-one-out errors against refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from sklearn.svm import SVC

from acoustic.kernels import width
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.width import left_out_setting, median_width, neighbours, scale_width


def waves(n=80, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, (n, 2))
    return x, np.column_stack([np.sin(3 * x[:, 0]), np.cos(2 * x[:, 1])]) + 0.2 * rng.normal(size=(n, 2))


def test_scale_is_the_width_of_svc():
    x = np.random.default_rng(0).normal(2.0, 3.0, (50, 7))
    machine = SVC(gamma="scale").fit(x, np.arange(50) % 2)
    assert_allclose(1 / (2 * scale_width(x) ** 2), machine._gamma, rtol=1e-12, atol=0)


def test_median_is_the_median_distance():
    x = np.random.default_rng(0).normal(size=(300, 4))
    assert_allclose(median_width(x), np.median(pdist(x)), rtol=0.02, atol=0)
    assert median_width(x) == median_width(x.copy())
    assert_allclose(median_width(5 * x), 5 * median_width(x), rtol=1e-12, atol=0)


@pytest.mark.parametrize("of", [scale_width, median_width])
def test_equal_points_have_width_one(of):
    assert of(np.full((5, 3), 7.0)) == 1.0


@pytest.mark.parametrize("is_weighted", [False, True])
def test_errors_are_those_of_fits_without_each_point(is_weighted):
    x, y = waves()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 80) if is_weighted else np.ones(80)
    small = width._SmallModel(x, y, Kernel(), weight if is_weighted else None)
    found = small.errors(0.8, np.array([1e-3, 0.1]))
    order = np.random.default_rng(0).permutation(80)
    x, y, weight = x[order], y[order], (weight / weight.mean())[order]
    n_centers = len(small.centers)
    columns = np.column_stack([np.ones(80), Kernel(sigma=0.8).block(x, x[:n_centers])])
    for epsilon, error in zip((1e-3, 0.1), found, strict=True):
        penalty = np.zeros((1 + n_centers,) * 2)
        penalty[1:, 1:] = 2 * epsilon * columns[:n_centers, 1:]
        misses = []
        for i in range(80):
            rows = np.delete(np.arange(80), i)
            heavy = weight[rows, None] * columns[rows]
            alpha = np.linalg.solve(heavy.T @ columns[rows] + penalty, heavy.T @ y[rows])
            misses.append(weight[i] * np.sum((y[i] - columns[i] @ alpha) ** 2))
        assert_allclose(error, np.mean(misses), rtol=1e-4, atol=0)


def test_the_search_takes_the_least_error():
    x, y = waves(300)
    sigmas, epsilons = np.array([0.1, 0.3, 0.9, 2.7]), np.array([1e-6, 1e-2, 1.0])
    small = width._SmallModel(x, y, Kernel(), None)
    errors = np.array([small.errors(s, epsilons) for s in sigmas])
    found = left_out_setting(x, y, Kernel(), sigmas, epsilons)
    s, e = np.unravel_index(errors.argmin(), errors.shape)
    assert (found.sigma, found.epsilon) == (sigmas[s], epsilons[e])
    assert_allclose(found.error, errors.min(), rtol=1e-12, atol=0)


def test_noise_asks_for_more_epsilon():
    x, y = waves(300)
    noisy = y + 2.0 * np.random.default_rng(5).normal(size=y.shape)
    calm, rough = (
        left_out_setting(x, t, Kernel(), np.array([0.9]), width.EPSILONS).epsilon for t in (y, noisy)
    )
    assert rough > calm


def test_a_large_set_is_searched_on_some_of_its_points():
    """The errors on 600 of 3,000 points count each of them five times."""
    x, y = waves(3000)
    found = left_out_setting(x, y, Kernel(), np.array([0.9]), np.array([0.1])).error
    small = width._SmallModel(x, y, Kernel(), None)
    centers = small.centers
    columns = np.column_stack([np.ones(3000), Kernel(sigma=0.9).block(x, centers)])
    penalty = np.zeros((1 + len(centers),) * 2)
    penalty[1:, 1:] = 0.2 * Kernel(sigma=0.9).block(centers, centers)
    gram = columns.T @ columns + penalty
    leverages = np.einsum("ij,ji->i", columns, np.linalg.solve(gram, columns.T))
    residual = y - columns @ np.linalg.solve(gram, columns.T @ y)
    whole = np.mean(np.sum((residual / (1 - leverages)[:, None]) ** 2, axis=1))
    assert_allclose(found, whole, rtol=0.15, atol=0)


def test_neighbours_are_the_nearest_of_the_others():
    x = np.random.default_rng(0).normal(size=(40, 3))
    found = neighbours(x, Kernel(), 0.5, n_points=40)
    gram = Kernel(sigma=0.5).block(x, x)
    least = gram.min()
    np.fill_diagonal(gram, 0.0)
    assert_allclose(np.sort(found[:-1]), np.sort(gram.max(axis=0)), rtol=1e-9, atol=0)
    assert_allclose(found[-1], least, rtol=1e-6, atol=0)
