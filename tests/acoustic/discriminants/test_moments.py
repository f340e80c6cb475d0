"""Moments of classes against numpy, and of batches against those of all points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from acoustic.discriminants.linear import (
    MSEClassifier,
    class_moments,
    linear_curves,
    merged_moments,
)


def blobs(n_classes=2, n_points=120, n_features=4, distance=2.0, seed=0):
    """Return correlated points and unequally frequent labels."""
    rng = np.random.default_rng(seed)
    labels = np.minimum(rng.geometric(0.5, n_points) - 1, n_classes - 1)
    centers = distance * rng.normal(size=(n_classes, n_features))
    return (rng.normal(size=(n_points, n_features)) + centers[labels]) @ rng.normal(
        size=(n_features,) * 2
    ), labels


def test_moments_of_batches_are_those_of_all_points():
    x, y = blobs(4)
    whole = class_moments(x, y, 4)
    parts = class_moments(x[:7], y[:7], 4)
    for rows in (slice(7, 50), slice(50, 120)):
        parts = merged_moments(parts, class_moments(x[rows], y[rows], 4))
    for found, expected in zip(parts, whole, strict=True):
        assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert_allclose(
        whole.scatters[0], np.cov(x[y == 0].T, bias=True) * (y == 0).sum(), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_curves_of_moments_are_those_of_the_outputs(n_classes):
    x, y = blobs(n_classes)
    model = MSEClassifier().fit(x, y)
    found = linear_curves(class_moments(x, y, n_classes), model.coef_, model.intercept_)
    for curve, expected in zip(found, model.curves_, strict=True):
        assert_allclose(curve.means_, expected.means_, rtol=1e-9, atol=1e-12)
        assert_allclose(curve.variances_, expected.variances_, rtol=1e-9, atol=1e-12)
        assert_allclose(curve.log_priors_, expected.log_priors_, rtol=1e-12, atol=0)
