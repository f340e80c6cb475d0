"""Gaussians of the outputs and their posterior against scipy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from acoustic.discriminants import GaussianCurve
from acoustic.pairs.calibration import MonotoneGaussianCurve, agreeing_posteriors


def outputs_and_classes(seed=0, n_points=200):
    rng = np.random.default_rng(seed)
    positive = rng.random(n_points) < 0.3
    return np.where(positive, rng.normal(1.0, 0.4, n_points), rng.normal(-1.0, 0.9, n_points)), positive


def test_posterior_is_bayes_rule_on_normal_densities():
    outputs, positive = outputs_and_classes()
    curve = GaussianCurve().fit(outputs, positive)
    grid = np.linspace(-4.0, 4.0, 33)
    joint = [
        mask.mean() * norm.pdf(grid, outputs[mask].mean(), outputs[mask].std())
        for mask in (~positive, positive)
    ]
    assert_allclose(curve.predict_proba(grid), joint[1] / (joint[0] + joint[1]), rtol=1e-12, atol=1e-15)
    assert_allclose(curve.log_odds(grid), np.log(joint[1]) - np.log(joint[0]), rtol=1e-11, atol=1e-11)


def test_posterior_keeps_the_shape_of_the_outputs():
    curve = GaussianCurve().fit(*outputs_and_classes())
    grid = np.linspace(-2.0, 2.0, 6)
    assert_array_equal(curve.predict_proba(grid.reshape(2, 3)), curve.predict_proba(grid).reshape(2, 3))


def test_posterior_does_not_change_when_the_outputs_are_scaled_and_shifted():
    outputs, positive = outputs_and_classes()
    plain = GaussianCurve().fit(outputs, positive).log_odds(outputs)
    scaled = GaussianCurve().fit(7.0 * outputs - 3.0, positive).log_odds(7.0 * outputs - 3.0)
    assert_allclose(scaled, plain, rtol=1e-9, atol=1e-9)


def test_a_weight_counts_as_so_many_outputs():
    outputs, positive = outputs_and_classes(n_points=40)
    weight = np.random.default_rng(1).integers(0, 4, 40)
    weighted = GaussianCurve().fit(outputs, positive, weight)
    repeated = GaussianCurve().fit(outputs.repeat(weight), positive.repeat(weight))
    for name in ("means_", "variances_", "log_priors_"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12, atol=1e-14)


def test_moments_give_the_curve_of_the_outputs():
    outputs, positive = outputs_and_classes()
    groups = (outputs[~positive], outputs[positive])
    found = GaussianCurve.from_moments(
        [g.mean() for g in groups], [g.var() for g in groups], [len(g) for g in groups]
    )
    expected = GaussianCurve().fit(outputs, positive).log_odds(outputs)
    assert_allclose(found.log_odds(outputs), expected, rtol=1e-12, atol=1e-12)


def test_a_class_without_outputs_so_far_has_no_probability():
    curve = GaussianCurve.from_moments([-1.0, 0.0], [1.0, 0.0], [5.0, 0.0])
    assert_array_equal(curve.predict_proba([-1.0, 0.0, 50.0]), [0.0, 0.0, 0.0])


def test_outputs_without_variance_have_finite_densities():
    curve = GaussianCurve().fit([-1.0, -1.0, 1.0, 1.0], [False, False, True, True])
    log_odds = curve.log_odds([-1e6, -1.0, -1e-9, 1e-9, 1.0, 1e6])
    assert np.isfinite(log_odds).all()
    assert_array_equal(np.sign(log_odds), [-1, -1, -1, 1, 1, 1])


@pytest.mark.parametrize("value", [0.0, 3.0, 1e-300])
def test_constant_outputs_leave_the_priors(value):
    curve = GaussianCurve().fit(np.full(4, value), [False, False, False, True])
    assert_allclose(curve.predict_proba([value, 1e6, -1e30]), 0.25, rtol=1e-12, atol=0)


def test_outputs_that_point_the_wrong_way_leave_the_priors():
    # The mean of the other targets, as the left-out outputs of a model that learned nothing.
    targets = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    left_out = (targets.sum() - targets) / 4
    assert_allclose(
        GaussianCurve().fit(left_out, targets > 0).predict_proba(left_out), 0.4, rtol=1e-12, atol=0
    )


@pytest.mark.parametrize("positive", [[True, True], [False, False]])
def test_one_class_is_refused(positive):
    with pytest.raises(ValueError, match="a class has no outputs"):
        GaussianCurve().fit([0.1, 0.2], positive)


def test_a_class_with_weights_of_zero_is_refused():
    with pytest.raises(ValueError, match="a class has no outputs"):
        GaussianCurve().fit([0.1, 0.2], [False, True], [1.0, 0.0])


@pytest.mark.parametrize("variances", [(0.3, 2.0), (2.0, 0.3), (1.0, 1.0)])
def test_monotone_log_odds_are_bayes_rule_up_to_the_vertex_and_held_beyond(variances):
    moments = [-1.0, 1.0], variances, [30.0, 10.0]
    bayes, monotone = (P.from_moments(*moments) for P in (GaussianCurve, MonotoneGaussianCurve))
    grid = np.linspace(-20.0, 20.0, 4001)
    d, held = bayes.log_odds(grid), monotone.log_odds(grid)
    assert (np.diff(held) >= 0).all()
    rises = np.gradient(d) > 0.01 * np.ptp(grid) / len(grid)
    assert_allclose(held[rises], d[rises], rtol=1e-12, atol=1e-12)
    turning = d.min() if variances[0] < variances[1] else d.max()
    if variances[0] != variances[1]:
        assert_allclose(held[~rises], turning, rtol=0, atol=1e-3)
    assert isinstance(monotone, MonotoneGaussianCurve)


def test_monotone_log_odds_of_outputs_that_point_the_wrong_way_are_those_of_the_priors():
    found = MonotoneGaussianCurve.from_moments([1.0, -1.0], [1.0, 2.0], [3.0, 1.0])
    assert_allclose(found.predict_proba([-5.0, 0.0, 5.0]), 0.25, rtol=1e-12, atol=0)


def test_posteriors_that_agree_with_the_prediction_are_normalised():
    posteriors = np.array([[0.2, 0.6], [0.3, 0.1]])
    found = agreeing_posteriors(posteriors, np.array([1, 0]))
    assert_allclose(found, [[0.25, 0.75], [0.75, 0.25]], rtol=1e-15, atol=0)


def test_posterior_of_the_predicted_class_is_raised_to_the_largest():
    posteriors = np.array([[0.7, 0.1, 0.2], [0.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    codes = np.array([2, 1, 1])
    found = agreeing_posteriors(posteriors, codes)
    assert_array_equal(found.argmax(axis=1), codes)
    assert_allclose(found, [[7 / 15, 1 / 15, 7 / 15], [0, 1, 0], [0.5, 0.5, 0]], rtol=1e-8, atol=1e-15)
    assert_array_equal(posteriors[0], [0.7, 0.1, 0.2])


def test_outputs_that_are_not_finite_are_an_error():
    with pytest.raises(ValueError, match="1 outputs are not finite"):
        GaussianCurve().fit([1.0, np.nan, 2.0], [False, True, True])
