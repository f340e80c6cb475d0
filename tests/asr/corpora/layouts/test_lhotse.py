"""Manifests as lhotse 1.33 writes them (its documentation, "Representing a corpus"), and damaged ones."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from asr.corpora.corpus import read_corpus, read_parts, scan_parts, write_corpus
from asr.errors import CorpusError

Write = Callable[..., Path]


def recording(name: str, source: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "sources": [{"type": "file", "channels": [0], "source": source}],
        "sampling_rate": 8000,
        "num_samples": 8000,
        "duration": 1.0,
        "channel_ids": [0],
        **changes,
    }


def supervision(name: str, of: str, text: str | None, start: float = 0.0, **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "recording_id": of,
        "start": start,
        "duration": 1.0 - start,
        "channel": 0,
        "text": text,
        "language": "English",
        "speaker": "anna",
        **changes,
    }


def lines(*records: object) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


@pytest.fixture
def corpus(tmp_path: Path, write_audio: Write, write_files: Write) -> Path:
    write_audio(tmp_path, "wav/a.flac", "wav/b.wav")
    return write_files(
        tmp_path,
        {
            "x_recordings.jsonl.gz": gzip.compress(
                lines(recording("a", "wav/a.flac"), recording("b", "wav/b.wav"))
            ),
            "x_supervisions.jsonl.gz": gzip.compress(
                lines(
                    supervision("a", "a", "GO hÖme"),
                    supervision("b 1", "b", "ON", duration=0.4, speaker="ben c"),
                    supervision("b 2", "b", "", 0.4, speaker=None),
                )
            ),
        },
    )


def test_recordings_and_stretches(corpus: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level("INFO")
    found = {
        u.utterance_id: (u.audio_path, u.words, u.speaker, u.start_s, u.end_s) for u in read_corpus(corpus)
    }
    assert found == {
        "a": (corpus / "wav/a.flac", ("GO", "hÖme"), "anna", 0.0, None),
        "b_1": (corpus / "wav/b.wav", ("ON",), "ben_c", 0.0, 0.4),
        "b_2": (corpus / "wav/b.wav", (), "b_2", 0.4, None),
    }
    assert any("read as lhotse: 2 recordings, 3 utterances, 2 speakers" in line for line in caplog.messages)
    for name in ("x_recordings.jsonl.gz", "x_supervisions.jsonl.gz"):
        assert read_corpus(corpus / name) == read_corpus(corpus)
    write_corpus(read_corpus(corpus), tmp_path / "kaldi")
    assert read_corpus(tmp_path / "kaldi") == read_corpus(corpus)


def test_splits_by_name_and_not_compressed(tmp_path: Path, write_audio: Write, write_files: Write) -> None:
    write_audio(tmp_path, "a.wav", "b.wav", "c.wav")
    files = {}
    for name, part in (("a", "train-clean-5"), ("b", "train-other-5"), ("c", "dev-clean-2")):
        # The id of the recording is the name of a file: the table of supervisions might be one of recordings.
        files[f"l_recordings_{part}.jsonl"] = lines(recording(f"{name}.wav", f"{name}.wav"))
        files[f"l_supervisions_{part}.jsonl"] = lines(supervision(name, f"{name}.wav", "GO"))
    parts = read_parts(write_files(tmp_path, files))
    assert {name: part.ids for name, part in parts.items()} == {"train": ("a", "b"), "dev": ("c",)}


def test_recordings_that_were_moved(corpus: Path) -> None:
    manifest = corpus / "x_recordings.jsonl.gz"
    elsewhere = lines(recording("a", "/elsewhere/wav/a.flac"), recording("b", "/elsewhere/wav/b.wav"))
    manifest.write_bytes(gzip.compress(elsewhere))
    assert read_corpus(corpus).ids == ("a", "b_1", "b_2")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"sources": [{"type": "command", "source": "cat x"}]},
            'recording "a": expected one source of type file',
        ),
        ({"sources": []}, 'recording "a": expected one source of type file'),
        ({"sources": "x"}, 'recording "a": expected one source of type file'),
        (
            {"transforms": [{"name": "Speed"}]},
            'recording "a": expected one source of type file, without transf',
        ),
        ({"id": 7}, "no id or no duration"),
        ({"duration": float("nan")}, "no id or no duration"),
        ({"duration": "1.0"}, "no id or no duration"),
        ({"id": "b"}, 'recording "b" again'),
        ({"sources": [{"type": "file", "source": "gone.wav"}]}, 'audio file "gone.wav" does not exist'),
    ],
)
def test_faulty_recordings(corpus: Path, change: dict[str, Any], message: str) -> None:
    records = [recording("b", "wav/b.wav"), recording("a", "wav/a.flac") | change]
    (corpus / "x_recordings.jsonl.gz").write_bytes(gzip.compress(lines(*records)))
    parts, problems = scan_parts(corpus)
    assert parts[""].ids == ("b_1", "b_2")
    said = [str(problem) for problem in problems]
    assert said[0].startswith(f"x_recordings.jsonl.gz:2: {message}")
    assert said[1].startswith('x_supervisions.jsonl.gz:1: "a": recording "a" is not there')
    assert len(said) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, 'no "id" or no "recording_id"'),
        ({"recording_id": ["a"]}, 'no "id" or no "recording_id"'),
        ({"text": None}, '"a": no "text"'),
        ({"text": ["GO"]}, '"a": no "text"'),
        ({"start": -1}, '"a": no "start" or no "duration"'),
        ({"start": True}, '"a": no "start" or no "duration"'),
        ({"duration": 0}, '"a": no "start" or no "duration"'),
        ({"duration": float("inf")}, '"a": no "start" or no "duration"'),
        ({"recording_id": "c"}, '"a": recording "c" is not there'),
    ],
)
def test_faulty_supervisions(corpus: Path, change: dict[str, Any], message: str) -> None:
    records = [supervision("b", "b", "ON"), supervision("a", "a", "GO") | change]
    (corpus / "x_supervisions.jsonl.gz").write_bytes(gzip.compress(lines(*records)))
    parts, (problem,) = scan_parts(corpus)
    assert parts[""].ids == ("b",)
    assert str(problem).startswith(f"x_supervisions.jsonl.gz:2: {message}")


packed = partial(gzip.compress, mtime=0)  # each run has the same names of tests
GOOD = lines(supervision("a", "a", "GO"), supervision("b", "b", "ON"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (packed(GOOD)[:-20], r"x_supervisions.jsonl.gz:\d: cannot be read \(Compressed file ended"),
        (GOOD, r"x_supervisions.jsonl.gz:1: cannot be read \(Not a gzipped file"),
        (packed(GOOD)[:12] + b"\xff" * 40, r"x_supervisions.jsonl.gz:1: cannot be read"),
        (packed(b"[1]\n" + GOOD), r"x_supervisions.jsonl.gz:1: no JSON object in UTF-8"),
        (
            packed(GOOD.decode().encode("utf-16")),
            r"x_supervisions.jsonl.gz:1: no JSON object in UTF-8",
        ),
        (packed(b"[" * 99999), r"x_supervisions.jsonl.gz:1: no JSON object in UTF-8"),
        (packed(b"\0" * (1 << 25)), r"x_supervisions.jsonl.gz:1: no JSON object in UTF-8"),
        (packed(lines(*[supervision("a", "a", "GO")] * 2)), 'supervisions: "a" again'),
        (
            packed(lines(supervision("a", "b", "GO"), supervision("b", "b", "ON", channel=1))),
            r'"b" has the channels 0 1, expected one',
        ),
    ],
)
def test_damaged_manifests(corpus: Path, content: bytes, message: str) -> None:
    (corpus / "x_supervisions.jsonl.gz").write_bytes(content)
    _, problems = scan_parts(corpus)
    with pytest.raises(ValueError, match=message):
        raise ValueError("\n".join(map(str, problems)))


def test_marks_and_line_ends(corpus: Path) -> None:
    content = b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n\r\n")
    (corpus / "x_supervisions.jsonl.gz").write_bytes(gzip.compress(content))
    assert read_corpus(corpus).text == {"a": ("GO",), "b": ("ON",)}


def test_pairs_without_names_of_splits(corpus: Path) -> None:
    for kind in ("recordings", "supervisions"):
        (corpus / f"y_{kind}.jsonl.gz").write_bytes((corpus / f"x_{kind}.jsonl.gz").read_bytes())
    _, problems = scan_parts(corpus)
    assert "x_supervisions.jsonl.gz, y_supervisions.jsonl.gz, expected one, or names that end in" in str(
        problems[0]
    )
    assert read_corpus(corpus / "y_recordings.jsonl.gz").ids == ("a", "b_1", "b_2")


def test_a_manifest_that_unpacks_to_far_more_is_read_no_further(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foundation.files._SMALL", 10_000)
    (corpus / "x_supervisions.jsonl.gz").write_bytes(gzip.compress(b"\n" * 5_000_000))
    with pytest.raises(
        CorpusError, match=r"More than \d+ bytes in a gzip file of \d+.*save the manifest anew"
    ):
        read_corpus(corpus)
