"""The compact kernel in sparse form against its definition and dense blocks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import issparse

from acoustic.kernels.kernel import (
    Kernel,
    compact_values,
    is_basis_better_sparse,
    is_tree_faster,
    share_within_reach,
    sparse_compact_block,
)


def points(n_points, n_features=2, seed=0):
    return np.random.default_rng(seed).uniform(size=(n_points, n_features))


@pytest.mark.parametrize("n_features", [1, 2, 3, 9])
def test_values_are_the_definition(n_features):
    scaled = np.array([[0.0, 0.5, 1.0], [3.9, 4.0, np.inf]])
    d = np.array([[0.0, np.sqrt(0.5), 1.0], [np.sqrt(3.9), 2.0, 2.0]])
    expected = np.exp(-(d**2) / 2) * (1 - d / 2) ** (n_features // 2 + 1)
    assert_allclose(compact_values(scaled, 2.0, n_features), expected, rtol=1e-13, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_sparse_block_is_the_dense_block(n_features, dtype):
    x, centers = points(300, n_features).astype(dtype), points(40, n_features, 1).astype(dtype)
    sigmas = np.linspace(0.02, 0.1, 40)
    found = sparse_compact_block(x, centers, 2.0, sigmas)
    expected = Kernel("compact", radius=2.0).block(x, centers, sigmas)
    assert found.dtype == dtype
    assert_allclose(found.toarray(), expected, rtol=0, atol=1e-3 if dtype == np.float32 else 1e-7)
    assert 0 < (found.toarray() > 0).mean() < 0.6


def test_a_point_is_one_with_itself():
    x = points(50)
    assert_allclose(sparse_compact_block(x, x, 1.0, np.full(50, 1e-9)).toarray(), np.eye(50), rtol=0, atol=0)


def test_share_is_that_of_all_pairs():
    x = points(256, 3)
    expected = np.mean(np.linalg.norm(x[:, None] - x, axis=2) <= 0.3)
    assert_allclose(share_within_reach(x, x, 0.3), expected, rtol=1e-12, atol=0)
    many = points(20_000, 3)
    assert_allclose(share_within_reach(many, many, 0.3), expected, rtol=0.1, atol=0)


def test_rows_are_sparse_only_where_few_pairs_are_near():
    x, centers = points(500), points(60, seed=1)
    weights = np.random.default_rng(0).normal(size=(60, 2))
    for sigma, is_sparse in ((0.02, True), (0.3, False)):
        kernel = Kernel("compact", sigma)
        assert is_tree_faster(x, centers, 3 * sigma) is is_sparse
        rows = kernel.rows(x, centers)
        assert issparse(rows) is is_sparse
        assert_allclose(rows @ weights, kernel.block(x, centers) @ weights, rtol=0, atol=1e-10)
        assert_allclose(rows[:, :7] @ weights[:7], rows @ np.r_[weights[:7], 0 * weights[7:]], atol=1e-12)
    assert not issparse(Kernel("compact", 0.02).rows(points(500, 9), points(60, 9)))
    assert not issparse(Kernel("gaussian", 0.02).rows(x, centers))
    assert Kernel("compact", 0.02).rows(x, centers[:0]).shape == (500, 0)


def test_a_sparse_basis_is_for_many_points_with_few_neighbours():
    many = points(8000)
    assert is_basis_better_sparse(many, 0.05, 500)
    assert not is_basis_better_sparse(many, 0.05, 501)
    assert not is_basis_better_sparse(many, 0.5, 100)
    assert not is_basis_better_sparse(many[:7999], 0.05, 100)
