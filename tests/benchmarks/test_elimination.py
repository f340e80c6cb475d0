"""Elimination of classes before coupling, against duels played one by one."""

from itertools import combinations

import numpy as np
import pytest
from elimination import (
    lazy_survivors,
    posteriors_of_survivors,
    pruned_log_posteriors,
    share_of_pairs,
    survivors,
    winners_of_graph,
)
from numpy.testing import assert_allclose, assert_array_equal

N_CLASSES = 7


@pytest.fixture
def log_odds():
    return np.random.default_rng(0).normal(size=(50, N_CLASSES * (N_CLASSES - 1) // 2))


@pytest.fixture
def order():
    return np.random.default_rng(1).permutation(N_CLASSES).astype(np.int32)


def table_of(row):
    """Return the log odds of each class against each other, (K, K), of one frame."""
    table = np.zeros((N_CLASSES, N_CLASSES))
    for value, (i, j) in zip(row, combinations(range(N_CLASSES), 2), strict=True):
        table[i, j], table[j, i] = value, -value
    return table


def played(table, order, n_survivors):
    """Return who is left after rounds of first against last, and the number of duels."""
    alive, n_duels = list(order), 0
    while len(alive) > n_survivors:
        losers = []
        for a in range(min(len(alive) // 2, len(alive) - n_survivors)):
            i, j = alive[a], alive[-1 - a]
            losers.append((j, a) if table[i, j] >= 0 else (i, a))
        n_duels += len(losers)
        kept = list(alive)
        for loser, a in losers:
            if loser == alive[a]:
                kept[a] = alive[-1 - a]
        alive = kept[: len(alive) - len(losers)]
    return alive, n_duels


@pytest.mark.parametrize("n_survivors", [1, 2, 3, 5, 7])
def test_tournament_as_played(log_odds, order, n_survivors):
    found = survivors(log_odds, order, n_survivors)
    games = [played(table_of(row), order, n_survivors) for row in log_odds]
    assert_array_equal(found, [alive for alive, _ in games])
    assert {n for _, n in games} == {N_CLASSES - n_survivors}


def test_platts_graph_as_played(log_odds, order):
    for row, winner in zip(log_odds, winners_of_graph(log_odds, order), strict=True):
        table, alive = table_of(row), list(order)
        while len(alive) > 1:
            alive.pop(-1 if table[alive[0], alive[-1]] >= 0 else 0)
        assert winner == alive[0]


def test_a_class_that_wins_all_its_duels_is_found(order):
    strength = np.random.default_rng(2).normal(size=(40, N_CLASSES))
    first, second = np.triu_indices(N_CLASSES, 1)
    consistent = strength[:, first] - strength[:, second]
    assert_array_equal(winners_of_graph(consistent, order), strength.argmax(axis=1))
    assert_array_equal(survivors(consistent, order, 1)[:, 0], strength.argmax(axis=1))


def test_all_survivors_are_all_pairs(log_odds, order):
    sums = np.stack([np.exp(-table_of(row)).sum(axis=1) for row in log_odds])  # Price: 1 + Σ_{j≠i} e^{−d_ij}
    expected = np.log((1 / sums) / (1 / sums).sum(axis=1, keepdims=True))
    assert_allclose(
        pruned_log_posteriors(log_odds, order, N_CLASSES, -20.0), expected, rtol=1e-10, atol=1e-10
    )


def test_pairs_of_the_eliminated_do_not_matter(log_odds, order):
    left = survivors(log_odds, order, 3)
    found = pruned_log_posteriors(log_odds, order, 3, -9.0)
    assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=1e-12, atol=0)
    for row, alive, posteriors in zip(log_odds, left, found, strict=True):
        among = table_of(row)[np.ix_(alive, alive)]
        expected = 1 / np.exp(-among).sum(axis=1)
        expected /= expected.sum()
        total = 1 + (N_CLASSES - 3) * np.exp(-9.0)
        assert_allclose(np.exp(posteriors[alive]), expected / total, rtol=1e-10, atol=0)
        eliminated = np.setdiff1d(np.arange(N_CLASSES), alive)
        assert_allclose(posteriors[eliminated], -9.0 - np.log(total), rtol=1e-12, atol=0)


def test_share_of_pairs():
    assert share_of_pairs(101, 10) == (91 + 45) / 5050
    assert share_of_pairs(5, 5) == 1.0


def test_lazy_as_all_pairs(order):
    rng = np.random.default_rng(3)
    frames, centers = rng.normal(size=(30, 4)), rng.normal(size=(12, 4))
    n_pairs = N_CLASSES * (N_CLASSES - 1) // 2
    slots = np.stack([rng.permutation(12)[:5] for _ in range(n_pairs)]).astype(np.int32)
    slots[::4, 3:] = -1
    weights, biases, curves = (
        rng.normal(size=(n_pairs, 5)),
        rng.normal(size=n_pairs),
        rng.normal(size=(n_pairs, 3)),
    )
    kernel = np.exp(-0.3 * ((frames[:, None] - centers) ** 2).sum(axis=2))
    outputs = np.einsum("tpc,pc->tp", kernel[:, slots], np.where(slots >= 0, weights, 0)) + biases
    log_odds = (curves[:, 0] * outputs + curves[:, 1]) * outputs + curves[:, 2]
    single = [a.astype(np.float32) for a in (frames, centers, weights, biases, curves)]
    left, among = lazy_survivors(*single[:2], np.float32(-0.3), slots, *single[2:], order, 3)
    assert_array_equal(left, np.sort(survivors(log_odds, order, 3), axis=1))
    expected = pruned_log_posteriors(log_odds, order, 3, -9.0)
    assert_allclose(posteriors_of_survivors(left, among, N_CLASSES, -9.0), expected, rtol=1e-4, atol=1e-4)
