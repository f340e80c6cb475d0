"""How much candidate columns would improve a model: the selection rules of `forward`.

Axes: M training points, R targets, b candidates.
"""

from __future__ import annotations

import numpy as np

from acoustic.kernels.basis import OrthogonalBasis
from acoustic.kernels.selection import select_greedily
from foundation.arrays import Flags, Floats, Longs, Reals


def greedy_order(block: Reals, residual: Reals, n_wanted: int) -> Longs:
    """Return the columns of a kernel block (B, B) that thesis Algorithm 1 selects for a residual (B, R).

    The block holds the kernel between B points and themselves. At most ``n_wanted`` columns are selected.
    """
    small = _SmallProblem(block, residual)
    return select_greedily(small, small, n_wanted)


class _SmallProblem:
    """Algorithm 1 on a block small enough to keep all candidate columns orthogonal to the selected ones.

    The object is scorer and basis at once. A column that lies in the span of the selected ones can be
    selected, too, but only after all others; it changes nothing.
    """

    def __init__(self, block: Reals, residual: Reals) -> None:
        self.block, self.left, self.residual = block, np.array(block, order="F"), np.array(residual)
        self.is_free = np.ones(len(block), dtype=bool)

    def choose(self) -> Longs:
        """Return the point of the largest residual."""
        free = np.flatnonzero(self.is_free)
        squares = np.einsum("ij,ij->i", self.residual, self.residual)[free]
        return free[[squares.argmax()]] if len(free) else free

    def columns(self, points: Longs) -> Reals:
        """Return the part of the point's column that is orthogonal to the selected columns, (B, 1)."""
        return np.asarray(self.left[:, points])

    def append(self, columns: Reals) -> Flags:
        """Return True for each column: they are already orthogonal to the selected ones."""
        return np.ones(columns.shape[1], dtype=bool)

    def account(self, points: Longs, added: Flags) -> None:
        """Subtract the parts along the new column from the residual and from the other columns."""
        self.is_free[points] = False
        whole, q = self.block[:, points[0]], self.left[:, points[0]].copy()
        kappa = float(q @ q)
        if kappa > np.finfo(q.dtype).eps * float(whole @ whole):
            self.residual -= np.outer(q, (q @ self.residual) / kappa)
            self.left -= np.outer(q, (q @ self.left) / kappa)

    def is_done(self) -> bool:
        """Return False: the selection ends when as many points are selected as were asked for."""
        return False


def error_reductions(
    basis: OrthogonalBasis,
    columns: Reals,
    residual: Reals,
    ridge: float,
    least_share: float | None = None,
) -> Floats:
    """Return how much each column (M, b) alone would reduce the regularised squared error, (b,).

    Parameters
    ----------
    basis : orthogonal basis of the selected columns
    columns : (M, b) candidate columns
    residual : (M, R) residual of the model with λ = 0
    ridge : λ
    least_share : a column with less than this share of its squared length outside the span of the basis gets
        the reduction −∞; by default one machine epsilon
    """
    outside = columns - basis.q @ ((basis.q.T @ columns) / basis.kappa[:, None]).astype(columns.dtype)
    kappa = np.einsum("ij,ij->j", outside, outside).astype(np.float64)
    gains = np.sum((outside.T @ residual) ** 2, axis=1)
    least = np.finfo(columns.dtype).eps if least_share is None else least_share
    visible = kappa > least * np.einsum("ij,ij->j", columns, columns)
    return np.where(visible, gains / (np.where(visible, kappa, 1.0) + ridge), -np.inf)
