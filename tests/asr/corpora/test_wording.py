"""Corpora in the words of a lexicon, what that changes, and how it is said."""

from pathlib import Path

from asr.corpora.utterances import Corpus, Utterance
from asr.corpora.wording import (
    Changes,
    forms_for,
    read_wording,
    spelling,
    total,
    worded,
    wording_notes,
    write_wording,
)
from decoder.lexicon import Lexicon


def corpus_of(*transcripts: str) -> Corpus:
    return Corpus(
        tuple(Utterance(f"u{n}", Path("u.wav"), tuple(t.split()), "s") for n, t in enumerate(transcripts))
    )


LEXICON = Lexicon({"GO": [("G",)], "LEFT": [("L",)], "ANNA": [("A",)]})


def test_words_and_how_they_were_written() -> None:
    corpus, changes = worded(corpus_of("Go left, Anna!", "GO"), forms_for("plain", LEXICON, ()))
    first, second = corpus
    assert (first.words, first.written) == (("GO", "LEFT", "ANNA"), ("Go", "left", "Anna"))
    assert (second.words, second.written) == (("GO",), ())
    assert (changes.n_words, changes.counts) == (4, {"case": 3, "punctuation": 2})


def test_exact_leaves_all_as_it_stands() -> None:
    given = corpus_of("Go left, [noise]")
    corpus, changes = worded(given, forms_for("exact", LEXICON, ()))
    assert (corpus, list(wording_notes(changes))) == (given, [])


def test_noises_and_what_nobody_could_write_are_not_to_be_found() -> None:
    (utterance,) = worded(corpus_of("go [coughs] 7 left"), forms_for("plain", LEXICON, ()))[0]
    assert utterance.words == ("GO", "[noise]", "[unknown]", "LEFT")
    assert utterance.spoken == ("GO", "LEFT")


def test_what_is_said_of_changes() -> None:
    forms = forms_for("plain", LEXICON, ())
    changes = total(worded(corpus_of(t), forms)[1] for t in ("Go 7 [noise]", "left, 7", "9"))
    lines = list(wording_notes(changes))
    assert lines[0].startswith("transcripts are compared in plain form: of 6 words 2 in another case, ")
    assert lines[1].startswith('1 word(s) in transcripts, "[noise]" (u0): taken for noise')
    assert lines[2].startswith('3 word(s) in transcripts, "7" (u0), "9" (u0): cannot be read')


def test_nothing_is_said_of_nothing() -> None:
    assert list(wording_notes(Changes())) == []
    assert list(wording_notes(worded(corpus_of("GO LEFT"), forms_for("plain", LEXICON, ()))[1])) == []


def test_written_and_read(tmp_path: Path) -> None:
    given = corpus_of("Go left, Anna!", "GO")
    corpus, _ = worded(given, forms_for("plain", LEXICON, ()))
    write_wording(corpus, tmp_path / "train.json")
    assert read_wording(given, tmp_path / "train.json") == corpus


def test_spelling_is_of_words_that_are_always_written_so() -> None:
    forms = forms_for("plain", LEXICON, ())
    corpora = [worded(corpus_of("Go to Anna", "left Left", "go Anna"), forms)[0]]
    assert spelling(corpora) == {"ANNA": "Anna", "GO": "go", "TO": "to"}


def test_without_a_lexicon_the_words_are_those_of_the_text() -> None:
    given = corpus_of("Go, Anna.", "anna, Anna go")
    corpus, _ = worded(given, forms_for("plain", None, [given]))
    assert corpus.vocabulary == ("anna", "go")
