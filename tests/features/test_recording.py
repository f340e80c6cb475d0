"""Recordings that are analysed in blocks, and cut where they are quiet."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from features.errors import FeatureError
from features.mfcc import BLOCK_FRAMES, MfccConfig, mfcc
from features.recording import Recording

RATE = 16000
CONFIG = MfccConfig()
STATIC = MfccConfig(derivatives=0, energy_normalize=False)


def noise(seconds: float, seed: int = 0) -> np.ndarray:
    return (0.1 * np.random.default_rng(seed).normal(size=int(seconds * RATE))).astype(np.float32)


def in_blocks(samples: np.ndarray, size: int) -> Iterator[np.ndarray]:
    return (samples[start : start + size] for start in range(0, len(samples), size))


@pytest.mark.parametrize("size", [7001, 81920, 82160, 1 << 20])
@pytest.mark.parametrize("config", [CONFIG, MfccConfig(window_ms=10.0, shift_ms=25.0, low_hz=100.0)])
def test_blocks_change_no_bit(size: int, config: MfccConfig) -> None:
    samples = noise(14.3)
    found = Recording.of_blocks(in_blocks(samples, size), config)
    assert len(found) > BLOCK_FRAMES
    assert_array_equal(found.cepstra(0, len(found)), mfcc(samples, config))
    whole = Recording.of(samples, config)
    assert_array_equal(found.static, whole.static)
    assert_allclose(found.powers, whole.powers, rtol=1e-6, atol=0)


def test_a_part_has_the_cepstra_of_the_whole() -> None:
    samples = noise(2.0)
    found, whole = Recording.of(samples, CONFIG), mfcc(samples, CONFIG)
    for start, stop in ((0, 5), (3, 150), (100, len(whole)), (17, 18)):
        assert_array_equal(found.cepstra(start, stop), whole[start:stop])


def test_powers_are_those_of_the_differences() -> None:
    samples = noise(0.5)
    found = Recording.of(samples, STATIC).powers
    expected = np.mean(np.diff(samples[159 : 10 * 160].astype(np.float64)).reshape(9, 160) ** 2, axis=1)
    assert_allclose(found[1:10], expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("seconds", [0.1, 30.0, 60.0])
def test_up_to_a_minute_is_one_stretch(seconds: float) -> None:
    found = Recording.of(noise(seconds), STATIC)
    assert found.stretches() == [(0, len(found))]


def test_cuts_lie_in_pauses() -> None:
    samples = noise(150.0)
    pauses_s = [25.0, 33.0, 62.0, 90.0, 118.0]  # the middle of half a second
    for pause_s in pauses_s:
        samples[int((pause_s - 0.25) * RATE) : int((pause_s + 0.25) * RATE)] *= 0.01
    stretches = Recording.of(samples, STATIC).stretches()
    assert [start for start, _ in stretches[1:]] == [stop for _, stop in stretches[:-1]]
    assert (stretches[0][0], stretches[-1][1]) == (0, len(Recording.of(samples, STATIC)))
    for start, _ in stretches[1:]:
        assert min(abs(start / 100 - pause_s) for pause_s in pauses_s) < 0.15
    assert len(stretches) == 4


def test_without_any_pause_stretches_are_no_longer_than_allowed() -> None:
    lengths = [stop - start for start, stop in Recording.of(noise(200.0), STATIC).stretches()]
    assert sum(lengths) == 19998
    assert all(2000 <= length <= 4000 for length in lengths[:-1])
    assert 2000 <= lengths[-1] <= 6000


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (np.zeros(399, np.float32), "audio too short: expected at least one window of 400 samples"),
        (np.zeros(3_000_000, np.float32), "got digital silence"),
        (np.full(16000, np.inf, np.float32), "expected a finite number, got inf at 0"),
        (np.zeros((5, 2), np.float32), "mix the channels down"),
    ],
)
def test_what_cannot_be_used(samples: np.ndarray, message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        Recording.of(samples, CONFIG)
