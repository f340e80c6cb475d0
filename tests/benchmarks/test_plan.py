"""Plans beside finished experiments: which outputs are read, and the tables."""

import sys
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("growth reads memory from /proc", allow_module_level=True)

from plan import as_cut, cells, group_rows, groups_table, stage_of, summary, totals_table

from asr.files import write_json
from asr.recipe import LoadedRecipe, Recipe


def made(experiment: Path, directory: str, cpu: float) -> Path:
    path = experiment / "stages" / directory
    path.mkdir(parents=True)
    write_json(path / "stage.json", {"seconds": {"cpu": cpu, "wall": cpu}})
    return path


def row(**changes: Any) -> dict[str, Any]:
    none = dict.fromkeys(("peak_mb", "model_mb", "disk_mb", "states", "pairs"), (None, None))
    stages = {
        "gmm-none-1": ("GMM", 10.0, 8.0),
        "gmm-none-2": ("GMM", 5.0, 4.0),
        "test-gmm": ("test", 3.0, 6.0),
    }
    common = {"experiment": "e", "model": "gmm", "stages": stages, "not made": [], "cpu_s": (18.0, 18.0)}
    return {**common, **none, **changes}


def test_stages_are_found_by_their_whole_name(tmp_path: Path) -> None:
    own = made(tmp_path, "gmm-none-8-0123456789ab", 1.0)
    made(tmp_path, "gmm-none-8-dev-0123456789ab", 2.0)
    assert stage_of(tmp_path, "gmm-none-8") == own
    assert stage_of(tmp_path, "gmm-none") is None
    newer = made(tmp_path, "gmm-none-8-ffffffffffff", 3.0)
    (own / "stage.json").touch()
    assert stage_of(tmp_path, "gmm-none-8") in (own, newer)


def test_groups_are_sums_of_stages() -> None:
    assert list(group_rows(row())) == [
        ("e", "gmm", "GMM", 15.0, 12.0, 0.8),
        ("e", "gmm", "test", 3.0, 6.0, 2.0),
    ]
    assert "| e | gmm | GMM | 15 | 12 | 0.8 |" in groups_table([row()])


def test_cells() -> None:
    assert cells(2.0, 3.0) == (2.0, 3.0, 1.5)
    assert cells(0.0, 3.0) == (0.0, 3.0, None)
    assert cells(None, 2.0) == (None, None, None)


def test_totals_leave_out_what_nobody_measured() -> None:
    table = totals_table([row(peak_mb=(250.0, 200.0))])
    assert "| e | gmm | CPU s | 18 | 18 | 1 |" in table
    assert "| e | gmm | peak MB | 250 | 200 | 0.8 |" in table
    assert "model MB" not in table


def test_summary() -> None:
    rows = [row(cpu_s=both) for both in ((10.0, 10.0), (10.0, 6.5), (10.0, 20.0), (10.0, 14.0))]
    said = summary(rows)
    assert said.startswith("3 of 4 totals of CPU seconds are 0.65 to 1.5 times what was planned")
    assert "ratios from 0.65 to 2.00, planned at a load of " in said


def test_a_part_of_a_corpus_is_planned_as_it_was_cut(tmp_path: Path) -> None:
    loaded = LoadedRecipe("mine", Recipe(lambda corpus_dir, output_dir: None), "its text\n")
    assert as_cut(loaded, tmp_path) is loaded
    write_json(tmp_path / "growth-gmm.json", {"peak_mb": 1.0})
    assert as_cut(loaded, tmp_path) is loaded
    write_json(tmp_path / "growth-npd.json", {"size": 0.25, "held_out": 0.5})
    assert "# 0.25 of train, 0.5 of dev, 0.5 of test" in as_cut(loaded, tmp_path).source
