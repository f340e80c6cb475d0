"""Evidence by hand, on scores that say which phone is spoken."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from asr.spotting import evidence
from asr.spotting.evidence import ScoredSound, evidence_of


class TestEvidence:
    def test_by_hand(self, sounds, found):
        right, wrong = evidence_of(found.words, *sounds)
        length = np.log(2)
        # Of three states the tenth best is the last; the path has the best state of each frame of speech.
        rest = (length, length**2, 20.0, 20.0, 20 / 3, 0.0, 20.0)
        assert_allclose(right, (0, 0, 0, 0, *rest), rtol=1e-12, atol=0)
        # One frame of four has to be an "a".
        assert_allclose(wrong, (-5, -20, -5, -20, *rest), rtol=1e-12, atol=0)

    def test_any_phones_are_a_path_and_best_states_are_not(self, sounds, ab_model, spoken, word):
        states = [2, 3, 5, 4]  # a forwards, b backwards: no path through phones has both of its states
        scores = spoken(states, 6)
        (found,) = evidence_of([word("AB", 0, 4)], ScoredSound(scores, ab_model(2)), sounds.lexicon)
        assert found is not None
        assert_allclose(found.best_margin, -10.0, rtol=1e-12, atol=0)  # both frames of b
        assert -10.0 < found.margin <= 0.0
        assert -10.0 <= found.any_margin < 0.0

    def test_too_few_frames_tell_nothing(self, sounds, word):
        assert evidence_of([word("AB", 1, 2)], *sounds) == [None]
        assert evidence_of([], ScoredSound(np.empty((0, 3)), sounds.sound.model), sounds.lexicon) == []

    def test_a_word_is_judged_by_all_speech_of_its_recording(self, sounds, spoken, word):
        clear, doubtful = spoken([0, 1, 1, 2, 2, 0], 3), spoken([0, 0, 1, 2, 1, 2, 0, 0], 3)
        doubtful[2:6] += (0.0, 15.0, 15.0)  # the other phone scores nearly as much, silence does not
        both = np.vstack([clear, doubtful])
        first = [word("AB", 1, 5)]
        (alone,), (among,) = (
            evidence_of(first, ScoredSound(scores, sounds.sound.model), sounds.lexicon)
            for scores in (clear, both)
        )
        assert alone[:9] == among[:9]
        # Four frames of speech with 20 above the last, four with 35: silence around them does not count.
        assert_allclose((alone.any_contrast, among.any_contrast), (20.0, 27.5), rtol=1e-12, atol=0)
        quieter = np.vstack([both, spoken([0] * 50, 3)])
        (found,) = evidence_of(first, ScoredSound(quieter, sounds.sound.model), sounds.lexicon)
        assert_allclose(found.any_contrast, 27.5, rtol=1e-12, atol=0)

    def test_where_all_is_silence_all_frames_count(self, sounds, spoken, word):
        silent = ScoredSound(spoken([0, 0, 0, 0], 3), sounds.sound.model)
        (found,) = evidence_of([word("AB", 0, 4)], silent, sounds.lexicon)
        assert (found.any_margin, found.any_contrast) == (0.0, 20.0)


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
    calls, searched = [], evidence.loop_path
    monkeypatch.setattr(evidence, "loop_path", lambda *given: calls.append(1) or searched(*given))
    sound = ScoredSound(spoken([0, 1, 2, 0], 3), ab_model(1))
    assert sound.is_speech.sum() == 2
    assert len(sound.of_any_phones) == 4
    assert len(calls) == 1
