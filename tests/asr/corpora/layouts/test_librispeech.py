"""LibriSpeech's chapters."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import read_parts, scan_parts

Write = Callable[..., Path]


@pytest.fixture
def corpus(tmp_path: Path, write_audio: Write, write_files: Write) -> Path:
    names = (
        "train-clean-100/19/198/19-198-0000",
        "train-clean-100/26/495/26-495-0000",
        "test-other/7/1/7-1-0000",
    )
    write_audio(tmp_path, *(f"{name}.flac" for name in names))
    texts = {f"{name[:-5]}.trans.txt": f"{Path(name).name} GO LEFT\n" for name in names}
    return write_files(tmp_path, {**texts, "README.TXT": "about", "SPEAKERS.TXT": "19 | F"})


def test_splits_ids_and_speakers(corpus: Path) -> None:
    parts = read_parts(corpus)
    assert {name: part.ids for name, part in parts.items()} == {
        "train": ("19-198-0000", "26-495-0000"),
        "test": ("7-1-0000",),
    }
    assert parts["train"].speakers == ("19", "26")
    assert parts["test"].text == {"7-1-0000": ("GO", "LEFT")}


def test_a_part_alone_has_no_splits(corpus: Path) -> None:
    assert list(read_parts(corpus / "train-clean-100")) == [""]
    (corpus / "train-clean-100").rename(corpus / "dev-clean")
    assert {name: len(part) for name, part in read_parts(corpus).items()} == {"": 3}


def test_folders_that_are_called_like_splits(corpus: Path) -> None:
    for name, split in (("train-clean-100", "train"), ("test-other", "test")):
        (corpus / name).rename(corpus / split)
    assert {name: len(part) for name, part in read_parts(corpus).items()} == {"train": 2, "test": 1}


def test_problems(corpus: Path, write_audio: Write, write_files: Write) -> None:
    write_audio(corpus, "train-clean-100/26/495/26-495-0009.flac", "test-other/7/2/19-198-0000.flac")
    table = "26-495-0000 YES\n26-495-0001 NO\n26-495-0000 NO\n"
    write_files(
        corpus,
        {
            "train-clean-100/26/495/26-495.trans.txt": table,
            "test-other/7/2/7-2.trans.txt": "19-198-0000 GO\n",
            "test-other/7/1/7-1.trans.txt": b"\xff\n",
        },
    )
    parts, problems = scan_parts(corpus)
    assert {name: part.ids for name, part in parts.items()} == {
        "test": ("19-198-0000",),
        "train": ("26-495-0000",),
    }
    assert [f"{p.severity}: {p}".split(",")[0] for p in problems] == [
        "error: test-other/7/1/7-1.trans.txt:1: not UTF-8",
        'error: train-clean-100/19/198/19-198.trans.txt:1: "19-198-0000" again (first in '
        "test-other/7/2/7-2.trans.txt:1)",
        'error: train-clean-100/26/495/26-495.trans.txt:3: duplicate id "26-495-0000" (first in line 1)',
        'error: train-clean-100/26/495/26-495.trans.txt:2: no recording "26-495-0001"',
        "warning: *.trans.txt: 3 recording(s) without a usable row",
    ]
