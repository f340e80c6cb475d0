"""Calibration: from a discriminant's output to the log odds of its two classes.

The log odds are a quadratic in the output. Bayes' rule on one Gaussian for each class gives such a quadratic
(thesis (4.7), `GaussianCurve`); Platt's logistic function gives one whose square term is 0.

Axes: T frames, P pairs, M outputs of a pair at training frames, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from acoustic.errors import ParameterError
from acoustic.kernels.ridge import FARTHEST
from foundation.arrays import Floats, Longs, Reals
from foundation.compiled import njit
from foundation.records import check_choices

CurveName = Literal["gaussian", "logistic"]
OutputsName = Literal["fitted", "loo", "held-out"]

_VARIANCE_SHARE = 1e-9  # least variance of a class, as a share of the squared distance of the means
_LEAST_DISTANCE = 1e-50  # least distance of the means in that rule, so that constant outputs have a density
_STRAIGHT = 1e-12  # curvature, in units of the larger precision, below which the log odds are a line
_LEAD = 1e-9  # least share by which the posterior of the predicted class exceeds the others
_STEPS = 30  # of Newton's method at most, by feel: it ends earlier but for outputs that tell nothing
_ENOUGH = 1e-9  # gain in log-likelihood below which the Newton steps end; by feel
_LEAST_STEP = 1e-6  # share of a Newton step below which no shorter one is tried; by feel
_SMALLEST_CURVATURE = 1e-12  # added to the Hessian, which is singular where all outputs are equal


@dataclass(frozen=True)
class Calibration:
    """The rule by which curves from outputs to log odds are fitted; it is the same for all ways of training.

    Attributes
    ----------
    outputs : outputs at the training frames that the curves are fitted to: ``fitted`` are outputs of the
        machine that learned these frames (thesis; they lie nearer to the targets than outputs at new frames);
        ``loo`` are leave-one-out outputs, which least squares gives at no extra cost; ``held-out`` are
        outputs of a machine trained on the other folds of the recordings
    curve : shape of the curves: ``gaussian`` is Bayes' rule on one Gaussian per class (thesis (4.7)),
        ``logistic`` is Platt's logistic function
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
    outputs : (M,) outputs at the frames of the first class, then at those of the second
    n_first : number of frames of the first class
    counts : total numbers of frames of the two classes; their ratio is the prior odds
    name : ``gaussian``, or ``logistic`` with the two classes weighted equally
    weight : (M,) weights of the frames within their class; equal by default
    reach : outputs are clipped to ±reach. The leave-one-out output of a machine with targets ±1 may miss by
        thousands at a centre whose column is almost 0 at all other frames. Support vector machines have no
        such targets: give infinity
    """
    values = np.clip(outputs, -reach, reach, dtype=np.float64)
    is_first = np.arange(len(values)) < n_first
    if name == "logistic":
        weight = np.ones(len(values)) if weight is None else weight
        of_class = np.where(is_first, weight[:n_first].sum(), weight[n_first:].sum())
        slope, constant = _logistic(values, n_first, 0.5 * weight / of_class)
        return np.array([0.0, slope, constant + np.log(counts[0] / counts[1])])
    curve = GaussianCurve().fit(values, is_first, weight)  # its order is negative, positive
    return bayes_curves(curve.means_[::-1], curve.variances_[::-1], counts)


def bayes_curves(means: ArrayLike, variances: ArrayLike, counts: ArrayLike) -> Floats:
    """Return Bayes' rule on Gaussians as quadratics in the outputs, (..., 3); thesis (4.7).

    Where the mean of the first class is not above that of the second, the outputs tell nothing, as in
    `GaussianCurve.log_odds`, and the log odds are those of the priors.

    Parameters
    ----------
    means : (..., 2) mean output of the first class, whose targets are 1, and of the second
    variances : (..., 2) variances of the outputs of the two classes
    counts : (..., 2) total numbers of frames of the two classes; their ratio is the prior odds
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


def _logistic(values: Floats, n_first: int, weight: Floats) -> tuple[float, float]:
    """Return slope and constant of the logistic function of largest likelihood; the weights add up to 1.

    Platt's method makes Newton steps, halved until the likelihood grows. His targets, (n + 1)/(n + 2) for a
    first class of n frames and 1/(n + 2) for a second class of n frames, keep the solution finite where the
    outputs separate the classes. If the slope is negative the outputs tell nothing: slope and constant are 0.
    """
    n = len(values)
    targets = np.full(n, 1.0 / (n - n_first + 2.0))
    targets[:n_first] = (n_first + 1.0) / (n_first + 2.0)
    columns = np.stack([values, np.ones(n)])
    found = np.array([1.0, 0.0])  # slope and constant

    def tried(found: Floats) -> tuple[float, Floats]:
        """Return the mean of −log likelihood and the probabilities (M,) of the first class."""
        odds = found @ columns
        shrunk = np.exp(-np.abs(odds))
        losses = np.maximum(odds, 0.0) - targets * odds + np.log(1.0 + shrunk)
        return float(weight @ losses), np.where(odds >= 0, 1.0, shrunk) / (1.0 + shrunk)

    loss, p = tried(found)
    for _ in range(_STEPS):
        gradient = columns @ (weight * (p - targets))
        curvature = (columns * (weight * p * (1.0 - p))) @ columns.T
        curvature[[0, 1], [0, 1]] += _SMALLEST_CURVATURE
        (h00, h01), (_, h11) = curvature
        determinant = h00 * h11 - h01 * h01
        if not determinant > 0.0:
            break
        direction = np.array([h11 * gradient[0] - h01 * gradient[1], h00 * gradient[1] - h01 * gradient[0]])
        length = 1.0
        while length > _LEAST_STEP:
            new = found - length * direction / determinant
            new_loss, new_p = tried(new)
            if new_loss <= loss:
                break
            length *= 0.5
        else:
            break
        gain = loss - new_loss
        found, loss, p = new, new_loss, new_p
        if gain < _ENOUGH:
            break
    slope, constant = found.tolist()
    return (slope, constant) if slope > 0.0 else (0.0, 0.0)


class GaussianCurve:
    """Two Gaussians on the real line, one for each class.

    Attributes
    ----------
    means_ : (2,) mean output of the negative and of the positive class
    variances_ : (2,) variances of the outputs of both classes
    log_priors_ : (2,) log relative frequencies of both classes
    """

    means_: Floats
    variances_: Floats
    log_priors_: Floats

    def fit(self, outputs: ArrayLike, is_positive: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from outputs (M,) (fitted, leave-one-out or held-out), classes (M,) and weights (M,)."""
        values, positive = np.asarray(outputs, dtype=np.float64), np.asarray(is_positive, dtype=bool)
        weight = (
            np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        )
        if not np.isfinite(values).all():
            n_bad = np.sum(~np.isfinite(values))
            raise ValueError(f"GaussianCurve: {n_bad} outputs are not finite, expected none; leave them out")
        counts = np.array([weight[~positive].sum(), weight[positive].sum()])
        if not counts.all():
            raise ValueError(
                "GaussianCurve: a class has no outputs, expected some of both; give both classes"
            )
        groups = [(values[rows], weight[rows]) for rows in (~positive, positive)]
        means = np.array([np.average(v, weights=w) for v, w in groups])
        variances = [np.average((v - m) ** 2, weights=w) for m, (v, w) in zip(means, groups, strict=True)]
        return self._set(means, np.array(variances), counts)

    @classmethod
    def from_moments(cls, means: ArrayLike, variances: ArrayLike, counts: ArrayLike) -> Self:
        """Return the curve with these moments and numbers of outputs (2,); a class may have none yet."""
        return cls()._set(*(np.asarray(a, dtype=np.float64) for a in (means, variances, counts)))

    def _set(self, means: Floats, variances: Floats, counts: Floats) -> Self:
        distance = max(float(np.ptp(means)), _LEAST_DISTANCE)
        self.means_ = means
        self.variances_ = np.maximum(variances, _VARIANCE_SHARE * distance**2)
        with np.errstate(divide="ignore"):  # log 0 = −∞ is intended for a class without outputs
            self.log_priors_ = np.log(counts / counts.sum())
        return self

    def log_odds(self, outputs: ArrayLike) -> Floats:
        """Return d = log N(q; μ₊, σ₊²) + log P₊ − log N(q; μ₋, σ₋²) − log P₋, shape of the outputs.

        If μ₊ ≤ μ₋, as with the leave-one-out outputs of a constant model, the outputs tell nothing and d is
        the log odds of the priors.
        """
        q = np.asarray(outputs, dtype=np.float64)[..., None]
        logs = -0.5 * (np.log(2 * np.pi * self.variances_) + (q - self.means_) ** 2 / self.variances_)
        if self.means_[1] <= self.means_[0]:
            logs[:] = 0.0
        joint = logs + self.log_priors_  # thesis (4.7)
        return np.asarray(joint[..., 1] - joint[..., 0])

    def predict_proba(self, outputs: ArrayLike) -> Floats:
        """Return P(positive | output), shape of the outputs."""
        from scipy.special import expit  # a large package, of which decoding needs nothing

        return np.asarray(expit(self.log_odds(outputs)))


class MonotoneGaussianCurve(GaussianCurve):
    """`GaussianCurve` whose log odds never fall while the output rises; a departure from thesis (4.7).

    Where the variances differ, d(q) is a parabola. Beyond its vertex the odds would turn back, and the most
    extreme outputs of a class would get small probabilities. There d keeps its value at the vertex.
    """

    def log_odds(self, outputs: ArrayLike) -> Floats:
        """Return d of the outputs, constant beyond its vertex; shape of the outputs."""
        return super().log_odds(self._held(np.asarray(outputs, dtype=np.float64)))

    def _held(self, q: Floats) -> Floats:
        precision = 1.0 / self.variances_
        curvature, slope = precision[0] - precision[1], float(np.diff(self.means_ * precision)[0])
        if abs(curvature) <= _STRAIGHT * precision.max():
            return q
        vertex = -slope / curvature  # d' = curvature q + slope
        return np.asarray(np.maximum(q, vertex) if curvature > 0 else np.minimum(q, vertex))


def agreeing_posteriors(posteriors: Floats, codes: Longs) -> Floats:
    """Return normalised posteriors (M, K) in which the predicted class has the largest posterior.

    The decision boundary of the Gaussians may differ from that of the outputs, by which classes are
    predicted. Where the two disagree, the posterior of the predicted class ``codes`` (M,) is raised above the
    largest.
    """
    raised, rows = posteriors.copy(), np.arange(len(posteriors))
    top = np.maximum(posteriors.max(axis=1), np.finfo(np.float64).tiny)
    lags = posteriors.argmax(axis=1) != codes
    raised[rows[lags], codes[lags]] = top[lags] * (1.0 + _LEAD)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
