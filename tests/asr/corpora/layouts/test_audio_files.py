"""Recordings below a directory, and how tables name them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.corpora.layouts.recordings import find_audio, folder_speaker, id_of, recordings


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
