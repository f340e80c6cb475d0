"""Training curves and the time of stages, from records on disk, and their charts."""

import json
from pathlib import Path

import pytest

from asr.errors import ExperimentError
from asr.reports.costs import Cost, Iteration, costs, costs_chart, training_chart, training_curves
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
        "LDA, train and dev": [Iteration(2, -1.0)],
        "train": [Iteration(2, -4.0), Iteration(2, -3.0), Iteration(10, -2.0)],
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


def test_curves_say_where_gaussians_are_split() -> None:
    curve = [Iteration(1, -9.0), Iteration(1, -8.0), Iteration(2, -8.5), Iteration(2, -7.0)]
    found = training_chart({"train": curve, "train and dev": curve[:2]})
    assert [list(trace["y"]) for trace in found.plot["data"]] == [[-9.0, -8.0, -8.5, -7.0], [-9.0, -8.0]]
    assert [shape["x0"] for shape in found.plot["layout"]["shapes"]] == [2.5]
    assert [note["text"] for note in found.plot["layout"]["annotations"]] == ["1", "2"]
    assert found.table.rows[2] == ("train", 3, 2, "−8.500")


def test_bars_of_the_dearest_stages() -> None:
    found = costs_chart([Cost(f"stage {n}", 30.0 - n, 1.0) for n in range(25)])
    (bars,) = found.plot["data"]
    assert (len(bars["y"]), bars["y"][-1], bars["x"][-1]) == (20, "stage 0", 30.0)
    assert "The 20 dearest of 25." in found.caption
    assert len(found.table.rows) == 25
    assert "7 min 30 s of the processor" in found.spoken
