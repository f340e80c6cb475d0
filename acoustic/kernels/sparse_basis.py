"""The decomposition K_m = Q_m U_m of sparse columns, thesis (3.76), without Q: for compact kernels.

Q is dense even where K is sparse. Kept are K and V = U⁻¹, so that Q = KV: memory O(s + m²) and time
O(s + m² + M) for each column, with s entries of K that are not 0, in place of O(Mm) for both.

Axes: M points, m columns, R targets.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csc_array

from foundation.arrays import Flags, Floats, Reals

_REORTHOGONALIZE = 0.5  # as in `OrthogonalBasis`
_VANISHED = 64.0
_ROWS_AT_ONCE = 2048  # rows of Q that are computed at once


class SparseBasis:
    """Orthogonal columns Q = KV of sparse columns K, with the methods of `OrthogonalBasis`.

    Parameters
    ----------
    n_rows : number M of rows
    capacity : largest number of columns
    dtype : floating-point type of the columns that come and go; inside it is float64
    """

    def __init__(self, n_rows: int, capacity: int, dtype: np.dtype[np.floating]) -> None:
        self._n_rows, self._dtype = n_rows, dtype
        self._least_share = _VANISHED * np.finfo(dtype).eps
        self._starts = np.zeros(capacity + 1, dtype=np.int32)
        self._rows = np.empty(4 * n_rows, dtype=np.int32)
        self._values = np.empty(4 * n_rows)
        self._u, self._v = np.zeros((2, capacity, capacity))
        self._kappa = np.empty(capacity)
        self._newest: list[Reals] = []
        self.size = 0

    @property
    def q(self) -> Reals:
        """The columns, (M, m), dense and computed anew."""
        return np.concatenate([q for _, q in self.parts(self.size)])

    @property
    def columns(self) -> csc_array:
        """K, (M, m)."""
        end = self._starts[self.size]
        parts = self._values[:end], self._rows[:end], self._starts[: self.size + 1]
        return csc_array(parts, shape=(self._n_rows, self.size))

    @property
    def u(self) -> Floats:
        """The triangular factor, (m, m)."""
        return self._u[: self.size, : self.size]

    @property
    def kappa(self) -> Floats:
        """κ_i = q_iᵀq_i, (m,)."""
        return self._kappa[: self.size]

    def append(self, columns: Reals) -> Flags:
        """Add the columns (M, b) that do not lie in the span of the basis; return which were added."""
        self._newest = []
        return np.array([self._append_one(column.astype(np.float64)) for column in columns.T], dtype=bool)

    def newest(self, first: int) -> Reals:
        """Return the columns of Q from ``first`` on, (M, m − first), of those that were added last."""
        return np.column_stack(self._newest[first - self.size :])

    def combined(self, weights: Floats) -> Reals:
        """Return the combination (M, R) of the first n columns of Q with weights (n, R)."""
        n = len(weights)
        return np.asarray(self.columns[:, :n] @ (self._v[:n, :n] @ weights), dtype=self._dtype)

    def parts(self, n_columns: int) -> Iterator[tuple[slice, Reals]]:
        """Yield blocks of rows with these rows of the first columns of Q, (b, n_columns)."""
        columns = self.columns[:, :n_columns].tocsr()
        for first in range(0, self._n_rows, _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            yield rows, (columns[rows] @ self._v[:n_columns, :n_columns]).astype(self._dtype)

    def _append_one(self, column: Floats) -> bool:
        """Return whether a column was added."""
        m, columns = self.size, self.columns
        v, q, u = self._v[:m, :m], column.copy(), np.zeros(m)
        length = now = float(np.linalg.norm(column))
        while m and now > self._least_share * length:
            before = now
            along = (v.T @ (columns.T @ q)) / self.kappa  # Qᵀq/κ, thesis (3.78)
            q -= columns @ (v @ along)
            u += along
            now = float(np.linalg.norm(q))
            if now >= _REORTHOGONALIZE * before:
                break
        if not now > self._least_share * length:
            return False
        self._u[:m, m], self._v[:m, m] = u, -(v @ u)
        self._u[m, m] = self._v[m, m] = 1.0
        self._kappa[m] = q @ q
        self._store(column)
        self._newest.append(q.astype(self._dtype))
        return True

    def _store(self, column: Floats) -> None:
        """Append the entries of a column that are not 0."""
        rows = np.flatnonzero(column)
        start = int(self._starts[self.size])
        end = start + len(rows)
        if end > len(self._rows):
            self._rows = np.resize(self._rows, 2 * end)
            self._values = np.resize(self._values, 2 * end)
        self._rows[start:end], self._values[start:end] = rows, column[rows]
        self.size += 1
        self._starts[self.size] = end
