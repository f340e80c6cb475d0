"""Kernel Fisher discriminant (thesis 3.3) and kernel minimum squared error (MSE lecture).

Both minimise ‖Kα + b − y‖² + λ‖α‖², thesis (3.43), the Fisher discriminant with a bias b that is not
penalised, KMSE with none. The Gram matrix K (M, C) is visited in blocks of rows: memory is O(C²), for C = M
that of one Gram matrix. A weighted point is so many equal ones: it counts as often in the error, and its
share of λ is divided by its weight.

Axes: M training points, D features, R columns of outputs, C centres.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.utils import check_random_state

from acoustic.discriminants.base import DiscriminantClassifier
from acoustic.discriminants.basis import OrthogonalBasis
from acoustic.discriminants.expansion import Floats, KernelExpansion, gram_block, leave_one_out
from acoustic.discriminants.kernels import Kernel, KernelName
from acoustic.errors import ModelError

NodeSelection = Literal["random", "greedy"]

_LARGEST = 1e140  # value of a kernel that may be squared and summed
_BLOCK = 1024  # rows, or candidate columns, of the Gram matrix held at once
_EPS = float(np.finfo(np.float64).eps)
_VISIBLE = 64 * _EPS  # share of its squared length a column must keep outside the span of others


@dataclass(frozen=True)
class PenalizedFit:
    """A least-squares expansion.

    Attributes
    ----------
    alpha : (C, R) weights of the centres
    bias : (R,)
    ridge : λ, of a point with the weight 1
    fitted : (M, R) outputs on the training points
    leverages : (M,) how each follows its own target, that of one of the equal points its weight counts
    """

    alpha: Floats
    bias: Floats
    ridge: float
    fitted: Floats
    leverages: Floats


class _PenalizedKernel(KernelExpansion, DiscriminantClassifier):
    """Learning on given centres.

    Attributes
    ----------
    ridge_ : λ
    loo_decision_ : (M, R) outputs at each training point of the model fitted without it, centres and λ kept;
        M counts the points with a weight
    """

    epsilon: float
    ridge_: float
    loo_decision_: Floats
    _rows: NDArray[np.int64]

    def _learn(
        self, x: Floats, targets: Floats, weight: Floats | None, chosen: NDArray[np.int64], *, has_bias: bool
    ) -> Floats:
        """Keep the expansion over the chosen rows; return its leave-one-out outputs (M, R)."""
        w = np.ones(len(x)) if weight is None else weight
        fit = penalized_least_squares(
            self._make_kernel(), x, x[chosen], targets, w, w[chosen], self.epsilon, has_bias=has_bias
        )
        self.center_indices_, self.centers_ = self._rows[chosen], x[chosen]
        self.dual_coef_, self.intercept_, self.ridge_ = fit.alpha.T.copy(), fit.bias, fit.ridge
        self.loo_decision_ = leave_one_out(fit.fitted, targets, fit.leverages * np.minimum(w, 1.0))
        return self.loo_decision_


class KernelFisherDiscriminant(_PenalizedKernel):
    """Kernel Fisher discriminant, thesis (3.36) to (3.41); of more than two classes each against the rest.

    It is found as the least squares onto the labels (thesis 3.2, 3.3.1). With S_T = S_W + M₊M₋/M·S_B, the
    scatter of the kernel columns about their mean over all points, (S_T + λI)⁻¹(m₊ − m₋) has the direction of
    (3.41), (S_W + λI)⁻¹(m₊ − m₋). But S_T is the same for every class, so one factorisation serves them all;
    and the length and the bias (3.26) follow, and the leave-one-out outputs that ``predict_proba`` rests on.

    Parameters
    ----------
    sigma : width of the kernel
    max_centers : how many random training points the expansion (3.33) has; None = all, as in the thesis
    epsilon : λ in units of the mean diagonal of S_T, above 0: S_W has rank M − 2 at most
    kernel, theta, degree, radius : see `Kernel`
    random_state : of the choice of centres

    Attributes
    ----------
    center_indices_, centers_ : (C,) and (C, D)
    dual_coef_, intercept_ : (R, C) and (R,)
    ridge_, loo_decision_ : λ, and (M, R)
    """

    def __init__(
        self,
        sigma: float = 1.0,
        max_centers: int | None = None,
        *,
        epsilon: float = 1e-3,
        kernel: KernelName = "gaussian",
        theta: float = 1.0,
        degree: int = 3,
        radius: float = 3.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers  # type: ignore[assignment]
        self.epsilon = epsilon
        self.kernel = kernel
        self.theta = theta
        self.degree = degree
        self.radius = radius
        self.random_state = random_state

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        x = np.asarray(X, dtype=np.float64)
        chosen = random_points(len(x), self.max_centers, "max_centers", self.random_state)
        return self._learn(x, targets, sample_weight, chosen, has_bias=True)


class KMSEClassifier(_PenalizedKernel):
    """Kernel minimum squared error, Kγ = B, with a ridge and no bias; MSE lecture, last section.

    Two classes have the targets ±1, more have 1 for the class and 0 for the rest (5.12).

    Parameters
    ----------
    sigma : width of the kernel
    n_nodes : s of the reduced form, β = Σ_{j ≤ s} γ'_j φ(x_j) with s ≪ n; None = all training points
    epsilon : λ in units of the mean diagonal of KᵀK, above 0: K is singular or nearly so
    selection : ``greedy`` adds the node whose column reduces the squared error most, ``random`` takes any
    n_candidates : random candidates for each ``greedy`` node; None = all other points. Among 59 there is, 19
        times of 20, one of the best 5 %.
    kernel, theta, degree, radius : see `Kernel`
    random_state : of nodes and candidates

    Attributes
    ----------
    center_indices_, centers_ : (C,) and (C, D); C is below ``n_nodes`` where no further column is independent
    dual_coef_, intercept_ : (R, C) γ, and (R,) zeros
    ridge_, loo_decision_ : λ, and (M, R)
    """

    def __init__(
        self,
        sigma: float = 1.0,
        n_nodes: int | None = None,
        *,
        epsilon: float = 1e-3,
        selection: NodeSelection = "greedy",
        n_candidates: int | None = 59,
        kernel: KernelName = "gaussian",
        theta: float = 1.0,
        degree: int = 3,
        radius: float = 3.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.n_nodes = n_nodes
        self.epsilon = epsilon
        self.selection = selection
        self.n_candidates = n_candidates
        self.kernel = kernel
        self.theta = theta
        self.degree = degree
        self.radius = radius
        self.random_state = random_state

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        x = np.asarray(X, dtype=np.float64)
        wanted = targets if targets.shape[1] == 1 else (targets + 1.0) / 2.0  # B
        return self._learn(x, wanted, sample_weight, self._nodes(x, wanted, sample_weight), has_bias=False)

    def _nodes(self, x: Floats, targets: Floats, weight: Floats | None) -> NDArray[np.int64]:
        if self.selection not in ("random", "greedy"):
            raise ModelError(f'selection is "{self.selection}", expected one of: random, greedy')
        if self.n_candidates is not None and self.n_candidates < 1:
            raise ModelError(f"n_candidates is {self.n_candidates}, expected at least 1, or None for all")
        if self.selection == "random" or self.n_nodes is None or self.n_nodes >= len(x):
            return random_points(len(x), self.n_nodes, "n_nodes", self.random_state)
        root = np.ones(len(x)) if weight is None else np.sqrt(weight)
        rng = check_random_state(self.random_state)
        return greedy_nodes(self._make_kernel(), x, targets, root, self.n_nodes, self.n_candidates, rng)


def penalized_least_squares(
    kernel: Kernel,
    x: Floats,
    centers: Floats,
    targets: Floats,
    weight: Floats,
    center_weight: Floats,
    epsilon: float,
    *,
    has_bias: bool,
) -> PenalizedFit:
    """Return the expansion that minimises Σ w_i ‖(Kα)_i + b − y_i‖² + λ Σ α_j²/w_j, thesis (3.43).

    Parameters
    ----------
    kernel : kernel function
    x : (M, D)
    centers : (C, D)
    targets : (M, R)
    weight, center_weight : (M,) and (C,)
    epsilon : λ in units of the mean diagonal of the normal matrix
    has_bias : whether there is a b, not penalised
    """
    root = np.sqrt(center_weight)

    def blocks() -> Iterator[tuple[slice, Floats]]:
        for start in range(0, len(x), _BLOCK):
            rows = slice(start, start + _BLOCK)
            yield rows, _gram(kernel, x[rows], centers) * root

    total, n_centers = weight.sum(), len(centers)
    mean, target_mean = np.zeros(n_centers), np.zeros(targets.shape[1])
    if has_bias:  # it takes up the means
        mean = np.sum([weight[rows] @ k for rows, k in blocks()], axis=0) / total
        target_mean = weight @ targets / total
    normal, right = np.zeros((n_centers, n_centers)), np.zeros((n_centers, targets.shape[1]))
    for rows, k in blocks():
        k -= mean
        weighted = k * weight[rows, None]
        normal += weighted.T @ k  # with a bias S_T = S_W + M₊M₋/M·S_B of (3.36) to (3.38)
        right += weighted.T @ (targets[rows] - target_mean)  # ∝ m₊ − m₋ of (3.37)
    ridge = _ridge(np.diag(normal), total * mean**2, epsilon, center_weight)
    normal.flat[:: n_centers + 1] += ridge
    factor = cho_factor(normal, lower=True, overwrite_a=True)
    alpha = cho_solve(factor, right)  # thesis (3.41), but for the length
    bias = target_mean - mean @ alpha  # thesis (3.26)
    fitted, leverages = np.empty_like(targets), np.full(len(x), 1.0 / total if has_bias else 0.0)
    for rows, k in blocks():
        k -= mean
        fitted[rows] = k @ alpha + target_mean
        leverages[rows] += np.sum(solve_triangular(factor[0], k.T, lower=True) ** 2, axis=0)
    return PenalizedFit(alpha * root[:, None], bias, ridge, fitted, leverages)


def greedy_nodes(
    kernel: Kernel,
    x: Floats,
    targets: Floats,
    root: Floats,
    n_nodes: int,
    n_candidates: int | None,
    rng: np.random.RandomState,
) -> NDArray[np.int64]:
    """Return points (C,) chosen one by one, each the candidate whose column reduces ‖Kγ − B‖² most.

    Parameters
    ----------
    kernel : kernel function
    x, targets : (M, D) and (M, R)
    root : (M,) square roots of the weights
    n_nodes : C at most; fewer when no further column is independent of those before
    n_candidates : points tried for each node, None = all that are left
    rng : draws them
    """
    if n_nodes < 1:
        raise ModelError(f"n_nodes is {n_nodes}, expected at least 1")
    basis = OrthogonalBasis(len(x), n_nodes, np.dtype(np.float64))
    residual, is_left = targets * root[:, None], np.ones(len(x), dtype=bool)
    chosen: list[int] = []
    while basis.size < n_nodes and is_left.any():
        left = np.flatnonzero(is_left)
        n_tried = len(left) if n_candidates is None else min(n_candidates, len(left))
        tried = left if n_tried == len(left) else np.sort(rng.choice(left, n_tried, replace=False))
        gains = _gains(kernel, x, root, tried, basis, residual)
        visible = gains > -np.inf
        best = int(tried[gains.argmax()])
        is_left[tried[~visible]] = False  # what lies in the span now will lie in it ever after
        is_left[best] = False
        if visible.any() and basis.append(_gram(kernel, x, x[[best]]) * root[:, None])[0]:
            q = basis.q[:, -1]
            residual = residual - np.outer(q, q @ residual / basis.kappa[-1])  # thesis (3.64)
            chosen.append(best)
    if not chosen:
        raise ModelError(
            f"the {kernel.name} kernel is 0 for all points, expected a node; take another kernel or sigma"
        )
    return np.array(chosen, dtype=np.int64)


def random_points(
    n_points: int, n_wanted: int | None, name: str, random_state: int | np.random.RandomState | None
) -> NDArray[np.int64]:
    """Return so many of the points, in order; all for None; ``name`` is what an error calls the number."""
    if n_wanted is None or n_wanted >= n_points:
        return np.arange(n_points)
    if n_wanted < 1:
        raise ModelError(f"{name} is {n_wanted}, expected at least 1, or None for all")
    return np.sort(check_random_state(random_state).choice(n_points, n_wanted, replace=False))


def _gram(kernel: Kernel, x: Floats, centers: Floats) -> Floats:
    """Return k(x_i, c_j), (M, C), or say that its squares overflow."""
    block = gram_block(kernel, x, centers)
    if np.abs(block).max() > _LARGEST:
        raise ModelError(
            f"the squares of the {kernel.name} kernel overflow for sigma = {kernel.sigma:g}, expected finite "
            "values; standardise the features or change sigma"
        )
    return block


def _gains(
    kernel: Kernel,
    x: Floats,
    root: Floats,
    points: NDArray[np.int64],
    basis: OrthogonalBasis,
    residual: Floats,
) -> Floats:
    """Return how much the column of each point would reduce the squared error, −∞ of those in the span."""
    gains = np.full(len(points), -np.inf)
    for start in range(0, len(points), _BLOCK):
        block = slice(start, start + _BLOCK)
        columns = _gram(kernel, x, x[points[block]]) * root[:, None]
        length = np.einsum("ij,ij->j", columns, columns)
        if basis.size:
            columns -= basis.q @ ((basis.q.T @ columns) / basis.kappa[:, None])  # thesis (3.54)
        kappa = np.einsum("ij,ij->j", columns, columns)
        visible = kappa > _VISIBLE * length
        reductions = np.sum((columns.T @ residual) ** 2, axis=1) / np.where(visible, kappa, 1.0)
        gains[block] = np.where(visible, reductions, -np.inf)
    return gains


def _ridge(diagonal: Floats, removed: Floats, epsilon: float, center_weight: Floats) -> float:
    """Return λ, or say that it would leave the normal matrix singular.

    Parameters
    ----------
    diagonal : (C,) of the normal matrix
    removed : (C,) what the bias took from it; where that is nearly all, the rest is rounding and needs more λ
    epsilon : share
    center_weight : (C,)
    """
    least = 100 * len(diagonal) * _EPS
    if not (np.isfinite(epsilon) and epsilon > least):
        raise ModelError(
            f"epsilon is {epsilon}, expected more than {least:.1g}, the rounding of {len(diagonal)} centres; "
            "raise it"
        )
    mean = float(max(diagonal.sum(), _EPS * removed.sum()) / center_weight.sum())
    return epsilon * (mean if mean > 0 else 1.0)
