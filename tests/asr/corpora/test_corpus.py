"""Which reader a directory gets, and what is said of one that has no utterances."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import problem_report, read_corpus, scan_corpus
from asr.errors import CorpusError, Problem

Write = Callable[..., Path]


def test_no_utterances(tmp_path: Path) -> None:
    with pytest.raises(
        CorpusError, match=r"no utterances, expected wav\.scp, text and utt2spk, or recordings"
    ):
        read_corpus(tmp_path)


def test_root_of_a_corpus_is_not_taken_for_speakers_called_train_and_test(
    tmp_path: Path, write_folder: Write
) -> None:
    write_folder(tmp_path, "train/a", "test/b")
    with pytest.raises(CorpusError, match="has a subdirectory train, expected one data directory"):
        read_corpus(tmp_path)


def test_no_such_directory(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such directory"):
        read_corpus(tmp_path / "none")


def test_a_pipe_is_no_corpus_nor_is_the_folder_around_it(tmp_path: Path, write_folder: Write) -> None:
    write_folder(tmp_path, "a")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorpusError, match="pipe: a pipe, socket or device, expected a corpus"):
        read_corpus(tmp_path / "pipe")


def test_a_kaldi_directory_is_known_by_its_files(
    tmp_path: Path, write_kaldi: Write, write_folder: Write
) -> None:
    write_folder(write_kaldi(tmp_path), "c1")
    assert read_corpus(tmp_path).ids == ("a1", "b1")
    for name in ("wav.scp", "text", "utt2spk"):
        (tmp_path / name).unlink()
    (tmp_path / "audio" / "a1.wav").unlink()
    (tmp_path / "audio" / "b1.wav").unlink()
    assert read_corpus(tmp_path).ids == ("c1",)


def test_what_was_recognised_is_said_in_one_line(
    tmp_path: Path, write_folder: Write, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    write_folder(tmp_path, "anna/a", "anna/b", "ben/c")
    assert len(read_corpus(tmp_path)) == 3
    name = "recordings with transcripts beside them"
    assert caplog.messages == [f"{tmp_path}: read as {name} (.txt): 3 recordings, 3 utterances, 2 speakers"]
    (tmp_path / "anna/a.txt").rename(tmp_path / "anna/a.srt")
    (tmp_path / "anna/a.srt").write_text("00:00:01,0 --> 00:00:02,0\nyes\n\n00:00:02,0 --> 00:00:03,0\nno\n")
    assert len(read_corpus(tmp_path)) == 4
    assert (caplog.records[0].name, caplog.records[1].name) == ("asr.corpora.corpus", "asr.progress")
    assert caplog.messages[1].endswith(f"{name} (.srt .txt): 3 recordings, 4 utterances, 2 speakers")


def test_recordings_for_ffmpeg_where_there_is_none_are_one_line(
    tmp_path: Path, write_folder: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path, "a", "b", "c")
    for name in ("a.m4a", "b.WEBM"):
        (tmp_path / name[0]).with_suffix(".wav").rename(tmp_path / name)
    monkeypatch.setattr("asr.corpora.corpus.is_installed", lambda: False)
    found, (problem,) = scan_corpus(tmp_path)
    assert found.ids == ("c",)
    assert str(problem) == (
        f".: 2 recording(s) (.m4a .webm), such as {tmp_path / 'a.m4a'}, are read by ffmpeg, expected that "
        "program; install it (ffmpeg.org), or convert them to wav or flac"
    )
    monkeypatch.setattr("asr.corpora.corpus.is_installed", lambda: True)
    assert read_corpus(tmp_path).ids == ("a", "b", "c")


def test_report_of_one_problem_and_of_too_many() -> None:
    problems = [Problem(f"text:{i}", "is wrong") for i in range(1, 61)]
    assert problem_report("d", problems[:1]) == "d: text:1: is wrong"
    assert problem_report("d", [Problem(".", "is empty")]) == "d: is empty"
    head, *lines, more, tail = problem_report("d", problems).splitlines()
    assert head == "d: 60 problems, expected none; correct them and run again"
    assert lines == [f"text:{i}: is wrong" for i in range(1, 11)]
    assert more == "  and 50 more of this kind"
    assert tail == "50 of them are not listed here, see: asr validate d"
    kinds = [Problem("x", f"is wrong {'so' * i}") for i in range(60)]
    assert problem_report("d", kinds).endswith("10 of them are not listed here, see: asr validate d")
