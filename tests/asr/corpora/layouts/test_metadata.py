"""Tables with a header beside the recordings."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import read_corpus, read_parts, scan_corpus
from asr.corpora.layouts.metadata import METADATA
from asr.errors import CorpusError

Write = Callable[..., Path]


def test_audio_folder_of_hugging_face(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "a 1.wav", "sub/b.flac")
    rows = [
        {"file_name": "a 1.wav", "transcription": "yes", "speaker_id": 7},
        {"file_name": "sub/b.flac", "transcription": "no go", "speaker_id": None},
    ]
    (tmp_path / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = read_corpus(tmp_path)
    assert corpus.text == {"a_1": ("yes",), "sub-b": ("no", "go")}
    assert [u.speaker for u in corpus] == ["7", "sub"]
    assert [u.audio_path for u in corpus] == [tmp_path / "a 1.wav", tmp_path / "sub/b.flac"]


@pytest.mark.parametrize("text_column", ["text", "Sentence", "TRANSCRIPT", "transcription"])
@pytest.mark.parametrize("audio_column", ["file_name", "recorded as"])
def test_columns_are_found(tmp_path: Path, write_audio: Write, audio_column: str, text_column: str) -> None:
    write_audio(tmp_path, "wavs/x.wav", "wavs/y.wav")
    table = f"n,{text_column},{audio_column},speaker\n1,yes,x.wav,anna b\n2,no,wavs\\y.wav,\n"
    (tmp_path / "any.csv").write_text(table)
    corpus = read_corpus(tmp_path)
    assert corpus.text == {"x": ("yes",), "y": ("no",)}
    assert [u.speaker for u in corpus] == ["anna_b", "y"]


def test_normalised_text_is_preferred(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "x.wav")
    (tmp_path / "metadata.csv").write_text("file_name,text,normalized_text\nx.wav,Mr 1,mister one\n")
    assert read_corpus(tmp_path).text == {"x": ("mister", "one")}


def test_two_columns_of_text_ask(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "x.wav")
    (tmp_path / "metadata.csv").write_text("file_name,text,sentence\nx.wav,yes,no\n")
    with pytest.raises(
        CorpusError, match=r"metadata\.csv: the columns text and sentence may all be the text"
    ):
        read_corpus(tmp_path)


def test_paths_may_lead_outside(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "far/a.wav", "near/b.wav")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "list.tsv").write_text(f"audio\ttext\n{tmp_path}/far/a.wav\tyes\n../near/b.wav\tno\n")
    found = read_corpus(corpus)
    assert found.text == {"far-a": ("yes",), "near-b": ("no",)}
    assert found.utterances[1].audio_path == tmp_path / "near/b.wav"
    assert found.speakers == ("far", "near")


def test_recordings_may_lie_on_another_drive(
    tmp_path: Path, write_audio: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_windows(path: Path, start: Path) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    write_audio(tmp_path, "elsewhere/x.wav")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "t.csv").write_text(f"file_name,text\n{tmp_path / 'elsewhere' / 'x.wav'},yes\n")
    monkeypatch.setattr("os.path.relpath", of_windows)
    (found,) = read_corpus(tmp_path / "in")
    assert (found.words, found.audio_path) == (("yes",), tmp_path / "elsewhere" / "x.wav")
    assert found.utterance_id.endswith("elsewhere-x")


def test_a_folder_that_all_share_is_no_speaker(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "speech/a.wav", "speech/b.wav")
    (tmp_path / "t.csv").write_text("path,text\nspeech/a.wav,yes\nspeech/b.wav,no\n")
    assert read_corpus(tmp_path).speakers == ("speech-a", "speech-b")


def test_problems(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "a.wav", "b.wav", "c.wav", "d.wav")
    rows = ["a.wav,yes", "b.wav,", "b.wav,no", "gone.wav,no", "c.wav", ",go", "/etc/passwd,go", "\0,go"]
    (tmp_path / "metadata.csv").write_text("\n".join(["file_name,text", *rows]))
    corpus, problems = scan_corpus(tmp_path)
    assert corpus.text == {"a": ("yes",), "b": ()}
    assert [f"{p.severity}: {p}".split(",")[0] for p in problems] == [
        "error: metadata.csv:6: no file_name or no text",
        "error: metadata.csv:7: no file_name or no text",
        'error: metadata.csv:4: "b" again (first in metadata.csv:3)',
        'error: metadata.csv:5: recording "gone.wav" does not exist',
        'error: metadata.csv:8: recording "/etc/passwd" does not exist',
        'error: metadata.csv:9: recording "\\u0000" does not exist',
        "warning: metadata.csv: 2 recording(s) without a usable row",
    ]


def test_warnings_are_logged_and_do_not_stop(
    tmp_path: Path, write_audio: Write, caplog: pytest.LogCaptureFixture
) -> None:
    write_audio(tmp_path, "a.wav", "b.wav")
    (tmp_path / "metadata.csv").write_text("file_name,text\na.wav,yes\n")
    assert read_corpus(tmp_path).ids == ("a",)
    assert caplog.messages[-1].endswith("they are left out: b.wav")


def test_splits_by_tables_and_by_folders(tmp_path: Path, write_audio: Write) -> None:
    names = ("train/a.wav", "validation/b.wav", "test/c.wav")
    write_audio(tmp_path, *(f"one/{name}" for name in names), *(f"two/{name}" for name in names))
    for name in names:
        split = name.partition("/")[0]
        (tmp_path / "one" / f"{split}.csv").write_text(f"path,text\n{name},yes\n")
    (tmp_path / "two" / "metadata.csv").write_text("".join(["path,text\n", *(f"{n},yes\n" for n in names)]))
    expected = {"train": ("train-a",), "dev": ("validation-b",), "test": ("test-c",)}
    assert {name: part.ids for name, part in read_parts(tmp_path / "one").items()} == expected
    assert {name: part.ids for name, part in read_parts(tmp_path / "two").items()} == expected


def test_two_tables_ask_and_a_path_decides(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "a.wav")
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text(f"path,text\na.wav,{name}\n")
    with pytest.raises(CorpusError, match=r"fits 2 layouts: a table of recordings \(one\.csv\), a table of"):
        read_corpus(tmp_path)
    assert read_corpus(tmp_path / "two.csv").text == {"a": ("two.csv",)}


def test_tables_of_something_else_are_left_aside(tmp_path: Path, write_files: Write) -> None:
    write_files(
        tmp_path, {"a.csv": "path,size\nx.wav,3\n", "b.tsv": b"\xff\xfe\x00", "c.jsonl": "[]\n", "d.csv": ""}
    )
    assert METADATA.sources(tmp_path) == []
    assert METADATA.sources(tmp_path / "a.csv") == []
    with pytest.raises(CorpusError, match=r"a\.csv: not a corpus, expected a table of recordings"):
        read_corpus(tmp_path / "a.csv")


def test_a_name_that_is_none(tmp_path: Path, write_audio: Write, write_files: Write) -> None:
    write_files(write_audio(tmp_path, "x.wav"), {"metadata.csv": "file_name,text\n.,go\nx.wav,stop\n"})
    corpus, problems = scan_corpus(tmp_path)
    assert corpus.ids == ("x",)
    assert 'recording "." does not exist' in problems[0].what


@pytest.mark.parametrize("value", ['["GO", "ON"]', '{"text": "GO"}', "NaN", "null"])
def test_what_is_no_text_in_json_is_named(
    value: str, tmp_path: Path, write_audio: Write, write_files: Write
) -> None:
    write_audio(tmp_path, "a.wav", "b.wav")
    rows = f'{{"file_name": "b.wav", "text": "ON"}}\n{{"file_name": "a.wav", "text": {value}}}\n'
    corpus, problems = scan_corpus(write_files(tmp_path, {"metadata.jsonl": rows}))
    assert corpus.ids == (("a", "b") if value == "null" else ("b",))
    if value == "null":  # an empty transcript
        assert corpus.text == {"a": (), "b": ("ON",)}
    else:
        line = "metadata.jsonl:2: no file_name or no text, expected both in each row; complete the row"
        assert str(problems[0]) == line
