"""Pairwise coupling against the thesis's formula and against exact posteriors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logsumexp, softmax

from acoustic.errors import ModelError
from acoustic.pairs.coupling import (
    all_pairs,
    couple_lists,
    couple_outputs,
    couple_sides,
    coupled_log_posteriors,
    fill_posteriors,
    log_posteriors_of_sums,
)


def test_coupling_is_formula_4_8_with_the_number_of_classes():
    n_classes = 6
    odds = np.random.default_rng(0).normal(scale=3, size=(50, 15))
    found = coupled_log_posteriors(odds, n_classes)
    inverse = np.zeros((50, n_classes, n_classes))
    for p, (i, j) in enumerate(all_pairs(n_classes)):
        inverse[:, i, j], inverse[:, j, i] = 1 / expit(odds[:, p]), 1 / expit(-odds[:, p])
    expected = 1 / (inverse.sum(axis=2) - (n_classes - 2))  # thesis (4.8)
    assert_allclose(np.exp(found), expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("n_classes", [2, 3, 11])
def test_coupling_gives_back_exact_posteriors(n_classes):
    rng = np.random.default_rng(n_classes)
    log_posteriors = np.log(softmax(rng.normal(scale=20, size=(40, n_classes)), axis=1))
    pairs = all_pairs(n_classes)
    odds = log_posteriors[:, pairs[:, 0]] - log_posteriors[:, pairs[:, 1]]
    assert_allclose(coupled_log_posteriors(odds, n_classes), log_posteriors, rtol=1e-12, atol=1e-12)


def test_coupling_stands_any_odds():
    odds = np.random.default_rng(0).choice([-1e6, -800.0, -1e-300, 0.0, 5.0, 800.0, 1e6], size=(200, 10))
    found = coupled_log_posteriors(odds, 5)
    negated = np.zeros((200, 5, 5))
    for p, (i, j) in enumerate(all_pairs(5)):
        negated[:, i, j], negated[:, j, i] = -odds[:, p], odds[:, p]
    assert_allclose(found, -logsumexp(negated, axis=2), rtol=1e-12, atol=1e-12)


LINE = np.array([0, 1, 0], dtype=np.float32)  # log odds that are the outputs


def test_sums_of_odds_are_the_coupling_in_single_precision():
    odds = np.random.default_rng(0).normal(scale=20, size=(200, 10)).astype(np.float32)
    odds[0], odds[1] = -1e30, 1e30  # count as 80
    sums = np.zeros((5, 200), dtype=np.float32)
    couple_outputs(odds.T.copy(), all_pairs(5), np.tile(LINE, (10, 1)), sums)
    expected = coupled_log_posteriors(np.clip(odds, -80, 80), 5)
    expected -= np.logaddexp.reduce(expected, axis=1, keepdims=True)
    assert_allclose(log_posteriors_of_sums(sums), expected, rtol=1e-5, atol=1e-5)


def test_sides_couple_as_their_outputs():
    rng = np.random.default_rng(1)
    sides, biases = rng.normal(size=(4, 4, 30)).astype(np.float32), rng.normal(size=6).astype(np.float32)
    curves = rng.normal(size=(6, 3)).astype(np.float32)
    pairs = all_pairs(4)
    outputs = np.stack([sides[i, j] - sides[j, i] + b for (i, j), b in zip(pairs, biases, strict=True)])
    found, expected = np.zeros((2, 4, 30), dtype=np.float32)
    couple_sides(sides, biases, curves, found)
    couple_outputs(outputs, pairs, curves, expected)
    assert_allclose(found, expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("n_classes", [2, 30, 1000])
def test_the_farthest_odds_of_many_classes_stay_finite(n_classes):
    """The first class loses all its pairs, the others are equal."""
    pairs = all_pairs(n_classes)
    outputs = np.where(pairs[:, :1] == 0, np.float32(-1e9), np.float32(0)).repeat(3, axis=1)
    sums = np.zeros((n_classes, 3), dtype=np.float32)
    couple_outputs(outputs, pairs, np.tile(LINE, (len(pairs), 1)), sums)
    found = log_posteriors_of_sums(sums)
    assert_allclose(found[:, 0], -80 - np.log(n_classes - 1), rtol=1e-4, atol=0)
    assert_allclose(found[:, 1:], -np.log(n_classes - 1), rtol=1e-4, atol=1e-6)


def test_coupling_says_what_it_expects():
    with pytest.raises(ModelError, match=r"shape \(4, 5\), expected \(frames, 6\)"):
        coupled_log_posteriors(np.zeros((4, 5)), 4)


N_CLASSES, N_FRAMES, N_LISTED = 6, 30, 4


def couple_lists_reference(lists, scores, values, sizes, machines, sums):
    kernel, places = values
    pair_of, starts, weights, biases, curves = machines
    for t, listed in enumerate(lists):
        for a, i in enumerate(listed):
            for b, j in enumerate(listed[a + 1 :], a + 1):
                p, d = pair_of[i, j], scores[t, i] - scores[t, j]
                if p >= 0:
                    seen = [kernel[places[t, n] :][: sizes[k]] for n, k in ((a, i), (b, j))]
                    q = biases[p] + weights[starts[p] : starts[p + 1]] @ np.concatenate(seen)
                    d = curves[p] @ np.array([q * q, q, 1.0])
                sums[t, b] += np.exp(np.clip(d, -80, 80))
                sums[t, a] += np.exp(-np.clip(d, -80, 80))


def fill_posteriors_reference(lists, scores, sums, found):
    for t, listed in enumerate(lists):
        norm = np.log(np.sum(1 / (1 + sums[t])))
        behind = np.logaddexp.reduce(scores[t, listed])
        found[t] = -np.logaddexp(0, behind - scores[t]) - norm
        found[t, listed] = -np.log1p(sums[t]) - norm


def lists_of_classes():
    """Return lists, scores, kernel values, sizes and machines, half of the pairs without one."""
    rng = np.random.default_rng(0)
    sizes = np.array([2, 3, 1, 4, 2, 3], np.int32)
    lists = np.stack([np.sort(rng.choice(N_CLASSES, N_LISTED, replace=False)) for _ in range(N_FRAMES)])
    pair_of = np.full((N_CLASSES, N_CLASSES), -1, np.int32)
    pairs = [(i, j) for i in range(N_CLASSES) for j in range(i + 1, N_CLASSES)][::2]
    pair_of[tuple(np.transpose(pairs))] = np.arange(len(pairs))
    starts = np.cumsum([0, *(sizes[i] + sizes[j] for i, j in pairs)])
    lengths = sizes[lists].ravel()
    places = (np.cumsum(lengths) - lengths).reshape(lists.shape)
    singles = (
        rng.normal(size=n).astype(np.float32)
        for n in (lengths.sum(), starts[-1], len(pairs), (len(pairs), 3))
    )
    kernel, weights, biases, curves = singles
    scores = rng.normal(scale=3, size=(N_FRAMES, N_CLASSES)).astype(np.float32)
    scores[0, 0] = -500.0
    return lists.astype(np.int32), scores, (kernel, places), sizes, (pair_of, starts, weights, biases, curves)


def test_sums_of_lists_are_those_of_a_loop() -> None:
    lists, *given = lists_of_classes()
    found, expected = np.zeros(lists.shape, np.float32), np.zeros(lists.shape)
    couple_lists(lists, *given, found)
    couple_lists_reference(lists, *given, expected)
    assert_allclose(found, expected, rtol=2e-4, atol=0)


def test_posteriors_of_lists_are_those_of_a_loop() -> None:
    lists, scores, *given = lists_of_classes()
    sums = np.zeros(lists.shape, np.float32)
    couple_lists(lists, scores, *given, sums)
    found, expected = np.empty_like(scores), np.empty(scores.shape)
    fill_posteriors(lists, scores, sums, found)
    fill_posteriors_reference(lists, scores.astype(float), sums.astype(float), expected)
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert found[0, 0] < -490
