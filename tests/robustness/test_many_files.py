"""A folder of some hundred recordings by ``many_files.py``, and what it counts."""

import os
from pathlib import Path

import pytest
from many_files import grown, measured, write_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such terminals")


def test_what_a_further_file_costs() -> None:
    rows = [
        {"verb": "validate", "files": 100, "cpu_s": 1.0, "peak_mb": 90.0},
        {"verb": "validate", "files": 1100, "cpu_s": 3.0, "peak_mb": 91.0},
    ]
    assert grown(rows) == {"validate": {"ms_a_file": 2.0, "kb_a_file": 1.02}}


@pytest.mark.slow
def test_a_small_folder(tmp_path: Path) -> None:
    rows = {row["verb"]: row for row in measured(60, tmp_path)}
    assert {verb: row["code"] for verb, row in rows.items()} == {
        "validate": 0,
        "begin": 0,
        "marks": 0,
        "validate, all faulty, at a terminal": 2,
        "train, all faulty": 2,
    }
    # Ten of each kind of problem, what more there is, and the summary.
    assert 10 < rows["validate, all faulty, at a terminal"]["n_lines"] < 30
    assert all(0 < row["cpu_s"] < 60 for row in rows.values())


def test_faulty_folders_have_no_words(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "faulty", 3, are_faulty=True)
    assert [path.read_text() for path in sorted(folder.glob("*.txt"))] == ["", "", ""]
    assert len(list(folder.glob("*.wav"))) == 3
