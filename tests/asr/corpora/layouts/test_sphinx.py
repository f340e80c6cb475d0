"""Sphinx's form: AN4's own distribution."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from asr.corpora.corpus import WHOLE, Corpus, Utterance, read_corpus, read_parts, scan_parts
from asr.corpora.layouts import sphinx
from asr.corpora.layouts.sphinx import write_sphinx
from asr.errors import CorpusError
from decoder.lexicon import Lexicon

Write = Callable[..., Path]


@pytest.fixture
def corpus(tmp_path: Path, write_audio: Write, write_files: Write) -> Path:
    """Return two speakers in train, one in test."""
    write_audio(tmp_path, "wav/clstk/anna/a1.wav", "wav/clstk/ben/b1.flac", "wav/test/carl/c1.wav")
    return write_files(
        tmp_path,
        {
            "etc/an4_train.fileids": "clstk/anna/a1\r\nclstk/ben/b1\n\n",
            "etc/an4_train.transcription": "<s> YES </s> (a1)\r\n<s> NO  GO </s> (b1)\n",
            "etc/an4_test.fileids": "test/carl/c1\n",
            "etc/an4_test.transcription": "<s> STOP (IT) </s> (test/carl/c1)\n",
        },
    )


def test_splits_ids_speakers_and_words(corpus: Path) -> None:
    parts = read_parts(corpus)
    assert {name: part.ids for name, part in parts.items()} == {"train": ("a1", "b1"), "test": ("c1",)}
    assert parts["train"].text == {"a1": ("YES",), "b1": ("NO", "GO")}
    assert parts["test"].text == {"c1": ("STOP", "(IT)")}
    assert parts["train"].speakers == ("anna", "ben")
    assert parts["train"].utterances[1].audio_path == corpus / "wav/clstk/ben/b1.flac"


def test_all_splits_together_and_by_the_list(corpus: Path) -> None:
    assert read_corpus(corpus).ids == ("a1", "b1", "c1")
    assert read_corpus(corpus / "etc/an4_train.fileids").ids == ("a1", "b1", "c1")


def test_equal_names_of_recordings_are_told_apart_by_their_folders(
    tmp_path: Path, write_audio: Write, write_files: Write
) -> None:
    write_audio(tmp_path, "wav/a/1.wav", "wav/b/1.wav")
    lines = {"fileids": "a/1\nb/1\n", "transcription": "<s> one </s> (a/1)\n<s> two </s> (b/1)\n"}
    write_files(tmp_path, {f"etc/x_train.{kind}": text for kind, text in lines.items()})
    assert read_parts(tmp_path)["train"].text == {"a-1": ("one",), "b-1": ("two",)}


def test_problems(corpus: Path, write_files: Write) -> None:
    write_files(
        corpus,
        {
            "etc/an4_train.fileids": "clstk/anna/a1\nclstk/ben/b1\nclstk/ben/b2\nclstk/ben/b1\n",
            "etc/an4_train.transcription": "YES (a1)\nNO\nYES (a1)\nGO (z)\n",
        },
    )
    (corpus / "etc/an4_test.transcription").write_bytes(b"\xff\n")
    parts, problems = scan_parts(corpus)
    assert parts["train"].ids == ("a1",)
    assert [str(problem).split(",")[0] for problem in problems] == [
        'an4_train.transcription:2: "NO" has no id at its end',
        'an4_train.transcription:3: "a1" again (first in line 1)',
        'an4_train.fileids:2: "b1" has no line in an4_train.transcription',
        'an4_train.fileids:3: no recording "clstk/ben/b2"',
        'an4_train.fileids:4: "b1" has no line in an4_train.transcription',
        'an4_train.transcription:4: "z" is not in an4_train.fileids',
        "an4_test.transcription:1: not UTF-8",
        'an4_test.fileids:1: "c1" has no line in an4_test.transcription',
    ]


def test_sources_are_lists_of_training_recordings(corpus: Path) -> None:
    assert sphinx.sources(corpus) == [corpus / "etc/an4_train.fileids"]
    assert sphinx.sources(corpus / "wav") == []


LEXICON = Lexicon({"A": [("AH",), ("EY",)], "GO": [("G", "OW")], "UNUSED": [("UW",)]})


def utterance(name: str, words: str, directory: Path, **more: float) -> Utterance:
    audio = directory / f"{name}.flac"
    audio.write_bytes(b"")
    return Utterance(name, audio, tuple(words.split()), "anna b", **more)


def test_lists_dictionary_and_fillers(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    train = Corpus(
        (utterance("u1", "GO [noise] A NEW", tmp_path / "in"), utterance("u2", "", tmp_path / "in"))
    )
    test = Corpus((utterance("u3", "A", tmp_path / "in"),))
    etc = write_sphinx({"train": train, "test": test}, LEXICON, tmp_path / "out")
    texts = {path.name: path.read_text() for path in etc.iterdir()}
    assert texts == {
        "out_train.fileids": "anna b/u1\nanna b/u2\n",
        "out_train.transcription": "<s> GO [noise] A NEW </s> (u1)\n<s> </s> (u2)\n",
        "out_test.fileids": "anna b/u3\n",
        "out_test.transcription": "<s> A </s> (u3)\n",
        "out.dic": "A AH\nA(2) EY\nGO G OW\n",
        "out.phone": "AH\nEY\nG\nOW\nSIL\nnoise\n",
        "out.filler": "<s> SIL\n</s> SIL\n<sil> SIL\n[noise] noise\n",
    }
    assert (tmp_path / "out" / "wav" / "anna b" / "u3.flac").resolve() == (
        tmp_path / "in" / "u3.flac"
    ).resolve()
    parts = read_parts(tmp_path / "out")
    assert {name: part.ids for name, part in parts.items()} == {"train": ("u1", "u2"), "test": ("u3",)}
    write_sphinx({WHOLE: test}, LEXICON, tmp_path / "out")  # again, over what is there
    assert (etc / "out_train.fileids").read_text() == "anna b/u3\n"


def test_what_sphinx_cannot_have(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"u1: a stretch of u1.flac, expected whole recordings"):
        write_sphinx({"": Corpus((utterance("u1", "A", tmp_path, end_s=1.0),))}, LEXICON, tmp_path)
    for name in ("u(1)", "../u", "u\0"):
        one = replace(utterance("u", "A", tmp_path), utterance_id=name)
        with pytest.raises(CorpusError, match=f'utterance id "{re.escape(name)}"'):
            write_sphinx({"": Corpus((one,))}, LEXICON, tmp_path)


def test_recordings_are_copied_where_links_need_a_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(source: Path, target: Path) -> None:
        raise OSError(1314, "A required privilege is not held by the client")

    monkeypatch.setattr("os.symlink", refused)
    (tmp_path / "in").mkdir()
    corpus = Corpus((utterance("u1", "A", tmp_path / "in"),))
    (tmp_path / "in" / "u1.flac").write_bytes(b"sound")
    copy = tmp_path / "out" / "wav" / "anna b" / "u1.flac"
    for _ in range(2):  # the second time over what is there
        write_sphinx({"train": corpus}, LEXICON, tmp_path / "out")
        assert (copy.read_bytes(), copy.is_symlink()) == (b"sound", False)
    copy.write_bytes(b"of a person")
    with pytest.raises(CorpusError, match="expected a free place"):
        write_sphinx({"train": corpus}, LEXICON, tmp_path / "out")
    assert copy.read_bytes() == b"of a person"


def test_a_recording_is_not_replaced_by_a_link(tmp_path: Path) -> None:
    place = tmp_path / "wav" / "anna b"
    place.mkdir(parents=True)
    corpus = Corpus((utterance("u1", "A", place),))
    (place / "u1.flac").write_bytes(b"sound")
    with pytest.raises(CorpusError, match=r"u1\.flac: is there already and no link .* another directory"):
        write_sphinx({"train": corpus}, LEXICON, tmp_path)
    assert (place / "u1.flac").read_bytes() == b"sound"
