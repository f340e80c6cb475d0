"""Samples that arrive in pieces of any size give the static features of the whole."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from features import FeatureError, MfccConfig
from features.mfcc import mfcc_plan, static_frames
from features.stream import Windows


def noise(n_samples, seed=0):
    return (np.random.default_rng(seed).normal(size=n_samples) * 0.1).astype(np.float32)


@pytest.mark.parametrize("shift_ms", [5.0, 10.0, 25.0, 30.0, 90.0])  # from 30 ms on, some lie in no window
@pytest.mark.parametrize("seed", range(4))
def test_pieces_and_blocks_of_any_size(shift_ms, seed):
    rng = np.random.default_rng(seed)
    plan = mfcc_plan(MfccConfig(energy_normalize=False, shift_ms=shift_ms))
    samples, windows, found = noise(16000, seed), Windows(plan), []
    for piece in np.split(samples, np.sort(rng.integers(0, samples.size, 40))):
        windows.push(piece)
        found.append(windows.static(int(rng.integers(0, windows.n_frames + 1))))
    found.append(windows.static(windows.n_frames))
    # float32 rounding: the FFT and the matrix products group frames as they are asked for
    assert_allclose(np.concatenate(found), static_frames(samples, plan), rtol=0.0, atol=2e-4)


def test_the_same_blocks_are_the_same_bits():
    plan, samples = mfcc_plan(MfccConfig(energy_normalize=False)), noise(400 + 9 * 160 + 100)
    blocks = [samples[first * 160 : (first + 4) * 160 + 400] for first in (0, 5)]
    windows = Windows(plan)
    for piece in np.split(samples, [1, 399, 1000]):
        windows.push(piece)
    assert windows.n_frames == 10
    for block in blocks:
        assert_array_equal(windows.static(5), static_frames(block, plan), strict=True)
    assert windows.n_frames == 0


def test_samples_between_windows_are_skipped_before_they_come():
    plan = mfcc_plan(MfccConfig(energy_normalize=False, shift_ms=60.0))  # 960 samples, the window has 400
    samples, windows = noise(960 + 400), Windows(plan)
    windows.push(samples[:400])
    first = windows.static(1)
    for piece in (samples[400:500], samples[500:500], samples[500:1359]):
        windows.push(piece)
        assert_array_equal(windows.static(windows.n_frames), np.empty((0, 13), np.float32), strict=True)
    windows.push(samples[1359:])
    assert windows.n_frames == 1
    expected = [static_frames(part, plan) for part in (samples[:400], samples[960:])]
    assert_array_equal(np.concatenate([first, windows.static(1)]), np.concatenate(expected), strict=True)


def test_begin_forgets_what_waits():
    plan = mfcc_plan(MfccConfig(energy_normalize=False, shift_ms=60.0))
    windows = Windows(plan)
    windows.push(noise(500, seed=1))
    windows.static(1)
    windows.begin()
    windows.push(noise(400))
    assert_array_equal(windows.static(1), static_frames(noise(400), plan), strict=True)


def test_a_bad_piece():
    with pytest.raises(FeatureError, match=r"^samples: expected a finite number"):
        Windows(mfcc_plan(MfccConfig())).push(np.full(10, np.nan, dtype=np.float32))
