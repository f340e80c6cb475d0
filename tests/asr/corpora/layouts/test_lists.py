"""Lists of transcripts by the names of recordings."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import read_corpus, scan_corpus
from asr.corpora.layouts.lists import LISTS

Write = Callable[..., Path]


def test_there_may_be_one_in_each_folder(tmp_path: Path, write_audio: Write, write_files: Write) -> None:
    write_audio(tmp_path, "anna-1/wav/a1.wav", "ben-7/wav/b1.wav")
    write_files(tmp_path, {"anna-1/etc/PROMPTS": "anna-1/mfc/a1 YES SIR\n", "ben-7/etc/PROMPTS": "b1 NO\n"})
    corpus = read_corpus(tmp_path)
    assert list(corpus.text.values()) == [("YES", "SIR"), ("NO",)]
    assert corpus.speakers == ("anna-1", "ben-7")


@pytest.mark.parametrize("name", ["transcripts", "text.txt", "etc/PROMPTS", "my sentences.txt"])
@pytest.mark.parametrize("line", ["{} {}", "anna/mfc/{}\t{}", "wav/{}.wav   {}"])
def test_names_and_forms(
    tmp_path: Path, write_audio: Write, write_files: Write, name: str, line: str
) -> None:
    write_audio(tmp_path, "wav/a1.wav", "wav/a2.wav")
    write_files(tmp_path, {name: f"{line.format('a1', 'yes')}\r\n\r\n{line.format('a2', 'no go')}"})
    assert read_corpus(tmp_path).text == {"a1": ("yes",), "a2": ("no", "go")}


@pytest.mark.parametrize("marks", ["MF", ["anna", "ben"]])
def test_sex_and_folder_are_not_spoken(
    tmp_path: Path, write_audio: Write, write_files: Write, marks: list[str]
) -> None:
    write_audio(tmp_path, "data/anna/a.wav", "data/ben/b.wav")
    write_files(tmp_path, {"text.txt": f"a {marks[0]} yes\nb {marks[1]} no go\n"})
    corpus, problems = scan_corpus(tmp_path)
    assert list(corpus.text.values()) == [("yes",), ("no", "go")]
    assert [(p.where, p.severity) for p in problems] == [("text.txt", "note")]


def test_one_list_may_repeat_another_but_not_contradict(
    tmp_path: Path, write_audio: Write, write_files: Write
) -> None:
    write_audio(tmp_path, "x/a.wav", "y/b.wav")
    write_files(
        tmp_path, {"all.txt": "a Yes, sir\nb no\n", "x/some.txt": "a yes sir.\n", "y/some.txt": "b go\n"}
    )
    corpus, problems = scan_corpus(tmp_path)
    assert corpus.text == {"x-a": ("Yes,", "sir"), "y-b": ("no",)}
    assert [str(p) for p in problems] == [
        'y/some.txt:1: "b" again with other words (first in all.txt:2), expected one transcript of each '
        "recording; remove one line"
    ]


def test_every_line_and_every_recording_is_accounted_for(
    tmp_path: Path, write_audio: Write, write_files: Write
) -> None:
    write_audio(tmp_path, *(f"{n:02}.wav" for n in range(21)))
    lines = [f"{n:02} yes" for n in range(20)]
    write_files(tmp_path, {"text.txt": "\n".join([*lines, "typo no"])})
    corpus, problems = scan_corpus(tmp_path)
    assert len(corpus) == 20
    assert [(p.where, p.severity) for p in problems] == [("text.txt:21", "warning"), ("text.txt", "warning")]
    assert "20.wav" in problems[1].what
    write_files(tmp_path, {"text.txt": "\n".join([*lines, *(f"typo{n} no" for n in range(5))])})
    assert [p.severity for p in scan_corpus(tmp_path)[1]] == ["error"] * 5 + ["warning"]


def test_other_texts_are_no_lists(tmp_path: Path, write_audio: Write, write_files: Write) -> None:
    write_audio(tmp_path, "a.wav", "b.wav")
    write_files(
        tmp_path, {"lexicon.txt": "a B\nb C\n", "notes.txt": "a fine day\nand more\nof it\n", "list": "a x"}
    )
    assert LISTS.sources(tmp_path) == []
    assert LISTS.sources(tmp_path / "notes.txt") == []
