"""The binding of espeak-ng: repeatable samples, voices that differ, clear errors."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from asr.errors import ConfigError, ExperimentError
from recipes import espeak
from recipes.espeak import EspeakVoice, synthesize

espeakng_loader = pytest.importorskip("espeakng_loader", reason="needs the extra demo (espeakng-loader)")

TEXT = "open the north valve"
BRITISH_WOMAN = EspeakVoice("en", "f2")
# Adds breath noise, the part of espeak-ng that draws random numbers.
BREATHY = EspeakVoice("en-gb-scotland", "f5", pitch=60, pitch_range=40, rate_wpm=150)


def fundamental_hz(samples: np.ndarray, low_hz: float = 60.0, high_hz: float = 400.0) -> float:
    """Return the median, over the louder 40 ms frames, of the frequency of the highest autocorrelation."""
    frames = samples[: len(samples) // 882 * 882].reshape(-1, 882).astype(np.float64)
    energy = (frames**2).sum(axis=1)
    lags = np.arange(int(espeak.SAMPLE_RATE / high_hz), int(espeak.SAMPLE_RATE / low_hz))
    found = []
    for frame in frames[energy > np.median(energy)]:
        correlation = np.correlate(frame, frame, mode="full")[len(frame) - 1 :]
        found.append(espeak.SAMPLE_RATE / lags[np.argmax(correlation[lags])])
    return float(np.median(found))


def test_samples_are_float32_of_a_sane_length_and_level() -> None:
    samples = synthesize(TEXT, EspeakVoice())
    assert samples.dtype == np.float32
    assert samples.ndim == 1
    assert 0.8 < len(samples) / espeak.SAMPLE_RATE < 2.5
    assert 0.1 < np.abs(samples).max() < 1.0


def test_same_samples_whatever_was_spoken_before() -> None:
    first = synthesize(TEXT, BREATHY)
    for voice in (EspeakVoice(), BRITISH_WOMAN, EspeakVoice("en-029", "klatt4", rate_wpm=220)):
        synthesize("twenty three", voice)
    time.sleep(1.1)  # espeak-ng seeds itself with the second of the clock
    np.testing.assert_array_equal(synthesize(TEXT, BREATHY), first)


def test_same_samples_in_another_process() -> None:
    code = (
        "import sys; from recipes.espeak import EspeakVoice, synthesize; "
        f"sys.stdout.buffer.write(synthesize({TEXT!r}, {BREATHY!r}).tobytes())"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert synthesize(TEXT, BREATHY).tobytes() == other


def test_pitch_rate_variant_and_accent_are_heard() -> None:
    man, woman = EspeakVoice(variant="m3"), EspeakVoice(variant="f3")
    assert fundamental_hz(synthesize(TEXT, woman)) > 1.5 * fundamental_hz(synthesize(TEXT, man))
    low, high = EspeakVoice(variant="m3", pitch=20), EspeakVoice(variant="m3", pitch=80)
    assert fundamental_hz(synthesize(TEXT, high)) > 1.2 * fundamental_hz(synthesize(TEXT, low))
    slow, fast = EspeakVoice(rate_wpm=120), EspeakVoice(rate_wpm=240)
    assert len(synthesize(TEXT, slow)) > 1.5 * len(synthesize(TEXT, fast))
    american, british = synthesize("tomatoes", EspeakVoice()), synthesize("tomatoes", EspeakVoice("en"))
    assert len(american) != len(british) or not np.array_equal(american, british)


@pytest.mark.parametrize(
    ("voice", "message"),
    [
        (EspeakVoice("xx-none"), r'language: expected one such as en-us.*got "xx-none"'),
        (EspeakVoice(variant="m33"), r'variant: expected .*got "m33" \(did you mean "m3"\?\)'),
        (EspeakVoice(variant="Reed"), "that repeat exactly"),
        (EspeakVoice(pitch=100), "pitch: expected 0 to 99, got 100"),
        (EspeakVoice(rate_wpm=20), "rate_wpm: expected 80 to 450, got 20"),
    ],
)
def test_unusable_voice_is_named(voice: EspeakVoice, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        synthesize(TEXT, voice)


def test_no_text_is_an_error() -> None:
    with pytest.raises(ConfigError, match="expected text to speak, got ''"):
        synthesize("", EspeakVoice())


def test_missing_extra_names_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    with pytest.raises(ExperimentError, match=r'run pip install ".*\[demo\]"'):
        synthesize(TEXT, EspeakVoice())


def test_wheel_without_its_data_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "voices" / "!v").mkdir(parents=True)
    monkeypatch.setattr(espeakng_loader, "get_data_path", lambda: str(tmp_path))
    with pytest.raises(ExperimentError, match=r"expected speech at 22050 Hz with the data of .*; reinstall"):
        synthesize(TEXT, EspeakVoice())


@pytest.mark.parametrize("n_characters", [1, 90, 200])
def test_installed_at_any_length_of_path(
    n_characters: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # espeak-ng holds its data path in 160 bytes; a longer one is lost for that of the machine that built it.
    expected = synthesize(TEXT, EspeakVoice())
    data = tmp_path / ("x" * n_characters) / "espeak-ng-data"
    shutil.copytree(espeakng_loader.get_data_path(), data)
    monkeypatch.setattr(espeakng_loader, "get_data_path", lambda: str(data))
    np.testing.assert_array_equal(synthesize(TEXT, EspeakVoice()), expected)


def test_what_is_raised_while_espeak_speaks_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> bytes:
        raise KeyboardInterrupt("while it speaks")

    monkeypatch.setattr(espeak.ctypes, "string_at", interrupt)
    with pytest.raises(KeyboardInterrupt, match="while it speaks"):
        synthesize(TEXT, BRITISH_WOMAN)
