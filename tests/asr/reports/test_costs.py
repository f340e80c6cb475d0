"""Training curves and the time of stages, from records on disk."""

import json
from pathlib import Path

import pytest

from asr.errors import ExperimentError
from asr.reports.costs import Cost, Step, costs, training_curves
from asr.reports.finished import Finished


def stage(directory: Path, history: object = None, seconds: object = None) -> Path:
    directory.mkdir()
    record = {"inputs": {}, "digest": "0", **({"seconds": seconds} if seconds else {})}
    (directory / "stage.json").write_text(json.dumps(record))
    if history is not None:
        (directory / "history.json").write_text(json.dumps(history))
    return directory


def steps(n_components: int, *values: float) -> list[dict[str, float]]:
    return [{"n_components": n_components, "log_likelihood": value} for value in values]


def test_sizes_follow_one_another(tmp_path: Path) -> None:
    stages = {
        "gmm-none-10": stage(tmp_path / "a", steps(10, -2.0)),
        "gmm-none-2": stage(tmp_path / "b", steps(2, -4.0, -3.0)),
        "gmm-lda-2-dev": stage(tmp_path / "c", steps(2, -1.0)),
        "adapting-gmm-none-2": stage(tmp_path / "d", steps(2, 0.0)),
        "gmm-none-4": stage(tmp_path / "e"),
    }
    found = training_curves(Finished(tmp_path, (), stages, False))
    assert found == {
        "LDA, train and dev": [Step(2, -1.0)],
        "train": [Step(2, -4.0), Step(2, -3.0), Step(10, -2.0)],
    }


def test_a_broken_history_is_named(tmp_path: Path) -> None:
    broken = Finished(tmp_path, (), {"gmm-none-1": stage(tmp_path / "a", [{}])}, False)
    with pytest.raises(ExperimentError, match=r"history\.json: not as asr train writes it"):
        training_curves(broken)


def test_the_dearest_stage_comes_first(tmp_path: Path) -> None:
    stages = {
        "cheap": stage(tmp_path / "a", seconds={"cpu": 1.0, "wall": 9.0}),
        "dear": stage(tmp_path / "b", seconds={"cpu": 5.0, "wall": 3.0}),
        "old": stage(tmp_path / "c"),
    }
    found = costs(Finished(tmp_path, (), stages, False))
    assert found == [Cost("dear", 5.0, 3.0), Cost("cheap", 1.0, 9.0)]


def test_seconds_that_are_no_numbers(tmp_path: Path) -> None:
    found = Finished(tmp_path, (), {"a": stage(tmp_path / "a", seconds={"cpu": "long"})}, False)
    with pytest.raises(ExperimentError, match=r"stage\.json: damaged .*; delete .* training again"):
        costs(found)
