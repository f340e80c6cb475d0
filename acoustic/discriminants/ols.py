"""Orthogonal least squares on the whole Gram matrix as scikit-learn estimators; see `ols_selection`.

Axes: M training points, D features, R targets, C centres.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from acoustic.discriminants.base import warn_without_effect
from acoustic.discriminants.expansion import ExpansionClassifier, ExpansionRegressor, KernelExpansion
from acoustic.discriminants.ols_selection import OlsAlgorithm, OlsProblem, fisher_targets, select_columns
from acoustic.errors import ParameterError
from acoustic.kernels.kernel import KernelName
from acoustic.kernels.leave_one_out import basis_left_out_residuals, within_reach
from acoustic.kernels.parameters import check_not_negative
from foundation.arrays import Floats, Longs
from foundation.threads import single_threaded_libraries

OlsRegression = Literal["chen", "nair"]
OlsStopping = Literal["size", "tol"]


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
