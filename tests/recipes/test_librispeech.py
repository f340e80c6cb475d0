"""The preparation of LibriSpeech's subsets, on a generated tree of their form."""

import gzip
from pathlib import Path

import pytest

from asr.corpora.corpus import SPLITS, Corpus, read_corpus
from asr.errors import CorpusError
from decoder import lexicon as english
from decoder.grammars.ngram import NGram
from decoder.lexicon import Lexicon
from recipes import librispeech

LEXICON = "BOAT  B OW1 T\nTHE  DH AH0\nTHE  DH IY0\nTHE  DH AH1\nWIND  W IH1 N D\nSEA  S IY1\n"


def write_subset(directory: Path, *speakers: int, text: str = "THE BOAT") -> None:
    """Write two utterances of each speaker, in a chapter."""
    for speaker in speakers:
        chapter = directory / f"{speaker}/{10 * speaker}"
        chapter.mkdir(parents=True)
        names = [f"{speaker}-{10 * speaker}-000{n}" for n in range(2)]
        for name in names:
            (chapter / f"{name}.flac").touch()
        lines = "".join(f"{name} {text}\n" for name in names)
        (chapter / f"{speaker}-{10 * speaker}.trans.txt").write_text(lines)


def prepared(corpus: Path, output: Path) -> dict[str, Corpus]:
    output.mkdir(exist_ok=True)
    librispeech.prepare(corpus, output)
    return {name: read_corpus(output / name) for name in SPLITS}


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Return a corpus with two subsets of train, one of dev and one of test, and a lexicon with stress."""
    corpus = tmp_path / "corpus"
    write_subset(corpus / "LibriSpeech/train-clean-100", 1, 2)
    write_subset(corpus / "LibriSpeech/train-other-500", 3)
    write_subset(corpus / "LibriSpeech/dev-clean", 4, text="THE WIND'S")
    write_subset(corpus / "LibriSpeech/test-other", 5, text="THE SEA")
    (corpus / "librispeech-lexicon.txt").write_text(LEXICON)
    return corpus


def test_subsets_are_splits(whole: Path, tmp_path: Path) -> None:
    parts = prepared(whole, tmp_path / "out")
    assert {name: part.speakers for name, part in parts.items()} == {
        "train": ("1", "2", "3"),
        "dev": ("4",),
        "test": ("5",),
    }
    assert parts["train"].text["1-10-0001"] == ("THE", "BOAT")
    assert parts["train"].utterances[0].audio_path.name == "1-10-0000.flac"


def test_words_are_those_of_train_and_dev_and_phones_without_stress(whole: Path, tmp_path: Path) -> None:
    prepared(whole, tmp_path / "out")
    lexicon = Lexicon.read(tmp_path / "out/lexicon.txt")
    assert dict(lexicon.entries) == {"BOAT": (("B", "OW", "T"),), "THE": (("DH", "AH"), ("DH", "IY"))}


def test_with_a_language_model_its_words_too(whole: Path, tmp_path: Path) -> None:
    model = NGram.estimate([("THE", "SEA"), ("THE", "ICE")], 2)
    model.write(tmp_path / "x.arpa")
    (whole / "LibriSpeech/3-gram.arpa.gz").write_bytes(gzip.compress((tmp_path / "x.arpa").read_bytes()))
    prepared(whole, tmp_path / "out")
    assert NGram.read(tmp_path / "out" / librispeech.MODEL) == model
    assert Lexicon.read(tmp_path / "out/lexicon.txt").words == ("BOAT", "SEA", "THE")


def test_without_a_lexicon_the_cmu_dictionary_in_capitals(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole / "librispeech-lexicon.txt").unlink()
    monkeypatch.setattr(english, "_dictionary", lambda: {"boat": [["B", "OW1", "T"]], "sea": [["S", "IY1"]]})
    prepared(whole, tmp_path / "out")
    assert dict(Lexicon.read(tmp_path / "out/lexicon.txt").entries) == {"BOAT": (("B", "OW", "T"),)}


def test_mini_librispeech_has_its_dev_as_test(tmp_path: Path) -> None:
    write_subset(tmp_path / "mini/train-clean-5", *range(1, 13))
    write_subset(tmp_path / "mini/dev-clean-2", 20, 21)
    (tmp_path / "mini/lexicon.txt").write_text(LEXICON)
    parts = prepared(tmp_path / "mini", tmp_path / "out")
    assert parts["test"].speakers == ("20", "21")
    assert parts["dev"].speakers == ("3",)  # the sixth of train by code point
    assert len(parts["train"].speakers) == 11


def test_no_subsets(tmp_path: Path) -> None:
    write_subset(tmp_path / "corpus", 1)
    with pytest.raises(CorpusError, match="expected LibriSpeech's subsets there, one of them train-…"):
        librispeech.prepare(tmp_path / "corpus", tmp_path / "out")
