"""Couplings against what they are the solution of, by scipy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from acoustic.pairs.coupling import all_pairs, coupled_log_posteriors, recoupled

N_CLASSES = 5
PAIRS = all_pairs(N_CLASSES)


def price(log_odds):
    coupled = coupled_log_posteriors(log_odds, N_CLASSES)
    return coupled - np.logaddexp.reduce(coupled, axis=1, keepdims=True)


def matrix(log_odds):
    r = np.full((N_CLASSES, N_CLASSES), 0.5)
    for (i, j), d in zip(PAIRS, log_odds, strict=True):
        r[i, j] = 1 / (1 + np.exp(-d))
        r[j, i] = 1 - r[i, j]
    return r


@pytest.fixture
def log_odds():
    return np.random.default_rng(0).normal(size=(6, len(PAIRS)), scale=1.5)


@pytest.mark.parametrize("name", ["wu-lin-weng", "hastie-tibshirani"])
def test_consistent_pairs_give_back_the_posteriors(name):
    true = np.random.default_rng(1).dirichlet(np.ones(N_CLASSES), size=4)
    odds = np.log(true[:, PAIRS[:, 0]] / true[:, PAIRS[:, 1]])
    assert_allclose(np.exp(price(odds)), true, rtol=1e-9, atol=0)
    assert_allclose(np.exp(recoupled(price(odds), odds, name, 0)), true, rtol=1e-4, atol=1e-6)


def test_wu_lin_weng_minimises_its_sum(log_odds):
    found = np.exp(recoupled(price(log_odds), log_odds, "wu-lin-weng", 0))
    for p, odds in zip(found, log_odds, strict=True):
        r = matrix(odds)

        def cost(v, r=r):
            v = np.exp(v) / np.exp(v).sum()
            return np.sum((r.T * v[:, None] - r * v) ** 2)

        best = minimize(cost, np.zeros(N_CLASSES), method="BFGS", options={"gtol": 1e-12}).x
        assert_allclose(p, np.exp(best) / np.exp(best).sum(), rtol=1e-3, atol=1e-5)


def test_hastie_tibshirani_balances_each_class(log_odds):
    found = np.exp(recoupled(price(log_odds), log_odds, "hastie-tibshirani", 0))
    for p, odds in zip(found, log_odds, strict=True):
        off = ~np.eye(N_CLASSES, dtype=bool)
        modelled = p[:, None] / (p[:, None] + p)
        assert_allclose((modelled * off).sum(axis=1), (matrix(odds) * off).sum(axis=1), rtol=1e-5, atol=0)


@pytest.mark.parametrize("name", ["price", "wu-lin-weng", "hastie-tibshirani"])
def test_the_best_share_their_mass_and_the_rest_keep_theirs(log_odds, name):
    before = price(log_odds)
    after = recoupled(before, log_odds, name, 3)
    order = np.argsort(-before, axis=1)
    for t in range(len(before)):
        best, rest = order[t, :3], order[t, 3:]
        assert_array_equal(after[t, rest], before[t, rest])
        assert_allclose(np.exp(after[t, best]).sum(), np.exp(before[t, best]).sum(), rtol=1e-9, atol=0)
    assert not np.allclose(after, before)
    assert_array_equal(recoupled(before, log_odds, name, 1), before)


def test_far_odds_stay_finite():
    odds = np.random.default_rng(2).choice([-1e4, 1e4], size=(20, len(PAIRS)))
    for name in ("wu-lin-weng", "hastie-tibshirani"):
        assert np.isfinite(recoupled(price(odds), odds, name, 0)).all()
