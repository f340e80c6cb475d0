"""The record of the stages that results were made from: kept while a run goes on, whatever ends it."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from asr.errors import ExperimentError
from asr.stages.store import StageStore
from asr.stages.used import Used, read_used


def make(store: StageStore, *names: str) -> list[str]:
    """Run stages of these names and return what their directories are called."""
    return [store.run(n, lambda directory: (directory / "x").touch(), config=n).path.name for n in names]


def used(root: Path, result: str = "results.json") -> Used:
    return read_used(root)[result]


class TestRecord:
    def test_of_a_run_that_ends(self, tmp_path: Path) -> None:
        store = StageStore(tmp_path)
        with store.used.counted_for(tmp_path / "results.json"):
            stages = make(store, "b", "a", "b")
        others = make(store, "c")  # of nobody's results
        assert used(tmp_path) == Used(finished=frozenset(stages))
        assert json.loads((tmp_path / "used.json").read_text()) == {
            "results.json": {"finished": sorted(set(stages))}
        }
        assert others[0] not in (tmp_path / "used.json").read_text()

    def test_kept_stages_count_like_made_ones(self, tmp_path: Path) -> None:
        make(StageStore(tmp_path), "a")
        store = StageStore(tmp_path)
        with store.used.counted_for(tmp_path / "results.json"):
            stages = make(store, "a", "b")
        assert used(tmp_path).finished == set(stages)

    def test_of_a_run_that_fails_beside_what_the_results_need(self, tmp_path: Path) -> None:
        store, result = StageStore(tmp_path), tmp_path / "results.json"
        with store.used.counted_for(result):
            first = make(store, "a", "b")
        with suppress(KeyboardInterrupt), store.used.counted_for(result):
            (_, new) = make(store, "a", "c")
            assert used(tmp_path).stages == {*first, new}  # a kill would find this
            raise KeyboardInterrupt
        assert used(tmp_path) == Used(frozenset(first), frozenset({new}))
        with store.used.counted_for(result):
            last = make(store, "a", "c", "d")
        assert used(tmp_path) == Used(finished=frozenset(last))

    def test_of_several_results(self, tmp_path: Path) -> None:
        for name in ("points/a/results.json", "points/b/results.json"):
            store = StageStore(tmp_path)
            with store.used.counted_for(tmp_path / name):
                make(store, "shared", name[7])
        found = [used(tmp_path, f"points/{point}/results.json").stages for point in "ab"]
        stems = [{stage.rpartition("-")[0] for stage in stages} for stages in (*found, found[0] & found[1])]
        assert stems == [{"shared", "a"}, {"shared", "b"}, {"shared"}]

    def test_nothing_is_written_where_nothing_changes(self, tmp_path: Path) -> None:
        for _ in range(2):
            store = StageStore(tmp_path)
            with store.used.counted_for(tmp_path / "results.json"):
                make(store, "a")
            (tmp_path / "used.json").chmod(0o400)
            time = (tmp_path / "used.json").stat().st_mtime_ns
        assert (tmp_path / "used.json").stat().st_mtime_ns == time


class TestDamaged:
    @pytest.mark.parametrize("content", ["{", "[1]", '{"results.json": [1]}', '{"r": {"finished": [1]}}'])
    def test_is_an_error_to_read_and_begun_anew_by_a_run(
        self, tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "used.json").write_text(content)
        with pytest.raises(ExperimentError, match=r"used\.json: .*train again"):
            read_used(tmp_path)
        store = StageStore(tmp_path)
        with store.used.counted_for(tmp_path / "results.json"):
            stages = make(store, "a")
        assert read_used(tmp_path) == {"results.json": Used(frozenset(stages))}
        assert "a new one is begun" in caplog.text
