"""Rules learned from words whose evidence is drawn, against what a Bayes decision would do."""

import numpy as np
from numpy.testing import assert_allclose

from asr.spotting.evidence import Evidence
from asr.spotting.learning import Candidate, learn_rejection, log_odds_of
from asr.spotting.rejection import Rejection

FALLBACK = Rejection(0.0, Evidence(margin=1.0), 2.0)


def candidates(n, seed=0, distance=2.0):
    """Return words, half of them spoken, whose margins are Gaussian with variance 1 at 0 and at −distance."""
    rng = np.random.default_rng(seed)
    is_spoken = rng.random(n) < 0.5
    margins = rng.normal(size=n) - distance * ~is_spoken
    rest = rng.normal(size=(n, 8))
    return [
        Candidate("A", Evidence(float(m), *r), bool(s), str(k % 10))
        for k, (m, r, s) in enumerate(zip(margins, rest, is_spoken, strict=True))
    ]


def test_the_log_odds_of_two_gaussians():
    rule, odds = learn_rejection(candidates(4000), ["A"], FALLBACK)
    # log N(x; 0, 1) − log N(x; −2, 1) = 2x + 2
    for margin in (-3.0, -1.0, 1.0):
        found = rule.log_odds("A", Evidence(margin=margin))
        assert_allclose(found, 2 * margin + 2, rtol=0, atol=0.4)
    assert rule.threshold == 0.0
    assert_allclose(odds, log_odds_of(rule, candidates(4000)), rtol=0, atol=0.6)


def test_odds_are_those_of_a_rule_that_does_not_know_the_group():
    some = candidates(300)
    odd = [c if c.group != "3" else Candidate("A", c.evidence, not c.is_spoken, "3") for c in some]
    rule, odds = learn_rejection(odd, ["A"], FALLBACK)
    right, wrong = (odds[[c.group == "3" and c.is_spoken is s for c in odd]].mean() for s in (True, False))
    assert right < wrong  # the others say the contrary of what is true in this group
    assert not np.allclose(odds, log_odds_of(rule, odd))


def test_words_have_terms_of_their_own():
    rng = np.random.default_rng(0)
    some = [
        Candidate("AB"[k % 2], Evidence(), bool(rng.random() < (0.9, 0.1)[k % 2]), str(k % 7))
        for k in range(400)
    ]
    rule, _ = learn_rejection(some, ["A", "B"], FALLBACK)
    assert rule.log_odds("A", Evidence()) > 1.5
    assert rule.log_odds("B", Evidence()) < -1.5


def test_too_few_words_or_groups_fall_back():
    few = candidates(15)
    one_group = [Candidate(c.word, c.evidence, c.is_spoken, "s") for c in candidates(300)]
    for some in (few, one_group, []):
        rule, odds = learn_rejection(some, ["A"], FALLBACK)
        assert rule is FALLBACK
        assert_allclose(odds, [c.evidence.margin + 2 for c in some], rtol=1e-12, atol=0)


def test_words_without_evidence_have_no_chance():
    some = [*candidates(300), Candidate("A", None, True, "0")]
    _, odds = learn_rejection(some, ["A"], FALLBACK)
    assert odds[-1] == -np.inf
    assert np.isfinite(odds[:-1]).all()
