"""The rule that training learns, and the threshold of any rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from asr import Recognizer
from asr.corpora.corpus import read_corpus
from asr.corpora.speech_data import SpeechData, usable_cepstra
from asr.corpora.tones import speak
from asr.spotting import learning as choosing
from asr.spotting.detection import Wanted
from asr.spotting.evidence import Evidence
from asr.spotting.learning import KEPT, Candidate, chosen_by, fallback_of, learned_rule
from asr.spotting.pieces import SearchedPiece
from asr.spotting.rejection import Keywords, Rejection

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
    monkeypatch.setattr(choosing, "N_LEARNED_FROM", N_WORDS)
    seen = []

    def noted(*given, **options):  # type: ignore[no-untyped-def]
        found = pieces(*given, **options)
        seen.append(len(found))
        return found

    pieces = choosing.pieces_of_speech
    monkeypatch.setattr(choosing, "pieces_of_speech", noted)
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
