"""Mel bands, their warp, and the cepstral transform."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.fft import dct

from features import FeatureError
from features.mfcc import MelBand, cepstral_matrix, inverse_mel, mel, mel_filterbank, warp_frequency

FULL = MelBand(0.0, 8000.0)


def test_mel_and_back():
    hz = np.linspace(0.0, 8000.0, 50)
    assert_allclose(inverse_mel(mel(hz)), hz, rtol=1e-12, atol=1e-9)


def test_neighbouring_triangles_add_up_to_one():
    weights = mel_filterbank(26, 512, 16000, FULL)
    bin_mel = mel(np.arange(257) * 16000 / 512)
    step = mel(8000.0) / 27
    between_centers = (bin_mel >= step) & (bin_mel <= 26 * step)
    assert_allclose(weights.sum(axis=1)[between_centers], 1.0, rtol=0, atol=1e-6)


def test_dc_and_nyquist_are_left_out():
    weights = mel_filterbank(26, 512, 16000, FULL)
    assert_array_equal(weights[[0, -1]], 0.0)


def test_low_and_high_edges_drop_the_bins_htk_drops():
    # HTK rounds the edges to bins: 150 Hz is bin 4.8, so that bin 5 (156 Hz) is left out though in the band.
    weights = mel_filterbank(10, 512, 16000, MelBand(150.0, 4000.0))
    used = np.flatnonzero(weights.sum(axis=1))
    assert (used[0], used[-1]) == (6, 127)


def test_cepstra_are_scipys_dct_times_the_lifter():
    log_mel = np.random.default_rng(0).normal(size=(5, 26))
    order = np.arange(1, 13)
    expected = dct(log_mel, type=2, norm="ortho")[:, 1:13] * (1 + 11 * np.sin(np.pi * order / 22))
    assert_allclose(log_mel @ cepstral_matrix(26, 12, 22), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("warp", [0.8, 0.92, 1.08, 1.25])
def test_warp_is_piecewise_linear_and_keeps_the_edges(warp):
    band = MelBand(64.0, 8000.0, warp, 100.0, 6800.0)
    hz = np.linspace(64.0, 8000.0, 500)
    warped = warp_frequency(hz, band)
    assert_allclose(warped[[0, -1]], [64.0, 8000.0], rtol=0, atol=1e-9)
    assert (np.diff(warped) > 0).all()
    middle = (hz > 150.0) & (hz < 5500.0)
    assert_allclose(warped[middle], hz[middle] / warp, rtol=1e-12, atol=0)


def test_warps_without_room_and_empty_triangles():
    with pytest.raises(
        FeatureError, match=r"^warp: expected cut-offs that stay within low_hz 90 and high_hz 8000"
    ):
        warp_frequency([1000.0], MelBand(90.0, 8000.0, 1.3, 100.0, 6800.0))
    with pytest.raises(
        FeatureError, match=r"^n_channels: expected at least one FFT bin .* got none in channel 1 of 80"
    ):
        mel_filterbank(80, 256, 16000, FULL)
