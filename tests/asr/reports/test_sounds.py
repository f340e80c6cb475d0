"""What a page shows and plays of a recording, read back from its few bytes."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from asr.reports.building import file_name, sounds_directory
from asr.reports.views import (
    MOST_COLUMNS,
    N_BANDS,
    as_flac,
    as_grey,
    data_url,
    envelope,
    narrowed,
    picture,
    spectrogram,
)
from features.mfcc import mel

RATE = 16000
NOISE = np.random.default_rng(0).normal(scale=0.1, size=RATE).astype(np.float32)


def bytes_of(url: str) -> bytes:
    return base64.b64decode(url.partition(",")[2])


class TestEnvelope:
    def test_lowest_and_highest_of_each_stretch(self) -> None:
        found = envelope(NOISE, 100)
        for pair, stretch in zip(found, NOISE.reshape(100, -1), strict=True):
            scaled = 127 * np.array([stretch.min(), stretch.max()]) / np.abs(NOISE).max()
            assert_allclose(pair, scaled, rtol=0, atol=0.51)

    def test_silence_is_a_line(self) -> None:
        assert not envelope(np.zeros(50, dtype=np.float32), 7).any()


class TestSpectrogram:
    @pytest.mark.parametrize("hz", [500.0, 1500.0, 3000.0])
    @pytest.mark.parametrize("rate", [8000, 16000])
    def test_a_tone_is_in_its_band(self, hz: float, rate: int) -> None:
        tone = np.sin(2 * np.pi * hz * np.arange(rate) / rate).astype(np.float32)
        found = spectrogram(tone, rate)
        assert found.shape == (N_BANDS, 100)
        place = mel(hz) / mel(rate / 2) * (N_BANDS + 1) - 1
        assert_allclose(found[:, 10:-10].argmax(axis=0), place, rtol=0, atol=1.0)

    def test_silence_and_clicks(self) -> None:
        assert not spectrogram(np.zeros(RATE, dtype=np.float32), RATE).any()
        assert np.isfinite(spectrogram(NOISE[:10], RATE)).all()

    def test_long_recordings_have_no_more_columns(self) -> None:
        found = spectrogram(np.tile(NOISE[:8000], 200), 8000)
        assert MOST_COLUMNS - 20 < found.shape[1] <= MOST_COLUMNS
        assert found.max() == 0.0

    def test_narrowed_columns_keep_what_stands_out(self) -> None:
        columns = np.zeros((2, 3 * MOST_COLUMNS))
        columns[1, 3 * 1234 + 2] = 5.0
        found = narrowed(columns)
        assert found.shape == (2, MOST_COLUMNS)
        assert np.argwhere(found).tolist() == [[1, 1234]]

    def test_grey_levels_begin_at_the_highest_band(self) -> None:
        decibels = np.array([[0.0, -200.0], [-32.5, -65.0]])
        assert as_grey(decibels).tolist() == [[128, 0], [255, 0]]


class TestPicture:
    def test_lossless(self) -> None:
        grey = np.random.default_rng(1).integers(0, 256, (5, 9)).astype(np.uint8)
        with Image.open(io.BytesIO(bytes_of(picture(grey, lossless=True)))) as image:
            assert_array_equal(np.asarray(image), grey)

    def test_with_losses(self) -> None:
        grey = np.tile(np.linspace(0, 255, 60), (40, 1)).astype(np.uint8)
        with Image.open(io.BytesIO(bytes_of(picture(grey)))) as image:
            assert_allclose(np.asarray(image.convert("L")), grey, rtol=0, atol=12)


def test_flac_comes_back() -> None:
    samples, rate = soundfile.read(io.BytesIO(as_flac(NOISE, RATE)))
    assert rate == RATE
    assert_allclose(samples, NOISE, rtol=0, atol=1e-4)
    loud, _ = soundfile.read(io.BytesIO(as_flac(20 * NOISE, RATE)))
    assert_allclose(loud, NOISE / np.abs(NOISE).max(), rtol=0, atol=1e-4)


def test_names() -> None:
    assert data_url(b"ab", "x/y") == "data:x/y;base64,YWI="
    assert file_name(12, "../a b&c") == "0012--a-b-c.flac"
    assert sounds_directory(Path("x/page.html")) == Path("x/page_audio")
