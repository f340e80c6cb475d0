"""Scores of sizes and λ by the evidence against their definitions and brute force."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from acoustic.kernels import forward as path_scores
from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.ridge import evidence_ridge, log_evidence, next_evidence_ridge

NPD = ForwardConfig(Kernel("gaussian", 1.0), (1.0,), 15)
OROLS = replace(NPD, regularize=True)


def state_of(path, y):
    return path.kappa, path.products, np.sum(y**2) - np.sum(path.products**2 / path.kappa[:, None]), len(y)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_evidence_is_the_density_of_the_targets(problem, design, orthogonal, n_targets):
    x, y = problem(n_targets=n_targets)
    path = forward_selection(x, y, OROLS)
    q, _ = orthogonal(design(x, path, OROLS))
    for ridge in (0.01, 0.4, 30.0):
        inner = np.eye(len(x)) + q @ q.T / ridge
        variance = np.sum(y * np.linalg.solve(inner, y)) / y.size
        expected = sum(multivariate_normal(np.zeros(len(x)), variance * inner).logpdf(t) for t in y.T)
        assert_allclose(log_evidence(*state_of(path, y), ridge), expected, rtol=1e-9, atol=0)
        for factor in (0.95, 1.05):  # no other noise variance makes the targets more likely
            other = factor * variance * inner
            assert sum(multivariate_normal(np.zeros(len(x)), other).logpdf(t) for t in y.T) < expected


@pytest.mark.parametrize("seed", range(6))
def test_ridge_of_the_evidence_is_its_maximum_on_a_fine_grid(problem, seed):
    x, y = problem(seed=seed, n_targets=1 + seed % 2)
    path = forward_selection(x, y, replace(NPD, max_centers=5 + 5 * seed))
    state = state_of(path, y)
    found = evidence_ridge(*state)
    grid = path.kappa.max() * np.logspace(-12, 0, 20001)
    scores = np.array([log_evidence(*state, ridge) for ridge in grid])
    assert log_evidence(*state, found) >= scores.max() - 1e-9
    assert_allclose(found, grid[scores.argmax()], rtol=2e-3, atol=0)
    assert_allclose(next_evidence_ridge(*state, found), found, rtol=1e-6, atol=0)


def test_targets_of_noise_alone_get_the_largest_ridge():
    kappa, products = np.array([50.0, 2.0]), np.array([[1e-6], [1e-7]])
    assert evidence_ridge(kappa, products, 50.0, 50) == pytest.approx(50.0, rel=1e-12)


def test_path_with_ridges_of_the_evidence_predicts_as_the_ridge_regression(problem, design, orthogonal):
    x, y = problem()
    path = path_scores.with_evidence_ridges(forward_selection(x, y, OROLS), float(np.sum(y**2)), len(x))
    for size in (0, 4, 15):
        q, u = orthogonal(design(x, path, OROLS, size))
        ridge = path.ridges[size]
        state = path.kappa[: size + 1], path.products[: size + 1]
        unexplained = np.sum(y**2) - np.sum(state[1] ** 2 / state[0][:, None])
        assert_allclose(ridge, evidence_ridge(*state, unexplained, len(x)), rtol=1e-6, atol=0)
        alpha = np.linalg.solve(u, np.linalg.solve(q.T @ q + ridge * np.eye(size + 1), q.T @ y))
        weights, bias = path.weights(size)
        assert_allclose(np.vstack([bias, weights]), alpha, rtol=1e-6, atol=1e-9)
    assert (np.abs(path.ridges - forward_selection(x, y, OROLS).ridges) > 0).any()


def test_bayesian_information_by_its_definition(problem, design):
    x, y = problem(n_targets=2)
    path = forward_selection(x, y, NPD)
    found = path_scores.bayesian_information(path, float(np.sum(y**2)), len(x))
    for size in range(16):
        k = design(x, path, NPD, size)
        error = np.sum((y - k @ np.linalg.lstsq(k, y, rcond=None)[0]) ** 2)
        expected = y.size * np.log(error / y.size) + 2 * (size + 1) * np.log(len(x))
        assert_allclose(found[size], expected, rtol=1e-8, atol=1e-6)


def test_bayesian_information_counts_only_what_the_ridge_leaves(problem, design, orthogonal):
    x, y = problem()
    path = replace(forward_selection(x, y, OROLS), ridges=np.linspace(0.1, 3.0, 16))
    found = path_scores.bayesian_information(path, float(np.sum(y**2)), len(x))
    for size in (0, 3, 15):
        q, _ = orthogonal(design(x, path, OROLS, size))
        hat = q @ np.linalg.solve(q.T @ q + path.ridges[size] * np.eye(size + 1), q.T)
        error = np.sum((y - hat @ y) ** 2)
        expected = len(x) * np.log(error / len(x)) + np.trace(hat) * np.log(len(x))
        assert_allclose(found[size], expected, rtol=1e-8, atol=1e-6)


def test_description_names_the_centres(problem):
    x, y = problem()
    path = forward_selection(x, y, NPD)
    energy, n = float(np.sum(y**2)), len(x)
    naming = [np.log(comb(n, size)) for size in range(16)]
    expected = 0.5 * path_scores.bayesian_information(path, energy, n) + naming
    assert_allclose(path_scores.description_length(path, energy, n), expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize(
    ("score", "selection"),
    [(path_scores.description_length, "residual"), (path_scores.bayesian_information, "random")],
)
def test_noise_asks_for_no_centres_and_structure_for_its_own(score, selection):
    """With the residual rule only a score that knows of the choice among all points resists outliers."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-5, 5, size=(200, 1))
    noise = 0.1 * rng.normal(size=(200, 1))
    bumps = Kernel("gaussian", 1.0).block(x, np.array([[-3.0], [0.0], [3.0]])).sum(axis=1, keepdims=True)
    for y, low, high in ((noise, 0, 0), (bumps + noise, 3, 15)):
        path = forward_selection(x, y, replace(NPD, max_centers=60, selection=selection))
        assert low <= int(np.argmin(score(path, float(np.sum(y**2)), 200))) <= high


def test_size_of_the_largest_evidence_has_the_largest_density(problem, design, orthogonal):
    x, y = problem()
    path = path_scores.with_evidence_ridges(forward_selection(x, y, NPD), float(np.sum(y**2)), len(x))
    found = path_scores.log_evidences(path, float(np.sum(y**2)), len(x))
    expected = []
    for size in range(16):
        q, _ = orthogonal(design(x, path, NPD, size))
        inner = np.eye(len(x)) + q @ q.T / path.ridges[size]
        variance = np.sum(y * np.linalg.solve(inner, y)) / len(x)
        expected.append(multivariate_normal(np.zeros(len(x)), variance * inner).logpdf(y[:, 0]))
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
