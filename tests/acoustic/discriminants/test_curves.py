"""Curves as estimators keep them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from acoustic.discriminants.base import (
    QuadraticCurve,
    coefficients_of,
    logistic_curve,
    quadratic_curves,
)
from acoustic.pairs.calibration import quadratics


def outputs(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    is_positive = rng.random(n) < 0.3
    return np.where(is_positive, 0.5, -0.5) + rng.normal(size=n), is_positive


def test_quadratic_is_what_pairs_compute():
    curves = np.array([[0.3, 2.0, -1.0], [0.0, -1.0, 0.5]])
    q = np.random.default_rng(0).normal(size=(7, 2))
    found = np.column_stack(
        [c.log_odds(column) for c, column in zip(quadratic_curves(curves), q.T, strict=True)]
    )
    assert_allclose(found, quadratics(q, curves), rtol=1e-14, atol=1e-14)
    assert_array_equal(coefficients_of(quadratic_curves(curves)), curves)


def test_probability_is_the_logistic_function_of_the_log_odds():
    q = np.array([-800.0, 0.0, 1.0, 800.0])
    with np.errstate(over="ignore"):
        expected = 1.0 / (1.0 + np.exp(-(2.0 * q - 1.0)))
    assert_allclose(QuadraticCurve(0.0, 2.0, -1.0).predict_proba(q), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_logistic_is_the_likeliest_with_classes_of_equal_weight_and_then_their_prior(is_weighted):
    q, is_positive = outputs()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(q)) if is_weighted else None
    found = logistic_curve(q, is_positive, weight)
    w = np.ones(len(q)) if weight is None else weight
    sums = w[~is_positive].sum(), w[is_positive].sum()
    balanced = w / np.where(is_positive, sums[1], sums[0]) * len(q)
    reference = LogisticRegression(C=1e6, tol=1e-10).fit(np.clip(q, -3, 3)[:, None], is_positive, balanced)
    assert found.square == 0.0
    # Platt's targets differ from 1 and 0 by a thousandth here
    assert_allclose(found.slope, reference.coef_.item(), rtol=1e-2, atol=0)
    expected = reference.intercept_.item() + np.log(sums[1] / sums[0])
    assert_allclose(found.constant, expected, rtol=0, atol=1e-2)
