"""What no recording is like."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_allclose

from features.audio import read_audio
from features.samples import (
    LOUDEST,
    describe_sample,
    first_unusable,
    frame_powers,
    is_usual_rate,
    why_no_speech,
    why_no_speech_in,
)


@pytest.mark.parametrize(
    ("samples", "place"),
    [
        ([], None),
        ([0.0, -LOUDEST, LOUDEST], None),
        ([0.0, 100.5], 1),
        ([-1e30, np.nan], 0),
        ([0.0, np.nan, np.inf], 1),
        ([-np.inf], 0),
    ],
)
def test_first_unusable(samples: list[float], place: int | None) -> None:
    assert first_unusable(np.array(samples, dtype=np.float32)) == place


def test_rates() -> None:
    rates = [3999, 4000, 8000, 768_000, 768_001, float("nan"), float("inf"), -8000]
    assert list(map(is_usual_rate, rates)) == [False, True, True, True, False, False, False, False]


def test_what_is_expected_of_a_sample() -> None:
    assert describe_sample(-np.inf) == "a finite number"
    assert describe_sample(-101.0) == "numbers within ±1, or somewhat above"


# The energy of sounds by hand: what speech has, whatever the rate, and what it has not


RATE = 16000


def swelling(rate: int, level: float, hz: float = 300.0) -> np.ndarray:
    """Return two seconds of a tone with three swells a second, as syllables have."""
    time_s = np.arange(2 * rate) / rate
    syllables = np.sin(2 * np.pi * 3 * time_s) ** 2
    return (level * syllables * np.sin(2 * np.pi * hz * time_s)).astype(np.float32)


@pytest.mark.parametrize("lag", [1, 3])
def test_powers_are_means_of_squared_differences(lag: int) -> None:
    samples = np.random.default_rng(0).normal(size=35)
    squares = np.zeros(40)
    squares[lag:35] = (samples[lag:] - samples[:-lag]) ** 2
    found = frame_powers(samples, 4, 10, lag)
    assert found.dtype == np.float32
    assert_allclose(found, squares.reshape(4, 10).mean(axis=1), rtol=1e-6, atol=0)


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 44100, 48000, 192000])
def test_faint_speech_is_speech_at_every_rate(rate: int) -> None:
    assert why_no_speech_in(swelling(rate, level=2e-3), rate) == ""  # 60 dB below full scale


@pytest.mark.parametrize("rate", [8000, 48000])
def test_dither_is_none_at_any_rate(rate: int) -> None:
    dither = np.random.default_rng(0).integers(-1, 2, size=rate) / 2**16
    assert why_no_speech_in(dither.astype(np.float32), rate).startswith("its loudest part has -9")


@pytest.mark.parametrize("level", [0.0, 0.3, -1.0])
def test_what_never_changes_is_none(level: float) -> None:
    assert why_no_speech_in(np.full(RATE, level, dtype=np.float32), RATE) == "its samples do not change"


@pytest.mark.parametrize("own_rate", [8000, 11025, 44100, 48000])
@pytest.mark.parametrize("rate", [8000, 16000])
def test_resampling_makes_no_speech_of_it(tmp_path: Path, own_rate: int, rate: int) -> None:
    soundfile.write(tmp_path / "constant.wav", np.full(own_rate, 0.5), own_rate)
    samples = read_audio(tmp_path / "constant.wav", rate)
    expected = "its samples do not change" if rate == own_rate else r"its loudest part has -[1-3]\d\d dB"
    assert re.match(expected, why_no_speech_in(samples, rate))


def test_less_than_a_frame_tells_nothing() -> None:
    assert why_no_speech_in(np.zeros(100, dtype=np.float32), RATE) == ""
    assert why_no_speech_in(np.zeros(0, dtype=np.float32), RATE) == ""


def test_long_sound_is_judged_in_pieces() -> None:
    rng = np.random.default_rng(0)
    hiss = rng.normal(scale=0.01, size=60 * 8000).astype(np.float32)
    whole = why_no_speech(frame_powers(hiss, 6000, 80), 0.01)
    assert why_no_speech_in(hiss, 8000) == whole
    assert whole.startswith("its sound is steady within ")
    hiss[-16000:] *= 0.1
    hiss[:16000] *= 0.1
    assert why_no_speech_in(hiss, 8000) == ""
