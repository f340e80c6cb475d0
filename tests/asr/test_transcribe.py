"""From recordings to words, with a model small enough to know the answers, and with a trained one."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic import AcousticModel, GmmModel, Topology
from acoustic.emissions.adaptation import adapted_frames, fit_targets
from acoustic.errors import ModelError
from asr import Recognizer
from asr.spotting.rejection import Judge
from asr.transcribe import (
    Parts,
    ScoredSpeech,
    adapted,
    cut_speech,
    decode_all,
    decoded_or_errors,
    emission_scores,
    heard_states,
    read_recording,
    scored_speech,
    tell_of_no_speech,
    transcribe,
)
from decoder import Decoder, DecoderConfig, Hypothesis, Lexicon, WordLoop
from decoder.errors import DecodingError
from features import recording as recording_module
from features.audio import read_audio
from features.frontend import FrontEnd, FrontEndConfig
from features.mfcc import MfccConfig
from features.recording import Recording

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


def test_an_error_names_the_recording() -> None:
    scores = [GMM.log_likelihoods(frames) for frames in FRAMES]
    scores[1] = np.full_like(scores[1], np.nan)
    with pytest.raises(DecodingError, match=r"^u1: .*nan"):
        decode_all(scores, DECODER, names=["u0", "u1", "u2"])
    with pytest.raises(DecodingError, match=r"^scores"):
        decode_all(scores, DECODER)
    assert [h.text for h in decode_all(scores[::2], DECODER, names=["u0", "u2"])] == SPOKEN[::2]


def test_what_has_no_speech_is_named(caplog):
    with caplog.at_level(logging.WARNING):
        tell_of_no_speech("a.wav", Hypothesis((), 0.0, True))
        tell_of_no_speech("b.wav", Hypothesis((), 0.0, True, no_speech="it is quiet"))
    assert caplog.messages == ["b.wav: no speech in it, so no words: it is quiet"]


def test_only_sounds_that_may_be_speech_are_decoded() -> None:
    class Noted:
        config = DECODER.config

        def decode(self, scores: np.ndarray) -> Hypothesis:
            lengths.append(len(scores))
            return Hypothesis((), -1.0, complete=True)

    lengths: list[int] = []
    hiss = np.random.default_rng(0).normal(size=16000)
    swelling = (hiss * np.sin(np.arange(16000) / 1000) ** 2)[:12000]
    sounds = [(0.1 * sound).astype(np.float32) for sound in (hiss, swelling, hiss)]
    recordings = [read_recording(sound, MODEL) for sound in sounds]
    parts = Parts(MODEL, LEXICON, Noted(), None, Judge(MODEL, LEXICON, None))  # type: ignore[arg-type]
    found = transcribe(recordings, ["1", "2", "3"], parts)
    assert lengths == [len(recordings[1])]
    assert [h.no_speech[:19] for h in found] == ["its sound is steady", "", "its sound is steady"]
    assert found[1].log_score == -1.0


# What one recording raises costs no others.
NAMES = ("a", "b", "c")
WORDS = [Hypothesis((), -float(n), complete=True) for n in range(3)]


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (DecodingError("no path"), DecodingError, "b: no path"),
        (ZeroDivisionError("by 0"), ModelError, "b: ZeroDivisionError: by 0; expected a recording that can"),
        (MemoryError("much"), ModelError, "b: MemoryError: much; expected a recording that can"),
    ],
)
def test_the_one_that_fails_is_named(error: Exception, kind: type[Exception], said: str) -> None:
    def decode(places: Sequence[int]) -> list[Hypothesis]:
        if 1 in places:
            raise error
        return [WORDS[n] for n in places]

    first, second, third = decoded_or_errors(NAMES, decode)
    assert (first, third) == (WORDS[0], WORDS[2])
    assert type(second) is kind
    assert str(second).startswith(said)


def test_without_errors_all_are_decoded_at_once() -> None:
    calls = []

    def decode(places: Sequence[int]) -> list[Hypothesis]:
        calls.append(list(places))
        return [WORDS[n] for n in places]

    assert decoded_or_errors(NAMES, decode) == WORDS
    assert calls == [[0, 1, 2]]
    assert decoded_or_errors((), decode) == []


def test_an_error_of_all_together_is_raised() -> None:
    def decode(places: Sequence[int]) -> list[Hypothesis]:
        if len(places) > 1:
            raise DecodingError("too many")
        return [WORDS[n] for n in places]

    with pytest.raises(DecodingError, match=r"^too many$"):
        decoded_or_errors(NAMES, decode)


# Recordings that are cut.


@pytest.fixture
def recognizer(trained: Path) -> Recognizer:
    return Recognizer.load(trained)


def test_short_recordings_have_the_bits_of_whole_ones(recognizer: Recognizer, tones: Path) -> None:
    model, config = recognizer.model, recognizer.model.front_end.config.mfcc
    samples = [read_audio(path) for path in sorted(tones.glob("speaker 0/*.wav"))]
    speakers = ["s", "t", "s", "t", "s"]
    whole = scored_speech([model.front_end.cepstra(s) for s in samples], speakers, model)
    found = cut_speech([Recording.of(s, config) for s in samples], speakers, model)
    assert [s.recording for s in found.spans] == [0, 1, 2, 3, 4]
    assert list(found.speech.speakers) == speakers
    for n in range(5):
        assert_array_equal(found.speech.frames[n], whole.frames[n], strict=True)
        assert_array_equal(found.speech.scores[n], whole.scores[n], strict=True)
    assert recognizer.decode(found.speech) == recognizer.decode(whole)


class TestLong:
    @pytest.fixture
    def paths(self, tones: Path) -> list[Path]:
        return sorted(tones.glob("speaker 3/*.wav"))

    @pytest.fixture
    def long(self, paths: list[Path]) -> np.ndarray:
        return np.concatenate([read_audio(path) for path in paths])

    @pytest.fixture(autouse=True)
    def of_a_second(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Cut into stretches of seconds, where otherwise half minutes are needed."""
        monkeypatch.setattr(recording_module, "UNCUT_S", 1.2)
        monkeypatch.setattr(recording_module, "STRETCH_S", (0.5, 1.1))
        monkeypatch.setattr(recording_module, "PAUSE_S", 0.06)

    def test_frames_are_those_of_the_whole(self, recognizer: Recognizer, long: np.ndarray) -> None:
        front_end = recognizer.model.front_end
        found = cut_speech([Recording.of(long, front_end.config.mfcc)], [""], recognizer.model)
        assert len(found.spans) > 2
        (whole,) = front_end.transform([front_end.cepstra(long)])
        assert_allclose(np.concatenate(found.speech.frames), whole, rtol=1e-5, atol=1e-5)

    def test_words_and_times_are_those_spoken(
        self, recognizer: Recognizer, long: np.ndarray, paths: list[Path]
    ) -> None:
        found = recognizer.with_options(confidence=True).transcribe(long)
        spoken = [word for path in paths for word in path.with_suffix(".txt").read_text().split()]
        assert list(found.text) == spoken
        assert found.complete
        times = [(w.start_s, w.end_s) for w in found.words]
        assert np.all(np.diff(np.ravel(times)) >= 0)
        starts_s = np.cumsum([0, *(len(read_audio(path)) / 16000 for path in paths)])
        places = np.searchsorted(starts_s, [start for start, _ in times], side="right") - 1
        assert [sum(places == n) for n in range(len(paths))] == [
            len(path.with_suffix(".txt").read_text().split()) for path in paths
        ]

    def test_hypotheses_belong_to_their_recordings(
        self, recognizer: Recognizer, long: np.ndarray, paths: list[Path]
    ) -> None:
        config = recognizer.model.front_end.config.mfcc
        several = [Recording.of(s, config) for s in (read_audio(paths[0]), long, read_audio(paths[1]))]
        cut = cut_speech(several, ["a", "b", "c"], recognizer.model)
        found = cut.joined(recognizer.decode(cut.speech), 0.01, 1)
        assert [h.text for h in found] == [
            recognizer.transcribe(samples).text for samples in (paths[0], long, paths[1])
        ]
        assert cut_speech([], [], recognizer.model).joined([], 0.01, 1) == []
