"""Grammars written beside a model and read back."""

import math
from pathlib import Path
from typing import get_args

import pytest

from asr.errors import ConfigError, ExperimentError
from asr.language.grammars import (
    GRAMMARS,
    check_grammar,
    grammar_names,
    has_lm_scale,
    read_grammar,
    sentences_outside,
    write_grammar,
)
from asr.systems import GrammarName
from asr.text.forms import WordForms
from decoder.errors import LexiconError
from decoder.grammars.grammar import WordLoop
from decoder.grammars.ngram import NGram
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"YES": [("y",)], "NO": [("n",)], "MAYBE": [("m",)]})
SENTENCES = [("YES", "NO"), ("NO",), ("YES",)]


def written(name: str, directory: Path, task_dir: Path) -> object:
    directory.mkdir(exist_ok=True)
    made = write_grammar(name, directory, task_dir=task_dir, sentences=SENTENCES, lexicon=LEXICON)  # type: ignore[arg-type]
    read = read_grammar(name, directory, LEXICON)
    assert read == made
    return read


@pytest.fixture
def task(tmp_path: Path) -> Path:
    (tmp_path / "task").mkdir()
    return tmp_path / "task"


class TestNames:
    def test_own_files_are_added_once(self, task: Path) -> None:
        assert grammar_names(("loop",), task) == ("loop",)
        (task / "word_pairs.txt").touch()
        (task / "x.arpa").touch()
        assert grammar_names(("loop", "word-pair", "loop"), task) == ("loop", "word-pair", "arpa")

    def test_finite_state_grammars_are_brought_in_files(self, task: Path) -> None:
        (task / "x.jsgf").touch()
        (task / "y.slf").touch()
        assert grammar_names(("loop",), task) == ("loop", "jsgf", "slf")
        assert has_lm_scale("jsgf")
        assert has_lm_scale("slf")

    def test_what_has_a_scale(self) -> None:
        scaled = {n for n in ("loop", "unigram", "bigram", "trigram", "word-pair", "arpa") if has_lm_scale(n)}
        assert scaled == {"unigram", "bigram", "trigram", "arpa"}

    def test_every_name_of_the_configuration_has_a_row(self) -> None:
        assert sorted(GRAMMARS) == sorted(get_args(GrammarName))

    def test_another_name(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r'grammar "fourgram" is not known .*; expected one of: loop'):
            read_grammar("fourgram", tmp_path, LEXICON)


class TestRoundTrip:
    def test_loop_needs_no_file(self, task: Path, tmp_path: Path) -> None:
        assert isinstance(written("loop", tmp_path / "out", task), WordLoop)
        assert list((tmp_path / "out").iterdir()) == []

    @pytest.mark.parametrize(("name", "order"), [("unigram", 1), ("bigram", 2), ("trigram", 3)])
    def test_n_grams_know_every_word_of_the_lexicon(
        self, task: Path, tmp_path: Path, name: str, order: int
    ) -> None:
        grammar = written(name, tmp_path / "out", task)
        assert isinstance(grammar, NGram)
        assert grammar.order == order
        assert set(LEXICON.words) <= set(grammar.words)

    def test_trigrams_are_smoothed_by_modified_kneser_ney(self, task: Path, tmp_path: Path) -> None:
        expected = NGram.estimate(SENTENCES, 3, vocabulary=LEXICON.words, smoothing="modified-kneser-ney")
        assert written("trigram", tmp_path / "out", task) == expected

    def test_own_files(self, task: Path, tmp_path: Path) -> None:
        WordPairGrammar.from_sentences(SENTENCES).write(task / "word_pairs.txt")
        NGram.estimate(SENTENCES, 2, vocabulary=LEXICON.words).write(task / "mine.arpa")
        assert isinstance(written("word-pair", tmp_path / "out", task), WordPairGrammar)
        assert isinstance(written("arpa", tmp_path / "out", task), NGram)

    def test_own_files_in_another_case(self, task: Path, tmp_path: Path) -> None:
        (task / "word_pairs.txt").write_text("<s>: yes No\nyes: No </s>\nNo: </s>\n")
        NGram.estimate([["yes", "No"], ["maybe,"]], 2).write(task / "x.arpa")
        forms = WordForms(LEXICON)
        for name, words in (("word-pair", ("NO", "YES")), ("arpa", ("MAYBE", "NO", "YES"))):
            made = write_grammar(
                name,  # type: ignore[arg-type]
                tmp_path,
                task_dir=task,
                sentences=SENTENCES,
                lexicon=LEXICON,
                forms=forms,
            )
            assert made.words == words  # type: ignore[attr-defined]
            assert read_grammar(name, tmp_path, LEXICON) == made

    def test_word_pairs_of_the_text_where_there_is_no_file(self, task: Path, tmp_path: Path) -> None:
        assert written("word-pair", tmp_path / "out", task) == WordPairGrammar.from_sentences(SENTENCES)
        assert (tmp_path / "out/word_pairs.txt").is_file()

    def test_word_pairs_need_a_text(self, task: Path, tmp_path: Path) -> None:
        with pytest.raises(ExperimentError, match=r"no word_pairs\.txt in the corpus and no words in its"):
            write_grammar("word-pair", tmp_path, task_dir=task, sentences=[()], lexicon=LEXICON)


class TestSentencesOutside:
    def test_those_with_a_pair_that_does_not_occur(self) -> None:
        grammar = WordPairGrammar({"<s>": ["YES"], "YES": ["NO", "</s>"], "NO": ["</s>"]})
        said = [("YES",), ("NO",), ("YES", "NO"), ("YES", "NO", "YES"), (), ("YES", "PERHAPS")]
        assert sentences_outside(grammar, LEXICON, said) == [1, 3, 4, 5]

    def test_a_loop_allows_every_word_of_the_lexicon(self) -> None:
        said = [("YES", "NO", "NO"), ("YES", "PERHAPS")]
        assert sentences_outside(WordLoop(LEXICON.words), LEXICON, said) == [1]


class TestCheck:
    def test_words_left_out_are_named(self, caplog: pytest.LogCaptureFixture) -> None:
        check_grammar("bigram", NGram.estimate(SENTENCES, 2), LEXICON)
        assert not caplog.records
        check_grammar("arpa", NGram.estimate([*SENTENCES, ("PERHAPS", "NOT")], 2), LEXICON)
        assert "grammar arpa: 2 word(s) are not in the lexicon" in caplog.text
        assert ": NOT, PERHAPS; " in caplog.text

    def test_word_pairs_need_every_word(self) -> None:
        with pytest.raises(LexiconError, match=r"got none for 1: PERHAPS"):
            check_grammar("word-pair", WordPairGrammar.from_sentences([("PERHAPS",)]), LEXICON)


class TestMissing:
    def test_no_file(self, task: Path, tmp_path: Path) -> None:
        with pytest.raises(ExperimentError, match=r"\.arpa files of the corpus: none; expected exactly one"):
            written("arpa", tmp_path / "out", task)

    def test_two_language_models(self, task: Path, tmp_path: Path) -> None:
        for name in ("b", "a"):
            (task / f"{name}.arpa").touch()
        with pytest.raises(ExperimentError, match=r"a\.arpa, b\.arpa; expected exactly one"):
            written("arpa", tmp_path / "out", task)


class TestFiniteState:
    JSGF = "#JSGF V1.0; grammar g; public <s> = /3/ yes | /1/ No+;"

    def test_a_file_of_the_corpus_is_kept_as_a_network_in_the_words_of_the_lexicon(
        self, task: Path, tmp_path: Path
    ) -> None:
        (task / "x.jsgf").write_text(self.JSGF)
        out = tmp_path / "out"
        out.mkdir()
        forms = WordForms(LEXICON, None)
        made = write_grammar("jsgf", out, task_dir=task, sentences=SENTENCES, lexicon=LEXICON, forms=forms)
        assert [path.name for path in out.iterdir()] == ["jsgf.slf"]
        assert read_grammar("jsgf", out, LEXICON) == made
        tables = made.compile(LEXICON.words)
        assert tables.sentence_log_prob(["YES"]) == pytest.approx(math.log(0.75))
        assert tables.sentence_log_prob(["NO", "NO"]) == pytest.approx(math.log(0.25 / 4))
        check_grammar("jsgf", made, LEXICON)
        assert sentences_outside(made, LEXICON, SENTENCES) == [0]
        # A network that was written is one that a corpus may bring.
        (task / "y.slf").write_text((out / "jsgf.slf").read_text())
        (tmp_path / "again").mkdir()
        again = write_grammar("slf", tmp_path / "again", task_dir=task, sentences=(), lexicon=LEXICON)
        assert again.compile(()).sentence_log_prob(["NO", "NO"]) == pytest.approx(math.log(0.25 / 4))

    def test_two_files(self, task: Path, tmp_path: Path) -> None:
        for name in "ab":
            (task / f"{name}.jsgf").write_text(self.JSGF)
        with pytest.raises(
            ExperimentError, match=r"grammar jsgf: \.jsgf files of the corpus: a.jsgf, b.jsgf"
        ):
            written("jsgf", tmp_path / "out", task)

    def test_words_that_the_lexicon_lacks(self, task: Path, tmp_path: Path) -> None:
        (task / "x.jsgf").write_text("#JSGF V1.0; public <s> = YES PERHAPS;")
        grammar = written("jsgf", tmp_path / "out", task)
        with pytest.raises(LexiconError, match="got none for 1: PERHAPS"):
            check_grammar("jsgf", grammar, LEXICON)  # type: ignore[arg-type]
