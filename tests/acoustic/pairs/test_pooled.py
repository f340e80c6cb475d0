"""Pairs on shared centres against a loop over frames, pairs and centres."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.pairs.coupling import all_pairs, coupled_log_posteriors
from acoustic.pairs.machines import PooledMachines

SIGMA, SIZES = 1.4, (3, 1, 5, 2)
PAIRS = all_pairs(len(SIZES))


@pytest.fixture
def machines():
    rng = np.random.default_rng(0)
    starts = np.cumsum([0, *SIZES]).astype(np.int32)
    centers = rng.normal(size=(starts[-1], 3)).astype(np.float32)
    weights = rng.normal(size=(starts[-1], len(SIZES))).astype(np.float32)
    return PooledMachines(SIGMA, centers, starts, weights, rng.normal(size=len(PAIRS)))


def frames(n, seed=1):
    return np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)


def outputs_by_a_loop(machines, x):
    """Return q_ij: the weights of i's centres for j, less those of j's centres for i."""
    found = np.empty((len(x), len(PAIRS)))
    for t, frame in enumerate(x.astype(np.float64)):
        values = [np.exp(-((frame - c) ** 2).sum() / (2 * SIGMA**2)) for c in machines.centers]
        for p, (i, j) in enumerate(PAIRS):
            q = machines.biases[p]
            q += sum(values[n] * machines.weights[n, j] for n in range(*machines.starts[i : i + 2]))
            q -= sum(values[n] * machines.weights[n, i] for n in range(*machines.starts[j : j + 2]))
            found[t, p] = q
    return found


@pytest.mark.parametrize("n", [1, 127, 128, 300])
def test_outputs(machines, n):
    assert machines.n_classes == 4
    found = machines.outputs(frames(n))
    assert found.dtype == np.float32
    assert_allclose(found, outputs_by_a_loop(machines, frames(n)), rtol=0, atol=2e-5)


def test_posteriors_are_the_coupled_log_odds(machines):
    x = frames(300)
    curves = np.random.default_rng(2).normal(size=(len(PAIRS), 3))
    q = outputs_by_a_loop(machines, x)
    log_odds = curves[:, 0] * q**2 + curves[:, 1] * q + curves[:, 2]
    expected = coupled_log_posteriors(log_odds, 4)
    expected -= np.logaddexp.reduce(expected, axis=1, keepdims=True)
    found = machines.log_posteriors(curves, x, n_workers=1)
    assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    assert_array_equal(found, machines.log_posteriors(curves, x, n_workers=2))


def test_no_frames(machines):
    nothing = np.empty((0, len(PAIRS)), dtype=np.float32)
    assert_array_equal(machines.outputs(frames(0)), nothing, strict=True)
