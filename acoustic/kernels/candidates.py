"""What columns of candidates are worth to a model: the selection rules of `forward`.

Axes: M training points, R targets, b candidates.
"""

from __future__ import annotations

import numpy as np

from acoustic.kernels.basis import OrthogonalBasis
from acoustic.kernels.selection import select_greedily
from foundation.arrays import Flags, Floats, Longs, Reals


def greedy_order(block: Reals, residual: Reals, n_wanted: int) -> Longs:
    """Return which columns of a kernel block (B, B) thesis Algorithm 1 takes for a residual (B, R)."""
    small = _SmallProblem(block, residual)
    return select_greedily(small, small, n_wanted)


class _SmallProblem:
    """Algorithm 1 where all candidates are at hand: each column is kept orthogonal to those taken.

    It is its own basis. A column that vanishes is taken, too, after those that do not, and changes nothing.
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
        """Return what is left of the point's column."""
        return np.asarray(self.left[:, points])

    def append(self, columns: Reals) -> Flags:
        """Take the column, orthogonal to those before already."""
        return np.ones(columns.shape[1], dtype=bool)

    def account(self, points: Longs, added: Flags) -> None:
        """Take its part out of the residual and of the other columns."""
        self.is_free[points] = False
        whole, q = self.block[:, points[0]], self.left[:, points[0]].copy()
        kappa = float(q @ q)
        if kappa > np.finfo(q.dtype).eps * float(whole @ whole):
            self.residual -= np.outer(q, (q @ self.residual) / kappa)
            self.left -= np.outer(q, (q @ self.left) / kappa)

    def is_done(self) -> bool:
        """Return False: as many are taken as were asked for."""
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
    basis : of the columns there are
    columns : (M, b)
    residual : (M, R) for λ = 0
    ridge : λ
    least_share : of its squared length a column must have outside the basis, else it counts −∞; by default
        one rounding
    """
    outside = columns - basis.q @ ((basis.q.T @ columns) / basis.kappa[:, None]).astype(columns.dtype)
    kappa = np.einsum("ij,ij->j", outside, outside).astype(np.float64)
    gains = np.sum((outside.T @ residual) ** 2, axis=1)
    least = np.finfo(columns.dtype).eps if least_share is None else least_share
    visible = kappa > least * np.einsum("ij,ij->j", columns, columns)
    return np.where(visible, gains / (np.where(visible, kappa, 1.0) + ridge), -np.inf)
