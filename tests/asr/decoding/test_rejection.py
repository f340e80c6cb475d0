"""Evidence by hand on scores that say which phone is spoken; words are kept by it and by nothing else."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from acoustic import AcousticModel, GmmModel, Topology
from acoustic.hmm.fit import FitCurve
from asr.decoding.rejection import NO_EVIDENCE, Evidence, Rejection, evidence_of
from decoder import Hypothesis, HypothesisWord, Lexicon
from features.frontend import FrontEnd, FrontEndConfig
from features.mfcc import MfccConfig

LEXICON = Lexicon({"AB": [("a", "b")], "BA": [("b", "a")]})
TOPOLOGY = Topology.monophones("ab", n_states=1)  # sil, a and b are states 0, 1 and 2
FRONT_END = FrontEnd(FrontEndConfig(MfccConfig(n_cepstra=2, energy=False, derivatives=0), normalize="none"))
MODEL = AcousticModel(
    FRONT_END, TOPOLOGY, GmmModel(np.zeros((3, 1)), np.zeros((3, 1, 2)), np.ones((3, 1, 2))), np.ones(3)
)


def spoken(states, strength=20.0):
    scores = np.zeros((len(states), 3))
    scores[np.arange(len(states)), states] = strength
    return scores


def word(name, start, end):
    return HypothesisWord(name, start * 0.01, end * 0.01, 0.0)


SCORES = spoken([0, 1, 1, 2, 2, 0, 2, 2, 2, 2, 0])  # "ab", then four frames of "b"
RIGHT, WRONG = word("AB", 1, 5), word("BA", 6, 10)
FOUND = Hypothesis((RIGHT, WRONG), -1.0, True, (Hypothesis((), -2.0, True),))


def test_evidence_by_hand():
    right, wrong = evidence_of(FOUND.words, SCORES, MODEL, LEXICON)
    assert right == Evidence(0.0, 0.0)
    assert_allclose(wrong, (-5.0, -20.0), rtol=1e-12, atol=0)  # one frame of four has to be an "a"


def test_words_below_the_threshold_go_with_the_alternatives():
    kept = Rejection(threshold=-4.9).kept(FOUND, SCORES, MODEL, LEXICON)
    assert kept == Hypothesis((RIGHT,), -1.0, True)
    assert Rejection(threshold=-5.0).kept(FOUND, SCORES, MODEL, LEXICON).words == (RIGHT, WRONG)


def test_the_worst_phone_counts_by_its_weight():
    rejection = Rejection(threshold=-12.4, phone_weight=0.5)
    assert_allclose(rejection.score(Evidence(-5.0, -20.0)), -12.5, rtol=1e-12, atol=0)
    assert rejection.kept(FOUND, SCORES, MODEL, LEXICON).text == ("AB",)


def test_confidence_is_what_the_curve_makes_of_the_score():
    curve = FitCurve(slope=0.4, offset=2.0)
    kept = Rejection(threshold=-np.inf, curve=curve).kept(FOUND, SCORES, MODEL, LEXICON)
    assert_allclose([w.confidence for w in kept.words], [1 / (1 + np.exp(-2)), 0.5], rtol=1e-12, atol=0)


@pytest.mark.parametrize("phone_weight", [0.0, 0.5])
def test_a_word_of_fewer_frames_than_phones_is_never_kept(phone_weight):
    short = word("AB", 1, 2)
    assert evidence_of([short], SCORES, MODEL, LEXICON) == [NO_EVIDENCE]
    rejection = Rejection(threshold=-1e9, phone_weight=phone_weight)
    assert rejection.kept(Hypothesis((short,), 0.0, True), SCORES, MODEL, LEXICON).words == ()


def test_nothing_recognised_stays_so():
    nothing = Hypothesis((), 0.0, True)
    assert Rejection(threshold=0.0).kept(nothing, np.empty((0, 3)), MODEL, LEXICON) == nothing
