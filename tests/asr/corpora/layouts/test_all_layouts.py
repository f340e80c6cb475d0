"""Which layout a directory has."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import lexicon_of, read_corpus, read_parts, scan_parts
from asr.corpora.layouts.all_layouts import LAYOUTS, LISTING_LAYOUTS, layout_of
from asr.corpora.validation import validate
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


def test_kaldi_folders_of_splits_whatever_table_there_is(
    tmp_path: Path, write_audio: Write, write_files: Write
) -> None:
    write_audio(tmp_path, "a.wav")
    for split in ("train", "test"):
        write_files(
            tmp_path / split,
            {"wav.scp": f"{split}1 ../a.wav", "text": f"{split}1 yes", "utt2spk": f"{split}1 s"},
        )
        write_files(tmp_path, {f"{split}.csv": "wav_filename,wav_filesize,transcript\n/home/x/a.wav,1,no\n"})
    write_files(tmp_path, {"local/dict/lexicon.txt": "yes Y S\n"})
    assert read_parts(tmp_path)["test"].text == {"test1": ("yes",)}
    (note,) = (p for p in scan_parts(tmp_path)[1] if p.severity == "note")
    assert note.what.startswith("read are the folders of splits; left aside is the list")
    assert lexicon_of(tmp_path) == tmp_path / "local/dict/lexicon.txt"


def test_names_of_layouts_differ_and_nothing_has_none(tmp_path: Path) -> None:
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS) == len(LISTING_LAYOUTS) + 2
    assert layout_of(tmp_path) is None


# Ten seconds of sound, and what each layout says of them; in the second case of what comes after them, too.
GOOD = {
    "a.txt": "one two three",
    "a.lab": "one two three",
    "a.stm": "a 1 anna 0.5 9.5 one two three\n",
    "a.ctm": "a 1 0.5 4 one\na 1 4.5 4.9 two\n",
    "a.srt": "1\n00:00:00,500 --> 00:00:09,500\none two three\n",
    "a.vtt": "WEBVTT\n\n00:00.500 --> 00:09.500\none two three\n",
    "a.TextGrid": '"ooTextFile" "TextGrid" 0 10 <exists> 1 "IntervalTier" "text" 0 10 1 0.5 9.5 "one"',
    "metadata.csv": "file_name,text\na.wav,one two three\n",
    "train.tsv": "client_id\tpath\tsentence\nanna\ta.wav\tone two three\n",
    "etc/x_train.fileids": "a\n",
}
LATE = {
    "a.stm": "a 1 anna 9 11 one two three\n",
    "a.ctm": "a 1 9 2 one\n",
    "a.srt": "1\n00:00:09,000 --> 00:00:11,000\none two three\n",
    "a.vtt": "WEBVTT\n\n00:09.000 --> 00:11.000\none two three\n",
    "a.TextGrid": '"ooTextFile" "TextGrid" 0 11 <exists> 1 "IntervalTier" "text" 0 11 1 9 11 "one"',
}


def errors_of(directory: Path) -> list[str]:
    return [str(problem) for problem in validate(directory) if problem.severity == "error"]


@pytest.mark.parametrize("name", GOOD)
def test_each_layout_is_valid(name: str, tmp_path: Path, write_audio: Write, write_files: Write) -> None:
    write_audio(tmp_path, "a.wav", duration_s=10.0)
    write_files(tmp_path, {name: GOOD[name], "etc/x_train.transcription": "<s> one two three </s> (a)\n"})
    assert errors_of(tmp_path) == []
    assert {u.words[0] for u in read_corpus(tmp_path)} == {"one"}


@pytest.mark.parametrize("name", LATE)
def test_times_beyond_the_end_are_named(
    name: str, tmp_path: Path, write_audio: Write, write_files: Write
) -> None:
    write_audio(tmp_path, "a.wav", duration_s=10.0)
    write_files(tmp_path, {name: LATE[name]})
    (error,) = errors_of(tmp_path)
    assert "segment out of range; expected 0 <= start < end <= 10.000 s; got" in error


def test_the_lexicon_of_a_corpus(tmp_path: Path, write_files: Write) -> None:
    assert lexicon_of(tmp_path) is None
    lists = {"etc/x_train.fileids": "", "etc/x.dic": "", "etc/x.filler": ""}
    write_files(tmp_path, lists)
    assert lexicon_of(tmp_path) == lexicon_of(tmp_path / "etc/x_train.fileids") == tmp_path / "etc/x.dic"
    write_files(tmp_path, {"train/lexicon.txt": ""})
    assert lexicon_of(tmp_path) == tmp_path / "train/lexicon.txt"
    write_files(tmp_path, {"lexicon.txt": "", "t.csv": ""})
    assert lexicon_of(tmp_path) == lexicon_of(tmp_path / "t.csv") == tmp_path / "lexicon.txt"
