"""The tone language: its sounds are where they should be, and each speaker's are shifted."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr.corpora.tones import FORMANTS_HZ, RATE, WORDS, speak, write_tones


@pytest.mark.parametrize("scale", [0.9, 1.1])
def test_a_vowel_has_its_formants(scale: float) -> None:
    samples = speak(("A",), scale, np.random.default_rng(0))
    power = np.abs(np.fft.rfft(samples)) ** 2
    hz = np.fft.rfftfreq(len(samples), 1 / RATE)
    near = np.min([np.abs(hz - f * scale) for f in FORMANTS_HZ["A"]], axis=0) < 50
    assert power[near].sum() > 0.9 * power.sum()


def test_words_are_between_silences() -> None:
    samples = speak(("ASA", "SUS"), 1.0, np.random.default_rng(0))
    assert np.abs(samples[: RATE // 10]).max() < 0.01 < np.abs(samples).max()
    assert np.abs(samples[-RATE // 12 :]).max() < 0.01
    assert 6 * 0.06 < len(samples) / RATE - 0.25 < 6 * 0.1


def test_a_folder_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = (write_tones(tmp_path / name, n_speakers=2, n_each=3) for name in "ab")
    texts = [path.read_text().split() for path in sorted(first.rglob("*.txt"))]
    assert [len(words) for words in texts] == [2, 3, 2] * 2
    assert {word for words in texts for word in words} == set(WORDS)
    for path in first.rglob("*.wav"):
        np.testing.assert_array_equal(
            soundfile.read(path)[0], soundfile.read(second / path.relative_to(first))[0]
        )
