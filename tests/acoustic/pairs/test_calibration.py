"""Curves from outputs to log odds against scipy's densities and minimiser."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import norm

from acoustic.pairs.calibration import (
    GaussianCurve,
    bayes_curves,
    fit_curve,
    quadratics,
)

GRID = np.linspace(-2, 2, 11)


def outputs(seed=0, n=(80, 50)):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0.6, 0.4, n[0]), rng.normal(-0.5, 0.7, n[1])])


def test_gaussian_curve_is_bayes_rule():
    q = outputs()
    first, second = q[:80], q[80:]
    expected = (
        norm.logpdf(GRID, first.mean(), first.std())
        - norm.logpdf(GRID, second.mean(), second.std())
        + np.log(300 / 100)
    )
    curve = fit_curve(q, 80, (300.0, 100.0), "gaussian")
    assert_allclose(np.polyval(curve, GRID), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "weight", [None, np.random.default_rng(1).uniform(0.5, 2.0, 130)], ids=["equal", "some"]
)
def test_logistic_curve_minimises_platts_loss(weight):
    q, is_first = outputs(), np.arange(130) < 80
    target = np.where(is_first, 81 / 82, 1 / 52)
    share = np.ones(130) if weight is None else weight.copy()
    for own in (is_first, ~is_first):
        share[own] *= 0.5 / share[own].sum()

    def loss(w):
        d = w[0] * q + w[1]
        return float(share @ (np.logaddexp(0, d) - target * d))

    best = minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-14}).x
    curve = fit_curve(q, 80, (300.0, 100.0), "logistic", weight)
    assert_allclose(curve, [0.0, best[0], best[1] + np.log(3)], rtol=1e-4, atol=1e-5)


def test_a_weight_of_two_is_an_output_twice():
    q, weight = outputs(), 1.0 + (np.arange(130) % 3 == 0)
    twice = np.repeat(q, weight.astype(int))
    expected = fit_curve(twice, int(weight[:80].sum()), (3.0, 1.0), "gaussian")
    assert_allclose(fit_curve(q, 80, (3.0, 1.0), "gaussian", weight), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", ["gaussian", "logistic"])
def test_equal_weights_are_none(name):
    expected = fit_curve(outputs(), 80, (3.0, 1.0), name)
    found = fit_curve(outputs(), 80, (3.0, 1.0), name, np.full(130, 7.0))
    assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_bayes_curves_are_the_log_odds_of_gaussian_curves_also_the_wrong_way_round():
    rng = np.random.default_rng(2)
    means, variances = rng.normal(size=(20, 2)), rng.uniform(0.1, 2.0, (20, 2))
    counts = rng.uniform(1.0, 9.0, (20, 2))
    assert 0 < np.sum(means[:, 0] < means[:, 1]) < 20
    for curve, *moments in zip(bayes_curves(means, variances, counts), means, variances, counts, strict=True):
        projection = GaussianCurve.from_moments(*(m[::-1] for m in moments))
        assert_allclose(np.polyval(curve, GRID), projection.log_odds(GRID), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["gaussian", "logistic"])
@pytest.mark.parametrize(
    "q",
    [np.repeat([1.0, -1.0], 20), np.repeat([-1.0, 1.0], 20), np.zeros(40), np.repeat([5e3, -5e3], 20)],
    ids=["separable", "wrong way round", "constant", "far out"],
)
def test_finite_whatever_comes(name, q):
    curve = fit_curve(q, 20, (2.0, 1.0), name)
    assert np.isfinite(curve).all()
    d = np.polyval(curve, np.clip(q, -3, 3))
    if q[0] > q[-1]:
        assert (d[:20] > 1).all()
        assert (d[20:] < -1).all()
    else:
        assert_allclose(d, np.log(2), rtol=0, atol=1e-6)


def test_quadratics_are_the_polynomials():
    rng = np.random.default_rng(3)
    q, curves = rng.normal(size=(7, 4)), rng.normal(size=(4, 3))
    expected = np.column_stack([np.polyval(c, v) for c, v in zip(curves, q.T, strict=True)])
    assert_allclose(quadratics(q, curves), expected, rtol=1e-12, atol=1e-12)
