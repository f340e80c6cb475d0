"""Evidence by hand, on scores that say which phone is spoken."""

import numpy as np
from numpy.testing import assert_allclose

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
