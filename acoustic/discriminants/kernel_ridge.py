"""Least squares on given kernel columns with a ridge on the weights of the centres, thesis (3.43).

‖Kα + b − y‖² + λ‖α‖² is minimised, with or without a bias b, which is not penalised. The Gram matrix K (M, C)
is computed in blocks of rows, so memory is O(C²). A point of weight w counts like w equal points: its error
is multiplied by w, and the penalty on its weight α is divided by w.

Axes: M training points, D features, R columns of outputs, C centres.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.utils import check_random_state

from acoustic.discriminants.base import DiscriminantClassifier
from acoustic.discriminants.expansion import KernelExpansion, gram_block
from acoustic.errors import ParameterError
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.leave_one_out import left_out_residuals, within_reach
from acoustic.kernels.parameters import check_whole
from foundation.arrays import Floats, Longs

_LARGEST = 1e140  # value of a kernel that may be squared and summed
_BLOCK = 1024  # rows of the Gram matrix held at once
_EPS = float(np.finfo(np.float64).eps)


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
