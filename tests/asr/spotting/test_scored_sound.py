"""What is known of a recording by its scores alone, by hand."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from asr.spotting import evidence as scored_sound
from asr.spotting.evidence import ScoredSound


def test_silence_and_speech(ab_model, spoken):
    sound = ScoredSound(spoken([0, 1, 1, 2, 0], 3), ab_model(1))
    assert_array_equal(sound.any_phones, [0, 1, 1, 2, 0])
    assert_array_equal(sound.is_speech, [False, True, True, True, False])
    assert_allclose(sound.best, 20.0, rtol=0, atol=0)
    assert_allclose(sound.of_any_phones, 20.0, rtol=0, atol=0)


def test_contrast_is_of_a_rank_or_of_the_last_state(ab_model):
    sound = ScoredSound(np.array([[1.0, 5.0, 3.0], [0.0, 0.0, 0.0]]), ab_model(1))
    assert sound.contrast(2).tolist() == [2.0, 0.0]
    assert sound.contrast(10).tolist() == [4.0, 0.0]


def test_fewer_frames_than_a_phone_has_states_are_no_speech(ab_model, spoken):
    sound = ScoredSound(spoken([2], 6), ab_model(2))
    assert len(sound.any_phones) == 0
    assert sound.is_speech.tolist() == [False]
    assert sound.of_any_phones.tolist() == [20.0]


def test_the_path_is_searched_once(ab_model, spoken, monkeypatch):
    calls, searched = [], scored_sound.loop_path
    monkeypatch.setattr(scored_sound, "loop_path", lambda *given: calls.append(1) or searched(*given))
    sound = ScoredSound(spoken([0, 1, 2, 0], 3), ab_model(1))
    assert sound.is_speech.sum() == 2
    assert len(sound.of_any_phones) == 4
    assert len(calls) == 1
