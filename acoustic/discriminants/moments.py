"""Weighted moments of classes, their sums over batches, and the moments of linear outputs.

Axes: M points, D features, R columns of outputs, K classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acoustic.pairs.gaussian_outputs import MonotoneGaussianCurve
from foundation.arrays import Floats, Longs


class ClassMoments(NamedTuple):
    """Sum of weights (K,), mean (K, D) and scatter (K, D, D) of the points of each class."""

    counts: Floats
    means: Floats
    scatters: Floats


def class_moments(x: Floats, codes: Longs, n_classes: int, weight: Floats | None = None) -> ClassMoments:
    """Return the moments of points (M, D) of the classes ``codes`` (M,); thesis (3.1), (3.7)."""
    w, n_features = np.ones(len(x)) if weight is None else weight, x.shape[1]
    moments = ClassMoments(
        np.zeros(n_classes), np.zeros((n_classes, n_features)), np.zeros((n_classes, n_features, n_features))
    )
    for c in np.unique(codes):
        points, weights = x[codes == c], w[codes == c]
        moments.counts[c] = weights.sum()
        moments.means[c] = np.average(points, axis=0, weights=weights)
        deviations = points - moments.means[c]
        moments.scatters[c] = deviations.T @ (deviations * weights[:, None])
    return moments


def merged_moments(one: ClassMoments, other: ClassMoments) -> ClassMoments:
    """Return the moments of the points of both together."""
    counts = one.counts + other.counts
    share = np.divide(other.counts, counts, out=np.zeros_like(counts), where=counts > 0)[:, None]
    shift = other.means - one.means
    between = (one.counts[:, None] * share * shift)[:, :, None] * shift[:, None, :]
    return ClassMoments(counts, one.means + share * shift, one.scatters + other.scatters + between)


def linear_curves(moments: ClassMoments, coef: Floats, intercept: Floats) -> list[MonotoneGaussianCurve]:
    """Return the Gaussian curve of each output wᵀx + b, one class versus the rest, from moments."""
    counts, (n_columns, _) = moments.counts, coef.shape
    outputs = moments.means @ coef.T + intercept
    scatters = np.einsum("rd,cde,re->cr", coef, moments.scatters, coef, optimize=True)
    found = []
    for r in range(n_columns):
        is_positive = np.arange(len(counts)) == (1 if n_columns == 1 else r)
        shares = np.array([~is_positive, is_positive]) * counts
        totals = shares.sum(axis=1)
        divisor = np.maximum(totals, np.finfo(float).tiny)
        means = shares @ outputs[:, r] / divisor
        deviations = (outputs[:, r] - means[:, None]) ** 2
        inside = np.array([~is_positive, is_positive]) @ scatters[:, r]
        variances = (inside + np.sum(shares * deviations, axis=1)) / divisor
        found.append(MonotoneGaussianCurve.from_moments(means, variances, totals))
    return found
