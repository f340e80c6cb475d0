"""Sphinx's form: AN4's own distribution."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import read_corpus, read_parts, scan_parts
from asr.corpora.layouts import sphinx

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
