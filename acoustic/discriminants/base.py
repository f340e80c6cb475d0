"""What discriminants share as scikit-learn estimators: targets, labels, probabilities, kernel expansions.

`DiscriminantClassifier` turns labels into targets, and outputs into labels and probabilities, these by curves
from outputs to log odds. `KernelExpansion` is f(x) = Σ α_n k(x, x_n) + b over one set of centres, for KRLS,
LOOForward and OLS; it computes in float64 whatever the precision of the data, since dictionaries and whole
Gram matrices are ill-conditioned.

Axes: M points, D features, K classes, C centres, R columns of targets or outputs.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from acoustic.errors import ParameterError
from acoustic.kernels.kernel import Kernel, KernelName, check_whole, make_kernel, widths
from acoustic.pairs.calibration import Calibration as Calibration  # of the package's public names
from acoustic.pairs.calibration import GaussianCurve as GaussianCurve
from acoustic.pairs.calibration import MonotoneGaussianCurve, agreeing_posteriors, fit_curve
from foundation.arrays import Flags, Floats, Integers, Longs, Reals, check_memory
from foundation.errors import unexpected_argument

GaussianProjection = GaussianCurve  # former name, kept for older programs
DTYPES = (np.float64, np.float32)
_PREDICT_BLOCK = 2048  # points whose kernel block is held at once


class Curve(Protocol):
    """The interface of curves."""

    def log_odds(self, outputs: ArrayLike) -> Floats:
        """Return the log odds of the positive class, shape of the outputs."""

    def predict_proba(self, outputs: ArrayLike) -> Floats:
        """Return P(positive | output), shape of the outputs."""


@dataclass(frozen=True)
class QuadraticCurve:
    """Log odds (square q + slope) q + constant of an output q, for logistic and Gaussian curves."""

    square: float
    slope: float
    constant: float

    def log_odds(self, outputs: ArrayLike) -> Floats:
        """Return the log odds of the positive class, shape of the outputs."""
        q = np.asarray(outputs, dtype=np.float64)
        return np.asarray((self.square * q + self.slope) * q + self.constant)

    def predict_proba(self, outputs: ArrayLike) -> Floats:
        """Return P(positive | output), shape of the outputs."""
        return np.asarray(expit(self.log_odds(outputs)))


def logistic_curve(outputs: Floats, is_positive: Flags, weight: Floats | None) -> QuadraticCurve:
    """Return Platt's logistic curve of outputs (M,) with weights (M,), which also give the prior."""
    order = np.argsort(~is_positive, kind="stable")  # the positive class first
    weights = np.ones(len(outputs)) if weight is None else weight
    counts = float(weights[is_positive].sum()), float(weights[~is_positive].sum())
    curve = fit_curve(outputs[order], int(is_positive.sum()), counts, "logistic", weights[order])
    return quadratic_curves(curve[None])[0]


def quadratic_curves(coefficients: Floats) -> list[QuadraticCurve]:
    """Return the curves of rows of coefficients, (P, 3)."""
    return [QuadraticCurve(*map(float, row)) for row in coefficients]


def coefficients_of(curves: list[QuadraticCurve]) -> Floats:
    """Return the rows of coefficients of curves, (P, 3)."""
    return np.array([(c.square, c.slope, c.constant) for c in curves])


def _nothing(self: Any) -> None:
    """Take no arguments: the constructor of a class that has none of its own."""


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: a mistake in a constructor's arguments names the class that was made."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = inspect.unwrap(cls.__init__)
        constructor: Callable[..., None] = _nothing if own is object.__init__ else own
        signature = inspect.signature(constructor)

        @wraps(constructor)
        def checked(self: Any, *given: Any, **named: Any) -> None:
            try:
                signature.bind(self, *given, **named)
            except TypeError as error:
                unknown = next((name for name in named if name not in signature.parameters), None)
                said = unexpected_argument(unknown, [*signature.parameters][1:]) if unknown else error
                raise TypeError(f"{type(self).__name__}.__init__() {said}") from None
            constructor(self, *given, **named)

        cls.__init__ = checked  # type: ignore[method-assign]


class DiscriminantClassifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """Base of the classifiers: a subclass learns real outputs from ±1 targets.

    A subclass implements ``_fit_outputs`` and ``_outputs``. Two classes give one column of targets, +1 for
    the second class. More classes give one column for each class, +1 for it and −1 for the rest.

    Attributes
    ----------
    classes_ : (K,) labels
    curves_ : for each column of outputs the curve to log odds, which ``predict_proba`` uses
    """

    classes_: NDArray[Any]
    curves_: Sequence[Curve]

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from points (M, D) and labels (M,)."""
        x, labels = validate_data(self, X, y, dtype=DTYPES)
        check_classification_targets(labels)
        weight = checked_weight(sample_weight, x)
        self._n_given, self._rows = len(x), np.arange(len(x))
        if weight is not None and not weight.all():  # points of weight 0 are left out
            self._rows = np.flatnonzero(weight)
            x, labels, weight = x[self._rows], labels[self._rows], weight[self._rows]
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__}: y has 1 class (among the samples with a weight), expected at least "
                "2; give examples of another class"
            )
        targets = class_targets(codes, len(self.classes_))
        calibration = self._fit_outputs(x, targets, weight)
        if calibration is not None:
            self.curves_ = [
                self._fit_curve(column, target > 0, weight)
                for column, target in zip(calibration.T, targets.T, strict=True)
            ]
        del self._rows, self._n_given  # as large as the training set, and only for the fit
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the outputs (M,) for two classes (positive: the second), (M, K) for more."""
        outputs = self._checked_outputs(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most likely labels (M,)."""
        outputs = self._checked_outputs(X)
        return self.classes_[predicted_codes(outputs)]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return P(class | x), (M, K), by the curves from outputs to log odds.

        With more than two classes these are the normalised one-vs-rest posteriors. The predicted class has
        the largest posterior, see `agreeing_posteriors`.
        """
        outputs = self._checked_outputs(X)
        pairs = zip(self.curves_, outputs.T, strict=True)
        posteriors = np.column_stack([curve.predict_proba(column) for curve, column in pairs])
        if posteriors.shape[1] == 1:
            posteriors = np.column_stack([1.0 - posteriors, posteriors])
        return agreeing_posteriors(posteriors, predicted_codes(outputs))

    def _fit_curve(self, outputs: Floats, is_positive: Flags, weight: Floats | None) -> Curve:
        """Return the curve of one column of outputs (M,), by Gaussians of both classes, thesis (4.7)."""
        return MonotoneGaussianCurve().fit(outputs, is_positive, weight)

    def _checked_outputs(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        return self._outputs(validate_data(self, X, dtype=DTYPES, reset=False))

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats | None:
        """Learn targets (M, R); return the outputs (M, R) at the training points that curves are fitted to.

        A subclass with probabilities of its own returns None.
        """
        raise NotImplementedError

    def _outputs(self, X: NDArray[Any]) -> Floats:
        """Return the outputs (M, R)."""
        raise NotImplementedError


def warn_without_effect(estimator: BaseEstimator, names: Sequence[str], reason: str) -> None:
    """Warn of arguments set to no effect because of ``reason``, for example stopping="size"."""
    defaults = _parameters(type(estimator))  # type: ignore[arg-type]  # types are hashable
    for name in names:
        value = getattr(estimator, name)
        if value != defaults[name].default:
            warnings.warn(
                f"{type(estimator).__name__}: {name} is {value!r}, which has no effect with {reason}; "
                "leave it out",
                UserWarning,
                stacklevel=4,
            )


@cache
def _parameters(kind: type) -> Mapping[str, inspect.Parameter]:
    """Return the constructor's parameters; reading a signature takes long beside a small fit."""
    return inspect.signature(kind).parameters


def checked_weight(sample_weight: ArrayLike | None, x: NDArray[Any]) -> Floats | None:
    """Return the weights (M,) of points x (M, D), checked to be ≥ 0 and not all 0; None if none are given."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError("sample_weight is 0 everywhere, expected some above 0; give some point a weight")
    return np.asarray(weight)


def class_targets(codes: Integers, n_classes: int) -> Floats:
    """Return ±1 targets (M, 1) for two classes (+1 is class 1), (M, K) one-vs-rest for more."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    cure = "check the labels, or take fewer classes"
    check_memory("targets of each class", (len(codes), n_classes), ParameterError, cure)
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def predicted_codes(outputs: Floats) -> Longs:
    """Return the class codes (M,) of outputs (M, R): the sign of one column, else the largest."""
    if outputs.shape[-1] == 1:
        return (outputs[..., 0] > 0).astype(np.int64)
    return np.asarray(outputs.argmax(axis=-1))


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


class ExpansionRegressor(MultiOutputMixin, RegressorMixin, KernelExpansion, Estimator):  # type: ignore[misc]
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
    """Return k(x_i, c_j), (M, D) and (C, D) -> (M, C); ParameterError if it overflows or is too large."""
    check_memory("the kernel of all points", (len(x), len(centers)), ParameterError, "take fewer points")
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
