"""Hypotheses with and without speech: which recordings are decoded, and what becomes of what is found."""

import logging

import numpy as np
import pytest

from asr.decoding.evidence import Evidence
from asr.decoding.judging import Judge, heard, tell_of_no_speech
from asr.decoding.rejection import Rejection
from decoder import Hypothesis, HypothesisWord, Lexicon
from features.recording import Recording

LEXICON = Lexicon({"AB": [("a", "b")]})
FOUND = Hypothesis((HypothesisWord("AB", 0.0, 0.04, -1.0),), -1.0, True)
ALL, NONE = (Rejection(threshold, Evidence()) for threshold in (-1.0, 1.0))


@pytest.fixture
def judge(ab_model, spoken):
    """Return a function that gives what is left of `FOUND` where states are spoken."""

    def left(states, rejection=None):
        return Judge(ab_model(1), LEXICON, rejection).spoken(FOUND, spoken(states, 3))

    return left


def test_words_stay_where_something_is_spoken(judge):
    assert judge([1, 1, 2, 2]) == FOUND


def test_no_words_where_nothing_is_spoken_and_why(judge):
    silent = judge([0, 0, 1, 0])
    assert silent.words == ()
    assert silent.no_speech == "1 of its 4 frames sound like speech, a word takes 2"


def test_words_that_are_rejected_leave_speech(judge):
    for rejection, n_words in ((ALL, 1), (NONE, 0)):
        found = judge([1, 1, 2, 2], rejection)
        assert (len(found.words), found.no_speech) == (n_words, "")


def test_only_sounds_that_may_be_speech_are_decoded(ab_model):
    config = ab_model(1).front_end.config.mfcc
    hiss = np.random.default_rng(0).normal(size=16000)
    swelling = hiss * np.sin(np.arange(16000) / 1000) ** 2
    recordings = [Recording.of((0.1 * x).astype(np.float32), config) for x in (hiss, swelling, hiss)]
    calls = []

    def decode(some, speakers):
        calls.append((list(some), list(speakers)))
        return [FOUND]

    found = heard(recordings, ["1", "2", "3"], decode)
    assert calls == [([recordings[1]], ["2"])]
    assert found[1] is FOUND
    assert [h.no_speech[:19] for h in found[0::2]] == ["its sound is steady"] * 2


def test_what_has_no_speech_is_named(caplog):
    with caplog.at_level(logging.WARNING):
        tell_of_no_speech("a.wav", FOUND)
        tell_of_no_speech("b.wav", Hypothesis((), 0.0, True, no_speech="it is quiet"))
    assert caplog.messages == ["b.wav: no speech in it, so no words: it is quiet"]
