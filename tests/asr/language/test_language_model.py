"""Texts read as sentences, and perplexities by hand and by KenLM."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from asr.errors import CorpusError
from asr.language.language_model import (
    fit,
    language_model,
    read_lines,
    read_vocabulary,
    sentences_of,
    usage,
)
from asr.text.forms import word_forms
from decoder.errors import LexiconError
from decoder.grammars.ngram import NGram

HARBOUR = Path(__file__).parents[2] / "decoder/grammars/golden/harbour.txt"
TEST = """\
the captain leaves the pier at noon
when does the old ferry come from the west
seagulls follow a submarine
rain
"""


@pytest.fixture
def tested(tmp_path: Path) -> Path:
    (tmp_path / "test.txt").write_text(TEST)
    return tmp_path / "test.txt"


class TestPerplexity:
    def test_values_of_kenlm(self, tested: Path) -> None:
        """KenLM's query, github.com/kpu/kenlm at 4cb443e: query -v summary harbour.arpa < test.txt"""
        model = language_model(HARBOUR, test=tested, text="exact")
        assert model.test is not None
        assert_allclose(model.test.perplexity, 15.763003346722437, rtol=1e-6, atol=0)
        assert_allclose(model.test.perplexity_with_unknown, 21.168119921666733, rtol=1e-6, atol=0)
        assert model.test.unknown == {"seagulls": 1, "submarine": 1}
        assert_allclose(model.test.unknown_rate, 100 * 2 / 21, rtol=1e-12, atol=0)

    def test_by_hand(self) -> None:
        half = float(np.log10(0.5))
        ngram = NGram(({("A",): half, ("</s>",): half, ("<s>",): -np.inf, ("<unk>",): -2.0},), {})
        found = fit(ngram, sentences_of(["A A", "A B", ""], None))
        assert (found.n_sentences, found.n_words, found.unknown) == (3, 4, {"B": 1})
        assert_allclose(found.perplexity, 2.0, rtol=1e-12, atol=0)
        assert_allclose(found.perplexity_with_unknown, (2**6 * 100) ** (1 / 7), rtol=1e-12, atol=0)

    def test_a_word_that_the_test_marks_as_unknown_is_left_out_as_others_are(self) -> None:
        half = float(np.log10(0.5))
        ngram = NGram(({("A",): half, ("</s>",): half, ("<s>",): -np.inf, ("<unk>",): -2.0},), {})
        marked, other = (fit(ngram, sentences_of([f"A A {word}"], None)) for word in ("<unk>", "B"))
        assert_allclose(marked.perplexity, 2.0, rtol=1e-12, atol=0)
        assert marked.perplexity_with_unknown == other.perplexity_with_unknown

    def test_nothing_to_test_on(self) -> None:
        with pytest.raises(CorpusError, match="the test has no sentences, expected one a line"):
            fit(NGram.estimate([["A"]], 1), [])


class TestModel:
    def test_words_outside_the_vocabulary_are_counted_and_named(self, tested: Path) -> None:
        model = language_model(tested, vocabulary=["THE", "RAIN", "WEST", "HAIL"])
        assert model.ngram.words == ("HAIL", "RAIN", "THE", "WEST")
        assert (model.text.n_sentences, model.text.n_words) == (4, 21)
        assert sum(model.text.unknown.values()) == 21 - 6
        assert list(model.text.unknown)[:2] == ["a", "at"]
        assert model.test is None

    def test_a_pruned_model_is_smaller(self, tested: Path) -> None:
        whole, pruned = (
            language_model(HARBOUR, threshold=threshold, test=tested) for threshold in (0.0, 1e-3)
        )
        sizes = [[len(table) for table in model.ngram.log10_probs] for model in (whole, pruned)]
        assert sizes[0][0] == sizes[1][0] == 76
        assert sizes[0][2] > sizes[1][2] > 0
        assert pruned.test is not None
        assert whole.test is not None
        assert pruned.test.perplexity > whole.test.perplexity

    def test_a_text_without_a_word_of_the_vocabulary(self, tested: Path) -> None:
        with pytest.raises(CorpusError, match=r"test\.txt: no words of the vocabulary"):
            language_model(tested, vocabulary=["HAIL"])
        tested.write_text("42\n\n")
        with pytest.raises(CorpusError, match=r"test\.txt: no words that can be read"):
            language_model(tested)

    def test_a_word_already_marked_as_unknown_is_unknown(self, tested: Path) -> None:
        tested.write_text("<s> A <unk> </s>\nA\n")
        model = language_model(tested, text="exact")
        assert model.ngram.words == ("A",)
        assert model.text.unknown == {"<unk>": 1}
        assert model.text.n_words == 3


class TestSentences:
    def test_plain_and_exact(self) -> None:
        line = "The rain, [noise] rain; 7"
        forms = word_forms("plain", None, [line])
        assert [w.word for w in sentences_of([line], forms)[0]] == ["the", "rain", "rain", "[unknown]"]
        assert [w.word for w in sentences_of([line], None)[0]] == ["The", "rain,", "rain;", "7"]
        assert word_forms("exact", None, [line]) is None

    def test_sentence_marks_of_other_tools_are_no_words(self) -> None:
        assert [w.word for w in sentences_of(["<s> A B </s>"], None)[0]] == ["A", "B"]

    def test_unknown_words_are_named_as_they_are_written(self) -> None:
        found = usage(sentences_of(["Hail 7 7", "rain"], word_forms("plain", ["RAIN"], ())), {"RAIN"})
        assert found.unknown == {"7": 2, "Hail": 1}
        assert found.unknown_rate == 75.0


class TestLines:
    def test_plain_and_gzip(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_bytes("\ufeffA be\u0301\r\n\nB\n".encode())
        (tmp_path / "a.gz").write_bytes(gzip.compress((tmp_path / "a.txt").read_bytes()))
        assert read_lines(tmp_path / "a.txt", "train") == ["A b\u00e9", "B"]
        assert read_lines(tmp_path / "a.gz", "train") == ["A b\u00e9", "B"]

    def test_kaldi_text_has_ids(self, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("u1 A B\nu2 B\nu3\n")
        assert read_lines(tmp_path / "text", "train") == ["A B", "B", ""]

    def test_a_corpus_and_its_splits(self, tmp_path: Path) -> None:
        for split, words in {"train": "A", "test": "B"}.items():
            (tmp_path / split).mkdir()
            (tmp_path / split / f"{words}.wav").touch()
            (tmp_path / split / f"{words}.txt").write_text(words)
        assert read_lines(tmp_path, "train") == ["A"]
        assert read_lines(tmp_path, "test") == read_lines(tmp_path / "test", "train") == ["B"]
        (tmp_path / "test/B.wav").unlink()
        (tmp_path / "test/B.txt").unlink()
        (tmp_path / "test").rmdir()
        with pytest.raises(CorpusError, match="has no test, expected one"):
            read_lines(tmp_path, "test")

    @pytest.mark.parametrize(
        ("name", "data", "message"),
        [
            ("a.txt", b"\xff", r"a\.txt: expected UTF-8 text"),
            ("a.gz", b"A", r"a\.gz: cannot be read .*expected a text"),
            ("b.txt", None, r"b\.txt: cannot be read .*expected a text"),
        ],
    )
    def test_what_cannot_be_read(self, name: str, data: bytes | None, message: str, tmp_path: Path) -> None:
        if data is not None:
            (tmp_path / name).write_bytes(data)
        with pytest.raises(CorpusError, match=message):
            read_lines(tmp_path / name, "train")


class TestVocabulary:
    def test_a_list_or_a_lexicon(self, tmp_path: Path) -> None:
        path = tmp_path / "words"
        path.write_text("B\nA\n\nB\n")
        assert read_vocabulary(path) == ("A", "B")
        path.write_text("B b\nA a\nB(2) b b\n")
        assert read_vocabulary(path) == ("A", "B")

    def test_what_is_none(self, tmp_path: Path) -> None:
        path = tmp_path / "words"
        with pytest.raises(CorpusError, match="words: cannot be read"):
            read_vocabulary(path)
        path.write_text("\n")
        with pytest.raises(CorpusError, match="words: no words, expected a lexicon or a list"):
            read_vocabulary(path)
        path.write_text("A a\nB\n")
        with pytest.raises(LexiconError, match='word "B"'):
            read_vocabulary(path)
