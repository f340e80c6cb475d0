"""Words as wholes where no lexicon says how they are pronounced: their length, the choice, what becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_allclose

from acoustic.hmm.mmf import parse_mmf
from acoustic.hmm.training import GmmConfig
from acoustic.model import AcousticModel
from asr import align, train
from asr.commands.exchange import export
from asr.corpora.corpus import Corpus, Utterance
from asr.corpora.speech_data import SpeechData, compute_cepstra
from asr.corpora.tones import RATE, speak
from asr.formats.htk import HMMS
from asr.recognizer import Recognizer
from asr.scoring.results import read_results
from asr.spotting.rejection import USUAL, Keywords, Rejection
from asr.training import heard_words
from asr.training.heard_words import (
    N_PARTS,
    UNIT_S,
    choose_units,
    held_out_errors,
    in_letters,
    in_whole_words,
    parts_of,
)
from asr.training.task import Found, may_be_whole, why_letters
from decoder.decoder import Decoder
from decoder.grammars.grammar import WordLoop
from decoder.lexicon import Lexicon
from features.audio import read_audio
from features.frontend import FrontEndConfig
from foundation.arrays import Singles
from foundation.errors import AsrError

FRONT_END, GMM = FrontEndConfig(normalize="speaker"), GmmConfig()
SHORT, LONG = "AS", "MISAMUSI"
WAV = "speaker 3/2.wav"


def corpus_of(texts: Sequence[str], speakers: Sequence[str] | None = None) -> Corpus:
    names = speakers or ["one"] * len(texts)
    return Corpus(
        tuple(
            Utterance(f"u{n:03d}", Path(f"u{n:03d}.wav"), tuple(text.split()), name)
            for n, (text, name) in enumerate(zip(texts, names, strict=True))
        )
    )


def recorded(texts: Sequence[str], directory: Path) -> SpeechData:
    """Return the tone language's cepstra of some texts, by one voice."""
    rng, utterances = np.random.default_rng(3), []
    for utterance in corpus_of(texts):
        path = directory / f"{utterance.utterance_id}.wav"
        soundfile.write(path, speak(utterance.words, 1.0, rng), RATE)
        utterances.append(Utterance(utterance.utterance_id, path, utterance.words, utterance.speaker))
    return compute_cepstra(Corpus(tuple(utterances)), FRONT_END)


@pytest.fixture(scope="module")
def takes(tmp_path_factory: pytest.TempPathFactory) -> SpeechData:
    """Return five takes of a short word and five of a long one."""
    return recorded([SHORT, LONG] * 5, tmp_path_factory.mktemp("takes"))


class TestLength:
    def test_a_word_has_a_unit_for_each_so_many_seconds_of_it(self, takes: SpeechData) -> None:
        found = in_whole_words(takes, Lexicon.graphemic([SHORT, LONG]), FRONT_END, GMM)
        assert found.wholes == {SHORT, LONG}
        n_short, n_long = (len(found.pronunciations(word)[0]) for word in (SHORT, LONG))
        # A letter lasts 0.06 to 0.1 s.
        assert (n_short, n_long) == (1, round(8 * 0.08 / UNIT_S))

    def test_words_that_nobody_says_stay_in_letters(self, takes: SpeechData) -> None:
        letters = Lexicon.graphemic([SHORT, LONG, "MUM"])
        found = in_whole_words(takes, letters, FRONT_END, GMM)
        assert found.wholes == {SHORT, LONG}
        assert found.pronunciations("MUM") == (("m", "u", "m"),)


class TestParts:
    def test_speakers_are_in_one_part(self) -> None:
        speakers = [f"s{n % 7}" for n in range(21)]
        parts = parts_of(corpus_of(["A"] * 21, speakers))
        assert {speakers[n]: part for n, part in enumerate(parts)} == {f"s{k}": k % N_PARTS for k in range(7)}
        assert parts[:7] == parts[7:14] == parts[14:]

    @pytest.mark.parametrize("own_speakers", [False, True])
    def test_takes_of_a_word_are_in_different_parts(self, own_speakers: bool) -> None:
        texts = ["A", "B", "B C"] * N_PARTS
        speakers = [f"s{n}" for n in range(len(texts))] if own_speakers else None
        parts = parts_of(corpus_of(texts, speakers))
        for k in range(3):
            assert sorted(parts[k::3]) == list(range(N_PARTS))


class TestWhatMayBeWhole:
    @pytest.mark.parametrize(
        ("train_texts", "dev_texts", "why"),
        [
            (["A", "A", "B", "B"], ["A", "B"], ""),
            (["A", "A", "B"], ["A", "B"], "1 of 2 are recorded fewer than 3 times in train and dev: B (2)"),
            (["A", "A", "A"], ["B", "B", "B"], "1 of 2 are not recorded in train: B"),
            (["A", "A", "A"], [], "1 of 2 are recorded fewer than 3 times in train and dev: B (0)"),
        ],
    )
    def test_each_word_has_takes(self, train_texts: list[str], dev_texts: list[str], why: str) -> None:
        corpora = {"train": corpus_of(train_texts), "dev": corpus_of(dev_texts)}
        assert why_letters(corpora, Lexicon.graphemic(["A", "B"])) == why

    def test_words_are_few(self) -> None:
        words = [a + b for a in "abcdefghijk" for b in "lmnopqrstu"]
        why = why_letters({"train": corpus_of(words * 3)}, Lexicon.graphemic(words))
        assert why == "they are 110, expected 50 at most"

    @pytest.mark.parametrize(
        ("lexicon", "why", "wanted"),
        [
            ("lexicon", "", ()),
            ("letters", "", ("auto", "words")),
            ("letters", "few", ("words",)),
            ("words", "", ("auto", "words", "letters")),  # recorded on the page
            ("words", "few", ("auto", "words", "letters")),
        ],
    )
    def test_who_decides(self, lexicon, why: str, wanted: tuple[str, ...]) -> None:
        found = Found({}, (), (), {}, lexicon, why)
        assert tuple(w for w in ("auto", "words", "letters") if may_be_whole(found, w)) == wanted


class TestChoice:
    @pytest.fixture
    def chosen(
        self, takes: SpeechData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[..., Lexicon]:
        """Return a function that gives the lexicon chosen where letters and wholes make so many errors."""
        Lexicon.graphemic([SHORT, LONG]).write(tmp_path / "lexicon.txt")
        monkeypatch.setattr(heard_words, "read_speech", lambda speech: takes)

        def choose(wanted: str, of_letters: int, of_wholes: int) -> Lexicon:
            monkeypatch.setattr(
                heard_words,
                "held_out_errors",
                lambda data, lexicon, *_: of_wholes if lexicon.is_of_wholes else of_letters,
            )
            out = tmp_path / "out"
            out.mkdir(exist_ok=True)
            speech = dict.fromkeys(("words", "train", "dev"), tmp_path)
            choose_units(out, speech, wanted=wanted, front_end=FRONT_END, gmm=GMM)
            return Lexicon.read(out / "lexicon.txt")

        return choose

    @pytest.mark.parametrize(
        ("wanted", "of_letters", "of_wholes", "taken"),
        [
            ("auto", 0, 0, "words"),
            ("auto", 3, 1, "words"),
            ("auto", 2, 3, "letters"),
            ("words", 0, 5, "words"),
            ("letters", 5, 0, "letters"),
        ],
    )
    def test_by_errors_held_out(
        self, chosen: Callable[..., Lexicon], wanted: str, of_letters: int, of_wholes: int, taken: str
    ) -> None:
        assert chosen(wanted, of_letters, of_wholes).is_of_wholes == (taken == "words")

    def test_one_line_says_it(self, chosen: Callable[..., Lexicon], caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level("INFO"):
            chosen("auto", 3, 1)
        (line,) = (r.message for r in caplog.records if "without a lexicon" in r.message)
        assert line == (
            "without a lexicon, words are learned as 2 whole words: of the 10 words of train and dev, each "
            "held out once, 1 wrong, by letters 3 (--set without_lexicon=letters or words decides it)"
        )

    def test_words_that_are_drawn_are_not_all(
        self,
        chosen: Callable[..., Lexicon],
        takes: SpeechData,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(heard_words, "ENOUGH_FRAMES", sum(takes.n_frames) // 2)
        with caplog.at_level("INFO"):
            chosen("auto", 1, 3)
        (line,) = (r.message for r in caplog.records if "without a lexicon" in r.message)
        assert re.search(
            r"letters: of [1-9] words drawn from train and dev, each held out once, 1 wrong, as wholes 3",
            line,
        )

    def test_errors_are_those_of_recordings_held_out(self, takes: SpeechData) -> None:
        letters = Lexicon.graphemic([SHORT, LONG])
        assert held_out_errors(takes, letters, FRONT_END, GMM) == 0
        # A word that sounds like another cannot be told from it.
        corpus = tuple(
            Utterance(u.utterance_id, u.audio_path, ("MUM" if n in (0, 4) else u.words[0],), u.speaker)
            for n, u in enumerate(takes.corpus)
        )
        wrong = SpeechData(Corpus(corpus), takes.cepstra)
        assert held_out_errors(wrong, Lexicon.of_wholes({SHORT: 1, "MUM": 1, LONG: 3}), FRONT_END, GMM) >= 2

    def test_commands_recorded_on_the_page_can_be_letters(self) -> None:
        found = in_letters(Lexicon({"on": [("on~1", "on~2", "on~3")], "2": [("2~1", "2~2", "2~3")]}))
        assert found.pronunciations("on") == (("o", "n"),)
        assert found.pronunciations("2") == (("2~1", "2~2", "2~3"),)


@pytest.fixture(scope="module")
def wholes(tones: Path, settings: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an experiment on the tone language with words as wholes."""
    out = tmp_path_factory.mktemp("wholes") / "exp"
    options = (*settings, "without_lexicon=auto")
    train("folder", corpus=tones, out=out, models=["gmm2"], settings=options)
    return out


class TestTrained:
    def test_the_words_of_other_speakers_are_recognised(self, wholes: Path) -> None:
        found = {(row.split, row.grammar): row.word_accuracy for row in read_results(wholes)}
        assert len(found) == 4
        assert set(found.values()) == {100.0}

    def test_the_model_has_states_of_each_word(self, wholes: Path) -> None:
        recognizer = Recognizer.load(wholes)
        topology, lexicon = recognizer.model.topology, recognizer.lexicon
        assert lexicon.is_of_wholes
        assert set(topology.phones) == {"sil", "sp", *lexicon.phones}
        assert topology.n_states == 3 * (1 + len(lexicon.phones))

    def test_words_are_aligned_as_they_are_spoken(self, wholes: Path, tones: Path) -> None:
        text = (tones / WAV).with_suffix(".txt").read_text().split()
        aligned = align(wholes, tones / WAV, text)
        assert [i.label for i in aligned.tiers["words"] if i.label] == text
        units = [i.label for i in aligned.tiers["phones"] if i.label not in ("sil", "sp")]
        lexicon = Recognizer.load(wholes).lexicon
        assert units == [unit for word in text for unit in lexicon.pronunciations(word)[0]]

    def test_htk_has_the_same_models(self, wholes: Path, tones: Path, tmp_path: Path) -> None:
        export(wholes, what="model", out=tmp_path)
        model = Recognizer.load(wholes).model
        back = parse_mmf((tmp_path / HMMS).read_text(), HMMS)
        frames = self.frames(model, tones / WAV)
        for phone in model.topology.phones:
            own, others = (t.phone_states[t.phone_id(phone)] for t in (model.topology, back.topology))
            assert_allclose(
                back.emissions.log_likelihoods(frames)[:, list(others)],
                model.emissions.log_likelihoods(frames)[:, list(own)],
                rtol=1e-4,
                atol=1e-3,
            )

    def test_a_keyword_is_found_among_units_in_any_order(self, wholes: Path, tones: Path) -> None:
        found = Recognizer.load(wholes)
        text = (tones / WAV).with_suffix(".txt").read_text().split()
        keywords = Keywords((text[0],), 5.0, Rejection.of_curve(USUAL))
        decoder = keywords.decoder(found.lexicon, found.model.topology, found.decoder.config)
        words = decoder.decode(found.model.scores(self.frames(found.model, tones / WAV))).text
        assert [word for word in words if word in found.lexicon] == [w for w in text if w == text[0]]
        assert len(words) > len(text)  # fillers for the rest

    def test_sounds_that_are_no_word_are_rejected(self, wholes: Path, tones: Path) -> None:
        recognizer = Recognizer.load(wholes).with_rejection()
        text = (tones / WAV).with_suffix(".txt").read_text().split()
        assert list(recognizer.transcribe(tones / WAV).text) == text
        foreign = speak(("MMMMM",), 0.95, np.random.default_rng(5))
        assert Recognizer.load(wholes).transcribe(foreign).text != ()
        assert recognizer.transcribe(foreign).text == ()

    def test_a_new_word_needs_recordings(self, wholes: Path) -> None:
        found = Recognizer.load(wholes)
        longer = found.lexicon.merged(Lexicon.graphemic(["LAMP"]))
        with pytest.raises(AsrError, match=r"LAMP.*knows whole words.*record"):
            Decoder(longer, WordLoop(longer.words), found.model.topology)

    @staticmethod
    def frames(model: AcousticModel, wav: Path) -> Singles:
        cepstra = model.front_end.cepstra(read_audio(wav, RATE))
        return model.front_end.transform([cepstra])[0]
