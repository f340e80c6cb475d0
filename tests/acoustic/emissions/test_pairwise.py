"""Pairs with shared and with own centres: the same discriminants give the same scores."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from acoustic.emissions.emission_model import PairwiseDiscriminantModel, StatePriors
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.calibration import quadratics
from acoustic.pairs.coupling import all_pairs, recoupled
from acoustic.pairs.machines import PooledMachines, SparseMachines

SIGMA, N_CLASSES, N_EACH = 1.5, 4, 3
PAIRS = all_pairs(N_CLASSES)
STATES = StatePriors(np.array([3, 0, 1, 2, -1, 0], dtype=np.int32), np.log([0.4, 0.3, 0.2, 0.1]))
RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(N_CLASSES * N_EACH, 3)).astype(np.float32)
WEIGHTS = RNG.normal(size=(N_CLASSES * N_EACH, N_CLASSES)).astype(np.float32)
BIASES = RNG.normal(size=len(PAIRS))
CURVES = np.column_stack([0.1 * RNG.normal(size=len(PAIRS)), RNG.uniform(0.5, 2, (len(PAIRS), 2))])
FRAMES = RNG.normal(size=(150, 3)).astype(np.float32)


def pooled():
    starts = np.arange(0, N_CLASSES * N_EACH + 1, N_EACH, dtype=np.int32)
    return PooledMachines(SIGMA, CENTERS, starts, WEIGHTS, BIASES)


def own():
    """Return the same discriminants as pairs that name their centres one by one."""
    slots = np.array(
        [[*range(N_EACH * i, N_EACH * (i + 1)), *range(N_EACH * j, N_EACH * (j + 1))] for i, j in PAIRS]
    )
    weights = [
        [*WEIGHTS[N_EACH * i : N_EACH * (i + 1), j], *-WEIGHTS[N_EACH * j : N_EACH * (j + 1), i]]
        for i, j in PAIRS
    ]
    rows = np.arange(len(CENTERS), dtype=np.int32)
    sigmas = np.full(len(CENTERS), SIGMA)
    kernel = Kernel("gaussian", SIGMA)
    return SparseMachines(
        kernel,
        PAIRS,
        CENTERS,
        sigmas,
        rows,
        slots.astype(np.int32),
        np.array(weights, dtype=np.float64),
        BIASES,
    )


def log_odds_by_a_loop():
    found = np.empty((len(FRAMES), len(PAIRS)))
    kernel = np.exp(-((FRAMES[:, None].astype(np.float64) - CENTERS) ** 2).sum(axis=2) / (2 * SIGMA**2))
    for p, (i, j) in enumerate(PAIRS):
        of_i, of_j = slice(N_EACH * i, N_EACH * (i + 1)), slice(N_EACH * j, N_EACH * (j + 1))
        q = kernel[:, of_i] @ WEIGHTS[of_i, j] - kernel[:, of_j] @ WEIGHTS[of_j, i] + BIASES[p]
        found[:, p] = np.polyval(CURVES[p], q)
    return found


def prices_coupling(log_odds):
    """Return log of 1 / (1 + Σ_{j≠i} e^{−d_ij}), normalised."""
    negated = np.zeros((len(log_odds), N_CLASSES, N_CLASSES))
    for p, (i, j) in enumerate(PAIRS):
        negated[:, i, j], negated[:, j, i] = -log_odds[:, p], log_odds[:, p]
    found = -logsumexp(negated, axis=2)
    return found - logsumexp(found, axis=1, keepdims=True)


@pytest.mark.parametrize("machines", [pooled, own])
class TestBoth:
    def test_log_odds(self, machines):
        model = PairwiseDiscriminantModel(machines(), CURVES, STATES)
        assert_allclose(model.log_odds(FRAMES), log_odds_by_a_loop(), rtol=1e-3, atol=1e-3)

    def test_posteriors_and_scores(self, machines):
        model = PairwiseDiscriminantModel(machines(), CURVES, STATES)
        expected = prices_coupling(log_odds_by_a_loop())
        assert_allclose(model.log_posteriors(FRAMES), expected, rtol=1e-3, atol=1e-3)
        assert model.n_states == 6
        assert_array_equal(model.log_likelihoods(FRAMES), STATES.scores(model.log_posteriors(FRAMES)))

    def test_without_a_floor_nothing_is_clipped(self, machines):
        steep = CURVES * [0.0, 400.0, 1.0]
        model = PairwiseDiscriminantModel(machines(), steep, replace(STATES, floor=None))
        log_odds = model.log_odds(FRAMES)
        assert_allclose(log_odds, quadratics(machines().outputs(FRAMES), steep), rtol=1e-12, atol=0)
        expected = prices_coupling(log_odds)
        assert expected.min() < -400
        assert_allclose(model.log_posteriors(FRAMES), expected, rtol=1e-9, atol=1e-9)
        scores = model.log_likelihoods(FRAMES)
        assert_allclose(scores.min(), expected.min(), rtol=0.1, atol=0)
        clipped = PairwiseDiscriminantModel(machines(), steep, STATES)
        assert clipped.log_posteriors(FRAMES).min() > -90

    @pytest.mark.parametrize("coupling", ["wu-lin-weng", "hastie-tibshirani"])
    def test_the_best_classes_may_be_coupled_anew(self, machines, coupling):
        price = PairwiseDiscriminantModel(machines(), CURVES, STATES)
        model = PairwiseDiscriminantModel(machines(), CURVES, STATES, coupling, 3)
        expected = recoupled(price.log_posteriors(FRAMES), price.log_odds(FRAMES), coupling, 3)
        found = model.log_posteriors(FRAMES)
        assert_allclose(found, expected, rtol=1e-4, atol=1e-4)  # posteriors of Price in single precision
        assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=0, atol=1e-5)
        assert np.abs(found - price.log_posteriors(FRAMES)).max() > 0.01

    def test_the_number_of_workers_changes_nothing(self, machines):
        model = PairwiseDiscriminantModel(machines(), CURVES, STATES)
        assert_array_equal(model.log_posteriors(FRAMES, 2), model.log_posteriors(FRAMES, 1))
