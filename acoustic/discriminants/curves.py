"""Curves from a discriminant's outputs to the log odds of its two classes, as estimators keep them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from acoustic.pairs.calibration import Calibration as Calibration  # of the package's public names
from acoustic.pairs.calibration import fit_curve
from acoustic.pairs.gaussian_outputs import GaussianCurve as GaussianCurve
from foundation.arrays import Flags, Floats

GaussianProjection = GaussianCurve  # former name, kept for older programs


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
