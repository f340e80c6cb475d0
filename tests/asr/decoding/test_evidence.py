"""Evidence by hand, on scores that say which phone is spoken."""

import numpy as np
from numpy.testing import assert_allclose

from acoustic import AcousticModel, GmmModel, Topology
from acoustic.hmm.fit import FitCurve
from asr.decoding.evidence import evidence_of
from decoder import Hypothesis, HypothesisWord, Lexicon
from features.frontend import FrontEnd, FrontEndConfig
from features.mfcc import MfccConfig

LEXICON = Lexicon({"AB": [("a", "b")], "BA": [("b", "a")]})
TOPOLOGY = Topology.monophones("ab", n_states=1)  # sil, a and b are states 0, 1 and 2
FRONT_END = FrontEnd(FrontEndConfig(MfccConfig(n_cepstra=2, energy=False, derivatives=0), normalize="none"))
GMM = GmmModel(np.zeros((3, 1)), np.zeros((3, 1, 2)), np.ones((3, 1, 2)))
MODEL = AcousticModel(FRONT_END, TOPOLOGY, GMM, np.ones(3))


def spoken(states, strength=20.0):
    scores = np.zeros((len(states), 3))
    scores[np.arange(len(states)), states] = strength
    return scores


def word(name, start, end):
    return HypothesisWord(name, start * 0.01, end * 0.01, 0.0)


SCORES = spoken([0, 1, 1, 2, 2, 0, 2, 2, 2, 2, 0])  # "ab", then four frames of "b"
RIGHT, WRONG = word("AB", 1, 5), word("BA", 6, 10)
FOUND = Hypothesis((RIGHT, WRONG), -1.0, True, (Hypothesis((), -2.0, True),))
CURVE = FitCurve(slope=0.4, offset=2.0)


class TestEvidence:
    def test_by_hand(self):
        right, wrong = evidence_of(FOUND.words, SCORES, MODEL, LEXICON)
        length = np.log(2)
        rest = (length, length**2, 20.0, 20.0, 20 / 3)  # of three states the tenth best is the last
        assert_allclose(right, (0, 0, 0, 0, *rest), rtol=1e-12, atol=0)
        # One frame of four has to be an "a".
        assert_allclose(wrong, (-5, -20, -5, -20, *rest), rtol=1e-12, atol=0)

    def test_any_phones_are_a_path_and_best_states_are_not(self):
        topology = Topology.monophones("ab", n_states=2)
        model = AcousticModel(
            FRONT_END,
            topology,
            GmmModel(np.zeros((6, 1)), np.zeros((6, 1, 2)), np.ones((6, 1, 2))),
            np.ones(6),
        )
        states = [2, 3, 5, 4]  # a forwards, b backwards: no path through phones has both of its states
        scores = np.zeros((4, 6))
        scores[np.arange(4), states] = 20.0
        (found,) = evidence_of([word("AB", 0, 4)], scores, model, LEXICON)
        assert found is not None
        assert_allclose(found.best_margin, -10.0, rtol=1e-12, atol=0)  # both frames of b
        assert -10.0 < found.margin <= 0.0

    def test_too_few_frames_tell_nothing(self):
        assert evidence_of([word("AB", 1, 2)], SCORES, MODEL, LEXICON) == [None]
        assert evidence_of([], np.empty((0, 3)), MODEL, LEXICON) == []
