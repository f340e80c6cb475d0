"""Kernel expansions f(x) = Σ α_n k(x, x_n) + b over one set of centres, for KRLS, LOOForward and OLS.

They compute in float64 whatever the precision of the data, since dictionaries and whole Gram matrices are
ill-conditioned.

Axes: M points, D features, C centres, R columns of outputs.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from acoustic.discriminants.base import DTYPES, DiscriminantClassifier, checked_weight
from acoustic.errors import ParameterError
from acoustic.kernels.kernel import Kernel, KernelName, make_kernel, widths
from acoustic.kernels.parameters import check_whole
from foundation.arrays import Floats, Longs, Reals

_PREDICT_BLOCK = 2048  # points whose kernel block is held at once


class KernelExpansion:
    """Hyper-parameters of the kernel, and the learned expansion.

    Attributes
    ----------
    center_indices_ : (C,) rows of the training points
    centers_ : (C, D)
    dual_coef_ : (R, C) α
    intercept_ : (R,) b
    """

    sigma: float
    max_centers: int
    kernel: KernelName
    kernel_params: dict[str, Any] | None
    center_indices_: Longs
    centers_: Floats
    dual_coef_: Floats
    intercept_: Floats

    def _make_kernel(self) -> Kernel:
        found = widths(self.sigma)
        if len(found) > 1:
            raise ParameterError(f"sigma has {len(found)} widths, expected one here; give one number")
        return make_kernel(self.kernel, found[0], self.kernel_params)

    def _capacity(self, n_points: int) -> int:
        """Return the largest number of centres."""
        check_whole("max_centers", self.max_centers)
        return min(self.max_centers, n_points)

    def _outputs(self, X: NDArray[Any]) -> Floats:
        """Return the outputs (M, R)."""
        kernel = self._make_kernel()
        found = np.empty((len(X), len(self.intercept_)))
        for start in range(0, len(X), _PREDICT_BLOCK):
            rows = slice(start, start + _PREDICT_BLOCK)
            block = gram_block(kernel, X[rows].astype(np.float64), self.centers_)
            found[rows] = block @ self.dual_coef_.T
        return found + self.intercept_


class ExpansionClassifier(KernelExpansion, DiscriminantClassifier):
    """Base of the classifiers: a subclass learns ±1 targets (M, R) in ``_fit_outputs``."""

    loo_decision_: Floats


class ExpansionRegressor(MultiOutputMixin, RegressorMixin, KernelExpansion, BaseEstimator):  # type: ignore[misc]
    """Base of the regressors: a subclass learns (M, R) targets in ``_fit_outputs``.

    Attributes
    ----------
    loo_decision_ : (M, R) output at each training point of non-zero weight of the model fitted without this
        point, with the same centres
    """

    loo_decision_: Floats

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from points (M, D) and values (M,) or (M, R)."""
        x, values = validate_data(self, X, y, dtype=DTYPES, multi_output=True, y_numeric=True)
        weight = checked_weight(sample_weight, x)
        self._n_given = len(x)
        self._rows = np.arange(len(x)) if weight is None else np.flatnonzero(weight)
        self._is_flat = values.ndim == 1
        targets = np.asarray(values, dtype=np.float64).reshape(len(x), -1)
        used = None if weight is None else weight[self._rows]
        self.loo_decision_ = self._fit_outputs(x[self._rows], targets[self._rows], used)
        del self._rows, self._n_given  # as large as the training set, and only for the fit
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the values (M,) or (M, R)."""
        check_is_fitted(self)
        outputs = self._outputs(validate_data(self, X, dtype=DTYPES, reset=False))
        return outputs[:, 0] if self._is_flat else outputs

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        """Learn targets (M, R); return the leave-one-out outputs (M, R)."""
        raise NotImplementedError


def gram_block(kernel: Kernel, x: Floats, centers: Floats) -> Floats:
    """Return k(x_i, c_j), (M, D) and (C, D) -> (M, C); raise ParameterError if it overflows."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _finite(kernel.block(x, centers), kernel)


def gram_diagonal(kernel: Kernel, x: Floats) -> Floats:
    """Return k(x_i, x_i), (M,); raise ParameterError if it overflows."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _finite(kernel.diagonal(x), kernel)


def _finite(values: Reals, kernel: Kernel) -> Floats:
    if not np.isfinite(values).all():
        raise ParameterError(
            f"the {kernel.name} kernel overflows for sigma = {kernel.sigma:g}, expected finite values; "
            "standardise the features or change sigma"
        )
    return np.asarray(values, dtype=np.float64)
