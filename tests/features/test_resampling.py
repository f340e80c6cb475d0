"""Resampling piece by piece against that of whole recordings."""

import numpy as np
import pytest
import soxr
from numpy.testing import assert_allclose, assert_array_equal

from features import FeatureError, Resampler


@pytest.mark.parametrize("rates", [(48000, 16000), (44100, 16000), (8000, 16000), (16000, 16000)])
@pytest.mark.parametrize("seed", range(3))
def test_all_pieces_give_the_same_samples(rates, seed):
    rng = np.random.default_rng(seed)
    samples = rng.normal(size=50000 + seed).astype(np.float32)
    whole = Resampler(*rates)
    expected = np.concatenate([whole.accept(samples), whole.finish()])
    resampler, found, start = Resampler(*rates), [], 0
    while start < len(samples):
        size = int(rng.integers(0, rng.choice([3, 500, 9000])))
        found.append(resampler.accept(samples[start : start + size]))
        start += size
    found.append(resampler.finish())
    assert_array_equal(np.concatenate(found), expected, strict=True)
    assert_allclose(expected, soxr.resample(samples, *rates, quality="HQ"), rtol=0, atol=1e-5)


def test_a_new_recording_and_what_is_forgotten():
    samples = np.random.default_rng(0).normal(size=9000).astype(np.float32)
    resampler = Resampler(44100, 16000)
    first = np.concatenate([resampler.accept(samples), resampler.finish()])
    resampler.accept(samples[:777])
    resampler.clear()
    assert_array_equal(np.concatenate([resampler.accept(samples), resampler.finish()]), first, strict=True)


@pytest.mark.parametrize("rate", [0, -8000, 3999, 768001])
def test_rates_that_no_recording_has(rate):
    with pytest.raises(FeatureError, match=f"expected 4000 to 768000 Hz, got {rate}"):
        Resampler(rate, 16000)


def test_what_is_no_sound_is_one_error():
    resampler = Resampler(48000, 16000)
    for samples, said in (
        ([0.0], "expected an array of floats in .*, got a list"),
        (np.zeros((2, 9), np.float32), r"expected ndim = 1, got shape \(2, 9\)"),
        (np.zeros(9, np.int16), "expected floats in .*, got int16"),
    ):
        with pytest.raises(FeatureError, match=said):
            resampler.accept(samples)
