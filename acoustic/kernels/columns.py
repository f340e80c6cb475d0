"""The columns of Q in K_m = Q_m U_m, thesis (3.76): kept dense, or as the sparse columns of K.

Q is dense even where K is sparse, as for a compact kernel. `SparseColumns` keeps K and V = U⁻¹, so that
Q = KV: memory O(s + m²) and time O(s + m² + M) for each column, with s entries of K that are not 0, in place
of O(Mm) for both.

Axes: M points, m columns, b columns at once, R targets.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csc_array

from foundation.arrays import Floats, Reals

_NEGLIGIBLE = 1e-150  # far columns hardly touch: products of their weights would be subnormal, which is slow
_ROWS_AT_ONCE = 512  # rows of Q that are computed at once


class DenseColumns:
    """Columns of Q, (M, m), in an array that has room for ``capacity`` of them."""

    def __init__(self, n_rows: int, capacity: int, dtype: np.dtype[np.floating]) -> None:
        self._q = np.empty((n_rows, capacity), dtype=dtype, order="F")
        self.size = 0

    @property
    def q(self) -> Reals:
        """Q, (M, m)."""
        return self._q[:, : self.size]

    def add(self, column: Reals, q: Reals, u: Floats) -> None:
        """Add q (M,), the part of a column (M,) that is orthogonal to Q; ``u`` (m,) is not used."""
        self._q[:, self.size] = q
        self.size += 1

    def newest(self, first: int) -> Reals:
        """Return the columns of Q from ``first`` on, (M, m − first)."""
        return self.q[:, first:]

    def project(self, block: Reals, first: int = 0) -> Reals:
        """Return qᵀ of the columns of Q from ``first`` on times a block (M, b), (m − first, b)."""
        return np.asarray(self.q[:, first:].T @ block)

    def combine(self, weights: Reals, first: int = 0) -> Reals:
        """Return the combination (M, R) of columns of Q, from ``first`` on, with weights (n, R)."""
        return np.asarray(self.q[:, first : first + len(weights)] @ weights.astype(self._q.dtype))

    def parts(self, n_columns: int) -> Iterator[tuple[slice, Reals]]:
        """Yield blocks of rows with these rows of the first columns of Q: here one block of all rows."""
        yield slice(None), self.q[:, :n_columns]


class SparseColumns:
    """Columns of Q = KV, with the methods of `DenseColumns`; computed in float64, given back in ``dtype``."""

    def __init__(self, n_rows: int, capacity: int, dtype: np.dtype[np.floating]) -> None:
        self._n_rows, self._dtype = n_rows, dtype
        self._starts = np.zeros(capacity + 1, dtype=np.int32)
        self._rows, self._values = np.empty(4 * n_rows, dtype=np.int32), np.empty(4 * n_rows)
        self._v = np.zeros((capacity, capacity))
        self._newest: list[Reals] = []
        self.size = 0

    @property
    def q(self) -> Reals:
        """Q, (M, m), dense and computed anew."""
        return np.concatenate([q for _, q in self.parts(self.size)])

    @property
    def k(self) -> csc_array:
        """K, (M, m)."""
        end = self._starts[self.size]
        parts = self._values[:end], self._rows[:end], self._starts[: self.size + 1]
        return csc_array(parts, shape=(self._n_rows, self.size))

    def add(self, column: Reals, q: Reals, u: Floats) -> None:
        """Add a column (M,) = Qu + q of K, with q (M,) orthogonal to Q and u (m,)."""
        m, rows = self.size, np.flatnonzero(column)
        start = int(self._starts[m])
        end = start + len(rows)
        if end > len(self._rows):
            self._rows = np.append(self._rows, np.empty(end, dtype=np.int32))
            self._values = np.append(self._values, np.empty(end))
        self._rows[start:end], self._values[start:end] = rows, column[rows]
        v = self._v[:m, :m] @ u
        v[np.abs(v) < _NEGLIGIBLE] = 0.0
        self._v[:m, m], self._v[m, m] = -v, 1.0  # q = column − Qu = column − KVu
        self.size, self._starts[m + 1] = m + 1, end
        self._newest.append(q.copy())

    def newest(self, first: int) -> Reals:
        """Return the columns of Q from ``first`` on, (M, m − first); the columns before are forgotten."""
        self._newest = self._newest[first - self.size :]
        return np.column_stack(self._newest)

    def project(self, block: Reals, first: int = 0) -> Reals:
        """Return qᵀ of the columns of Q from ``first`` on times a block (M, b), (m − first, b)."""
        return np.asarray(self._v[: self.size, first : self.size].T @ (self.k.T @ block))

    def combine(self, weights: Reals, first: int = 0) -> Reals:
        """Return the combination (M, R) of columns of Q, from ``first`` on, with weights (n, R)."""
        end = first + len(weights)
        return np.asarray(self.k[:, :end] @ (self._v[:end, first:end] @ weights), dtype=self._dtype)

    def parts(self, n_columns: int) -> Iterator[tuple[slice, Reals]]:
        """Yield blocks of rows with these rows of the first columns of Q, (b, n_columns)."""
        k, v = self.k[:, :n_columns].tocsr(), self._v[:n_columns, :n_columns]
        for first in range(0, self._n_rows, _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            yield rows, (k[rows] @ v).astype(self._dtype)
