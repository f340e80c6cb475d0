"""Orthogonal least squares on the whole Gram matrix: baselines of the papers' tables.

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

The algorithms follow the thesis's account of these papers (after 3.44, 3.4.2), not the papers themselves. The
thesis does not state the targets of ``billings_lee``; they are those of Duda and Hart (1973) for Fisher's
discriminant. All three begin with a column of ones here, as in thesis (3.49).

Axes: M training points, D features, R targets, C centres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from acoustic.discriminants.base import (
    ExpansionClassifier,
    ExpansionRegressor,
    KernelExpansion,
    gram_block,
    gram_diagonal,
    warn_without_effect,
)
from acoustic.errors import ParameterError
from acoustic.kernels.kernel import Kernel, KernelName, check_not_negative
from acoustic.kernels.ridge import basis_left_out_residuals, within_reach
from acoustic.kernels.selection import OrthogonalBasis, select_greedily
from foundation.arrays import Flags, Floats, Longs
from foundation.compiled import njit
from foundation.threads import single_threaded_libraries

OlsAlgorithm = Literal["chen", "billings_lee", "nair"]
OlsRegression = Literal["chen", "nair"]
OlsStopping = Literal["size", "tol"]

_VANISHED = 1e-7  # share of its length below which a column lies in the span of the selected ones
_ROUNDING = 64 * np.finfo(np.float64).eps


class _OLS(KernelExpansion):
    """Parameters and learning that classifier and regressor have in common."""

    epsilon: float
    stopping: OlsStopping
    tol: float
    _rows: Longs

    def _fit_with(
        self, algorithm: OlsAlgorithm, X: NDArray[Any], targets: Floats, sample_weight: Floats | None
    ) -> Floats:
        """Learn targets (M, R); return the leave-one-out outputs (M, R)."""
        problem = self._problem(X, targets, sample_weight)
        with single_threaded_libraries():
            found = select_columns(problem, algorithm)
        self.centers_, self.center_indices_ = problem.x[found.indices], self._rows[found.indices]
        self.dual_coef_, self.intercept_ = found.alpha.T.copy(), found.bias
        q, kappa, wanted = found.basis.q, found.basis.kappa, problem.weighted_targets()
        products = q.T @ wanted
        residual = wanted - q @ (products / kappa[:, None])
        left_out = basis_left_out_residuals(q, kappa, products, 0.0, residual)
        return np.asarray(targets - left_out / problem.root[:, None])

    def _problem(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> OlsProblem:
        if self.stopping not in get_args(OlsStopping):
            known = ", ".join(get_args(OlsStopping))
            raise ParameterError(f'stopping is "{self.stopping}", expected one of: {known}')
        check_not_negative("epsilon", self.epsilon)
        check_not_negative("tol", self.tol)
        if self.stopping == "size":
            warn_without_effect(self, ["tol"], 'stopping="size"')
        root = np.ones(len(X)) if sample_weight is None else np.sqrt(sample_weight)
        return OlsProblem(
            X.astype(np.float64),
            targets,
            root,
            self._make_kernel(),
            self.epsilon,
            self._capacity(len(X)),
            self.tol if self.stopping == "tol" else 0.0,
        )


class OLSClassifier(_OLS, ExpansionClassifier):
    """Orthogonal least squares on class labels; one-vs-rest over one set of centres.

    Parameters
    ----------
    sigma : width of the kernel
    max_centers : C at most
    algorithm : ``chen``, ``billings_lee`` or ``nair``, see the module
    epsilon : number added to the diagonal of the Gram matrix; 0 is as in the papers. Columns in the span of
        others are skipped
    stopping : ``tol`` stops when at most the share ``tol`` of the targets' energy about their means is left
        unexplained, or at ``max_centers``; ``size`` stops at ``max_centers``
    tol : ρ of Chen et al., the share of unexplained energy at which ``tol`` stops
    kernel, kernel_params : see `make_kernel`

    Attributes
    ----------
    classes_ : labels
    center_indices_ : (C,) rows of the centres in the order of their selection
    centers_ : (C, D)
    dual_coef_ : (R, C); R is 1 for two classes
    intercept_ : (R,)
    loo_decision_ : (M, R) leave-one-out outputs with the same centres, which ``predict_proba`` uses
    """

    def __init__(
        self,
        sigma: float = 1.0,
        max_centers: int = 100,
        *,
        algorithm: OlsAlgorithm = "chen",
        epsilon: float = 0.0,
        stopping: OlsStopping = "tol",
        tol: float = 1e-3,
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.algorithm = algorithm
        self.epsilon = epsilon
        self.stopping = stopping
        self.tol = tol
        self.kernel = kernel
        self.kernel_params = kernel_params

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        if self.algorithm not in get_args(OlsAlgorithm):
            known = ", ".join(get_args(OlsAlgorithm))
            raise ParameterError(f'algorithm is "{self.algorithm}", expected one of: {known}')
        if self.algorithm == "billings_lee":
            targets = fisher_targets(targets, sample_weight)
        self.loo_decision_ = self._fit_with(self.algorithm, X, targets, sample_weight)
        return within_reach(self.loo_decision_, targets)


class OLSRegressor(_OLS, ExpansionRegressor):
    """Orthogonal least squares on real targets; one set of centres for all columns.

    Parameters and attributes are those of `OLSClassifier`; ``algorithm`` is ``chen`` or ``nair``.
    """

    def __init__(
        self,
        sigma: float = 1.0,
        max_centers: int = 100,
        *,
        algorithm: OlsRegression = "chen",
        epsilon: float = 0.0,
        stopping: OlsStopping = "tol",
        tol: float = 1e-3,
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.algorithm = algorithm
        self.epsilon = epsilon
        self.stopping = stopping
        self.tol = tol
        self.kernel = kernel
        self.kernel_params = kernel_params

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        if self.algorithm not in get_args(OlsRegression):
            known = ", ".join(get_args(OlsRegression))
            raise ParameterError(f'algorithm is "{self.algorithm}", expected for regression one of: {known}')
        return self._fit_with(self.algorithm, X, targets, sample_weight)


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
