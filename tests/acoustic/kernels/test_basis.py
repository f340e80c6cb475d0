"""The orthogonal decomposition against its definition and numpy's factorisation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic import ModelError
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.selection import OrthogonalBasis

N_ROWS, N_COLUMNS = 60, 24


def kernel_columns(sigma=1.0, dtype=np.float64, seed=0):
    x = np.random.default_rng(seed).normal(size=(N_ROWS, 2)).astype(dtype)
    return Kernel("gaussian", sigma).block(x, x[:N_COLUMNS])


def grown(columns, block_size):
    """Return a basis of a constant and the columns, and which of these were added."""
    basis = OrthogonalBasis(len(columns), 1 + columns.shape[1], columns.dtype)
    basis.append(np.ones((len(columns), 1), dtype=columns.dtype))
    starts = range(0, columns.shape[1], block_size)
    return basis, np.concatenate([basis.append(columns[:, a : a + block_size]) for a in starts])


def cosines(q):
    unit = (q / np.linalg.norm(q, axis=0)).astype(np.float64)
    return unit.T @ unit - np.eye(q.shape[1])


@pytest.mark.parametrize("block_size", [1, 7, N_COLUMNS])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma", [0.1, 1.0, 10.0])
def test_q_is_orthogonal_and_columns_are_q_times_u(sigma, dtype, block_size):
    columns = kernel_columns(sigma, dtype)
    basis, added = grown(columns, block_size)
    eps = np.finfo(dtype).eps
    kept = np.column_stack([np.ones(N_ROWS), columns[:, added]])
    assert basis.size == 1 + added.sum()
    assert np.abs(cosines(basis.q)).max() < 100 * eps
    assert_allclose(basis.q @ basis.u, kept, rtol=0, atol=200 * eps)
    assert_allclose(basis.u, np.triu(basis.u), rtol=0, atol=0)
    assert_array_equal(np.diag(basis.u), np.ones(basis.size))
    assert_allclose(basis.kappa, np.sum(basis.q.astype(float) ** 2, axis=0), rtol=100 * eps, atol=0)


def test_lengths_are_those_of_householder_qr():
    columns = kernel_columns()
    basis, added = grown(columns, 1)
    assert added.all()
    r = np.linalg.qr(np.column_stack([np.ones(N_ROWS), columns]), mode="r")
    assert_allclose(np.sqrt(basis.kappa), np.abs(np.diag(r)), rtol=1e-7, atol=0)
    assert_allclose(basis.u, r / np.diag(r)[:, None], rtol=1e-5, atol=1e-5)


def test_blocks_give_the_basis_of_single_columns():
    columns = kernel_columns(0.7)
    one, several = grown(columns, 1)[0], grown(columns, 7)[0]
    assert_allclose(several.q, one.q, rtol=0, atol=1e-12)
    assert_allclose(several.u, one.u, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block_size", [1, 4, 12])
def test_dependent_columns_are_left_out(block_size, dtype):
    rng = np.random.default_rng(1)
    free = rng.normal(size=(N_ROWS, 4)).astype(dtype)
    columns = np.column_stack([free, free[:, ::-1], free @ rng.normal(size=(4, 3)), np.full(N_ROWS, 3.0)])
    basis, added = grown(columns.astype(dtype), block_size)
    assert_array_equal(added, [True] * 4 + [False] * 8)
    assert np.abs(cosines(basis.q)).max() < 100 * np.finfo(dtype).eps


def test_zero_column_is_left_out():
    assert not grown(np.zeros((5, 1)), 1)[1].any()


@pytest.mark.parametrize("distance", [1e-4, 1e-8, 1e-11])
def test_neighbours_in_a_block_leave_orthogonality(distance):
    """What two nearly equal columns leave of each other is orthogonal to the columns before the block too."""
    columns = kernel_columns(3.0)[:, :12]
    near = columns[:, -1] + distance * np.random.default_rng(2).normal(size=N_ROWS)
    basis = OrthogonalBasis(N_ROWS, 14, columns.dtype)
    basis.append(columns[:, :11])
    assert basis.append(np.column_stack([columns[:, 11], near])).all()
    assert np.abs(cosines(basis.q)).max() < 1e-13


def test_more_columns_than_rows_stop_at_the_rank():
    columns = np.random.default_rng(3).normal(size=(6, 9))
    basis, added = grown(columns, 1)
    assert basis.size == 6
    assert_array_equal(added, [True] * 5 + [False] * 4)


def test_append_leaves_its_argument_alone():
    columns = kernel_columns()
    copy = columns.copy()
    grown(columns, 5)
    assert_array_equal(columns, copy)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_columns_that_are_not_finite_are_an_error(value):
    basis = OrthogonalBasis(3, 2, np.dtype(np.float64))
    with pytest.raises(ModelError, match="not finite, expected numbers that can be squared; standardise"):
        basis.append(np.array([[1.0], [value], [0.0]]))


def test_least_share_refuses_what_is_nearly_in_the_span():
    rng = np.random.default_rng(0)
    first, other = np.linalg.qr(rng.normal(size=(N_ROWS, 2)))[0].T
    for share, is_added in ((1e-3, True), (1e-5, False)):
        basis = OrthogonalBasis(N_ROWS, 2, np.dtype(np.float64), least_share=1e-4)
        basis.append(first[:, None])
        assert basis.append((first + share * other)[:, None])[0] == is_added


def test_without_newest_leaves_the_residual_of_least_squares():
    columns, y = kernel_columns()[:, :5], np.random.default_rng(1).normal(size=(N_ROWS, 2))
    basis, residual = OrthogonalBasis(N_ROWS, 5, columns.dtype), y
    for column in columns.T:
        basis.append(column[:, None])
        residual = basis.without_newest(residual)
    expected = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    assert_allclose(residual, expected, rtol=0, atol=1e-10)
