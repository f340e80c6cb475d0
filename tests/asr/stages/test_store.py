"""Stages: kept while nothing changed, made again when something did, never there by half."""

import logging
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.errors import ExperimentError
from asr.files import (
    directory_digest,
    read_json,
    write_json,
)
from asr.stages.store import StageStore
from asr.version import own_code


def writer(text: str, calls: list[str]) -> Callable[[Path], None]:
    def compute(directory: Path) -> None:
        calls.append(text)
        (directory / "out.txt").write_text(text)

    return compute


class TestRun:
    def test_second_run_is_skipped(self, tmp_path: Path) -> None:
        calls: list[str] = []
        first = StageStore(tmp_path).run("s", writer("x", calls), inputs={"a": "1"}, config={"b": 2})
        second = StageStore(tmp_path).run("s", writer("y", calls), inputs={"a": "1"}, config={"b": 2})
        assert (calls, first) == (["x"], second)
        assert (second.path / "out.txt").read_text() == "x"

    @pytest.mark.parametrize(
        "changed", [{"inputs": {"a": "2"}}, {"config": {"b": 3}}, {"other_code": ["x 2"]}, {"name": "t"}]
    )
    def test_whatever_changes_makes_another_output(self, tmp_path: Path, changed: dict[str, object]) -> None:
        calls: list[str] = []
        base = {"name": "s", "inputs": {"a": "1"}, "config": {"b": 2}, "other_code": ["x 1"]}
        outputs = []
        for text, options in (("x", base), ("y", base | changed)):
            name = str(options.pop("name"))
            outputs.append(StageStore(tmp_path).run(name, writer(text, calls), **options))  # type: ignore[arg-type]
        assert calls == ["x", "y"]
        assert [(output.path / "out.txt").read_text() for output in outputs] == ["x", "y"]

    def test_same_bytes_have_the_same_digest_wherever_they_come_from(self, tmp_path: Path) -> None:
        store = StageStore(tmp_path)
        one = store.run("s", writer("x", []), config=1)
        two = store.run("s", writer("x", []), config=2)
        assert one.path != two.path
        assert one.digest == two.digest == directory_digest(one.path, without="stage.json")

    def test_a_failed_stage_leaves_nothing(self, tmp_path: Path) -> None:
        def fails(directory: Path) -> None:
            (directory / "half.txt").write_text("half")
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            StageStore(tmp_path).run("s", fails)
        assert list((tmp_path / "stages").iterdir()) == []

    @pytest.mark.parametrize(
        "damage",
        [
            lambda path: (path / "out.txt").write_text("z"),
            lambda path: (path / "out.txt").unlink(),
            lambda path: (path / "stage.json").unlink(),
            lambda path: (path / "stage.json").write_text("{"),
            lambda path: (path / "stage.json").write_text("[]"),
        ],
    )
    def test_damaged_outputs_are_made_again(
        self, tmp_path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
    ) -> None:
        calls: list[str] = []
        good = StageStore(tmp_path).run("s", writer("x", calls))
        damage(good.path)
        assert StageStore(tmp_path).run("s", writer("x", calls)) == good
        assert calls == ["x", "x"]
        assert "s: files were changed or are damaged, made again" in caplog.text

    def test_a_run_reads_an_output_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store = StageStore(tmp_path)
        store.run("s", writer("x", []))
        monkeypatch.setattr("asr.stages.store.directory_digest", lambda *_, **__: pytest.fail("read again"))
        store.run("s", writer("x", []))

    def test_times_are_recorded_and_kept(self, tmp_path: Path) -> None:
        def slow(directory: Path) -> None:
            (directory / "out.txt").write_text("x")
            time.sleep(0.02)

        first = StageStore(tmp_path).run("s", slow)
        record = read_json(first.path / "stage.json")
        assert set(record["seconds"]) == {"cpu", "wall"}
        assert 0.02 <= record["seconds"]["wall"] < 5
        assert 0 <= record["seconds"]["cpu"] < 5
        assert StageStore(tmp_path).run("s", writer("y", [])) == first
        assert read_json(first.path / "stage.json") == record

    def test_times_are_no_part_of_the_digest(self, tmp_path: Path) -> None:
        output = StageStore(tmp_path).run("s", writer("x", []))
        record = read_json(output.path / "stage.json")
        write_json(output.path / "stage.json", {**record, "seconds": {"cpu": 1.0, "wall": 2.0}})
        assert StageStore(tmp_path).run("s", writer("y", [])) == output

    def test_times_are_logged(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "asr.stages.store"):
            StageStore(tmp_path).run("s", writer("x", []))
            StageStore(tmp_path).run("s", writer("x", []))
        started, done, kept = caplog.messages
        assert (started, kept) == ("s: started", "s: unchanged, kept")
        assert done.startswith("s: done in 0.0 s (")


class TestCode:
    def test_an_output_of_other_code_is_not_taken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls: list[str] = []
        outputs = []
        for code in ("asr 1 aa", "asr 2 aa", "asr 2 bb", "asr 1 aa"):
            monkeypatch.setattr("asr.stages.keys.own_code", lambda code=code: code)
            outputs.append(StageStore(tmp_path).run("s", writer(code, calls)))
        assert calls == ["asr 1 aa", "asr 2 aa", "asr 2 bb"]
        assert outputs[3] == outputs[0]
        assert (outputs[0].path / "out.txt").read_text() == "asr 1 aa"

    def test_the_record_names_the_code(self, tmp_path: Path) -> None:
        output = StageStore(tmp_path).run("s", writer("x", []), other_code=["scikit-learn 1.7 ab"])
        assert read_json(output.path / "stage.json")["code"] == [own_code(), "scikit-learn 1.7 ab"]

    def test_what_is_made_from_an_output_runs_its_code_too(self, tmp_path: Path) -> None:
        """A plugin's model may hold the same numbers and score frames otherwise."""
        calls: list[str] = []
        for code in ("plugin 1 aa", "plugin 2 bb"):
            store = StageStore(tmp_path)
            model = store.run("model", writer("same", []), other_code=[code])
            words = store.run("words", writer("words", calls), inputs={"model": model})
            score = store.run("score", writer("score", calls), inputs={"words": words})
            assert score.other_code == (code,)
        assert calls == ["words", "score", "words", "score"]

    def test_a_stage_as_input_is_its_digest(self, tmp_path: Path) -> None:
        store = StageStore(tmp_path)
        model = store.run("model", writer("x", []))
        by_stage = store.run("words", writer("y", []), inputs={"model": model})
        assert store.run("words", writer("z", []), inputs={"model": model.digest}) == by_stage

    def test_stages_of_other_code_are_counted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "asr.stages.store")
        StageStore(tmp_path).tell_of_other_code()
        for name in ("s", "t"):
            StageStore(tmp_path).run(name, writer("x", []), other_code=["scikit-learn 1.7 ab"])
        StageStore(tmp_path).tell_of_other_code()
        assert "other code" not in caplog.text
        for module in ("keys", "store"):
            monkeypatch.setattr(f"asr.stages.{module}.own_code", lambda: "asr 2 aa")
        StageStore(tmp_path).tell_of_other_code()  # all that is there: what follows begins anew
        assert "2 stages were made by other code than this (asr 2 aa) and are not used" in caplog.text
        assert caplog.records[-1].levelno == logging.WARNING
        StageStore(tmp_path).run("s", writer("x", []))
        StageStore(tmp_path).tell_of_other_code()
        assert caplog.records[-1].levelno == logging.INFO

    def test_a_record_without_code_is_of_other_code(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        old = tmp_path / "stages/s-0123456789ab"
        old.mkdir(parents=True)
        write_json(old / "stage.json", {"stage": "s", "version": 1, "digest": "", "inputs": {}})
        StageStore(tmp_path).tell_of_other_code()
        assert "1 stages were made by other code" in caplog.text
        assert old.is_dir()


class TestLock:
    def test_one_at_a_time(self, tmp_path: Path) -> None:
        with (
            StageStore(tmp_path).locked(),
            pytest.raises(ExperimentError, match=r"another run is using this .* choose another --out"),
            StageStore(tmp_path).locked(),
        ):
            pass
        with StageStore(tmp_path).locked():
            pass

    def test_a_part_of_the_run_may_ask_again(self, tmp_path: Path) -> None:
        store = StageStore(tmp_path)
        with store.locked():
            with store.locked():
                pass
            with pytest.raises(ExperimentError, match="another run is using"), StageStore(tmp_path).locked():
                pass
        with pytest.raises(KeyError, match="its own"), store.locked():
            raise KeyError("its own")
        refused = pytest.raises(ExperimentError, match="another run is using")
        with StageStore(tmp_path).locked(), refused, store.locked():
            pass

    def test_lock_of_a_killed_process_is_gone(self, tmp_path: Path) -> None:
        code = (
            "import os, sys; from pathlib import Path; from asr.stages.store import StageStore\n"
            "with StageStore(Path(sys.argv[1])).locked(): os.kill(os.getpid(), 9)"
        )
        assert subprocess.run([sys.executable, "-c", code, tmp_path], check=False).returncode == -9
        with StageStore(tmp_path).locked():
            pass

    def test_leftovers_are_cleared(self, tmp_path: Path) -> None:
        leftover = tmp_path / "stages" / ".s-123.partial"
        leftover.mkdir(parents=True)
        with StageStore(tmp_path).locked():
            assert not leftover.exists()

    def test_experiment_directory_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "exp").touch()
        with (
            pytest.raises(ExperimentError, match=r"exp.*expected to read and write there"),
            StageStore(tmp_path / "exp").locked(),
        ):
            pass
