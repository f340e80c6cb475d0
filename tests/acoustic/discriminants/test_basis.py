"""The orthogonal decomposition of selected columns against numpy's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import solve_triangular

from acoustic.discriminants.basis import OrthogonalBasis


@pytest.mark.parametrize("block_size", [1, 3, 12])
def test_columns_are_q_times_u_and_q_is_orthogonal(block_size: int) -> None:
    columns = np.random.default_rng(0).normal(size=(40, 12))
    basis = OrthogonalBasis(40, 12, np.dtype(np.float64))
    for first in range(0, 12, block_size):
        assert basis.append(columns[:, first : first + block_size]).all()
    assert_allclose(basis.q @ basis.u, columns, rtol=0, atol=1e-12)
    assert_allclose(basis.q.T @ basis.q, np.diag(basis.kappa), rtol=0, atol=1e-11)
    assert_allclose(np.diag(basis.u), 1.0, rtol=0, atol=0)
    pseudoinverse = solve_triangular(basis.u, (basis.q / basis.kappa).T, unit_diagonal=True)
    assert_allclose(
        pseudoinverse, np.linalg.pinv(columns), rtol=0, atol=1e-10
    )  # thesis (3.62), in another form


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_in_the_span_are_refused(dtype: type) -> None:
    columns = np.random.default_rng(1).normal(size=(30, 4)).astype(dtype)
    basis = OrthogonalBasis(30, 8, np.dtype(dtype))
    repeated = np.column_stack([columns[:, :2], columns[:, 0], columns[:, 2:], columns[:, 1] - columns[:, 3]])
    assert basis.append(repeated).tolist() == [True, True, False, True, True, False]
    assert basis.size == 4
