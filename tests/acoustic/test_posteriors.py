"""Posteriors of states from scores and priors."""

from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose

from acoustic.emissions.emission_model import StatePriors
from acoustic.model import log_posteriors


def test_likelihoods_times_the_share_of_the_frames() -> None:
    rng = np.random.default_rng(0)
    scores, occupancy = rng.normal(size=(5, 3)), np.array([6.0, 0.0, 3.0])
    model = SimpleNamespace(emissions=SimpleNamespace(), occupancy=occupancy)
    joint = np.exp(scores) * [0.6, 0.1, 0.3]  # a state without frames counts as one frame
    found = log_posteriors(scores, model)  # type: ignore[arg-type]
    assert_allclose(np.exp(found), joint / joint.sum(axis=1, keepdims=True), rtol=1e-5, atol=0)


def test_posteriors_of_classes_come_back_from_their_scores() -> None:
    rng = np.random.default_rng(1)
    posteriors = rng.dirichlet(np.ones(3), size=4)
    states = StatePriors(np.array([2, 0, 1], dtype=np.int32), np.log([0.5, 0.3, 0.2]), prior_scale=0.5)
    model = SimpleNamespace(emissions=SimpleNamespace(states=states), occupancy=np.ones(3))
    found = log_posteriors(states.scores(np.log(posteriors)), model)  # type: ignore[arg-type]
    assert_allclose(np.exp(found), posteriors[:, [2, 0, 1]], rtol=1e-5, atol=0)


def test_a_state_without_a_class_has_the_prior_of_the_rarest() -> None:
    states = StatePriors(np.array([0, 1, -1], dtype=np.int32), np.log([0.7, 0.3]))
    model = SimpleNamespace(emissions=SimpleNamespace(states=states), occupancy=np.ones(3))
    found = np.exp(log_posteriors(states.scores(np.log([[0.6, 0.4]])), model))  # type: ignore[arg-type]
    assert_allclose(found, [[0.6 / 1.3, 0.4 / 1.3, 0.3 / 1.3]], rtol=1e-5, atol=0)
