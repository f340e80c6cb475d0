"""Hypotheses with and without speech: what becomes of what is found."""

import pytest

from asr.spotting.evidence import Evidence
from asr.spotting.rejection import Judge, Rejection
from decoder import Hypothesis, HypothesisWord, Lexicon

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
