"""Forward selection in large blocks: models of all sizes and leave-one-out outputs, each fitted alone."""

from dataclasses import replace

import numpy as np
import pytest
from acoustic.kernels.quick_forward import Refinement, is_quick, quick_selection
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.kernels.forward import ForwardConfig
from acoustic.kernels.kernel import Kernel

CONFIG = ForwardConfig(Kernel(sigma=0.7), (0.7,), 24, epsilon=0.02)


def problem(n=90, n_targets=2, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    y = np.column_stack([np.sin((r + 1) * x[:, 0]) + x[:, 1] for r in range(n_targets)])
    return x, y + noise * rng.normal(size=y.shape)


def fitted(x, y, centers, epsilon, sigma=0.7, rows=None, weight=None):
    """Return bias and weights of penalised least squares on some rows, by normal equations."""
    rows = np.arange(len(x)) if rows is None else rows
    weight = np.ones(len(x)) if weight is None else weight / weight.mean()
    columns = np.column_stack([np.ones(len(x)), Kernel(sigma=sigma).block(x, x[centers])])
    penalty = np.zeros((columns.shape[1],) * 2)
    penalty[1:, 1:] = columns[centers, 1:]
    gram = (weight[rows, None] * columns[rows]).T @ columns[rows]
    return columns, np.linalg.solve(
        gram + 2 * epsilon * penalty, (weight[rows, None] * columns[rows]).T @ y[rows]
    )


def run(x, y, config=CONFIG, seed=0, **options):
    return quick_selection(x, y, config, rng=np.random.default_rng(seed), **options)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_models_of_every_size_are_those_fitted_alone(is_weighted):
    x, y = problem()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(x)) if is_weighted else None
    path = run(x, y, sample_weight=weight).path
    assert path.size == 24
    for size in (0, 1, 7, 24):
        columns, alpha = fitted(x, y, path.indices[:size], 0.02, weight=weight)
        weights, bias = path.weights(size)
        assert_allclose(np.vstack([bias, weights]), alpha, rtol=1e-5, atol=1e-6)
    assert_allclose(path.fitted, columns @ alpha, rtol=0, atol=1e-6)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_left_out_outputs_are_those_of_fits_without_the_point(is_weighted):
    x, y = problem(50)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(x)) if is_weighted else None
    path = run(x, y, sample_weight=weight).path
    for i in range(len(x)):
        columns, alpha = fitted(x, y, path.indices, 0.02, rows=np.delete(np.arange(50), i), weight=weight)
        assert_allclose(path.leave_one_out[i], columns[i] @ alpha, rtol=0, atol=1e-6)


def test_the_size_is_the_smallest_of_about_the_least_left_out_error():
    x, y = problem(90, noise=2.0)
    config = replace(CONFIG, max_centers=48, stopping="loo", epsilon=1e-4)
    path = run(x, y, config).path

    def error(size):
        found = run(x, y, replace(config, stopping="size")).path
        columns, alpha = fitted(x, y, found.indices[:size], 1e-4)
        gram = columns.T @ columns
        gram[1:, 1:] += 2e-4 * columns[found.indices[:size], 1:]
        leverages = np.einsum("ij,ji->i", columns, np.linalg.solve(gram, columns.T))
        return np.sum(((y - columns @ alpha) / (1 - leverages)[:, None]) ** 2)

    assert 0 < path.size < 48
    errors = [error(size) for size in range(0, 49, 4)]  # the sizes that are looked at
    is_enough = np.array(errors) <= 1.002 * min(errors)
    assert path.size == 4 * int(np.argmax(is_enough))
    assert error(path.size) < 0.8 * error(48)


def test_refinement_takes_the_width_and_the_epsilon_of_the_least_error():
    x, y = problem(200, noise=0.1)
    wrong = replace(CONFIG, kernel=Kernel(sigma=8.0), sigmas=(8.0,), epsilon=10.0)
    widths, epsilons = (1.0, 0.5, 0.25), (1.0, 1e-2, 1e-3)
    found = run(x, y, wrong, refinement=Refinement(widths, epsilons))
    assert found.sigma in {8.0 * factor for factor in widths}
    assert found.epsilon in {10.0 * factor for factor in epsilons}
    left = np.sum((y - found.path.leave_one_out) ** 2)
    kept = run(x, y, wrong)
    assert (kept.sigma, kept.epsilon) == (8.0, 10.0)
    assert left < 0.5 * np.sum((y - kept.path.leave_one_out) ** 2)
    assert_array_equal(found.path.sigmas, np.full(len(found.path.indices), found.sigma))


def test_orols_gets_the_ridge_of_the_least_left_out_error():
    x, y = problem(90, noise=2.0)
    config = replace(CONFIG, epsilon=1e-6, regularize=True)
    path, plain = run(x, y, config).path, run(x, y, replace(config, regularize=False)).path
    assert_array_equal(path.indices, plain.indices)
    assert path.ridges[-1] in (1e-3, 1e-2, 1e-1, 1.0, 10.0)
    assert not plain.ridges.any()
    left, before = (np.sum((y - p.leave_one_out) ** 2) for p in (path, plain))
    assert left < before
    orthogonal = path.products / (path.kappa + path.ridges[-1])[:, None]  # thesis (3.83)
    weights, bias = path.weights()
    assert_allclose(path.u @ np.vstack([bias, weights]), orthogonal, rtol=1e-9, atol=1e-12)


def test_repeated_points_are_taken_once():
    x, y = problem(20)
    path = run(np.repeat(x, 5, axis=0), np.repeat(y, 5, axis=0), replace(CONFIG, max_centers=100)).path
    places = path.indices // 5
    assert_array_equal(np.sort(places), np.unique(places))


def test_more_centres_than_points_and_one_seed_one_path():
    x, y = problem(30)
    config = replace(CONFIG, max_centers=500, selection="random")
    one, other, another = (run(x, y, config, seed).path for seed in (0, 0, 1))
    assert_array_equal(np.sort(one.indices), np.arange(30))
    assert_array_equal(one.indices, other.indices)
    assert (one.indices != another.indices).any()


def test_points_of_large_residuals_are_drawn_more_often():
    x = np.linspace(0, 100, 400)[:, None]
    y = np.where(x > 90, np.sin(8 * x), 0.0)  # all there is to learn is at the end
    path = run(x, y, replace(CONFIG, max_centers=100)).path
    assert np.mean(x[path.indices] > 90) > 2 * np.mean(x > 90)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"stopping": "loo", "selection": "random", "regularize": True}, True),
        ({"kernel": Kernel("sigmoid")}, False),
        ({"sigmas": (0.5, 1.0)}, False),
        ({"selection": "error_reduction"}, False),
        ({"stopping": "gcv"}, False),
    ],
)
def test_what_is_done_quickly(change, expected):
    assert is_quick(replace(CONFIG, **change)) is expected
