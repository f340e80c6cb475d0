"""Class-conditional Gaussians of a discriminant's output, and the posterior by Bayes' rule; thesis (4.7).

Axes: M outputs at training points, K classes.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from foundation.arrays import Floats, Longs

_VARIANCE_SHARE = 1e-9  # least variance of a class, as a share of the squared distance of the means
_LEAST_DISTANCE = 1e-50  # least distance of the means in that rule, so that constant outputs have a density
_STRAIGHT = 1e-12  # curvature, in units of the larger precision, below which the log odds are a line
_LEAD = 1e-9  # least share by which the posterior of the predicted class exceeds the others


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
