"""Words are kept by the odds of their evidence and by nothing else."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from acoustic.alignment import FitCurve
from asr.spotting.evidence import Evidence, ScoredSound
from asr.spotting.rejection import Rejection
from decoder import Hypothesis

CURVE = FitCurve(slope=0.4, offset=2.0)


class TestRejection:
    def test_words_below_the_threshold_go_with_the_alternatives(self, sounds, found):
        kept = Rejection.of_curve(CURVE, threshold=-0.99).kept(found, *sounds)
        assert (kept.text, kept.alternatives) == (("AB",), ())
        assert (kept.log_score, kept.complete) == (-1.0, True)
        kept = Rejection.of_curve(CURVE, threshold=-1.01).kept(found, *sounds)
        assert kept.text == ("AB", "BA")

    def test_times_stay_and_the_confidence_is_the_probability(self, sounds, found):
        kept = Rejection.of_curve(CURVE, threshold=-np.inf).kept(found, *sounds)
        assert [(w.start_s, w.end_s) for w in kept.words] == [(w.start_s, w.end_s) for w in found.words]
        assert_allclose(
            [w.confidence for w in kept.words],
            [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))],
            rtol=1e-12,
            atol=0,
        )

    def test_each_kind_of_evidence_counts_by_its_weight(self):
        rejection = Rejection(0.0, Evidence(margin=2.0, phone_margin=0.5, level=-1.0), 3.0, {"BA": 10.0})
        evidence = Evidence(margin=-5.0, phone_margin=-20.0, level=4.0, contrast=100.0)
        assert rejection.log_odds("AB", evidence) == -10 - 10 - 4 + 3
        assert rejection.log_odds("BA", evidence) == -10 - 10 - 4 + 3 + 10

    def test_fillers_are_dropped(self, sounds, found, word):
        with_fillers = Hypothesis((word("~1", 0, 1), found.words[0], word("~2", 5, 6)), 0.0, True)
        assert Rejection.of_curve(CURVE).kept(with_fillers, *sounds).text == ("AB",)

    @pytest.mark.parametrize("threshold", [0.0, -1e9])
    def test_a_word_of_fewer_frames_than_states_is_never_kept(self, sounds, word, threshold):
        short = Hypothesis((word("AB", 1, 2),), 0.0, True)
        assert Rejection.of_curve(CURVE, threshold).kept(short, *sounds).words == ()

    def test_nothing_recognised_stays_so(self, sounds):
        nothing = Hypothesis((), 0.0, True)
        silent = ScoredSound(np.empty((0, 3)), sounds.sound.model)
        kept = Rejection.of_curve(CURVE).kept(nothing, silent, sounds.lexicon)
        assert kept == nothing
