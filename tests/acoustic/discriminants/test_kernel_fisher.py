"""Kernel Fisher discriminant against its definition and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from sklearn.datasets import make_moons
from sklearn.linear_model import Ridge

from acoustic.discriminants.kernel_ridge import KernelFisherDiscriminant
from acoustic.kernels.kernel import Kernel

KERNELS = ("gaussian", "polynomial", "sigmoid", "compact")


def moons(n_points=60, seed=0):
    x, y = make_moons(n_points, noise=0.15, random_state=seed)
    keep = np.arange(n_points) % 3 != y  # a third of either class goes, and the classes are of unequal size
    return x[keep | (y == 1)], y[keep | (y == 1)]


def three_rings(n_points=90, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n_points)
    angle = rng.uniform(0, 2 * np.pi, n_points)
    radius = 1.0 + labels + 0.15 * rng.normal(size=n_points)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), labels


def kernel_scatters(gram, positive):
    """Return m₊ − m₋ of thesis (3.37) and S_W of (3.38)."""
    within, means = 0.0, []
    for mask in (~positive, positive):
        k, n = gram[:, mask], mask.sum()
        within = within + k @ (np.eye(n) - np.full((n, n), 1.0 / n)) @ k.T
        means.append(k.mean(axis=1))
    return means[1] - means[0], within


def cosine(a, b):
    return float(np.ravel(a) @ np.ravel(b) / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("epsilon", [1e-6, 1e-2])
def test_direction_is_that_of_the_regularised_scatters(name, epsilon):
    x, y = moons()
    found = KernelFisherDiscriminant(0.7, epsilon=epsilon, kernel=name).fit(x, y)
    gram = Kernel(name, 0.7).block(x, x)
    difference, within = kernel_scatters(gram, y == 1)
    within += found.ridge_ * np.eye(len(x))
    expected = np.linalg.solve(within, difference)  # thesis (3.41)
    assert_allclose(cosine(found.dual_coef_, expected), 1.0, rtol=0, atol=1e-8)
    _, vectors = eigh(np.outer(difference, difference), within)  # of (3.40)
    assert_allclose(abs(cosine(found.dual_coef_, vectors[:, -1])), 1.0, rtol=0, atol=1e-7)


def test_direction_of_each_class_against_the_rest():
    x, y = three_rings()
    found = KernelFisherDiscriminant(0.7, epsilon=1e-4).fit(x, y)
    gram = Kernel("gaussian", 0.7).block(x, x)
    for c in range(3):
        difference, within = kernel_scatters(gram, y == c)
        expected = np.linalg.solve(within + found.ridge_ * np.eye(len(x)), difference)
        assert_allclose(cosine(found.dual_coef_[c], expected), 1.0, rtol=0, atol=1e-9)


def test_no_direction_has_a_larger_rayleigh_quotient():
    x, y = moons()
    found = KernelFisherDiscriminant(0.7).fit(x, y)
    difference, within = kernel_scatters(Kernel("gaussian", 0.7).block(x, x), y == 1)
    within += found.ridge_ * np.eye(len(x))

    def quotient(alpha):
        return (alpha @ difference) ** 2 / (alpha @ within @ alpha)  # thesis (3.40)

    best, rng = quotient(found.dual_coef_[0]), np.random.default_rng(0)
    steps = 0.1 * rng.normal(size=(200, len(x))) * np.abs(found.dual_coef_[0]).mean()
    assert max(quotient(found.dual_coef_[0] + step) for step in steps) <= best * (1 + 1e-12)


def test_unit_ridge_is_the_mean_diagonal_of_the_total_scatter():
    x, y = moons()
    gram = Kernel("gaussian", 0.7).block(x, x)
    expected = 0.01 * np.var(gram, axis=0).sum()
    assert_allclose(
        KernelFisherDiscriminant(0.7, epsilon=0.01).fit(x, y).ridge_, expected, rtol=1e-10, atol=0
    )


def test_length_and_bias_are_those_of_ridge_regression():
    x, y = moons()
    weight = np.random.default_rng(0).uniform(0.5, 3.0, len(x))
    found = KernelFisherDiscriminant(0.7).fit(x, y, sample_weight=weight)
    # A centre of weight w stands for w equal ones: its column times the root of w.
    gram = Kernel("gaussian", 0.7).block(x, x) * np.sqrt(weight)
    ridge = Ridge(found.ridge_, solver="cholesky").fit(gram, 2.0 * y - 1.0, sample_weight=weight)
    assert_allclose(found.decision_function(x), ridge.predict(gram), rtol=1e-6, atol=1e-8)
    assert_allclose(found.intercept_, ridge.intercept_, rtol=1e-6, atol=1e-8)
