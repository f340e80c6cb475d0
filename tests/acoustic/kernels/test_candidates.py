"""Selection rules against trying every candidate."""

import numpy as np
from numpy.testing import assert_allclose

from acoustic.kernels.forward import ForwardConfig
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.selection import OrthogonalBasis, error_reductions, greedy_order

GAUSSIAN = Kernel("gaussian", 1.0)
NPD = ForwardConfig(GAUSSIAN, (1.0,), 15)


def test_reductions_are_those_of_the_regularised_error(problem, gram):
    x, y = problem(40)
    k, ridge = gram(x, NPD), 0.2
    basis = OrthogonalBasis(40, 4, k.dtype)
    basis.append(np.column_stack([np.ones(40), k[:, :3]]))

    def error(q):
        alpha = (q.T @ y) / (np.sum(q**2, axis=0)[:, None] + ridge)
        return np.sum((y - q @ alpha) ** 2) + ridge * np.sum(alpha**2)  # (3.80)

    residual = y - basis.q @ ((basis.q.T @ y) / basis.kappa[:, None])
    gains = error_reductions(basis, k[:, 3:9], residual, ridge)
    for gain, column in zip(gains, k[:, 3:9].T, strict=True):
        q = column - basis.q @ ((basis.q.T @ column) / basis.kappa)
        expected = error(basis.q) - error(np.column_stack([basis.q, q]))
        assert_allclose(gain, expected, rtol=1e-8, atol=1e-12)


def test_greedy_order_is_the_sequential_algorithm_on_the_block(problem):
    x, y = problem(30)
    k = GAUSSIAN.block(x, x)
    residual, chosen, q = y.copy(), [], np.empty((30, 0))
    for _ in range(8):
        free = np.setdiff1d(np.arange(30), chosen)
        chosen.append(int(free[np.argmax(np.abs(residual[free, 0]))]))
        q = np.linalg.qr(k[:, chosen])[0]
        residual = y - q @ (q.T @ y)
    assert greedy_order(k, y, 8).tolist() == chosen


def test_greedy_order_of_equal_columns_takes_different_ones_first():
    k = np.kron(np.eye(3), np.ones((2, 2)))
    order = greedy_order(k, np.array([[3.0], [3.0], [2.0], [2.0], [1.0], [1.0]]), 6)
    assert order.tolist() == [0, 2, 4, 1, 3, 5]
