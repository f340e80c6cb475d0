"""Evidence by hand, on scores that say which phone is spoken."""

import numpy as np
from numpy.testing import assert_allclose

from asr.decoding.evidence import evidence_of


class TestEvidence:
    def test_by_hand(self, sounds, found):
        right, wrong = evidence_of(found.words, *sounds)
        length = np.log(2)
        rest = (length, length**2, 20.0, 20.0, 20 / 3)  # of three states the tenth best is the last
        assert_allclose(right, (0, 0, 0, 0, *rest), rtol=1e-12, atol=0)
        # One frame of four has to be an "a".
        assert_allclose(wrong, (-5, -20, -5, -20, *rest), rtol=1e-12, atol=0)

    def test_any_phones_are_a_path_and_best_states_are_not(self, sounds, ab_model, spoken, word):
        states = [2, 3, 5, 4]  # a forwards, b backwards: no path through phones has both of its states
        scores = spoken(states, 6)
        (found,) = evidence_of([word("AB", 0, 4)], scores, ab_model(2), sounds.lexicon)
        assert found is not None
        assert_allclose(found.best_margin, -10.0, rtol=1e-12, atol=0)  # both frames of b
        assert -10.0 < found.margin <= 0.0

    def test_too_few_frames_tell_nothing(self, sounds, word):
        assert evidence_of([word("AB", 1, 2)], *sounds) == [None]
        assert evidence_of([], np.empty((0, 3)), sounds.model, sounds.lexicon) == []
