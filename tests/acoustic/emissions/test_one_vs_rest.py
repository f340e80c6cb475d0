"""One discriminant a class against a loop over frames and centres."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.emissions.emission_model import StatePriors
from acoustic.emissions.one_vs_rest import OneVsRestModel

SIGMA, N_CLASSES = 1.7, 3
STATES = StatePriors(np.array([0, 2, 1, -1], dtype=np.int32), np.log([0.2, 0.5, 0.3]))


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    return OneVsRestModel(
        SIGMA,
        rng.normal(size=(20, 4)).astype(np.float32),
        rng.normal(size=(20, N_CLASSES)).astype(np.float32),
        rng.normal(size=N_CLASSES),
        np.column_stack([rng.normal(size=(N_CLASSES, 1)) * 0.1, rng.uniform(0.5, 2, (N_CLASSES, 2))]),
        STATES,
    )


def frames(n, seed=1):
    return np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)


def outputs_by_a_loop(model, x):
    found = np.empty((len(x), N_CLASSES))
    for t, frame in enumerate(x.astype(np.float64)):
        kernel = [np.exp(-((frame - c) ** 2).sum() / (2 * SIGMA**2)) for c in model.centers]
        found[t] = np.array(kernel) @ model.weights + model.biases
    return found


@pytest.mark.parametrize("n", [1, 255, 256, 600])
def test_outputs(model, n):
    assert_allclose(model.outputs(frames(n)), outputs_by_a_loop(model, frames(n)), rtol=0, atol=2e-5)


def test_posteriors_are_in_proportion_to_the_logistic_functions(model):
    x = frames(50)
    q = outputs_by_a_loop(model, x)
    square, slope, constant = model.curves.T
    share = 1 / (1 + np.exp(-(square * q**2 + slope * q + constant)))
    expected = share / share.sum(axis=1, keepdims=True)
    assert_allclose(np.exp(model.log_posteriors(x)), expected, rtol=1e-3, atol=1e-6)


def test_scores_are_those_of_the_states(model):
    x = frames(50)
    assert model.n_states == 4
    assert_array_equal(model.log_likelihoods(x), STATES.scores(model.log_posteriors(x)))


def test_log_odds_that_leave_nothing_stay_finite(model):
    sure = OneVsRestModel(
        SIGMA, model.centers, model.weights, model.biases, model.curves * 0 + [0, 0, -800], STATES
    )
    assert_allclose(np.exp(sure.log_posteriors(frames(5))), 1 / 3, rtol=1e-12, atol=0)


def test_no_frames(model):
    assert_array_equal(model.log_likelihoods(frames(0)), np.empty((0, 4), dtype=np.float32), strict=True)
