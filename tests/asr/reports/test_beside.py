"""The folder of sounds: what is ours in it comes and goes, what is not stays."""

import json
from pathlib import Path

import pytest

from asr.errors import ConfigError
from asr.reports.beside import INDEX, SoundsBeside


def written(page: Path, *names: str) -> SoundsBeside:
    """Return the folder after a run that has not come to its end."""
    beside = SoundsBeside(page)
    beside.check()
    beside.begin(names)
    for name in names:
        beside.write(name, b"ours")
    return beside


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_earlier_sounds_go_when_the_page_is_there(tmp_path: Path) -> None:
    page, folder = tmp_path / "p.html", tmp_path / "p_audio"
    written(page, "0001-a.flac", "0002-b.flac").remove_earlier()
    (folder / "1272-128104-0000.flac").write_bytes(b"theirs")
    second = written(page, "0001-b.flac", "0002-b.flac")
    theirs = {INDEX, "1272-128104-0000.flac"}
    assert files(folder) == {"0001-a.flac", "0001-b.flac", "0002-b.flac"} | theirs
    second.remove_earlier()
    assert files(folder) == {"0001-b.flac", "0002-b.flac"} | theirs
    SoundsBeside(page).remove_earlier()  # a page without sounds beside it
    assert files(folder) == theirs
    (folder / "1272-128104-0000.flac").unlink()
    SoundsBeside(page).remove_earlier()
    assert not folder.exists()
    SoundsBeside(page).remove_earlier()


def test_a_killed_run_leaves_nothing_unknown(tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    written(page, "0001-a.flac")
    written(page, "0001-b.flac")
    written(page, "0001-c.flac").remove_earlier()
    assert files(tmp_path / "p_audio") == {"0001-c.flac", INDEX}


@pytest.mark.parametrize(
    "index", [None, "{", "[]", "{}", '{"files": "0001-a.flac"}', '{"files": [1]}', '{"files": ["../a.flac"]}']
)
def test_a_folder_without_our_index_is_not_touched(tmp_path: Path, index: str | None) -> None:
    folder = tmp_path / "p_audio"
    folder.mkdir()
    for path in (tmp_path / "a.flac", folder / "0001-a.flac"):
        path.write_bytes(b"theirs")
    if index is not None:
        (folder / INDEX).write_text(index)
    before = files(folder)
    beside = SoundsBeside(tmp_path / "p.html")
    assert beside.is_foreign
    with pytest.raises(ConfigError, match="p_audio: not a folder that asr report made"):
        beside.check()
    beside.remove_earlier()
    assert files(folder) == before
    assert (tmp_path / "a.flac").exists()


def test_a_file_of_the_same_name_is_not_overwritten(tmp_path: Path) -> None:
    page, folder = tmp_path / "p.html", tmp_path / "p_audio"
    written(page, "0001-a.flac").remove_earlier()
    (folder / "0002-b.flac").write_bytes(b"theirs")
    with pytest.raises(ConfigError, match=r"0002-b\.flac: not a file that asr report wrote"):
        SoundsBeside(page).begin(["0001-a.flac", "0002-b.flac"])
    assert (folder / "0002-b.flac").read_bytes() == b"theirs"
    assert json.loads((folder / INDEX).read_text()) == {"files": ["0001-a.flac"]}
