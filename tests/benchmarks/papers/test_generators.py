"""Breiman's generators: moments by their definitions, and the least possible errors he gives."""

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.papers.datasets import drawn_partitions
from benchmarks.papers.generators import GENERATORS, SHIFT, ringnorm, three_waves, twonorm, waveform

N = 40_000


def test_moments_of_twonorm() -> None:
    x, y = twonorm(N, np.random.default_rng(0))
    assert np.mean(y == 1) == pytest.approx(0.5, abs=0.01)
    for label in (-1, 1):
        np.testing.assert_allclose(x[y == label].mean(axis=0), label * 2 / np.sqrt(20), rtol=0, atol=0.04)
        np.testing.assert_allclose(np.cov(x[y == label].T), np.eye(20), rtol=0, atol=0.05)


def test_moments_of_ringnorm() -> None:
    x, y = ringnorm(N, np.random.default_rng(1))
    np.testing.assert_allclose(x[y == 1].mean(axis=0), 0.0, rtol=0, atol=0.06)
    np.testing.assert_allclose(np.cov(x[y == 1].T), 4 * np.eye(20), rtol=0, atol=0.2)
    np.testing.assert_allclose(x[y == -1].mean(axis=0), 2 / np.sqrt(20), rtol=0, atol=0.04)
    np.testing.assert_allclose(np.cov(x[y == -1].T), np.eye(20), rtol=0, atol=0.05)


def test_least_errors_are_those_that_breiman_gives() -> None:
    x, y = twonorm(N, np.random.default_rng(2))
    assert np.mean((x.sum(axis=1) > 0) != (y > 0)) == pytest.approx(0.023, abs=0.003)
    x, y = ringnorm(N, np.random.default_rng(3))
    wide, narrow = norm.logpdf(x, scale=2).sum(axis=1), norm.logpdf(x, loc=SHIFT).sum(axis=1)
    assert np.mean((wide > narrow) != (y > 0)) == pytest.approx(0.013, abs=0.003)


def test_least_error_of_three_waves() -> None:
    x, classes = three_waves(3000, np.random.default_rng(4))
    waves = np.array([np.maximum(6 - np.abs(np.arange(1, 22) - peak), 0) for peak in (11, 15, 7)])
    share = (np.arange(100) + 0.5)[:, None] / 100
    scores = []
    for first, second in ((0, 1), (0, 2), (1, 2)):  # p(x | class), an integral over the share
        middle = share * waves[first] + (1 - share) * waves[second]
        distances = ((x[:, None, :] - middle) ** 2).sum(axis=2)
        scores.append(np.exp(-0.5 * (distances - 21)).sum(axis=1))
    assert np.mean(np.argmax(scores, axis=0) != classes) == pytest.approx(0.14, abs=0.02)


def test_waveform_tells_one_class_from_two() -> None:
    x, y = waveform(N, np.random.default_rng(5))
    assert np.mean(y == 1) == pytest.approx(1 / 3, abs=0.01)
    expected = [np.mean([max(6 - abs(i - 11), 0), max(6 - abs(i - 7), 0)]) for i in range(1, 22)]
    np.testing.assert_allclose(x[y == 1].mean(axis=0), expected, rtol=0, atol=0.05)


@pytest.mark.parametrize("name", GENERATORS)
def test_drawn_partitions_depend_on_seed_and_number_alone(name: str) -> None:
    _, second = drawn_partitions(GENERATORS[name], 30, 20, 2, seed=7)
    *_, again, _ = drawn_partitions(GENERATORS[name], 30, 20, 3, seed=7)
    np.testing.assert_array_equal(second.x, again.x)
    np.testing.assert_array_equal(second.y_test, again.y_test)
    assert (len(second.x), len(second.x_test)) == (30, 20)
    assert not np.array_equal(second.x[:20], second.x_test)
