"""Which layout a directory has."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import read_corpus, read_parts
from asr.corpora.layouts.layouts import LAYOUTS, LISTING_LAYOUTS, layout_of
from asr.errors import CorpusError

Write = Callable[..., Path]


def test_two_layouts_ask_and_a_path_decides(tmp_path: Path, write_audio: Write, write_files: Write) -> None:
    write_audio(tmp_path, "wavs/a.wav")
    write_files(tmp_path, {"metadata.csv": "a|from the table\n", "wavs/a.txt": "from the text"})
    with pytest.raises(
        CorpusError, match=r"fits 2 layouts: LJSpeech \(metadata\.csv\), recordings with tran"
    ):
        read_corpus(tmp_path)
    assert read_corpus(tmp_path / "metadata.csv").text["a"] == ("from", "the", "table")
    assert read_corpus(tmp_path / "wavs").text["a"] == ("from", "the", "text")


def test_kaldi_is_kaldi_whatever_else_there_is(
    tmp_path: Path, write_audio: Write, write_files: Write
) -> None:
    write_audio(tmp_path, "a.wav")
    files = {"wav.scp": "k a.wav\n", "text": "k yes\n", "utt2spk": "k anna\n"}
    write_files(tmp_path, {**files, "metadata.csv": "file_name,text\na.wav,no\n", "a.txt": "no"})
    assert read_corpus(tmp_path).text == {"k": ("yes",)}
    assert read_corpus(tmp_path / "wav.scp").text == {"k": ("yes",)}


def test_a_list_beside_folders_of_splits(tmp_path: Path, write_audio: Write, write_files: Write) -> None:
    write_audio(tmp_path, "train/a.wav", "test/b.wav")
    write_files(tmp_path, {"metadata.csv": "file_name,text\ntrain/a.wav,yes\ntest/b.wav,no\n"})
    assert {name: part.text for name, part in read_parts(tmp_path).items()} == {
        "train": {"train-a": ("yes",)},
        "test": {"test-b": ("no",)},
    }
    write_files(tmp_path, {"train/a.txt": "yes", "test/b.txt": "no"})
    with pytest.raises(
        CorpusError, match=r"both a list of recordings \(a table of recordings\) and a folder"
    ):
        read_parts(tmp_path)


def test_names_of_layouts_differ_and_nothing_has_none(tmp_path: Path) -> None:
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS) == len(LISTING_LAYOUTS) + 1
    assert layout_of(tmp_path) is None
