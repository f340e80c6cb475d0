"""What columns of candidates are worth to a model: the selection rules of `forward`.

Axes: M training points, R targets, b candidates.
"""

from __future__ import annotations

import numpy as np

from acoustic.kernels.basis import OrthogonalBasis
from foundation.arrays import Floats, Longs, Reals


def greedy_order(block: Reals, residual: Reals, n_wanted: int) -> Longs:
    """Return which columns of a kernel block (B, B) thesis Algorithm 1 takes for a residual (B, R)."""
    left, errors = np.array(block, order="F"), np.array(residual)
    is_free = np.ones(len(block), dtype=bool)
    order = []
    for _ in range(min(n_wanted, len(block))):
        best = int(np.argmax(np.where(is_free, np.einsum("ij,ij->i", errors, errors), -1.0)))
        order.append(best)
        is_free[best] = False
        q = left[:, best].copy()
        kappa = float(q @ q)
        if kappa > np.finfo(q.dtype).eps * float(block[:, best] @ block[:, best]):
            errors -= np.outer(q, (q @ errors) / kappa)
            left -= np.outer(q, (q @ left) / kappa)
    return np.array(order, dtype=np.int64)


def error_reductions(basis: OrthogonalBasis, columns: Reals, residual: Reals, ridge: float) -> Floats:
    """Return how much each column (M, b) alone would reduce the regularised squared error, (b,).

    ``residual`` (M, R) is that for λ = 0.
    """
    outside = columns - basis.q @ ((basis.q.T @ columns) / basis.kappa[:, None]).astype(columns.dtype)
    kappa = np.einsum("ij,ij->j", outside, outside).astype(np.float64)
    gains = np.sum((outside.T @ residual) ** 2, axis=1)
    visible = kappa > np.finfo(columns.dtype).eps * np.einsum("ij,ij->j", columns, columns)
    return np.where(visible, gains / (np.where(visible, kappa, 1.0) + ridge), -np.inf)
