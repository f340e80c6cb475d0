"""Calibration: from a discriminant's output to the log odds of its two classes, by a quadratic in the output.

Two Gaussians give one (thesis (4.7)), a logistic function (Platt) one without its square. Axes: T frames, P
pairs, M outputs of a pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from acoustic.errors import ParameterError
from acoustic.kernels.leave_one_out import FARTHEST
from acoustic.pairs.gaussian_outputs import GaussianCurve
from foundation.arrays import Floats, Reals
from foundation.checks import check_choices

CurveName = Literal["gaussian", "logistic"]
OutputsName = Literal["fitted", "loo", "held-out"]

_STEPS = 30
_ENOUGH = 1e-9  # of a Newton step
_SMALLEST_CURVATURE = 1e-12


@dataclass(frozen=True)
class Calibration:
    """The rule by which curves from outputs to log odds are fitted, the same for all ways of training.

    Attributes
    ----------
    outputs : of the training frames, on which curves rest: ``fitted``, those of the machine that learned them
        (thesis; nearer to the targets than outputs of new frames); ``loo``, those of the machine without the
        frame, which least squares gives for nothing; ``held-out``, those of a machine that learned the other
        folds of the recordings
    curve : ``gaussian``, Bayes' rule on one Gaussian a class (thesis (4.7)); ``logistic``, Platt's function
    """

    outputs: OutputsName = "loo"
    curve: CurveName = "gaussian"

    def __post_init__(self) -> None:
        check_choices(self, ParameterError)


def fit_curve(
    outputs: Reals,
    n_first: int,
    counts: tuple[float, float],
    name: CurveName,
    weight: Floats | None = None,
    *,
    reach: float = FARTHEST,
) -> Floats:
    """Return (square, slope, constant) of d(q) = (square q + slope) q + constant, (3,).

    Parameters
    ----------
    outputs : (M,) of frames of the first class, then of the second
    n_first : frames of the first class
    counts : of both classes in all; their ratio is the prior odds
    name : ``gaussian``, or ``logistic`` with the two classes weighted equally
    weight : (M,) of the frames within their class; equal by default
    reach : outputs farther out count as so far. Machines that aim at ±1 miss by thousands where a centre has
        a column almost to itself and is left out; support vector machines have no such aim: infinity
    """
    values = np.clip(outputs, -reach, reach, dtype=np.float64)
    is_first = np.arange(len(values)) < n_first
    if name == "logistic":
        weight = np.ones(len(values)) if weight is None else weight
        of_class = np.where(is_first, weight[:n_first].sum(), weight[n_first:].sum())
        slope, constant = _logistic(values, n_first, 0.5 * weight / of_class)
        return np.array([0.0, slope, constant + np.log(counts[0] / counts[1])])
    curve = GaussianCurve().fit(values, is_first, weight)  # has the first class last
    return bayes_curves(curve.means_[::-1], curve.variances_[::-1], counts)


def bayes_curves(means: ArrayLike, variances: ArrayLike, counts: ArrayLike) -> Floats:
    """Return Bayes' rule on Gaussians as quadratics in the outputs, (..., 3); thesis (4.7).

    Outputs that point the wrong way tell nothing, as in `GaussianCurve.log_odds`: what is left are the
    prior odds.

    Parameters
    ----------
    means, variances : (..., 2) of the outputs of the first class, whose targets are 1, and of the second
    counts : (..., 2) of both classes in all; their ratio is the prior odds
    """
    mean, variance = np.asarray(means, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    prior, precision = np.log(np.asarray(counts, dtype=np.float64)), 0.5 / variance
    constant = prior - 0.5 * np.log(variance) - precision * mean**2
    found = np.stack(
        [
            precision[..., 1] - precision[..., 0],
            2.0 * (precision[..., 0] * mean[..., 0] - precision[..., 1] * mean[..., 1]),
            constant[..., 0] - constant[..., 1],
        ],
        axis=-1,
    )
    nothing = np.zeros_like(found)
    nothing[..., 2] = prior[..., 0] - prior[..., 1]
    return np.where(mean[..., :1] > mean[..., 1:], found, nothing)


@njit(nogil=True, cache=True)
def quadratics(q: Reals, curves: Floats) -> Floats:
    """Return (square q + slope) q + constant of outputs (T, P) and curves (P, 3), in one pass, (T, P)."""
    found = np.empty(q.shape)
    for t in range(len(q)):
        for p in range(q.shape[1]):
            found[t, p] = (curves[p, 0] * q[t, p] + curves[p, 1]) * q[t, p] + curves[p, 2]
    return found


@njit(nogil=True, cache=True)
def _logistic(values: Floats, n_first: int, weight: Floats) -> tuple[float, float]:
    """Return slope and constant of the logistic function of largest likelihood, weights adding up to 1.

    Platt's method: Newton steps, halved until the likelihood grows; his targets, (n + 1)/(n + 2) for a class
    of n frames and its like, keep separable outputs finite. A falling slope tells nothing: it is 0.
    """
    n = len(values)
    high, low = (n_first + 1.0) / (n_first + 2.0), 1.0 / (n - n_first + 2.0)
    slope, constant = 1.0, 0.0
    loss = _logistic_loss(values, n_first, weight, (high, low), slope, constant)
    for _ in range(_STEPS):
        g0, g1, h00, h01, h11 = 0.0, 0.0, _SMALLEST_CURVATURE, 0.0, _SMALLEST_CURVATURE
        for r in range(n):
            target = high if r < n_first else low
            p = 1.0 / (1.0 + np.exp(-(slope * values[r] + constant)))
            error, curvature = weight[r] * (p - target), weight[r] * p * (1.0 - p)
            g0 += error * values[r]
            g1 += error
            h00 += curvature * values[r] ** 2
            h01 += curvature * values[r]
            h11 += curvature
        determinant = h00 * h11 - h01 * h01
        if not determinant > 0.0:
            break
        step_slope = (h11 * g0 - h01 * g1) / determinant
        step_constant = (h00 * g1 - h01 * g0) / determinant
        length = 1.0
        while length > 1e-6:
            new = slope - length * step_slope, constant - length * step_constant
            new_loss = _logistic_loss(values, n_first, weight, (high, low), new[0], new[1])
            if new_loss <= loss:
                break
            length *= 0.5
        else:
            break
        gain, loss = loss - new_loss, new_loss
        slope, constant = new
        if gain < _ENOUGH:
            break
    return (slope, constant) if slope > 0.0 else (0.0, 0.0)


@njit(nogil=True, cache=True)
def _logistic_loss(
    values: Floats,
    n_first: int,
    weight: Floats,
    targets: tuple[float, float],
    slope: float,
    constant: float,
) -> float:
    total = 0.0
    for r in range(len(values)):
        target = targets[0] if r < n_first else targets[1]
        d = slope * values[r] + constant
        total += weight[r] * (max(d, 0.0) - target * d + np.log1p(np.exp(-abs(d))))
    return total
