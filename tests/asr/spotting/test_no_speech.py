"""Sounds without speech by hand: by their energy, and by scores that have room for silence only."""

import re

import numpy as np
import pytest

from asr.spotting.evidence import ScoredSound
from asr.spotting.rejection import shortest_word, why_no_words
from decoder import Lexicon
from features.mfcc import MfccConfig
from features.recording import Recording
from features.samples import why_no_speech

RATE = 16000
TIME_S = np.arange(2 * RATE) / RATE
HISS = np.random.default_rng(0).normal(size=2 * RATE)
SYLLABLES = np.sin(2 * np.pi * 3 * TIME_S) ** 2  # three swells a second, as of speech
LEXICON = Lexicon({"AB": [("a", "b"), ("a", "b", "a")]})


def recording(samples):
    return Recording.of(np.asarray(samples, dtype=np.float32), MfccConfig(sample_rate=RATE))


def why_not_heard(sound):
    """Return why the energy of a recording is not that of speech, empty if it may be."""
    return why_no_speech(sound.powers, sound.config.shift_ms / 1000)


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        (np.full(RATE, 0.1), "its samples do not change"),
        (1e-6 * HISS * SYLLABLES, "its loudest part has -11"),
        (np.round(0.3 * HISS * SYLLABLES) / 2**15, "its loudest part has -9"),
        (0.1 * HISS, r"its sound is steady within 0\.\d dB"),
        (0.1 * np.sin(2 * np.pi * 50 * TIME_S), r"its sound is steady within 0\.\d dB"),
        (0.1 * np.sin(2 * np.pi * 50 * TIME_S[:2000]), r"its sound is steady within 0\.\d dB"),
    ],
    ids=["constant", "vanishing", "below a step of 16 bits", "hiss", "hum", "brief hum"],
)
def test_sounds_that_are_no_speech(samples, why):
    assert re.match(why, why_not_heard(recording(samples)))


@pytest.mark.parametrize("level", [1e-3, 0.1])
def test_sounds_that_swell_may_be_speech_however_loud(level):
    assert why_not_heard(recording(level * HISS * SYLLABLES)) == ""


def test_a_brief_recording_may_be_one_steady_vowel():
    vowel = 0.1 * HISS * np.linspace(1.0, 1.15, len(HISS))
    assert why_not_heard(recording(vowel)) != ""
    assert why_not_heard(recording(0.1 * HISS[:2400] * np.linspace(1.0, 1.15, 2400))) == ""


def test_a_few_frames_tell_nothing():
    assert why_not_heard(recording(0.1 * HISS[:600])) == ""


def test_a_path_through_silence_has_no_room_for_a_word(ab_model, spoken):
    model = ab_model(2)  # sil, a and b are states 0 and 1, 2 and 3, 4 and 5
    assert shortest_word(LEXICON, model.topology) == 4
    assert why_no_words(ScoredSound(spoken([0] * 5 + [1] * 5, 6), model), 4) == (
        "0 of its 10 frames sound like speech, a word takes 4"
    )
    assert why_no_words(ScoredSound(spoken([0, 1, 2, 3, 0, 1], 6), model), 4).startswith("2 of its 6 frames")
    assert why_no_words(ScoredSound(spoken([0, 1, 2, 3, 4, 5, 0, 1], 6), model), 4) == ""


def test_fewer_frames_than_a_phone_are_no_word(ab_model, spoken):
    assert (
        why_no_words(ScoredSound(spoken([2], 6), ab_model(2)), 4)
        == "0 of its 1 frames sound like speech, a word takes 4"
    )
