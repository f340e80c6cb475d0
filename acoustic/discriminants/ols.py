"""Orthogonal least squares on the whole Gram matrix, and greedy QR: baselines of the papers' tables.

``chen``
    S. Chen, Cowan, Grant 1991: all columns of the Gram matrix are kept orthogonal to the selected ones by
    modified Gram-Schmidt (thesis 3.71 to 3.75); the next is that of the largest error-reduction ratio. Memory
    O(M²), time O(M²) a centre.
``billings_lee``
    Billings, Lee 2002: the same on the targets M/M₊ and −M/M₋, for which least squares is Fisher's
    discriminant and the threshold lies at the mean of all outputs. Of two classes the centres are those of
    ``chen``, only the threshold moves.
``nair``
    Nair, Choudhury, Keane 2002: the next column is that of the largest residual; a thin QR decomposition
    of the selected ones is updated by Givens rotations with reorthogonalisation. Memory O(M m).

We know these papers through the thesis (after 3.44, 3.4.2), not their text; ``billings_lee``'s targets, of
which it says nothing, are those of Duda and Hart (1973) for Fisher's discriminant. All three begin with a
column of ones here, as thesis (3.49).

Axes: M training points, D features, R targets, C centres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, qr_insert, solve_triangular

from acoustic.discriminants.expansion import (
    ExpansionClassifier,
    ExpansionRegressor,
    KernelExpansion,
    gram_block,
    gram_diagonal,
)
from acoustic.errors import ModelError
from acoustic.kernels.basis import OrthogonalBasis
from acoustic.kernels.kernel import Kernel, KernelName
from acoustic.kernels.leave_one_out import basis_left_out_residuals, within_reach
from acoustic.kernels.parameters import check_not_negative
from foundation.arrays import Floats, Longs
from foundation.threads import single_threaded_libraries

OlsAlgorithm = Literal["chen", "billings_lee", "nair"]
OlsRegression = Literal["chen", "nair"]
OlsStopping = Literal["size", "tol"]

_VANISHED = 1e-7  # share of its length below which a candidate lies in the span of the selected columns
_ROUNDING = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class OlsProblem:
    """Weighted least squares to select columns for: rows are scaled by the roots of their weights.

    Attributes
    ----------
    x : (M, D) points
    targets : (M, R)
    root : (M,) square roots of the samples' weights
    kernel : kernel function
    epsilon : added to the diagonal of the Gram matrix
    max_centers : C at most
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
        """Return columns of K + εI for some points, as rows (b, M)."""
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
    """What a selection found.

    Attributes
    ----------
    indices : (C,) selected points in their order
    q : (M, C + 1) orthonormal basis of bias and centres, rows scaled
    lengths : (C + 1,) of what each column had outside the span of those before
    alpha : (C, R) weights
    bias : (R,)
    """

    indices: Longs
    q: Floats
    lengths: Floats
    alpha: Floats
    bias: Floats


def error_reduction(problem: OlsProblem) -> OlsModel:
    """Return the model of Chen et al. (1991): modified Gram-Schmidt on all columns."""
    n_points = len(problem.x)
    basis = OrthogonalBasis(n_points, 1 + problem.max_centers, np.dtype(np.float64))
    basis.append(problem.root[:, None].copy())
    columns = problem.rows(np.arange(n_points))
    floor = _VANISHED**2 * np.einsum("ij,ij->i", columns, columns)
    residual = _without(problem.weighted_targets(), basis)
    start = float(np.sum(residual**2))
    indices: list[int] = []
    while len(indices) < problem.max_centers and not problem.enough(residual, start):
        newest = basis.q[:, -1].astype(np.float64)
        gains = _error_reductions(columns, newest, floor, residual.T.copy())
        chosen = int(gains.argmax())
        if gains[chosen] < 0.0:
            break
        floor[chosen] = np.inf
        if basis.append(problem.rows(np.array([chosen])).T)[0]:
            indices.append(chosen)
            residual = _without(residual, basis)
    lengths = np.sqrt(basis.kappa)
    q = np.asarray(basis.q / lengths)
    weights = solve_triangular(basis.u * lengths[:, None], q.T @ problem.weighted_targets())  # thesis (3.75)
    return OlsModel(np.array(indices, dtype=np.int64), q, lengths, weights[1:], weights[0])


def _without(residual: Floats, basis: OrthogonalBasis) -> Floats:
    """Return the residual (M, R) without its part along the newest column."""
    newest = basis.q[:, -1]
    return np.asarray(residual - np.outer(newest, newest @ residual / basis.kappa[-1]))  # thesis (3.64)


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


def greedy_qr(problem: OlsProblem) -> OlsModel:
    """Return the model of Nair et al. (2002): residual rule, thin QR decomposition updated."""
    length = float(np.linalg.norm(problem.root))
    q, r = np.asfortranarray(problem.root[:, None] / length), np.array([[length]])
    residual = problem.weighted_targets()
    residual = residual - np.outer(q[:, 0], q[:, 0] @ residual)
    start, is_free = float(np.sum(residual**2)), np.ones(len(problem.x), dtype=bool)
    indices: list[int] = []
    while len(indices) < problem.max_centers and is_free.any() and not problem.enough(residual, start):
        size = np.linalg.norm(residual, axis=1) / problem.root
        chosen = int(np.where(is_free, size, -1.0).argmax())
        is_free[chosen] = False
        column = problem.rows(np.array([chosen]))[0]
        if q.shape[1] == len(q):
            break  # the basis spans everything
        try:
            longer_q, longer_r = qr_insert(q, r, column, q.shape[1], which="col", check_finite=False)
        except LinAlgError:  # lies in the span
            continue
        if abs(longer_r[-1, -1]) <= _VANISHED * np.linalg.norm(column):
            continue
        q, r = longer_q, longer_r
        indices.append(chosen)
        residual = residual - np.outer(q[:, -1], q[:, -1] @ residual)
    weights = solve_triangular(r, q.T @ problem.weighted_targets())
    lengths = np.abs(np.diag(r))
    return OlsModel(np.array(indices, dtype=np.int64), np.asarray(q), lengths, weights[1:], weights[0])


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
            found = greedy_qr(problem) if algorithm == "nair" else error_reduction(problem)
        self.centers_, self.center_indices_ = problem.x[found.indices], self._rows[found.indices]
        self.dual_coef_, self.intercept_ = found.alpha.T.copy(), found.bias
        columns, wanted = found.q * found.lengths, problem.weighted_targets()
        residual = wanted - found.q @ (found.q.T @ wanted)
        left_out = basis_left_out_residuals(columns, found.lengths**2, columns.T @ wanted, 0.0, residual)
        return np.asarray(targets - left_out / problem.root[:, None])

    def _problem(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> OlsProblem:
        if self.stopping not in get_args(OlsStopping):
            known = ", ".join(get_args(OlsStopping))
            raise ModelError(f'stopping is "{self.stopping}", expected one of: {known}')
        check_not_negative("epsilon", self.epsilon)
        check_not_negative("tol", self.tol)
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
    epsilon : added to the diagonal of the Gram matrix; 0 as in the papers, columns that vanish are left out
    stopping : ``tol``: when no more than the share ``tol`` of the targets' energy about their means is
        left, or at max_centers; ``size``: at max_centers
    tol : ρ of Chen et al.
    kernel, theta, degree, radius : see `Kernel`

    Attributes
    ----------
    classes_ : labels
    center_indices_ : (C,) rows of the centres in the order of their selection
    centers_ : (C, D)
    dual_coef_ : (R, C); R is 1 for two classes
    intercept_ : (R,)
    loo_decision_ : (M, R) leave-one-out outputs, the centres kept, which ``predict_proba`` rests on
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
        theta: float = 1.0,
        degree: int = 3,
        radius: float = 3.0,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.algorithm = algorithm
        self.epsilon = epsilon
        self.stopping = stopping
        self.tol = tol
        self.kernel = kernel
        self.theta = theta
        self.degree = degree
        self.radius = radius

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        if self.algorithm not in get_args(OlsAlgorithm):
            known = ", ".join(get_args(OlsAlgorithm))
            raise ModelError(f'algorithm is "{self.algorithm}", expected one of: {known}')
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
        theta: float = 1.0,
        degree: int = 3,
        radius: float = 3.0,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.algorithm = algorithm
        self.epsilon = epsilon
        self.stopping = stopping
        self.tol = tol
        self.kernel = kernel
        self.theta = theta
        self.degree = degree
        self.radius = radius

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        if self.algorithm not in get_args(OlsRegression):
            known = ", ".join(get_args(OlsRegression))
            raise ModelError(f'algorithm is "{self.algorithm}", expected for regression one of: {known}')
        return self._fit_with(self.algorithm, X, targets, sample_weight)


def fisher_targets(targets: Floats, sample_weight: Floats | None = None) -> Floats:
    """Return M/M₊ and −M/M₋ for ±1 targets (M, R): least squares is then Fisher's, Duda and Hart (1973)."""
    weight = np.ones(len(targets)) if sample_weight is None else sample_weight
    positive = targets > 0
    n_positive, total = weight @ positive, weight.sum()
    return np.asarray(np.where(positive, total / n_positive, -total / (total - n_positive)))
