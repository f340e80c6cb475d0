"""Class-conditional Gaussians of a discriminant's output, and the posterior by Bayes' rule; thesis (4.7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

_VARIANCE_SHARE = 1e-9  # of the squared distance of the means: the least variance of a class
_LEAST_DISTANCE = 1e-50  # of the means, for that purpose: constant outputs have a density too


class GaussianProjection:
    """Two Gaussians on the real line, one a class.

    Attributes
    ----------
    means_ : (2,) of the negative and the positive class
    variances_ : (2,)
    log_priors_ : (2,) log relative frequencies
    """

    means_: Floats
    variances_: Floats
    log_priors_: Floats

    def fit(
        self, outputs: ArrayLike, is_positive: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> GaussianProjection:
        """Learn from outputs (M,) (fitted, leave-one-out or held-out), their classes and weights (M,)."""
        values, positive = np.asarray(outputs, dtype=np.float64), np.asarray(is_positive, dtype=bool)
        weight = (
            np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        )
        counts = np.array([weight[~positive].sum(), weight[positive].sum()])
        if not counts.all():
            raise ValueError(
                "GaussianProjection: a class has no outputs, expected some of both; give both classes"
            )
        groups = [(values[rows], weight[rows]) for rows in (~positive, positive)]
        means = np.array([np.average(v, weights=w) for v, w in groups])
        variances = [np.average((v - m) ** 2, weights=w) for m, (v, w) in zip(means, groups, strict=True)]
        return self._set(means, np.array(variances), counts)

    @classmethod
    def from_moments(cls, means: ArrayLike, variances: ArrayLike, counts: ArrayLike) -> GaussianProjection:
        """Return the projection with these moments and numbers of outputs (2,); a class may have none yet."""
        return cls()._set(*(np.asarray(a, dtype=np.float64) for a in (means, variances, counts)))

    def _set(self, means: Floats, variances: Floats, counts: Floats) -> GaussianProjection:
        distance = max(float(np.ptp(means)), _LEAST_DISTANCE)
        self.means_ = means
        self.variances_ = np.maximum(variances, _VARIANCE_SHARE * distance**2)
        with np.errstate(divide="ignore"):  # log 0 = −∞ of a class without outputs is meant
            self.log_priors_ = np.log(counts / counts.sum())
        return self

    def log_odds(self, outputs: ArrayLike) -> Floats:
        """Return d = log N(q; μ₊, σ₊²) + log P₊ − log N(q; μ₋, σ₋²) − log P₋, shape of the outputs.

        Outputs that point the wrong way, μ₊ ≤ μ₋, tell nothing (left-out outputs of a constant model do):
        d is that of the priors.
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
