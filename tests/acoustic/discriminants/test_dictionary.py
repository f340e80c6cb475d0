"""The dictionary of KRLS against approximate linear dependence by its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.discriminants import krls as module
from acoustic.discriminants.krls import Dictionary, build_dictionary, solved
from acoustic.kernels.kernel import Kernel

KERNEL = Kernel("gaussian", 1.0)


def points(n=120, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def gram(x, centers):
    """The kernel k + 1 written out."""
    return np.exp(-0.5 * ((x[:, None] - centers) ** 2).sum(axis=2)) + 1.0


def distance_from_span(x, centers):
    """Return min ‖φ(x) − Σ a_j φ(c_j)‖² of a point, (3.95) by least squares on the kernel matrix."""
    if not len(centers):
        return 2.0
    k = gram(centers, x[None])[:, 0]
    return 2.0 - k @ np.linalg.lstsq(gram(centers, centers), k, rcond=None)[0]


def greedy(x, nu, max_size):
    """Return the rows Algorithm 3 takes, and how many it would take had it room."""
    chosen, n_refused = [], 0
    for n in range(len(x)):
        if distance_from_span(x[n], x[chosen]) > nu:
            if len(chosen) < max_size:
                chosen.append(n)
            else:
                n_refused += 1
    return chosen, n_refused


@pytest.mark.parametrize("max_size", [5, 1000])
@pytest.mark.parametrize("block", [1, 7, 256])
def test_points_enter_that_are_far_from_the_span(monkeypatch, block, max_size):
    monkeypatch.setattr(module, "BLOCK", block)
    x = points()
    dictionary, indices = build_dictionary(x, KERNEL, 0.03, max_size)
    chosen, n_refused = greedy(x, 0.03, max_size)
    assert_array_equal(indices, chosen)
    assert_array_equal(dictionary.points, x[chosen])
    assert dictionary.n_refused == n_refused
    assert (n_refused > 0) == (max_size == 5)


def test_factor_is_the_cholesky_factor_of_the_kernel_matrix():
    dictionary, _ = build_dictionary(points(), KERNEL, 0.03, 1000)
    expected = np.linalg.cholesky(gram(dictionary.points, dictionary.points))
    assert len(expected) > 16  # it has grown beyond its first room
    assert_allclose(dictionary.factor, expected, rtol=0, atol=1e-9)


def test_projections_and_reduced_coefficients_follow_from_it():
    dictionary, _ = build_dictionary(points(), KERNEL, 0.03, 1000)
    x = points(9, seed=1)
    k = gram(dictionary.points, x)
    assert_allclose(dictionary.columns(x), k, rtol=1e-12, atol=0)
    z = dictionary.project(x)
    assert_allclose(dictionary.factor @ z, k, rtol=0, atol=1e-10)
    expected = np.linalg.solve(gram(dictionary.points, dictionary.points), k).T  # (3.96)
    assert_allclose(dictionary.reduce(z), expected, rtol=0, atol=1e-8)


def test_a_dictionary_of_stored_points_goes_on():
    x = points()
    whole, _ = build_dictionary(x, KERNEL, 0.03, 1000)
    half, _ = build_dictionary(x[:60], KERNEL, 0.03, 1000)
    again = Dictionary.of(KERNEL, half.points.copy(), half.factor.copy())
    for _ in again.scan(x[60:], 0.03, 1000):
        pass
    assert_array_equal(again.points, whole.points)
    assert_allclose(again.factor, whole.factor, rtol=0, atol=1e-10)


def test_solved_is_the_inverse_of_either_side():
    factor = np.tril(np.random.default_rng(0).uniform(1.0, 2.0, (4, 4)))
    right = np.random.default_rng(1).normal(size=(4, 3))
    assert_allclose(factor @ solved(factor, right), right, rtol=0, atol=1e-12)
    assert_allclose(factor.T @ solved(factor, right, transposed=True), right, rtol=0, atol=1e-12)
    assert_array_equal(solved(np.zeros((0, 0)), np.zeros((0, 3))), np.zeros((0, 3)))
