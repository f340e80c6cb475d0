"""What is said of utterances with a transcript and without speech."""

import logging
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr.corpora.sound_faults import Sound, no_speech, sound_faults, sound_of, sounds, warn_of_silences
from asr.corpora.utterances import Corpus, Utterance


def speechlike(n: int = 16000, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (0.1 * rng.laplace(size=n) * np.abs(np.sin(np.arange(n) / 3000))).astype(np.float32)


def test_level_of_a_sine() -> None:
    found = sound_of((0.5 * np.sin(np.arange(16000) / 5)).astype(np.float32))
    assert found.level_db == pytest.approx(20 * np.log10(0.5 / np.sqrt(2)), abs=0.01)
    assert found.clipped == 0.0


@pytest.mark.parametrize("gain", [1.0, 0.3])  # clipped before it was made softer, too
def test_clipped_samples_are_counted(gain: float) -> None:
    samples = speechlike()
    limit = np.quantile(np.abs(samples), 0.8)
    found = sound_of(gain * np.clip(samples, -limit, limit))
    in_runs = np.abs(samples) >= limit
    alone = in_runs & ~np.append(False, in_runs[:-1]) & ~np.append(in_runs[1:], False)
    assert 0.01 < found.clipped <= 0.2
    assert found.clipped >= 0.2 - alone.mean() - 0.1


def test_faults() -> None:
    measured = {f"u{n}": Sound(-25.0 - n, 0.0001) for n in range(5)}
    measured |= {"quiet": Sound(-70.0, 1.0), "clipped": Sound(-10.0, 0.123)}
    assert sound_faults(measured) == {
        "quiet": "nearly silent: 43 dB below the median level",
        "clipped": "clipped: 12 % of samples at the limit",
    }
    assert sound_faults({}) == {}


def test_sounds_of_a_corpus_but_for_what_cannot_be_read(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.concatenate([speechlike(), np.zeros(16000)]), 16000)
    utterances = [
        Utterance("loud", tmp_path / "a.wav", ("A",), "s", 0.0, 1.0),
        Utterance("silent", tmp_path / "a.wav", ("A",), "s", 1.0, 2.0),
        Utterance("missing", tmp_path / "b.wav", ("A",), "s"),
    ]
    found = sounds(Corpus(tuple(utterances)))
    assert list(found) == ["loud", "silent"]
    assert found["loud"].level_db == pytest.approx(sound_of(speechlike()).level_db, abs=0.1)
    assert found["silent"].level_db == -120.0


def utterance(name: str, *words: str) -> Utterance:
    return Utterance(name, Path(f"/c/{name}.wav"), words, "s")


@pytest.mark.parametrize(
    ("words", "expected"), [(("A", "[noise]"), "the word"), (("A", "[noise]", "B"), "the 2 words")]
)
def test_spoken_words_are_counted(words: tuple[str, ...], expected: str) -> None:
    assert no_speech(utterance("u", *words), "it hums") == (
        f"/c/u.wav: no speech in it, expected {expected} of its transcript; it hums; "
        "listen to it, record it again or remove it"
    )


def test_of_many_the_first_are_named(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    warn_of_silences([(utterance(f"u{n:02d}", "A"), "it hums") for n in range(12)])
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.WARNING] * 10 + [logging.INFO] * 2 + [logging.WARNING]
    assert [message.partition(":")[0] for message in caplog.messages[:12]] == [f"u{n:02d}" for n in range(12)]
    assert caplog.messages[-1] == "no speech in 2 more utterances with a transcript; asr validate lists all"


def test_what_has_no_words_need_not_be_speech(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_silences([(utterance("u"), "it hums"), (utterance("v", "[noise]"), "it hums")])
    assert caplog.messages == []
