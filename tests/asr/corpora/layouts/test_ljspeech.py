"""LJSpeech's table: bars, no header, quotes that mean nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import read_corpus, scan_corpus
from asr.corpora.layouts.metadata import LJSPEECH

Write = Callable[..., Path]


@pytest.fixture
def corpus(tmp_path: Path, write_audio: Write) -> Path:
    return write_audio(tmp_path, "wavs/LJ001-0001.wav", "wavs/LJ001-0002.wav")


def test_normalised_text_is_preferred(corpus: Path) -> None:
    table = '\ufeffLJ001-0001|in 1455|in fourteen fifty-five\r\nLJ001-0002|said "no|\r\n'
    (corpus / "metadata.csv").write_text(table, encoding="utf-8", newline="")
    found = read_corpus(corpus)
    assert found.text == {"LJ001-0001": ("in", "fourteen", "fifty-five"), "LJ001-0002": ("said", '"no')}
    assert found.speakers == found.ids
    assert found.utterances[0].audio_path == corpus / "wavs/LJ001-0001.wav"
    assert read_corpus(corpus / "metadata.csv") == found


def test_two_columns(corpus: Path) -> None:
    (corpus / "metadata.csv").write_text("LJ001-0001|one\nLJ001-0002|two\n")
    assert read_corpus(corpus).text == {"LJ001-0001": ("one",), "LJ001-0002": ("two",)}


def test_problems(corpus: Path) -> None:
    (corpus / "metadata.csv").write_text("LJ001-0001|one\nLJ001-0003|two\nLJ001-0001|one\nnothing\n\n")
    found, problems = scan_corpus(corpus)
    assert found.ids == ("LJ001-0001",)
    assert [f"{p.severity}: {p}".split(",")[0] for p in problems] == [
        'error: metadata.csv:4: "nothing" has no bar',
        'error: metadata.csv:3: "LJ001-0001" again (first in metadata.csv:1)',
        'error: metadata.csv:2: recording "LJ001-0003" does not exist',
        "warning: metadata.csv: 1 recording(s) without a usable row",
    ]
    assert problems[-1].what.endswith("they are left out: wavs/LJ001-0002.wav")


def test_encoding_is_named(corpus: Path) -> None:
    (corpus / "metadata.csv").write_bytes(
        "LJ001-0001|one\nLJ001-0002|cafe\n".replace("e\n", "\xe9\n").encode("latin-1")
    )
    _, problems = scan_corpus(corpus)
    assert str(problems[0]).startswith('metadata.csv:1: not UTF-8, expected lines "ID|text" in UTF-8')


def test_a_header_makes_it_another_table(corpus: Path) -> None:
    (corpus / "metadata.csv").write_text("file_name|text\nLJ001-0001|one\nLJ001-0002|two\n")
    assert LJSPEECH.sources(corpus) == []
    assert read_corpus(corpus).text["LJ001-0002"] == ("two",)
