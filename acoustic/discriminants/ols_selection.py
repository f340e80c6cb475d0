"""Selection of columns of the whole Gram matrix by orthogonal least squares: baselines of the papers' tables.

``chen``
    S. Chen, Cowan, Grant 1991: all columns of the Gram matrix are kept orthogonal to the selected ones by
    modified Gram-Schmidt (thesis 3.71 to 3.75); the next column is the one of the largest error-reduction
    ratio. Memory is O(M²) and time O(M²) for each centre.
``billings_lee``
    Billings, Lee 2002: the same with the targets M/M₊ and −M/M₋, for which least squares gives Fisher's
    discriminant and the threshold lies at the mean of all outputs. For two classes the centres are the same
    as with ``chen``; only the threshold differs.
``nair``
    Nair, Choudhury, Keane 2002: the next column belongs to the point of the largest residual; it is made
    orthogonal to the selected ones with reorthogonalisation, by which the paper updates a thin QR
    decomposition. Memory is O(M C).

    The algorithms follow the thesis's account of these papers (after 3.44, 3.4.2), not the papers themselves.
    The thesis does not state the targets of ``billings_lee``; they are those of Duda and Hart (1973) for
    Fisher's discriminant. All three begin with a column of ones here, as in thesis (3.49).

Axes: M training points, D features, R targets, C centres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from acoustic.discriminants.expansion import gram_block, gram_diagonal
from acoustic.kernels.basis import OrthogonalBasis
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.selection import select_greedily
from foundation.arrays import Flags, Floats, Longs
from foundation.compiled import njit

OlsAlgorithm = Literal["chen", "billings_lee", "nair"]

_VANISHED = 1e-7  # share of its length below which a column lies in the span of the selected ones
_ROUNDING = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class OlsProblem:
    """A weighted least-squares problem; its rows are scaled by the square roots of their weights.

    Attributes
    ----------
    x : (M, D) points
    targets : (M, R)
    root : (M,) square roots of the samples' weights
    kernel : kernel function
    epsilon : added to the diagonal of the Gram matrix
    max_centers : largest number C of centres
    tol : stop when this share of the targets' energy about their means is left unexplained; 0 for never
    """

    x: Floats
    targets: Floats
    root: Floats
    kernel: Kernel
    epsilon: float
    max_centers: int
    tol: float

    def rows(self, points: Longs) -> Floats:
        """Return the columns of K + εI of b points as rows (b, M)."""
        block = gram_block(self.kernel, self.x[points], self.x)
        block[np.arange(len(points)), points] = gram_diagonal(self.kernel, self.x[points]) + self.epsilon
        return np.asarray(block * self.root)

    def weighted_targets(self) -> Floats:
        """Return the targets (M, R) with their rows scaled."""
        return np.asarray(self.targets * self.root[:, None])

    def enough(self, residual: Floats, start: float) -> bool:
        """Return whether the residual (M, R) is small, given its energy with the bias alone."""
        floor = _ROUNDING**2 * np.sum(self.weighted_targets() ** 2)
        return bool(np.sum(residual**2) <= max(self.tol * start, floor))


@dataclass(frozen=True)
class OlsModel:
    """The model that a selection found.

    Attributes
    ----------
    indices : (C,) selected points in the order of their selection
    basis : orthogonal columns of the bias and the centres, with scaled rows
    alpha : (C, R) weights
    bias : (R,)
    """

    indices: Longs
    basis: OrthogonalBasis
    alpha: Floats
    bias: Floats


class Rule(Protocol):
    """The rule for the next point.

    Attributes
    ----------
    least_share : share of its length that a column must have outside the basis, see `OrthogonalBasis`
    """

    least_share: float | None

    def choose(self, basis: OrthogonalBasis, residual: Floats) -> Longs:
        """Return the point (1,) whose column is added to the basis, given the residual (M, R), or none."""


def select_columns(problem: OlsProblem, algorithm: OlsAlgorithm) -> OlsModel:
    """Return the model on the columns that the algorithm selects.

    The targets of ``billings_lee`` are those of the problem; see `fisher_targets`.
    """
    rule = LargestResidual(problem) if algorithm == "nair" else LargestReduction(problem)
    scorer = _LeastSquares(problem, rule)
    indices = select_greedily(scorer, scorer.basis, problem.max_centers)
    basis, targets = scorer.basis, problem.weighted_targets()
    lengths = np.sqrt(basis.kappa)
    right = (basis.q / lengths).T @ targets
    weights = solve_triangular(basis.u * lengths[:, None], right)  # thesis (3.75)
    return OlsModel(indices, basis, weights[1:], weights[0])


class _LeastSquares:
    """The scorer of all three algorithms, which chooses by a rule until the residual is small enough."""

    def __init__(self, problem: OlsProblem, rule: Rule) -> None:
        self.problem, self.rule = problem, rule
        n_most = 1 + problem.max_centers
        self.basis = OrthogonalBasis(len(problem.x), n_most, np.dtype(np.float64), rule.least_share)
        self.basis.append(problem.root[:, None].copy())
        self.residual = self.basis.without_newest(problem.weighted_targets())
        self.start = float(np.sum(self.residual**2))

    def choose(self) -> Longs:
        """Return the point that the rule chooses."""
        return self.rule.choose(self.basis, self.residual)

    def columns(self, points: Longs) -> Floats:
        """Return the weighted columns of K + εI of some points."""
        return self.problem.rows(points).T

    def account(self, points: Longs, added: Flags) -> None:
        """Subtract from the residual its part along the new column."""
        if added[0]:
            self.residual = self.basis.without_newest(self.residual)

    def is_done(self) -> bool:
        """Return whether the residual is small enough."""
        return self.problem.enough(self.residual, self.start)


class LargestReduction:
    """Chen et al. (1991): the column of largest error-reduction ratio; all stay orthogonal to the basis."""

    least_share: float | None = None

    def __init__(self, problem: OlsProblem) -> None:
        self.rows = problem.rows(np.arange(len(problem.x)))
        self.floor = _VANISHED**2 * np.einsum("ij,ij->i", self.rows, self.rows)

    def choose(self, basis: OrthogonalBasis, residual: Floats) -> Longs:
        """Return the point whose column reduces the squared error most."""
        newest = basis.q[:, -1].astype(np.float64)
        gains = _error_reductions(self.rows, newest, self.floor, residual.T.copy())
        chosen = int(gains.argmax())
        self.floor[chosen] = np.inf
        return np.array([chosen] if gains[chosen] >= 0.0 else [], dtype=np.int64)


class LargestResidual:
    """Nair et al. (2002): the point of the largest residual."""

    least_share: float | None = _VANISHED

    def __init__(self, problem: OlsProblem) -> None:
        self.root, self.is_free = problem.root, np.ones(len(problem.x), dtype=bool)

    def choose(self, basis: OrthogonalBasis, residual: Floats) -> Longs:
        """Return the point of the largest residual, or none if the basis spans the whole space."""
        free = np.flatnonzero(self.is_free)
        if not len(free) or basis.size == len(residual):
            return free[:0]
        chosen = free[[np.argmax((np.linalg.norm(residual, axis=1) / self.root)[free])]]
        self.is_free[chosen] = False
        return chosen


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _error_reductions(columns: Floats, newest: Floats, floor: Floats, residual: Floats) -> Floats:
    """Return Σ (wᵀe)²/wᵀw over residuals e (R, M) for each candidate w (M, M), −1 if it has vanished.

    The candidates are made orthogonal to the newest column (M,) on the way.
    """
    n_candidates, n_points = columns.shape
    gains = np.full(n_candidates, -1.0)
    length = np.dot(newest, newest)
    for c in range(n_candidates):
        if np.isinf(floor[c]):
            continue
        w = columns[c]
        a = np.dot(newest, w) / length  # modified Gram-Schmidt, thesis (3.72)
        kappa = 0.0
        for i in range(n_points):
            w[i] -= a * newest[i]
            kappa += w[i] * w[i]
        if kappa <= floor[c]:
            floor[c] = np.inf
            continue
        gains[c] = 0.0
        for r in range(len(residual)):
            gains[c] += (
                np.dot(w, residual[r]) ** 2 / kappa
            )  # error-reduction ratio, Chen et al. 1991, times yᵀy
    return gains


def fisher_targets(targets: Floats, sample_weight: Floats | None = None) -> Floats:
    """Return M/M₊ and −M/M₋ for ±1 targets (M, R), with which least squares gives Fisher's discriminant.

    See Duda and Hart (1973).
    """
    weight = np.ones(len(targets)) if sample_weight is None else sample_weight
    positive = targets > 0
    n_positive, total = weight @ positive, weight.sum()
    return np.asarray(np.where(positive, total / n_positive, -total / (total - n_positive)))
