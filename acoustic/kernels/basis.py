"""The orthogonal decomposition K_m = Q_m U_m of selected columns, grown one by one or block by block."""

from __future__ import annotations

import numpy as np

from acoustic.errors import ParameterError
from acoustic.kernels.columns import DenseColumns, SparseColumns
from foundation.arrays import Flags, Floats, Reals

# A column that orthogonalising shortens to less than this share is orthogonalised a second time. With 0.1 the
# columns are no longer orthogonal enough.
_REORTHOGONALIZE = 0.5
# A column counts as lying in the span of the others if its length falls below this many machine epsilons of
# its original length.
_VANISHED = 64.0


class OrthogonalBasis:
    """Orthogonal columns ``Q`` (M, m), not normalised, and unit upper triangular ``U`` (m, m); thesis (3.76).

    Parameters
    ----------
    n_rows : number M of rows
    capacity : largest number of columns
    dtype : floating-point type of the columns
    least_share : a column is added only if at least this share of its length lies outside the span of the
        columns before it; by default a share just above rounding error
    is_sparse : whether few entries of the columns are not 0, and `SparseColumns` keeps them

    Attributes
    ----------
    columns : the columns of Q
    """

    def __init__(
        self,
        n_rows: int,
        capacity: int,
        dtype: np.dtype[np.floating],
        least_share: float | None = None,
        is_sparse: bool = False,
    ) -> None:
        self._least_share = _VANISHED * np.finfo(dtype).eps if least_share is None else least_share
        self.columns = (SparseColumns if is_sparse else DenseColumns)(n_rows, capacity, dtype)
        self._u = np.zeros((capacity, capacity))
        self._kappa = np.empty(capacity)

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.columns.size

    @property
    def q(self) -> Reals:
        """The columns, (M, m)."""
        return self.columns.q

    @property
    def u(self) -> Floats:
        """The triangular factor, (m, m)."""
        return self._u[: self.size, : self.size]

    @property
    def kappa(self) -> Floats:
        """κ_i = q_iᵀq_i, (m,)."""
        return self._kappa[: self.size]

    def append(self, columns: Reals) -> Flags:
        """Add the columns (M, b) that do not lie in the span of the basis; return which were added.

        The block is made orthogonal to the basis by matrix products (classical Gram-Schmidt with
        reorthogonalisation), then within itself column by column.
        """
        block = np.array(columns, order="F")
        lengths = _lengths(block)
        if not np.isfinite(lengths).all():
            raise ParameterError(
                "kernel columns are not finite, expected numbers that can be squared; "
                "standardise the features or change sigma or kernel_params"
            )
        coefficients = self._remove(block)
        short = _lengths(block) < _REORTHOGONALIZE * lengths
        if short.any():
            again = np.asfortranarray(block[:, short])
            coefficients[:, short] += self._remove(again)
            block[:, short] = again
        n_before = self.size
        added = np.zeros(block.shape[1], dtype=bool)
        for j in range(block.shape[1]):
            found = self._orthogonalized(block[:, j], coefficients[:, j], n_before, lengths[j])
            added[j] = found is not None
            if found is not None:
                self._add(columns[:, j], *found)
        return added

    def without_newest(self, residual: Floats) -> Floats:
        """Return a residual (M, R) without its part along the newest column, thesis (3.64)."""
        q = self.q[:, -1]
        return residual - np.outer(q, q @ residual / self.kappa[-1])

    def _remove(self, block: Reals, first: int = 0) -> Floats:
        """Return the parts (m − first, b) of the block along columns from ``first`` on, and subtract them."""
        parts = self.columns.project(block, first) / self.kappa[first:, None]  # thesis (3.78)
        block -= self.columns.combine(parts, first)
        return np.asarray(parts, dtype=np.float64)

    def _orthogonalized(
        self, column: Reals, coefficients: Floats, n_before: int, length: float
    ) -> tuple[Reals, Floats] | None:
        """Return q (M,) and u (m,) of a column that is already orthogonal to the first ``n_before`` of the
        basis; None if it lies in the span of the basis.
        """
        u = np.zeros(self.size)
        u[:n_before] = coefficients
        if self.size > n_before:
            before = np.linalg.norm(column)
            u[n_before:] = self._remove(column[:, None], n_before)[:, 0]
            # If its neighbours in the block took most of the column away, rounding may have left it no longer
            # orthogonal to the older columns.
            while self._least_share * length < (now := np.linalg.norm(column)):
                if now >= _REORTHOGONALIZE * before:
                    break
                before = now
                u += self._remove(column[:, None])[:, 0]
        return (column, u) if float(column @ column) > (self._least_share * length) ** 2 else None

    def _add(self, column: Reals, q: Reals, u: Floats) -> None:
        """Add a column (M,) = Qu + q, with q (M,) and u (m,)."""
        m = self.size
        self._u[:m, m], self._u[m, m] = u, 1.0
        self._kappa[m] = float(q @ q)
        self.columns.add(column, q, u)


def _lengths(block: Reals) -> Reals:
    """Return the lengths of the columns, (b,); infinite where the squares overflow."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", block, block)))
