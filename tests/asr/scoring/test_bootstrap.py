"""Intervals against drawing one utterance after the other, and against the truth they claim to cover."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from asr.errors import ConfigError
from asr.scoring.scoring import (
    accuracy_interval,
    interval_of,
    resample_accuracies,
    share_interval,
    two_sided_p_value,
)


def random_counts(rng, n_utterances):
    """Errors (N,) and words (N,) of utterances whose difficulty varies, true accuracy 80 %."""
    words = rng.integers(1, 12, n_utterances)
    return rng.binomial(words, rng.beta(1, 4, n_utterances)), words


def test_bootstrap_equals_drawing_utterances_one_by_one():
    errors, words = random_counts(np.random.default_rng(0), 40)
    drawn = np.random.default_rng(1).integers(0, 40, (20_000, 40))
    expected = 100 - 100 * errors[drawn].sum(1) / words[drawn].sum(1)
    ours = resample_accuracies(errors[:, None], words, 20_000, seed=2)[:, 0]
    # Standard error of a quantile of 20,000 draws: about 0.1 points here.
    assert_allclose(
        np.quantile(ours, [0.025, 0.25, 0.5, 0.75, 0.975]),
        np.quantile(expected, [0.025, 0.25, 0.5, 0.75, 0.975]),
        rtol=0,
        atol=0.4,
    )


def test_interval_covers_the_true_accuracy():
    rng = np.random.default_rng(0)
    n_covered = 0
    for trial in range(400):
        errors, words = random_counts(rng, 120)
        low, high = np.quantile(resample_accuracies(errors[:, None], words, 500, trial), [0.025, 0.975])
        n_covered += low <= 80 <= high
    # 95 % of 400 with a standard error of 1.1 %, and a percentile interval runs a little narrow.
    assert 0.91 <= n_covered / 400 <= 0.98


@pytest.mark.parametrize("difficulty", [(0.5, 9.5), (2, 2), (0.05, 4.95)])  # 95, 50 and 99 % right
@pytest.mark.parametrize("n_utterances", [3, 10, 30])
def test_intervals_of_few_utterances_cover_the_truth(n_utterances, difficulty):
    rng = np.random.default_rng([n_utterances, int(10 * difficulty[0])])
    truth = 100 - 100 * difficulty[0] / sum(difficulty)
    n_covered = 0
    for _ in range(300):
        words = rng.integers(1, 12, n_utterances)
        errors = rng.binomial(words, rng.beta(*difficulty, n_utterances))
        low, high = accuracy_interval(errors, words, n_resamples=200)
        n_covered += low <= truth <= high
    assert n_covered / 300 >= 0.91  # 95 % with a standard error of 1.3 %


def test_no_error_and_nothing_right():
    none, words = np.zeros(3, dtype=int), np.array([5, 5, 5])
    # 15 words in fives, correlated by 0.1, are worth 15 / 1.4 independent ones; of n without an error the
    # exact interval ends at the n-th root of 0.025 (Clopper and Pearson).
    bound = 100 * 0.025 ** (1.4 / 15)
    assert_allclose(accuracy_interval(none, words), (bound, 100), rtol=0, atol=1e-9)
    assert_allclose(accuracy_interval(words, words), (0, 100 - bound), rtol=0, atol=1e-9)


def test_single_words_without_error_are_independent():
    low, high = accuracy_interval(np.zeros(20, dtype=int), np.ones(20, dtype=int))
    assert_allclose((low, high), (100 * 0.025 ** (1 / 20), 100), rtol=0, atol=1e-9)


def test_more_errors_than_words_are_within_the_interval():
    low, high = accuracy_interval(np.array([4, 3]), np.array([2, 2]))
    assert low <= 100 - 100 * 7 / 4 < 0 < high < 100


def test_enough_errors_leave_the_interval_to_the_bootstrap():
    errors, words = random_counts(np.random.default_rng(0), 60)
    drawn = interval_of(resample_accuracies(errors[:, None], words, 1000, seed=3)[:, 0])
    assert accuracy_interval(errors, words, 1000, seed=3) == drawn


def test_words_that_fail_together_are_worth_fewer_than_those_that_fail_alone():
    words = np.full(20, 5)
    alone, together = np.array([1] * 10 + [0] * 10), np.array([5] * 2 + [0] * 18)
    wide, narrow = (np.diff(share_interval(found, words))[0] for found in (together, alone))
    # Two whole utterances of twenty: the exact interval of 2 of 20 ends at 0.317 (Clopper and Pearson).
    assert_allclose(share_interval(together, words)[1], 0.317, rtol=0, atol=0.01)
    assert wide > 1.5 * narrow


def test_draws_without_words_are_left_out():
    accuracies = resample_accuracies(np.array([[1], [0]]), np.array([2, 0]), 1000, seed=0)
    assert 700 < len(accuracies) < 800
    assert_allclose(accuracies, 50, rtol=0, atol=0)


def test_interval_leaves_out_a_fortieth_on_each_side():
    assert_allclose(interval_of(np.arange(1001.0)), (25.0, 975.0), rtol=0, atol=1e-9)


def test_p_value_by_hand():
    # Of nine draws two are not above zero: 2 (2 + 1) / (9 + 1).
    assert_allclose(two_sided_p_value(np.array([-1.0, 0.0, *[1.0] * 7])), 0.6, rtol=1e-12, atol=0)
    assert_allclose(two_sided_p_value(np.ones(99)), 0.02, rtol=1e-12, atol=0)
    assert two_sided_p_value(np.zeros(5)) == 1.0


def test_the_same_seed_gives_the_same_draws():
    errors, words = random_counts(np.random.default_rng(3), 30)
    first, second, other = (resample_accuracies(errors[:, None], words, 1234, seed) for seed in (7, 7, 8))
    assert first.shape == (1234, 1)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_no_draws():
    with pytest.raises(ConfigError, match="n_resamples: expected at least 1, got 0; 10000 is usual"):
        resample_accuracies(np.array([[1]]), np.array([2]), 0, seed=0)
