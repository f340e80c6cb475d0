"""What all discriminants share: targets from labels, labels and probabilities from outputs.

Axes: M points, D features, K classes, R columns of targets or outputs.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from acoustic.discriminants.curves import Curve
from acoustic.pairs.gaussian_outputs import MonotoneGaussianCurve, agreeing_posteriors
from foundation.arrays import Flags, Floats, Integers, Longs

DTYPES = (np.float64, np.float32)


class DiscriminantClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def predicted_codes(outputs: Floats) -> Longs:
    """Return the class codes (M,) of outputs (M, R): the sign of one column, else the largest."""
    if outputs.shape[-1] == 1:
        return (outputs[..., 0] > 0).astype(np.int64)
    return np.asarray(outputs.argmax(axis=-1))
