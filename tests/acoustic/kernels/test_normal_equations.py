"""Normal equations that grow block by block, against least squares with the penalty written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic import ModelError
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.residual_sampling import NormalEquations

KERNEL = Kernel(sigma=0.8)
EPSILON = 0.03


def problem(n=60, seed=0):
    """Return points, two columns of targets and roots of weights."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), np.sqrt(rng.uniform(0.5, 2.0, n))


def equations_of(centers, kernel=KERNEL):
    x, y, root = problem()
    found = NormalEquations(x, y, root, kernel)
    found.add(np.array(centers[:5]))
    found.add(np.array(centers[5:]))
    return found


def regularised(centers, sigma=0.8, epsilon=EPSILON):
    """Return the weights that minimise Σ w (y − f)² + 2ε αᵀPα, by least squares with rows for the penalty."""
    x, y, root = problem()
    columns = np.exp(-((x[:, None] - x[centers]) ** 2).sum(axis=2) / (2 * sigma**2))
    rows = root[:, None] * np.column_stack([np.ones(len(x)), columns])
    values, vectors = np.linalg.eigh(2 * epsilon * columns[centers])
    penalty = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    rows = np.vstack([rows, np.column_stack([np.zeros(len(centers)), penalty])])
    values = np.vstack([root[:, None] * y, np.zeros((len(centers), 2))])
    return np.linalg.lstsq(rows, values, rcond=None)[0]


CENTERS = [7, 3, 41, 12, 55, 0, 23, 30]


def test_weights_are_those_of_penalised_least_squares():
    found = equations_of(CENTERS)
    assert_array_equal(found.centers, CENTERS)
    assert_allclose(found.factor(EPSILON).weights, regularised(CENTERS), rtol=1e-6, atol=1e-7)


def test_the_factor_makes_columns_and_penalty_orthonormal_together():
    found = equations_of(CENTERS)
    factor = found.factor(EPSILON)
    q = factor.orthonormal(found.columns)
    penalty = np.zeros((9, 9))
    penalty[1:, 1:] = KERNEL.block(found.x[CENTERS], found.x[CENTERS])
    shared = np.linalg.solve(factor.r.T, 2 * EPSILON * penalty) @ np.linalg.inv(factor.r)
    assert_allclose(q.T @ q + shared, np.eye(9), rtol=0, atol=1e-6)
    assert_allclose(q.T @ found.targets, factor.products, rtol=0, atol=1e-9)


def test_with_all_points_it_is_the_gram_matrix_with_a_larger_diagonal():
    """Without a bias, (K + 2εI)α = y is solved; weights of the bias are taken out of the targets."""
    x, y, _ = problem(15)
    found = NormalEquations(x, y, np.ones(15), KERNEL)
    found.add(np.arange(15))
    bias, *alpha = found.factor(EPSILON).weights
    gram = KERNEL.block(x, x)
    assert_allclose((gram + 2 * EPSILON * np.eye(15)) @ np.array(alpha), y - bias, rtol=0, atol=1e-4)


def test_dropped_centres_leave_the_equations_of_the_others():
    found = equations_of(CENTERS)
    is_kept = np.array([True, False, True, True, True, False, True, True])
    found.drop(is_kept)
    assert_array_equal(found.centers, np.array(CENTERS)[is_kept])
    expected = regularised(np.array(CENTERS)[is_kept])
    assert_allclose(found.factor(EPSILON).weights, expected, rtol=1e-6, atol=1e-7)


def test_another_width_has_the_same_centres():
    found = equations_of(CENTERS).of_width(1.7)
    assert found.kernel.sigma == 1.7
    assert_allclose(found.factor(EPSILON).weights, regularised(CENTERS, 1.7), rtol=1e-3, atol=1e-4)


def test_a_repeated_point_lies_in_the_span():
    x, y, root = problem()
    x[12] = x[7]
    found = NormalEquations(x, y, root, KERNEL)
    found.add(np.array(CENTERS))
    kept = found.outside_the_span(found.factor(1e-12))
    assert_array_equal(np.array(CENTERS)[~kept], [12])


def test_overflow_is_named():
    x, y, root = problem()
    found = NormalEquations(1e60 * x, y, root, Kernel("polynomial"))
    with pytest.raises(ModelError, match="kernel columns are not finite"):
        found.add(np.array([0, 1]))


def test_left_out_outputs_are_those_of_fits_without_the_point():
    x, y, root = problem()
    found = equations_of(CENTERS)
    factor, rows = found.factor(EPSILON), np.array([7, 12, 2, 31])  # two of them are centres
    penalty = np.zeros((9, 9))
    penalty[1:, 1:] = KERNEL.block(x[CENTERS], x[CENTERS])
    columns = np.column_stack([np.ones(len(x)), KERNEL.block(x, x[CENTERS])])
    for i, outputs in zip(rows, found.left_out(factor, rows), strict=True):
        weight = root**2 * (np.arange(len(x)) != i)
        gram = columns.T @ (weight[:, None] * columns) + 2 * EPSILON * penalty
        alpha = np.linalg.solve(gram, columns.T @ (weight[:, None] * y))
        assert_allclose(outputs, columns[i] @ alpha, rtol=0, atol=1e-6)
