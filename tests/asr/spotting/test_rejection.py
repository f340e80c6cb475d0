"""Words that count as spoken, by hand: rules, sounds without speech, and the files of rules and keywords."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from acoustic.alignment import FitCurve, Segment
from asr.errors import ExperimentError
from asr.spotting.evidence import CommandEvidence, Evidence, HeardCommand, ScoredSound
from asr.spotting.rejection import (
    COMMAND_RULE,
    KEYWORDS,
    REJECTION,
    CommandRule,
    Judge,
    Keywords,
    Rejection,
    command_rule_as_kept,
    read_command_rule,
    read_keywords,
    shortest_word,
    why_no_words,
)
from decoder import Hypothesis, HypothesisWord, Lexicon
from features.mfcc import MfccConfig
from features.recording import Recording
from features.samples import why_no_speech

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


RULE = {"threshold": 1.5, "weights": {"margin": 2.0}, "offset": 0.5, "of_words": {"A": -1.0}}
RECORD = {"words": ["A", "B"], "filler_cost": 10.0, "rejection": RULE, "curve": []}


def test_they_are_read(tmp_path):
    (tmp_path / KEYWORDS).write_text(json.dumps(RECORD))
    rule = Rejection(1.5, Evidence(margin=2.0), 0.5, {"A": -1.0})
    assert read_keywords(tmp_path) == Keywords(("A", "B"), 10.0, rule)


def test_a_model_without_any(tmp_path):
    assert read_keywords(tmp_path) is None
    assert read_keywords(tmp_path, REJECTION) is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"words": None}, "words: expected a list, got null"),
        ({"words": "AB"}, 'words: expected a list, got "AB"'),
        ({"words": ["A", 1]}, r"words\[1\]: expected a text, got 1"),
        ({"filler_cost": float("nan")}, "filler_cost: expected a number, got nan"),
        ({"rejection": {**RULE, "weights": {"odd": 1.0}}}, "unknown key odd"),
        ({"rejection": {**RULE, "weights": {"margin": "2"}}}, 'weights.margin: expected a number, got "2"'),
        ({"rejection": {**RULE, "of_words": {"A": None}}}, "expected a number, got null"),
        ({"rejection": {**RULE, "of_words": [1]}}, "not as asr keywords writes it"),
        ({"rejection": {}}, "not as asr keywords writes it"),
    ],
)
def test_a_broken_file(tmp_path, change, problem):
    (tmp_path / KEYWORDS).write_text(json.dumps({**RECORD, **change}))
    cure = "run asr keywords again"
    with pytest.raises(
        ExperimentError, match=rf"^[^\n]*keywords\.json: [^\n]*{problem}[^\n]*; {cure}[^\n]*$"
    ):
        read_keywords(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", ""])
def test_a_file_that_is_no_object(tmp_path, content):
    (tmp_path / REJECTION).write_text(content)
    with pytest.raises(ExperimentError, match=r"rejection\.json: [^\n]*; run asr keywords again$"):
        read_keywords(tmp_path, REJECTION)


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


RATE = 16000
TIME_S = np.arange(2 * RATE) / RATE
HISS = np.random.default_rng(0).normal(size=2 * RATE)
SYLLABLES = np.sin(2 * np.pi * 3 * TIME_S) ** 2  # three swells a second, as of speech
OF_TWO_AND_THREE = Lexicon({"AB": [("a", "b"), ("a", "b", "a")]})


def recording(samples):
    return Recording.of(np.asarray(samples, dtype=np.float32), MfccConfig(sample_rate=RATE))


def why_not_heard(sound):
    """Return why the energy of a recording is not that of speech, empty if it may be."""
    return why_no_speech(sound.powers, sound.config.shift_ms / 1000)


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        (np.full(RATE, 0.1), "its samples do not change"),
        (1e-6 * HISS * SYLLABLES, "its loudest part has -11"),
        (np.round(0.3 * HISS * SYLLABLES) / 2**15, "its loudest part has -9"),
        (0.1 * HISS, r"its sound is steady within 0\.\d dB"),
        (0.1 * np.sin(2 * np.pi * 50 * TIME_S), r"its sound is steady within 0\.\d dB"),
        (0.1 * np.sin(2 * np.pi * 50 * TIME_S[:2000]), r"its sound is steady within 0\.\d dB"),
    ],
    ids=["constant", "vanishing", "below a step of 16 bits", "hiss", "hum", "brief hum"],
)
def test_sounds_that_are_no_speech(samples, why):
    assert re.match(why, why_not_heard(recording(samples)))


@pytest.mark.parametrize("level", [1e-3, 0.1])
def test_sounds_that_swell_may_be_speech_however_loud(level):
    assert why_not_heard(recording(level * HISS * SYLLABLES)) == ""


def test_a_brief_recording_may_be_one_steady_vowel():
    vowel = 0.1 * HISS * np.linspace(1.0, 1.15, len(HISS))
    assert why_not_heard(recording(vowel)) != ""
    assert why_not_heard(recording(0.1 * HISS[:2400] * np.linspace(1.0, 1.15, 2400))) == ""


def test_a_few_frames_tell_nothing():
    assert why_not_heard(recording(0.1 * HISS[:600])) == ""


def test_a_path_through_silence_has_no_room_for_a_word(ab_model, spoken):
    model = ab_model(2)  # sil, a and b are states 0 and 1, 2 and 3, 4 and 5
    assert shortest_word(OF_TWO_AND_THREE, model.topology) == 4
    assert why_no_words(ScoredSound(spoken([0] * 5 + [1] * 5, 6), model), 4) == (
        "0 of its 10 frames sound like speech, a word takes 4"
    )
    assert why_no_words(ScoredSound(spoken([0, 1, 2, 3, 0, 1], 6), model), 4).startswith("2 of its 6 frames")
    assert why_no_words(ScoredSound(spoken([0, 1, 2, 3, 4, 5, 0, 1], 6), model), 4) == ""


def test_fewer_frames_than_a_phone_are_no_word(ab_model, spoken):
    assert (
        why_no_words(ScoredSound(spoken([2], 6), ab_model(2)), 4)
        == "0 of its 1 frames sound like speech, a word takes 4"
    )


class TestCommandRule:
    """One of two commands a sentence: it must score enough, and last as long as its takes did."""

    RULE = CommandRule(
        (("ab",), ("ba", "ab")), ((0.1, 0.4), (0.2, 0.8)), CommandEvidence(2.0, 1.0, 0.5), 3.0, 0.0
    )

    def heard(self, place, n_frames):
        words = (Segment(5, 5 + n_frames, 0),)
        return HeardCommand(place, words, (-1.0,), CommandEvidence(-0.5, -1.5, 2.0))

    def test_log_odds_are_the_weighted_evidence_within_the_usual_time(self):
        assert_allclose(self.RULE.log_odds(self.heard(0, 20), 0.01), 3.0 - 1.0 - 1.5 + 1.0, rtol=1e-12)
        assert self.RULE.log_odds(self.heard(0, 41), 0.01) == -np.inf
        assert self.RULE.log_odds(self.heard(1, 41), 0.01) == 1.5
        assert self.RULE.log_odds(self.heard(1, 19), 0.01) == -np.inf

    def test_without_rejection_every_sentence_is_its_nearest_command(self):
        assert self.RULE.lenient().log_odds(self.heard(0, 99), 0.01) >= self.RULE.lenient().threshold

    def test_its_file_is_read_as_it_was_written(self, tmp_path):
        (tmp_path / COMMAND_RULE).write_text(json.dumps({**command_rule_as_kept(self.RULE), "takes": []}))
        assert read_command_rule(tmp_path) == self.RULE
        (tmp_path / COMMAND_RULE).write_text(json.dumps({"takes": []}))
        assert read_command_rule(tmp_path) is None
