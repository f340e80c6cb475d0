"""Plain folders of recordings with their texts, whatever the locale or the file system."""

import locale
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import read_corpus, scan_corpus
from asr.errors import CorpusError

Write = Callable[..., Path]


def problems_of(directory: Path) -> list[str]:
    return [str(problem) for problem in scan_corpus(directory)[1]]


def test_flat_files_are_speakers_of_their_own(tmp_path: Path, write_folder: Write) -> None:
    corpus = read_corpus(write_folder(tmp_path, "two", "one take"))
    assert [(u.utterance_id, u.speaker) for u in corpus] == [("one_take", "one_take"), ("two", "two")]
    assert corpus.text["two"] == ("say", "two")
    assert corpus.utterances[0].audio_path == tmp_path / "one take.wav"


def test_the_topmost_subfolder_is_the_speaker(tmp_path: Path, write_folder: Write) -> None:
    corpus = read_corpus(write_folder(tmp_path, "ben/1", "anna/day 1/1", "anna/2", "0"))
    assert [(u.utterance_id, u.speaker) for u in corpus] == [
        ("0", "0"),
        ("anna-2", "anna"),
        ("anna-day_1-1", "anna"),
        ("ben-1", "ben"),
    ]


@pytest.mark.parametrize("name", ["utt2spk", "speakers.txt"])
def test_speaker_file_overrules(tmp_path: Path, name: str, write_folder: Write) -> None:
    write_folder(tmp_path, "x/1", "2")
    (tmp_path / name).write_text("x-1 anna\n2 anna\n")
    assert read_corpus(tmp_path).speakers == ("anna",)
    (tmp_path / name).write_text("x-1 anna\n")
    with pytest.raises(CorpusError, match=rf'2\.wav: its id "2" is not in {name}.*name its speaker'):
        read_corpus(tmp_path)


def test_any_letter_case_and_format_of_name_counts(tmp_path: Path) -> None:
    for name in ("a.WAV", "b.flac", "c.mp3", "d.ogg", "e.sph"):
        (tmp_path / name).touch()
        (tmp_path / f"{name[0]}.TXT").write_text("hello")
    assert read_corpus(tmp_path).ids == ("a", "b", "c", "d", "e")


def test_hidden_and_other_files_are_left_aside(tmp_path: Path, write_folder: Write) -> None:
    write_folder(tmp_path, "a", "._b", ".git/c")
    for name in ("lexicon.txt", "word_pairs.txt", "README.txt", "photo.jpg"):
        (tmp_path / name).touch()
    assert read_corpus(tmp_path).ids == ("a",)


def test_problems(tmp_path: Path, write_folder: Write) -> None:
    write_folder(tmp_path, "a", "b", "c", "d", "e-1", "e/1")
    (tmp_path / "a.txt").unlink()
    (tmp_path / "b.wav").unlink()
    (tmp_path / "c.flac").touch()
    (tmp_path / "d.txt").write_bytes(b"caf\xe9")
    assert [line.split(",")[0].split(";")[0] for line in problems_of(tmp_path)] == [
        "a.wav: no transcript",
        'c.wav: duplicate id "c" (that of c.flac too)',
        "d.txt:1: not UTF-8",
        'e-1.wav: duplicate id "e-1" (that of 1.wav too)',
        "b.txt: no recording",
    ]


def test_order_depends_on_neither_locale_nor_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_folder: Write
) -> None:
    write_folder(tmp_path, "a", "B", "_c", "é", "z", "10", "9", "x/1", "X/1", "x-2")
    expected = read_corpus(tmp_path).ids
    assert expected == ("10", "9", "B", "X-1", "_c", "a", "x-1", "x-2", "z", "é")

    scandir = os.scandir

    class Backwards:
        def __init__(self, path: object) -> None:
            with scandir(path) as entries:  # type: ignore[call-overload]
                self.entries = sorted(entries, key=lambda e: e.name, reverse=True)

        def __enter__(self):  # type: ignore[no-untyped-def]
            return iter(self.entries)

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(os, "scandir", Backwards)
    assert read_corpus(tmp_path).ids == expected
    monkeypatch.undo()
    before = locale.setlocale(locale.LC_ALL)
    for name in ("C", "C.UTF-8", "en_US.UTF-8", "de_DE.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        try:
            assert read_corpus(tmp_path).ids == expected
        finally:
            locale.setlocale(locale.LC_ALL, before)


def test_links_to_files_are_followed_others_are_named(tmp_path: Path, write_folder: Write) -> None:
    elsewhere = write_folder(tmp_path / "elsewhere", "b", "x/1")
    corpus = write_folder(tmp_path / "corpus", "a")
    for name in ("b.wav", "b.txt", "x", "gone.wav"):
        (corpus / name).symlink_to(elsewhere / name)
    found, problems = scan_corpus(corpus)
    assert found.ids == ("a", "b")
    assert [p.where for p in problems] == ["gone.wav", "x"]
    assert all("a link to a folder (not followed) or to nothing" in p.what for p in problems)
