"""Scoring, adapting and decoding with a model small enough to know the answers."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic import AcousticModel, GmmModel, Topology
from acoustic.emissions.adaptation import adapted_frames, fit_targets
from asr.corpora.corpus import Corpus, Utterance
from asr.decoding.passes import (
    ScoredSpeech,
    accuracy_of,
    adapted,
    decode_all,
    emission_scores,
    heard_states,
    scored_speech,
)
from decoder import Decoder, DecoderConfig, Hypothesis, HypothesisWord, Lexicon, WordLoop
from decoder.errors import DecodingError
from features.frontend import FrontEnd, FrontEndConfig
from features.mfcc import MfccConfig

LEXICON = Lexicon({"AB": [("a", "b")], "BA": [("b", "a")]})
TOPOLOGY = Topology.monophones("ab", n_states=1)  # sil, a and b are states 0, 1 and 2
MEANS = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
FRONT_END = FrontEnd(FrontEndConfig(MfccConfig(n_cepstra=2, energy=False, derivatives=0), normalize="none"))
GMM = GmmModel(np.zeros((3, 1)), MEANS[:, None], np.ones((3, 1, 2)))
MODEL = AcousticModel(FRONT_END, TOPOLOGY, GMM, np.ones(3))
DECODER = Decoder(LEXICON, WordLoop(LEXICON.words), TOPOLOGY, DecoderConfig())
SPOKEN = [("AB", "BA"), ("BA",), ("AB", "AB", "BA")]
N_EACH = 6  # frames of a phone


def states_of(words: tuple[str, ...]) -> np.ndarray:
    phones = [0, *(TOPOLOGY.phone_id(letter.lower()) for word in words for letter in word), 0]
    return np.repeat(phones, N_EACH)


def frames_of(words: tuple[str, ...], seed: int, noise: float = 0.5) -> np.ndarray:
    clean = MEANS[states_of(words)]
    return (clean + noise * np.random.default_rng(seed).normal(size=clean.shape)).astype(np.float32)


FRAMES = [frames_of(words, seed) for seed, words in enumerate(SPOKEN)]


def test_scores_are_the_models_for_each_recording() -> None:
    found = emission_scores(FRAMES, MODEL)
    for frames, scores in zip(FRAMES, found, strict=True):
        assert_array_equal(scores, GMM.log_likelihoods(frames))
    assert emission_scores([], MODEL) == []


def test_speech_is_what_the_front_end_makes_of_the_cepstra() -> None:
    by_speaker = replace(MODEL, front_end=FrontEnd(replace(FRONT_END.config, normalize="speaker")))
    speakers = ["s", "t", "s"]
    speech = scored_speech(FRAMES, speakers, by_speaker)
    for found, expected in zip(speech.frames, by_speaker.front_end.transform(FRAMES, speakers), strict=True):
        assert_array_equal(found, expected)
    of_s = np.concatenate([speech.frames[0], speech.frames[2]])
    assert_allclose(of_s.mean(axis=0), 0.0, rtol=0, atol=1e-5)
    assert_array_equal(speech.scores[1], GMM.log_likelihoods(speech.frames[1]))


class TestHeardStates:
    @pytest.mark.parametrize("words", SPOKEN)
    def test_are_those_spoken(self, words: tuple[str, ...]) -> None:
        scores = GMM.log_likelihoods(frames_of(words, 0))
        assert_array_equal(heard_states(scores, words, LEXICON, MODEL), states_of(words))

    def test_of_the_words_given_even_if_others_were_spoken(self) -> None:
        scores = GMM.log_likelihoods(frames_of(("AB",), 0))
        found = heard_states(scores, ("BA",), LEXICON, MODEL)
        runs = found[np.flatnonzero(np.diff(found, prepend=-1))]
        assert [state for state in runs if state] == [TOPOLOGY.phone_id("b"), TOPOLOGY.phone_id("a")]

    @pytest.mark.parametrize("words", [(), ("AB", "AB")])
    def test_nothing_where_there_is_no_path(self, words: tuple[str, ...]) -> None:
        scores = np.zeros((3, 3), dtype=np.float32)  # too few for four phones
        assert_array_equal(heard_states(scores, words, LEXICON, MODEL), np.full(3, -1, np.int32), strict=True)


class TestAdapted:
    @pytest.fixture
    def adapting(self) -> AcousticModel:
        targets = fit_targets(FRAMES, [states_of(w) for w in SPOKEN], TOPOLOGY.is_speech(), 5.0)
        return replace(MODEL, adaptation=targets)

    def test_frames_of_a_speaker_are_moved_back(self, adapting: AcousticModel) -> None:
        shift = np.float32([0.7, -0.6])
        moved = [FRAMES[0] + shift, FRAMES[1], FRAMES[2] + shift]
        speech = scored_speech(moved, ["s", "t", "s"], adapting)
        found = adapted(speech, adapting, DECODER, LEXICON)
        states = [states_of(words).astype(np.int32) for words in SPOKEN]
        assert adapting.adaptation is not None
        expected = adapted_frames(moved, states, ["s", "t", "s"], adapting.adaptation)
        for n in range(3):
            assert_array_equal(found.frames[n], expected[n])
            assert_array_equal(found.scores[n], GMM.log_likelihoods(expected[n]))
        before, after = (np.abs(speech.frames[0] - FRAMES[0]), np.abs(found.frames[0] - FRAMES[0]))
        assert after.mean() < 0.6 * before.mean()
        assert found.speakers == speech.speakers

    def test_a_model_without_targets_leaves_everything(self) -> None:
        speech = scored_speech(FRAMES, ["s"] * 3, MODEL)
        assert adapted(speech, MODEL, DECODER, LEXICON) is speech

    def test_recordings_in_which_nothing_is_heard_are_counted(
        self, adapting: AcousticModel, caplog: pytest.LogCaptureFixture
    ) -> None:
        silence = np.zeros((9, 2), dtype=np.float32)
        with caplog.at_level(logging.INFO):
            found = adapted(scored_speech([silence], ["s"], adapting), adapting, DECODER, LEXICON)
        assert "1 of 1 recordings: the first pass hears nothing to adapt by" in caplog.text
        assert_allclose(found.frames[0], silence, rtol=0, atol=1e-6)


def test_every_recording_is_decoded_by_itself() -> None:
    scores = emission_scores(FRAMES, MODEL)
    found = decode_all(scores, DECODER)
    assert [h.text for h in found] == SPOKEN
    assert found == [DECODER.decode(s) for s in scores]
    assert decode_all(ScoredSpeech([], [], []).scores, DECODER) == []


def test_scores_of_words_know_the_speakers() -> None:
    utterances = [
        Utterance(f"u{n}", Path(f"/u{n}.wav"), words, speaker)
        for n, (words, speaker) in enumerate(zip(SPOKEN, "sts", strict=True))
    ]
    heard = [("AB", "BA"), ("AB",), ("AB", "BA")]  # right; a substitution; a deletion
    spoken = [tuple(HypothesisWord(word, 0.0, 0.1, 0.0) for word in words) for words in heard]
    decoded = [Hypothesis(words, 0.0, True) for words in spoken]
    found = accuracy_of(Corpus(tuple(utterances)), decoded)
    assert (found.counts.substitutions, found.counts.deletions, found.counts.insertions) == (1, 1, 0)
    by_speaker = {s.speaker: s.counts for s in found.speakers}
    assert (by_speaker["s"].deletions, by_speaker["t"].substitutions) == (1, 1)


def test_an_error_names_the_recording() -> None:
    scores = [GMM.log_likelihoods(frames) for frames in FRAMES]
    scores[1] = np.full_like(scores[1], np.nan)
    with pytest.raises(DecodingError, match=r"^u1: .*nan"):
        decode_all(scores, DECODER, names=["u0", "u1", "u2"])
    with pytest.raises(DecodingError, match=r"^scores"):
        decode_all(scores, DECODER)
    assert [h.text for h in decode_all(scores[::2], DECODER, names=["u0", "u2"])] == SPOKEN[::2]
