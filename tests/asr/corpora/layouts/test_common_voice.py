"""Common Voice: its splits, its other tables, its quotes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import read_corpus, read_parts, scan_parts
from asr.corpora.validation import validate

Write = Callable[..., Path]
HEADER = "client_id\tpath\tsentence\tup_votes\n"


@pytest.fixture
def corpus(tmp_path: Path, write_audio: Write, write_files: Write) -> Path:
    """Return five clips: one in each split, one that was rejected, one that is in no table."""
    write_audio(tmp_path, *(f"clips/cv_{i}.mp3" for i in range(5)))
    tables = {
        "train.tsv": HEADER + 'anna\tcv_0.mp3\t"He said ""no""\t2\n',
        "dev.tsv": HEADER + 'ben\tcv_1.mp3\t"""Yes"" or no"\t2\r\n',
        "test.tsv": HEADER + "carl\tcv_2.mp3\tgo\t2\n",
        "invalidated.tsv": HEADER + "carl\tcv_3.mp3\tstop\t0\n",
        "reported.tsv": "sentence_id\tsentence\treason\n1\tgo\tnone\n",
    }
    return write_files(tmp_path, tables)


def test_splits(corpus: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    parts = read_parts(corpus)
    assert {name: part.ids for name, part in parts.items()} == {
        "train": ("cv_0",),
        "dev": ("cv_1",),
        "test": ("cv_2",),
    }
    assert parts["dev"].text == {"cv_1": ('"Yes"', "or", "no")}
    assert parts["train"].text == {"cv_0": ('"He', "said", '""no""')}
    assert [part.speakers for part in parts.values()] == [("anna",), ("ben",), ("carl",)]
    said = "read as Common Voice: 3 recordings, 3 utterances, 3 speakers, 1 in train, 1 in dev, 1 in test"
    assert caplog.messages[0] == f"{corpus}: {said}"


def test_clips_in_no_table_are_named(corpus: Path) -> None:
    _, problems = scan_parts(corpus)
    (problem,) = problems
    assert problem.severity == "warning"
    assert str(problem) == (
        "train.tsv or dev.tsv or test.tsv: 1 recording(s) without a usable row, expected one each; they are "
        "left out: clips/cv_4.mp3"
    )
    assert [p for p in validate(corpus) if p.severity == "error"] == []


def test_all_that_is_validated_where_there_are_no_splits(corpus: Path) -> None:
    for name in ("dev.tsv", "test.tsv"):
        (corpus / name).unlink()
    (corpus / "train.tsv").rename(corpus / "validated.tsv")
    assert {name: part.ids for name, part in read_parts(corpus).items()} == {"": ("cv_0",)}


def test_one_table_by_its_path(corpus: Path) -> None:
    assert read_corpus(corpus / "invalidated.tsv").text == {"cv_3": ("stop",)}
    assert read_corpus(corpus).ids == ("cv_0", "cv_1", "cv_2")


def test_a_clip_in_two_splits(corpus: Path) -> None:
    (corpus / "test.tsv").write_text(HEADER + "carl\tcv_0.mp3\tgo\t2\n")
    assert any(
        '1 duplicate utterance id(s) in both train and test: "cv_0"' in str(p) for p in validate(corpus)
    )
