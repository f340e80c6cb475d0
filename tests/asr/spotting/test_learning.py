"""Rules and thresholds learned from words whose evidence is drawn, against what a Bayes decision would do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from asr import Recognizer
from asr.corpora.corpus import read_corpus
from asr.corpora.speech_data import SpeechData, usable_cepstra
from asr.corpora.tones import speak
from asr.spotting import learning
from asr.spotting.detection import Wanted
from asr.spotting.evidence import Evidence
from asr.spotting.learning import (
    KEPT,
    Candidate,
    chosen_by,
    fallback_of,
    learn_rejection,
    learned_rule,
    log_odds_of,
)
from asr.spotting.pieces import SearchedPiece
from asr.spotting.rejection import Keywords, Rejection

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


N_WORDS = 300
ROUGH = Keywords((), 0.0, Rejection(0.0, Evidence(margin=1.0)))


@pytest.fixture(scope="module")
def recognizer(trained: Path) -> Recognizer:
    return replace(Recognizer.load(trained), rule=None)


@pytest.fixture(scope="module")
def dev(recognizer: Recognizer, many_tones: Path) -> SpeechData:
    data, errors = usable_cepstra(read_corpus(many_tones), recognizer.model.front_end.config)
    assert not errors
    return data


def heard(n: int) -> list[SearchedPiece]:
    """Return recordings of ten seconds in which one of two words was spoken, by margins that tell."""
    rng = np.random.default_rng(0)

    def one(k: int) -> Candidate:
        margin = rng.normal() - 6 * (k % 2)
        return Candidate("A", Evidence(margin=margin), k % 2 == 0, str(k % 10), is_counted=k % 4 < 3)

    return [SearchedPiece(((one(k),),), 1, 10.0) for k in range(n)]


def test_the_threshold_keeps_as_many_right_words_as_are_wanted() -> None:
    found = chosen_by("m", ROUGH, 0, heard(400), Wanted(detection=90.0))
    assert found.n_spoken == 200  # all right words are counted, half of the wrong ones
    assert 180 <= found.point.detected <= 185
    assert found.point.false_alarms <= 2
    assert found.hours == pytest.approx(4000 / 3600)
    assert found.keywords.rejection.threshold == found.point.threshold


def test_words_of_dev_stay_and_unknown_ones_go(recognizer: Recognizer, dev: SpeechData) -> None:
    found = learned_rule(recognizer, dev)
    assert found is not None
    assert found.words == ()
    judge = replace(recognizer, rule=found.rejection).with_rejection()
    rng = np.random.default_rng(3)
    spoken = [("SUS", "ASA"), ("MAUI", "IMI"), ("ASA", "MAUI")]
    right = [judge.transcribe(speak(words, 1.0, rng)).text for words in spoken]
    assert right == spoken
    others = [speak(words, 1.0, rng) for words in (("UIU", "AMAM"), ("MSM", "UAU"), ("ISI", "AUIA"))]
    n_before, n_after = (
        sum(len(judged.transcribe(sound).words) for sound in others) for judged in (recognizer, judge)
    )
    assert n_after < n_before


def test_the_same_each_time_and_of_so_many_utterances(
    recognizer: Recognizer, dev: SpeechData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "N_LEARNED_FROM", N_WORDS)
    seen = []

    def noted(*given, **options):  # type: ignore[no-untyped-def]
        found = pieces(*given, **options)
        seen.append(len(found))
        return found

    pieces = learning.pieces_of_speech
    monkeypatch.setattr(learning, "pieces_of_speech", noted)
    assert learned_rule(recognizer, dev) == learned_rule(recognizer, dev)
    drawn = np.random.default_rng(0).permutation(200)
    words = np.cumsum([len(dev.corpus.utterances[n].words) for n in drawn])
    n_enough = 1 + int(np.searchsorted(words, N_WORDS))
    assert len(dev.corpus) == 200
    assert sum(len(u.words) for u in dev.corpus) > N_WORDS
    assert seen[0] == seen[1] == 2 * n_enough  # forwards and backwards


def test_too_little_teaches_nothing(recognizer: Recognizer, dev: SpeechData) -> None:
    few = dev.without(set(dev.corpus.ids[2:]))
    assert learned_rule(recognizer, few) is None
    assert fallback_of(recognizer).weights.best_margin > 0


def test_without_a_wish_what_is_more_probably_right_stays() -> None:
    """Where right and wrong words lie far apart, nearly all right ones would stay with a higher threshold."""
    usual = chosen_by("m", ROUGH, 0, heard(400), Wanted())
    strict = chosen_by("m", ROUGH, 0, heard(400), Wanted(detection=KEPT))
    assert strict.keywords.rejection.threshold > 0
    assert usual.keywords.rejection.threshold == usual.point.threshold == 0.0
    assert usual.point.detected > strict.point.detected >= KEPT / 100 * 200
