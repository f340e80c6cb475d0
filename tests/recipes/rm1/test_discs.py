"""Files are found whatever the case of their names, and what is missing is named at once."""

from pathlib import Path

import pytest

from asr.errors import CorpusError
from recipes.rm1 import Discs, raise_all


@pytest.fixture
def discs(tmp_path: Path) -> Discs:
    for name in (
        "RM1/DOC/A.TXT",
        "RM1/IND/ABC0_1/ST01.WAV",
        "RM1/IND/ABC0_1/ST02.SPH",
        "RM1/IND/ABC0_1/NOTES",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return Discs(tmp_path)


def test_find(discs, tmp_path):
    assert discs.find("rm1/doc/a.txt") == tmp_path / "RM1/DOC/A.TXT"
    assert discs.find("/rm1/doc") == tmp_path / "RM1/DOC"
    assert discs.find("rm1/doc/a.txt/b") is None
    assert discs.find("rm2") is None


def test_all_of(discs, tmp_path):
    parts = {"one": ("missing.txt", "rm1/doc/a.txt"), "two": ("rm1/ind",)}
    assert discs.all_of(parts) == {"one": tmp_path / "RM1/DOC/A.TXT", "two": tmp_path / "RM1/IND"}
    with pytest.raises(
        CorpusError, match=r"/b or c: not there, expected four as .*\n.*/d: not there, expected five"
    ):
        discs.all_of({**parts, "four": ("b", "c"), "five": ("d",)})


def test_recordings(discs, tmp_path):
    folder = tmp_path / "RM1/IND/ABC0_1"
    assert discs.recordings(tmp_path / "RM1/IND") == [folder / "ST01.WAV", folder / "ST02.SPH"]
    listed = discs.listed("rm1", ["/ind/abc0_1/st02.wav", "ind/abc0_1/st01"])
    assert listed == [folder / "ST01.WAV", folder / "ST02.SPH"]


def test_long_lists_are_cut():
    with pytest.raises(CorpusError, match=r"problem 19\nand 5 more like these$"):
        raise_all([f"problem {n}" for n in range(25)])
    raise_all([])
