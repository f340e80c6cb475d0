"""The relevance vector machine for regression, a rival in the OROLS paper's table 3.

M. E. Tipping, "Sparse Bayesian Learning and the Relevance Vector Machine", JMLR 1, 2001, section 2: every
weight has a normal prior with a precision of its own, α_i; the α_i and the noise variance maximise the
evidence, and most α_i grow without bound, which removes their weights.

Axes: M training points, D features, m columns left of [1 K].
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from acoustic.kernels.kernel import Kernel
from foundation.arrays import Floats, Longs

_PRUNED = 1e6  # precision of a weight, in units of 1/variance of the targets, above which it counts as 0
_FIRST_NOISE = 0.1  # share of the targets' variance taken for noise at the start


class RelevanceVectorRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Sparse Bayesian regression on [1 K] by the iteration of Tipping's (16) to (18).

    Parameters
    ----------
    sigma : width of the Gaussian kernel
    max_steps : largest number of iterations
    tol : the iteration ends when no log α changes by more than this

    Attributes
    ----------
    center_indices_ : (C,) rows of X, the relevance vectors
    centers_ : (C, D)
    dual_coef_ : (1, C) weights
    intercept_ : weight of the column of ones, 0 if it was removed
    noise_ : variance s² of the noise
    n_iter_ : iterations
    """

    def __init__(self, sigma: float = 1.0, *, max_steps: int = 2000, tol: float = 1e-2) -> None:
        self.sigma = sigma
        self.max_steps = max_steps
        self.tol = tol

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from points (M, D) and values (M,)."""
        x, values = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        design = np.column_stack([np.ones(len(x)), Kernel("gaussian", self.sigma).block(x, x)])
        kept, weights, self.noise_, self.n_iter_ = sparse_bayes(design, values, self.max_steps, self.tol)
        is_bias = kept == 0
        self.center_indices_ = kept[~is_bias] - 1
        self.centers_ = x[self.center_indices_]
        self.dual_coef_, self.intercept_ = weights[None, ~is_bias], float(weights[is_bias].sum())
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the values (M,)."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        block = Kernel("gaussian", self.sigma).block(x, self.centers_)
        return np.asarray(block @ self.dual_coef_[0] + self.intercept_)


def sparse_bayes(
    design: Floats, targets: Floats, max_steps: int, tol: float
) -> tuple[Longs, Floats, float, int]:
    """Return the columns (m,) that are left, their mean weights (m,), the noise variance and the steps taken.

    Parameters
    ----------
    design : (M, columns) Φ
    targets : (M,)
    max_steps : largest number of steps
    tol : change of all log α at which to end
    """
    gram, products, energy = design.T @ design, design.T @ targets, float(targets @ targets)
    spread = float(targets.var())
    kept = np.arange(design.shape[1])
    precision, noise = np.full(len(kept), 1.0 / spread), _FIRST_NOISE * spread
    for step in range(1, max_steps + 1):  # noqa: B007
        g, b = gram[np.ix_(kept, kept)], products[kept]
        mean, variance = _posterior(g, b, precision, noise)
        gamma = 1.0 - precision * variance  # Tipping (17): how well the data determine each weight
        before, precision = precision, np.maximum(gamma, 0.0) / mean**2  # (16)
        error = float(energy - 2 * mean @ b + mean @ g @ mean)
        noise = error / (len(targets) - float(gamma.sum()))  # (18)
        is_left = precision < _PRUNED / spread
        has_settled = is_left.all() and np.abs(np.log(precision / before)).max() <= tol
        kept, precision = kept[is_left], precision[is_left]
        if has_settled or not len(kept):
            break
    mean, _ = _posterior(gram[np.ix_(kept, kept)], products[kept], precision, noise)
    return kept, mean, noise, step


def _posterior(gram: Floats, products: Floats, precision: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return the mean weights (m,) and their variances (m,), Tipping (12), (13).

    Parameters
    ----------
    gram : (m, m) ΦᵀΦ
    products : (m,) Φᵀy
    precision : (m,) α
    noise : s²
    """
    covariance = np.linalg.inv(gram / noise + np.diag(precision))
    return covariance @ products / noise, np.diag(covariance).copy()
