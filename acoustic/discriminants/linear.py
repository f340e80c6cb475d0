"""Fisher's linear discriminant, thesis 3.1, and the base of all linear classifiers.

Axes: M training points, D features, R columns of outputs (1 for two classes), K classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from acoustic.discriminants.base import DiscriminantClassifier, predicted_codes
from acoustic.discriminants.moments import class_moments
from acoustic.errors import ParameterError
from foundation.arrays import Floats

_EPS = float(np.finfo(np.float64).eps)


class LinearClassifier(DiscriminantClassifier):
    """Base of the linear classifiers: outputs wᵀx + b, computed in float64.

    Attributes
    ----------
    coef_ : (R, D) w
    intercept_ : (R,) b
    """

    coef_: Floats
    intercept_: Floats

    def _store(self, weights: Floats) -> None:
        """Keep the weights a = (b, w) of all columns, (D + 1, R)."""
        if not np.isfinite(weights).all():
            raise ParameterError(
                f"{type(self).__name__}: the weights overflow, expected finite ones; standardise the features"
            )
        self.intercept_, self.coef_ = weights[0].copy(), weights[1:].T.copy()

    def _outputs(self, X: NDArray[Any]) -> Floats:
        return np.asarray(np.asarray(X, dtype=np.float64) @ self.coef_.T + self.intercept_)


class LinearDiscriminant(LinearClassifier):
    """Fisher's linear discriminant with the Bayes threshold for normal classes of one covariance; thesis 3.1.

    For two classes the output is the log odds (3.17). For more classes there is one output for each class,
    and the differences of two outputs are these log odds. Σ is S_W/M, as in scikit-learn's
    ``LinearDiscriminantAnalysis`` ("lsqr").

    Parameters
    ----------
    shrinkage : share, 0 to 1, by which Σ is drawn towards (tr Σ/D)·I
    tol : least eigenvalue of Σ in units of the features' total variances; smaller ones are raised to it. This
        makes a Σ without full rank (M < D, collinear features) invertible: the discriminant then weighs most
        the directions in which the classes do not vary at all, as in the limit of vanishing shrinkage. A
        constant feature gets the weight 0

    Attributes
    ----------
    coef_, intercept_ : (R, D) and (R,)
    means_ : (K, D)
    covariance_ : (D, D) Σ after shrinkage
    """

    means_: Floats
    covariance_: Floats

    def __init__(self, shrinkage: float = 0.0, tol: float = 1e-8) -> None:
        self.shrinkage = shrinkage
        self.tol = tol

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return P(class | x), (M, K): the logistic function of the log odds."""
        outputs = self._checked_outputs(X)
        if outputs.shape[1] > 1:
            return np.asarray(softmax(outputs, axis=1))
        positive = expit(outputs[:, 0])  # thesis (3.15)
        return np.column_stack([expit(-outputs[:, 0]), positive])

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        if not 0.0 <= self.shrinkage <= 1.0:
            raise ParameterError(f"shrinkage is {self.shrinkage}, expected a share from 0 to 1")
        if not self.tol > 0:
            raise ParameterError(f"tol is {self.tol}, expected a number above 0")
        x = np.asarray(X, dtype=np.float64)
        n_classes = max(targets.shape[1], 2)
        with np.errstate(over="ignore", invalid="ignore"):
            counts, means, scatters = class_moments(x, predicted_codes(targets), n_classes, sample_weight)
        if not np.isfinite(scatters).all():
            raise ParameterError("the scatter overflows, expected finite features; standardise the features")
        n, n_features = counts.sum(), x.shape[1]
        covariance = scatters.sum(axis=0) / n  # S_W/M, thesis (3.7)
        target = np.trace(covariance) / n_features * np.eye(n_features)
        self.means_ = means
        self.covariance_ = (1.0 - self.shrinkage) * covariance + self.shrinkage * target
        center = counts @ means / n
        between = (counts / n) @ (means - center) ** 2
        whitening = _whitening(
            self.covariance_, np.diag(covariance) + between, np.abs(x).max(axis=0), self.tol
        )
        white = (means - center) @ whitening  # so that Σ⁻¹ is the scalar product
        w = white @ whitening.T  # Σ⁻¹m, thesis (3.18)
        b = np.log(counts / n) - 0.5 * np.sum(white**2, axis=1) - w @ center  # thesis (3.19)
        if n_classes == 2:
            w, b = w[1:] - w[:1], b[1:] - b[:1]
        self._store(np.vstack([b, w.T]))
        return self._outputs(x)


def _whitening(covariance: Floats, total: Floats, size: Floats, tol: float) -> Floats:
    """Return W (D, D) with Σ⁻¹ = WWᵀ, after raising eigenvalues of Σ below ``tol`` to ``tol``.

    Parameters
    ----------
    covariance : (D, D) Σ
    total : (D,) variances of the features over all classes, the units of the eigenvalues
    size : (D,) largest magnitudes of the features; a feature that varies by less than their rounding is
        constant
    tol : least eigenvalue
    """
    deviation = np.sqrt(total)
    unit = np.where(deviation > 8 * _EPS * size, deviation, np.inf)
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    return np.asarray(vectors / np.sqrt(np.maximum(values, tol)) / unit[:, None])
