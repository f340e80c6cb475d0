"""The greedy loop by which all methods of forward selection choose centres, and the basis that it grows.

Thesis Algorithms 1 and 2, the leave-one-out slides, orthogonal least squares and the nodes of KMSE differ in
which point they choose next, in what they update after each choice, and in when they stop: each is a
`Scorer`. They share the rest, `select_greedily`: the kernel columns of the chosen points are made orthogonal
to the columns before, K_m = Q_m U_m (`OrthogonalBasis`), and points whose columns lie in the span of these
are skipped.

Axes: M training points, b points chosen at once, m columns, R targets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from scipy.sparse import csc_array

from acoustic.errors import ParameterError
from foundation.arrays import Flags, Floats, Longs, Reals, check_memory

_NEGLIGIBLE = 1e-150  # far columns hardly touch: products of their weights would be subnormal, which is slow
_ROWS_AT_ONCE = 512  # rows of Q that are computed at once
# A column that orthogonalising shortens to less than this share is orthogonalised a second time. With 0.1 the
# columns are no longer orthogonal enough.
_REORTHOGONALIZE = 0.5
# A column counts as lying in the span of the others if its length falls below this many machine epsilons of
# its original length.
_VANISHED = 64.0


class Scorer(Protocol):
    """The part of the loop that differs from method to method."""

    def choose(self) -> Longs:
        """Return the points (b,) whose columns come next, the best first; none to end the selection."""

    def columns(self, points: Longs) -> Reals:
        """Return the columns (M, b) of some points."""

    def account(self, points: Longs, added: Flags) -> None:
        """Take note of the points (b,) that were chosen, and of which columns the basis took."""

    def is_done(self) -> bool:
        """Return whether the model is good enough."""


class Basis(Protocol):
    """Orthogonal columns; see `OrthogonalBasis`."""

    def append(self, columns: Reals) -> Flags:
        """Add the columns (M, b) that do not lie in the span of the basis; return which were added (b,)."""


def select_greedily(scorer: Scorer, basis: Basis, n_most: int) -> Longs:
    """Return the selected points (C,), C ≤ n_most, in their order; the basis holds their columns.

    Parameters
    ----------
    scorer : says which points come next and when to stop
    basis : orthogonal columns, which the columns of the selected points are added to
    n_most : largest number of points
    """
    selected: list[int] = []
    while len(selected) < n_most and not scorer.is_done():
        # A full block is chosen even if there is room for less, so a path does not depend on its final
        # length.
        points = scorer.choose()[: n_most - len(selected)]
        if not len(points):
            break
        added = basis.append(scorer.columns(points))  # q = k − K K†k, thesis (3.54)
        scorer.account(points, added)
        selected += points[added].tolist()
    return np.array(selected, dtype=np.int64)


class DenseColumns:
    """Columns of Q, (M, m), in an array that has room for ``capacity`` of them."""

    def __init__(self, n_rows: int, capacity: int, dtype: np.dtype[np.floating]) -> None:
        cure = "take fewer points, or fewer centres"
        check_memory("the columns of the centres", (n_rows, capacity), ParameterError, cure)
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
    reorthogonalizes : whether a column that orthogonalising shortens by half is orthogonalised once more; the
        papers do not

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
        reorthogonalizes: bool = True,
    ) -> None:
        self._shortest = _REORTHOGONALIZE if reorthogonalizes else 0.0
        self._least_share = _VANISHED * np.finfo(dtype).eps if least_share is None else least_share
        cure = "take fewer centres"
        check_memory("the products of all centres", (capacity, capacity), ParameterError, cure)
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
        short = _lengths(block) < self._shortest * lengths
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
