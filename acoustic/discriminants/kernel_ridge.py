"""Least squares on given kernel columns with a ridge, thesis (3.43): kernel Fisher discriminant and KMSE.

‖Kα + b − y‖² + λ‖α‖² is minimised, with or without a bias b, which is not penalised. The Gram matrix K (M, C)
is computed in blocks of rows, so memory is O(C²). A point of weight w counts like w equal points: its error
is multiplied by w, and the penalty on its weight α is divided by w. The estimators differ in their columns:
those of random points for the kernel Fisher discriminant (thesis 3.3), all or few chosen nodes for kernel
minimum squared error (MSE lecture, last section).

Axes: M training points, D features, R columns of outputs, C centres or nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.utils import check_random_state

from acoustic.discriminants.base import (
    DiscriminantClassifier,
    KernelExpansion,
    gram_block,
    warn_without_effect,
)
from acoustic.errors import ParameterError
from acoustic.kernels.kernel import Kernel, KernelName, check_whole
from acoustic.kernels.ridge import left_out_residuals, within_reach
from acoustic.kernels.selection import OrthogonalBasis, error_reductions, select_greedily
from foundation.arrays import Flags, Floats, Longs, check_memory

NodeSelection = Literal["random", "greedy"]

_LARGEST = 1e140  # value of a kernel that may be squared and summed
_BLOCK = 1024  # rows of the Gram matrix held at once
_EPS = float(np.finfo(np.float64).eps)
_COLUMNS_AT_ONCE = 1024  # candidate columns of the Gram matrix held at once
_VISIBLE = 64 * _EPS  # share of its squared length a column keeps outside a span


class PenalizedKernel(KernelExpansion, DiscriminantClassifier):
    """Base of the classifiers that learn by penalised least squares on given centres.

    Attributes
    ----------
    ridge_ : λ
    loo_decision_ : (M, R) output at each training point of non-zero weight of the model fitted without this
        point; centres and λ are kept
    """

    epsilon: float
    ridge_: float
    loo_decision_: Floats
    _rows: Longs

    def _learn(
        self, x: Floats, targets: Floats, weight: Floats | None, chosen: Longs, *, has_bias: bool
    ) -> Floats:
        """Keep the expansion over the chosen rows; return the leave-one-out outputs (M, R)."""
        w = np.ones(len(x)) if weight is None else weight
        fit = penalized_least_squares(
            self._make_kernel(), x, x[chosen], targets, w, w[chosen], self.epsilon, has_bias=has_bias
        )
        self.center_indices_, self.centers_ = self._rows[chosen], x[chosen]
        self.dual_coef_, self.intercept_, self.ridge_ = fit.alpha.T.copy(), fit.bias, fit.ridge
        self.loo_decision_ = fit.leave_one_out
        return within_reach(self.loo_decision_, targets)


class KernelFisherDiscriminant(PenalizedKernel):
    """Kernel Fisher discriminant, thesis (3.36) to (3.41); more than two classes are told apart one-vs-rest.

    It is computed as a least-squares fit to the labels (thesis 3.2, 3.3.1). Let S_T = S_W + M₊M₋/M·S_B be the
    scatter of the kernel columns about their mean over all points. Then (S_T + λI)⁻¹(m₊ − m₋) has the same
    direction as (S_W + λI)⁻¹(m₊ − m₋) of (3.41). As S_T is the same for every class, one factorisation serves
    all classes. The fit also gives the length of the weights, the bias (3.26), and the leave-one-out outputs
    that ``predict_proba`` uses.

    Parameters
    ----------
    sigma : width of the kernel
    max_centers : number of random training points in the expansion (3.33); None takes all, as in the thesis
    epsilon : λ in units of the mean diagonal of S_T; above 0, since S_W has at most rank M − 2
    kernel, kernel_params : see `make_kernel`
    random_state : seed of the choice of centres

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
        kernel_params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers  # type: ignore[assignment]
        self.epsilon = epsilon
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.random_state = random_state

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        x = np.asarray(X, dtype=np.float64)
        chosen = random_points(len(x), self.max_centers, "max_centers", self.random_state)
        return self._learn(x, targets, sample_weight, chosen, has_bias=True)


class KMSEClassifier(PenalizedKernel):
    """Kernel minimum squared error, Kγ = B, with a ridge and no bias; MSE lecture, last section.

    Two classes have the targets ±1; with more classes each has a column of targets, 1 for it and 0 for the
    rest (5.12).

    Parameters
    ----------
    sigma : width of the kernel
    n_nodes : s of the reduced form, β = Σ_{j ≤ s} γ'_j φ(x_j) with s ≪ n; None = all training points
    epsilon : λ in units of the mean diagonal of KᵀK; above 0, since K is singular or nearly so
    selection : ``greedy`` adds the node whose column reduces the squared error most, ``random`` takes random
        points
    n_candidates : number of random candidates for each ``greedy`` node; None = all other points. With
        probability 0.95 one of 59 candidates is among the best 5 %
    kernel, kernel_params : see `make_kernel`
    random_state : seed of the choice of nodes and candidates

    Attributes
    ----------
    center_indices_, centers_ : (C,) and (C, D); C is less than ``n_nodes`` if no further column is linearly
        independent
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
        kernel_params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.n_nodes = n_nodes
        self.epsilon = epsilon
        self.selection = selection
        self.n_candidates = n_candidates
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.random_state = random_state

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        x = np.asarray(X, dtype=np.float64)
        wanted = targets if targets.shape[1] == 1 else (targets + 1.0) / 2.0  # B
        return self._learn(x, wanted, sample_weight, self._nodes(x, wanted, sample_weight), has_bias=False)

    def _nodes(self, x: Floats, targets: Floats, weight: Floats | None) -> Longs:
        if self.selection not in ("random", "greedy"):
            raise ParameterError(f'selection is "{self.selection}", expected one of: random, greedy')
        if self.n_candidates is not None:
            check_whole("n_candidates", self.n_candidates, ", or None for all")
        if self.n_nodes is not None:
            check_whole("n_nodes", self.n_nodes, ", or None for all")
        if self.n_nodes is None:
            warn_without_effect(self, ["selection", "n_candidates"], "n_nodes=None")
        elif self.selection == "random":
            warn_without_effect(self, ["n_candidates"], 'selection="random"')
        if self.selection == "random" or self.n_nodes is None or self.n_nodes >= len(x):
            return random_points(len(x), self.n_nodes, "n_nodes", self.random_state)
        root = np.ones(len(x)) if weight is None else np.sqrt(weight)
        rng = check_random_state(self.random_state)
        return greedy_nodes(self._make_kernel(), x, targets, root, self.n_nodes, self.n_candidates, rng)


@dataclass(frozen=True)
class PenalizedFit:
    """A least-squares expansion.

    Attributes
    ----------
    alpha : (C, R) weights of the centres
    bias : (R,)
    ridge : λ for a centre of weight 1
    leave_one_out : (M, R) output at each training point of the model fitted without this point; centres and λ
        are kept
    """

    alpha: Floats
    bias: Floats
    ridge: float
    leave_one_out: Floats


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
    weight : (M,) weights w_i of the points
    center_weight : (C,) weights w_j of the centres
    epsilon : λ in units of the mean diagonal of the normal matrix
    has_bias : whether there is a bias b
    """
    root = np.sqrt(center_weight)

    def blocks() -> Iterator[tuple[slice, Floats]]:
        for start in range(0, len(x), _BLOCK):
            rows = slice(start, start + _BLOCK)
            yield rows, gram(kernel, x[rows], centers) * root

    total, n_centers = weight.sum(), len(centers)
    cure = "take fewer points, or fewer centres"
    check_memory("the products of all centres", (n_centers, n_centers), ParameterError, cure)
    mean, target_mean = np.zeros(n_centers), np.zeros(targets.shape[1])
    if has_bias:  # the bias takes up the means
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
    of_bias = 1.0 / total if has_bias else 0.0
    residual, leverages = np.empty_like(targets), np.empty(len(x))
    for rows, k in blocks():
        k -= mean
        residual[rows] = targets[rows] - k @ alpha - target_mean
        shares = np.sum(solve_triangular(factor[0], k.T, lower=True) ** 2, axis=0)
        leverages[rows] = weight[rows] * (shares + of_bias)

    def limit(points: Longs) -> tuple[Floats, Floats]:
        k = gram(kernel, x[points], centers) * root - mean
        shares = np.sum(cho_solve(factor, k.T) ** 2, axis=0) + of_bias**2
        return k @ cho_solve(factor, alpha) + of_bias * target_mean, weight[points] * shares

    left_out = targets - left_out_residuals(residual, leverages, limit)
    return PenalizedFit(alpha * root[:, None], bias, ridge, left_out)


def random_points(
    n_points: int, n_wanted: int | None, name: str, random_state: int | np.random.RandomState | None
) -> Longs:
    """Return ``n`` random points in order, or all for None; errors call the number ``name``."""
    if n_wanted is not None:
        check_whole(name, n_wanted, ", or None for all")
    if n_wanted is None or n_wanted >= n_points:
        return np.arange(n_points)
    return np.sort(check_random_state(random_state).choice(n_points, n_wanted, replace=False))


def gram(kernel: Kernel, x: Floats, centers: Floats) -> Floats:
    """Return k(x_i, c_j), (M, C); raise ParameterError if its squares overflow."""
    block = gram_block(kernel, x, centers)
    if np.abs(block).max() > _LARGEST:
        raise ParameterError(
            f"the squares of the {kernel.name} kernel overflow for sigma = {kernel.sigma:g}, expected finite "
            "values; standardise the features or change sigma"
        )
    return block


def _ridge(diagonal: Floats, removed: Floats, epsilon: float, center_weight: Floats) -> float:
    """Return λ; raise ParameterError if the normal matrix would stay singular with it.

    Parameters
    ----------
    diagonal : (C,) diagonal of the normal matrix
    removed : (C,) what the bias took away from the diagonal; where it took nearly all, the rest is rounding
        error and needs a larger λ
    epsilon : λ as a share of the mean diagonal
    center_weight : (C,) weights of the centres
    """
    least = 100 * len(diagonal) * _EPS
    if not (isinstance(epsilon, Real) and least < float(epsilon) < np.inf):
        raise ParameterError(
            f"epsilon is {epsilon!r}, expected more than {least:.1g}, the rounding of {len(diagonal)} "
            "centres; raise it"
        )
    mean = float(max(diagonal.sum(), _EPS * removed.sum()) / center_weight.sum())
    return epsilon * (mean if mean > 0 else 1.0)


def greedy_nodes(
    kernel: Kernel,
    x: Floats,
    targets: Floats,
    root: Floats,
    n_nodes: int,
    n_candidates: int | None,
    rng: np.random.RandomState,
) -> Longs:
    """Return points (C,) chosen one by one, each the candidate whose column reduces ‖Kγ − B‖² most.

    Parameters
    ----------
    kernel : kernel function
    x, targets : (M, D) and (M, R)
    root : (M,) square roots of the weights
    n_nodes : C at most; fewer when no further column is independent of those before
    n_candidates : points tried for each node, None = all that are left
    rng : generator that draws the candidates
    """
    scorer = _Nodes(kernel, x, targets, root, n_nodes, n_candidates, rng)
    chosen = select_greedily(scorer, scorer.basis, n_nodes)
    if not len(chosen):
        raise ParameterError(
            f"the {kernel.name} kernel is 0 for all points, expected a node; take another kernel or sigma"
        )
    return chosen


class _Nodes:
    """The scorer of the reduced form: the candidate whose column reduces the squared error most."""

    def __init__(
        self,
        kernel: Kernel,
        x: Floats,
        targets: Floats,
        root: Floats,
        n_nodes: int,
        n_candidates: int | None,
        rng: np.random.RandomState,
    ) -> None:
        self.kernel, self.x, self.root, self.rng = kernel, x, root[:, None], rng
        self.n_candidates = len(x) if n_candidates is None else n_candidates
        self.basis = OrthogonalBasis(len(x), n_nodes, np.dtype(np.float64), np.sqrt(_VISIBLE))
        self.residual, self.is_left = targets * self.root, np.ones(len(x), dtype=bool)

    def choose(self) -> Longs:
        """Return the best candidate, or one that the basis will refuse if all lie in its span."""
        left = np.flatnonzero(self.is_left)
        if not len(left):
            return left
        n_tried = min(self.n_candidates, len(left))
        tried = left if n_tried == len(left) else np.sort(self.rng.choice(left, n_tried, replace=False))
        gains = self._gains(tried)
        self.is_left[tried[gains == -np.inf]] = False  # in the span now, hence for ever
        return tried[[gains.argmax()]]

    def columns(self, points: Longs) -> Floats:
        """Return the weighted columns of some points."""
        return np.asarray(gram(self.kernel, self.x, self.x[points]) * self.root)

    def account(self, points: Longs, added: Flags) -> None:
        """Subtract from the residual its part along the new column."""
        self.is_left[points] = False
        if added[0]:
            self.residual = self.basis.without_newest(self.residual)

    def is_done(self) -> bool:
        """Return False: nodes are taken as long as there are independent ones."""
        return False

    def _gains(self, points: Longs) -> Floats:
        """Return by how much each column would reduce the squared error, −∞ of those in the span."""
        blocks = (
            points[start : start + _COLUMNS_AT_ONCE] for start in range(0, len(points), _COLUMNS_AT_ONCE)
        )
        found = [error_reductions(self.basis, self.columns(b), self.residual, 0.0, _VISIBLE) for b in blocks]
        return np.concatenate(found)
