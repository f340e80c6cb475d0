"""Recordings below a directory, and how tables name them."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.corpus import read_corpus, scan_corpus
from asr.corpora.layouts.recordings import (
    find_audio,
    folder_speaker,
    found_by_ends,
    id_of,
    moved_note,
    recordings,
)

TABLES = {
    "metadata.csv": "file_name,text\n{}.wav,yes\n",
    "transcripts": "{} yes\n",
    "wav.scp": "u {}.wav\n",
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("on_disk", "in_table"), [("e\u0301", "\u00e9"), ("\u00e9", "e\u0301")])
def test_accents_may_be_written_otherwise_on_the_disk(
    tmp_path: Path, write_audio: Callable[..., None], table: str, on_disk: str, in_table: str
) -> None:
    write_audio(tmp_path, f"{on_disk}.wav")
    (tmp_path / table).write_text(TABLES[table].format(in_table), encoding="utf-8")
    if table == "wav.scp":
        (tmp_path / "text").write_text("u yes\n")
        (tmp_path / "utt2spk").write_text("u s\n")
    (found,) = read_corpus(tmp_path)
    assert (found.words, found.audio_path.name) == (("yes",), f"{on_disk}.wav")


def test_recordings_of_any_case_but_no_hidden_ones(tmp_path: Path, write_files: Callable[..., Path]) -> None:
    names = ("b.WAV", "a.opus", "sub/c.flac", ".d.wav", ".git/e.wav", "f.txt")
    write_files(tmp_path, dict.fromkeys(names, ""))
    (tmp_path / "folder.wav").mkdir()
    assert recordings(tmp_path) == [Path("a.opus"), Path("b.WAV"), Path("sub/c.flac")]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.wav", "a.wav"),
        ("a", "a.wav"),
        ("B", "sub/B.WAV"),
        ("sub\\B.WAV", "sub/B.WAV"),
        ("sub/../a.wav", "a.wav"),
        ("c", "sub/c.x.flac"),
        ("c.x", "sub/c.x.flac"),
        ("none", None),
        ("", None),
        ("a\0", None),
        ("x" * 5000, None),
        ("secret.txt", None),
    ],
)
def test_names_in_tables(
    tmp_path: Path, write_files: Callable[..., Path], name: str, found: str | None
) -> None:
    write_files(tmp_path, dict.fromkeys(("a.wav", "sub/B.WAV", "sub/c.x.flac", "secret.txt"), ""))
    expected = None if found is None or name == "c" else tmp_path / found
    assert find_audio(name, [tmp_path, tmp_path / "sub"]) == expected


def test_a_video_beside_its_sound_is_left_aside(tmp_path: Path, write_files: Callable[..., Path]) -> None:
    write_files(tmp_path, dict.fromkeys(("a.mp4", "a.wav", "b.webm", "c.M4A"), ""))
    assert recordings(tmp_path) == [Path("a.wav"), Path("b.webm"), Path("c.M4A")]


def test_ids_and_speakers() -> None:
    assert id_of(Path("../anna b/day 1/x")) == "anna_b-day_1-x"
    assert folder_speaker(Path("anna b/1/x.wav"), "key") == "anna_b"
    assert folder_speaker(Path("x.wav"), "key") == "key"
    assert folder_speaker(Path("Wavs/clips/x.wav"), "key") == "key"
    assert folder_speaker(Path("wav/ben/x.wav"), "key") == "ben"


Write = Callable[..., Path]


def test_the_longest_end_wins(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "corpus/anna/01.wav", "corpus/ben/01.wav", "corpus/deep/ben/01.wav")
    names = ["/Users/me/wavs/ben/01.wav", "D:\\all\\anna\\01.wav", "/Users/me/deep/ben/01.wav"]
    found = found_by_ends(names[1:], names, tmp_path / "corpus")
    assert found == {names[1]: tmp_path / "corpus/anna/01.wav", names[2]: tmp_path / "corpus/deep/ben/01.wav"}


def test_what_is_ambiguous_is_not_found(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "ben/01.wav", "x/02.wav", "y/02.wav")
    names = ["anna/01.wav", "ben/01.wav", "far/02.wav", "", "/"]
    assert found_by_ends(["anna/01.wav", "far/02.wav", "", "/"], names, tmp_path) == {}


def test_paths_relative_to_a_folder_above(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "repository/data/wav/a.wav", "repository/b.wav")
    directory = tmp_path / "repository/data/train"
    directory.mkdir()
    names = ["other/data/wav/a.wav", "./b.wav", "c.wav"]
    assert found_by_ends(names, names, directory) == {names[0]: tmp_path / "repository/data/wav/a.wav"}


def test_the_note_names_one() -> None:
    (note,) = moved_note({"/old/a.wav": Path("/new/a.wav"), "/old/b.wav": Path("/new/b.wav")}, "wav.scp")
    assert note.severity == "note"
    assert str(note).startswith('wav.scp: 2 recording(s) are not where "/old/a.wav" says')
    assert moved_note({}, "wav.scp") == []


def test_a_kaldi_directory_of_another_machine(tmp_path: Path, write_audio: Write, write_files: Write) -> None:
    write_audio(tmp_path, "data/wav/a.wav", "data/wav/b.wav")
    scp = "a ./egs/data/wav/a.wav\nb ./egs/data/wav/b.wav\nc ./egs/data/wav/c.wav\n"
    files = {"wav.scp": scp, "text": "a yes\nb no\nc go\n", "utt2spk": "a s\nb s\nc s\n"}
    write_files(tmp_path / "data/train", files)
    corpus, problems = scan_corpus(tmp_path / "data/train")
    assert [u.audio_path for u in corpus] == [tmp_path / "data/wav/a.wav", tmp_path / "data/wav/b.wav"]
    assert [p.severity for p in problems] == ["error", "note"]


def test_a_table_of_another_machine_with_more_rows(tmp_path: Path, write_audio: Write) -> None:
    write_audio(tmp_path, "recordings/man_1/man_1_0.wav", "recordings/man_2/man_2_0.wav")
    rows = [
        f"{n},/Users/x/set/{name}.wav,{n}" for n, name in enumerate(("man_1_0", "more_man_1_0", "man_2_0"))
    ]
    (tmp_path / "data.csv").write_text("\n".join([",file_path,label", *rows]))
    corpus, problems = scan_corpus(tmp_path)
    assert corpus.text == {"man_1-man_1_0": ("0",), "man_2-man_2_0": ("2",)}
    assert corpus.speakers == ("man_1", "man_2")
    assert [p.severity for p in problems] == ["warning", "note"]
    assert read_corpus(tmp_path).ids == corpus.ids
    (tmp_path / "recordings/man_3.wav").write_bytes((tmp_path / "recordings/man_1/man_1_0.wav").read_bytes())
    assert [p.severity for p in scan_corpus(tmp_path)[1]] == ["error", "note", "warning"]


def test_many_recordings_of_one_name_cost_no_more_than_others(tmp_path: Path) -> None:
    for n in range(3000):
        (tmp_path / f"{n}").mkdir()
        (tmp_path / f"{n}/audio.wav").touch()
    names = [f"/elsewhere/{n}/audio.wav" for n in range(3000)]
    started = time.process_time()
    found = found_by_ends(names, names, tmp_path)
    assert found == {f"/elsewhere/{n}/audio.wav": tmp_path / f"{n}/audio.wav" for n in range(3000)}
    assert time.process_time() - started < 5  # quadratic: half a minute
