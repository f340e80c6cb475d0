"""From posteriors to scores, by Bayes' rule and by a loop."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.emissions.emission_model import StatePriors

CLASS_OF_STATE = np.array([2, 0, -1, 1, 0], dtype=np.int32)
LOG_PRIORS = np.log([0.5, 0.3, 0.2])


def log_posteriors(n=30, seed=0):
    return np.log(np.random.default_rng(seed).dirichlet(np.ones(3), n))


def test_with_the_whole_prior_taken_off_it_is_bayes_rule():
    # p(x | k) = P(k | x) p(x) / P(k): what is left of p(x) is a constant a frame.
    rng = np.random.default_rng(1)
    likelihoods = rng.uniform(0.1, 2.0, (30, 3))
    joint = likelihoods * np.exp(LOG_PRIORS)
    states = StatePriors(np.arange(3, dtype=np.int32), LOG_PRIORS, prior_scale=1.0)
    found = states.scores(np.log(joint / joint.sum(axis=1, keepdims=True)))
    offsets = found - np.log(likelihoods)
    assert_allclose(offsets, np.broadcast_to(offsets[:, :1], offsets.shape), rtol=0, atol=1e-5)


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("floor", [-40.0, -1.0, None])
def test_every_state_by_a_loop(scale, floor):
    posteriors = log_posteriors()
    found = StatePriors(CLASS_OF_STATE, LOG_PRIORS, scale, floor).scores(posteriors)
    assert found.dtype == np.float32
    for t, row in enumerate(posteriors):
        for state, k in enumerate(CLASS_OF_STATE):
            if k >= 0:
                expected = (row[k] if floor is None else max(row[k], floor)) - scale * LOG_PRIORS[k]
            else:  # as if its posterior were the rarest class's prior
                expected = np.log(0.2) - scale * np.log(0.2)
            assert_allclose(found[t, state], expected, rtol=1e-6, atol=1e-6)


def test_an_impossible_class_gets_the_floor():
    found = StatePriors(CLASS_OF_STATE, LOG_PRIORS, 0.0, -7.0).scores(np.array([[-np.inf, 0.0, -np.inf]]))
    assert_array_equal(found[0, [0, 1, 3, 4]], np.float32([-7.0, -7.0, 0.0, -7.0]))


def test_no_frames():
    found = StatePriors(CLASS_OF_STATE, LOG_PRIORS).scores(np.empty((0, 3)))
    assert_array_equal(found, np.empty((0, 5), dtype=np.float32), strict=True)
