"""Outputs of steps: kept while nothing changes, made again when something did, never there by half.

And why they are made again, their keys, and the record of those that results were made from.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from asr.errors import ExperimentError
from asr.files import directory_digest, read_json, write_json
from asr.store import (
    StageOutput,
    StageStore,
    Step,
    Used,
    _difference,
    key,
    name_of,
    outputs_behind,
    read_used,
    stage_cpu_s,
)
from foundation.version import code_behind


def run(
    store: StageStore, name: str, make: Callable[..., None], *, other_code: Any = (), **config: object
) -> StageOutput:
    """Return the output of a step without inputs."""
    return store.output(Step(name, make, arguments=config, other_code=tuple(other_code)))


def writer(text: str, calls: list[str]) -> Callable[[Path], None]:
    def compute(directory: Path, **_: object) -> None:
        calls.append(text)
        (directory / "out.txt").write_text(text)

    return compute


class TestRun:
    def test_second_run_is_skipped(self, tmp_path: Path) -> None:
        calls: list[str] = []
        first = run(StageStore(tmp_path), "s", writer("x", calls), inputs={"a": "1"}, config={"b": 2})
        second = run(StageStore(tmp_path), "s", writer("y", calls), inputs={"a": "1"}, config={"b": 2})
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
            outputs.append(run(StageStore(tmp_path), name, writer(text, calls), **options))  # type: ignore[arg-type]
        assert calls == ["x", "y"]
        assert [(output.path / "out.txt").read_text() for output in outputs] == ["x", "y"]

    def test_same_bytes_have_the_same_digest_wherever_they_come_from(self, tmp_path: Path) -> None:
        store = StageStore(tmp_path)
        one = run(store, "s", writer("x", []), config=1)
        two = run(store, "s", writer("x", []), config=2)
        assert one.path != two.path
        assert one.digest == two.digest == directory_digest(one.path, without="stage.json")

    def test_a_failed_stage_leaves_nothing(self, tmp_path: Path) -> None:
        def fails(directory: Path) -> None:
            (directory / "half.txt").write_text("half")
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            run(StageStore(tmp_path), "s", fails)
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
        good = run(StageStore(tmp_path), "s", writer("x", calls))
        damage(good.path)
        assert run(StageStore(tmp_path), "s", writer("x", calls)) == good
        assert calls == ["x", "x"]
        assert "s: files were changed or are damaged, made again" in caplog.text

    def test_an_option_that_is_new_and_says_nothing_is_named(self) -> None:
        record = {"code": ["m f"], "inputs": {}}
        before, now = ({**record, "config": {"left": left}} for left in ({}, {"u1": None}))
        assert _difference(before, now, []) == "configuration changed: left.u1"

    def test_a_run_reads_an_output_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store = StageStore(tmp_path)
        run(store, "s", writer("x", []))
        monkeypatch.setattr("asr.store.directory_digest", lambda *_, **__: pytest.fail("read again"))
        run(store, "s", writer("x", []))

    def test_times_are_recorded_and_kept(self, tmp_path: Path) -> None:
        def slow(directory: Path) -> None:
            (directory / "out.txt").write_text("x")
            time.sleep(0.02)

        first = run(StageStore(tmp_path), "s", slow)
        record = read_json(first.path / "stage.json")
        assert set(record["seconds"]) == {"cpu", "wall"}
        assert 0.02 <= record["seconds"]["wall"] < 5
        assert 0 <= record["seconds"]["cpu"] < 5
        assert run(StageStore(tmp_path), "s", writer("y", [])) == first
        assert read_json(first.path / "stage.json") == record

    def test_times_are_no_part_of_the_digest(self, tmp_path: Path) -> None:
        output = run(StageStore(tmp_path), "s", writer("x", []))
        record = read_json(output.path / "stage.json")
        write_json(output.path / "stage.json", {**record, "seconds": {"cpu": 1.0, "wall": 2.0}})
        assert run(StageStore(tmp_path), "s", writer("y", [])) == output

    def test_times_are_logged(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "asr.store"):
            run(StageStore(tmp_path), "s", writer("x", []))
            run(StageStore(tmp_path), "s", writer("x", []))
        started, done, kept = caplog.messages
        assert (started, kept) == ("s: started", "s: unchanged, kept")
        assert done.startswith("s: done in 0.0 s (")


class TestCode:
    def test_an_output_of_other_code_is_not_taken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls: list[str] = []
        outputs = []
        for code in ("asr.training.gmm aa", "asr.training.gmm bb", "asr.training.gmm aa"):
            monkeypatch.setattr("asr.store.code_behind", lambda module, code=code: code)
            outputs.append(run(StageStore(tmp_path), "s", writer(code, calls)))
        assert calls == ["asr.training.gmm aa", "asr.training.gmm bb"]
        assert outputs[2] == outputs[0]
        assert (outputs[0].path / "out.txt").read_text() == "asr.training.gmm aa"

    def test_the_record_names_the_code(self, tmp_path: Path) -> None:
        output = run(StageStore(tmp_path), "s", writer("x", []), other_code=["scikit-learn 1.7 ab"])
        assert read_json(output.path / "stage.json")["code"] == [code_behind(__name__), "scikit-learn 1.7 ab"]

    def test_what_is_made_from_an_output_runs_its_code_too(self, tmp_path: Path) -> None:
        """A plugin's model may hold the same numbers and score frames otherwise."""
        calls: list[str] = []
        for code in ("plugin 1 aa", "plugin 2 bb"):
            store = StageStore(tmp_path)
            model = Step("model", writer("same", []), other_code=(code,))
            words = Step("words", writer("words", calls), {"model": model})
            score = Step("score", writer("score", calls), {"words": words})
            assert store.output(score).other_code == (code,)
        assert calls == ["words", "score", "words", "score"]


class TestInputs:
    """A step is made after what it is made from, and anew when the content of that has changed."""

    def test_outputs_of_the_same_bytes_are_told_apart_by_name(self, tmp_path: Path) -> None:
        """Two steps may leave out nothing: what was made from one was not made from the other."""
        store = StageStore(tmp_path)
        cheap, dear = Step("lexicon", writer("few", [])), Step("fit-8", writer("much", []))
        usable = Step("usable", writer("nothing", []), {"lexicon": cheap})
        fitting = Step("fitting", writer("nothing", []), {"model": dear})
        model = Step("gmm", writer("model", []), {"left_out": usable})
        store.run([model, fitting])
        outputs = list((tmp_path / "stages").iterdir())
        behind = outputs_behind(outputs, {"gmm"})
        assert {name_of(path.name) for path in behind} == {"gmm", "usable", "lexicon"}
        assert len(outputs) == 5

    @pytest.mark.parametrize(
        ("named", "expected"),
        [
            ({"left_out": "usable-000000000001"}, {"usable-000000000001"}),
            ({"left_out": "usable-00000000000f"}, {"usable-000000000001", "usable-000000000002"}),
            (None, {"usable-000000000001", "usable-000000000002", "fitting-000000000003"}),
            (["usable"], {"usable-000000000001", "usable-000000000002", "fitting-000000000003"}),
            ({"left_out": 7}, {"usable-000000000001", "usable-000000000002", "fitting-000000000003"}),
        ],
    )
    def test_inputs_that_no_record_names_are_found_by_their_bytes(
        self, tmp_path: Path, named: object, expected: set[str]
    ) -> None:
        digests = dict.fromkeys(("usable-000000000001", "usable-000000000002"), "same")
        digests |= {"fitting-000000000003": "same", "other-000000000004": "other"}
        for name, digest in digests.items():
            (tmp_path / name).mkdir()
            write_json(tmp_path / name / "stage.json", {"digest": digest, "inputs": {}})
        gmm = tmp_path / "gmm-000000000005"
        gmm.mkdir()
        record = {"digest": "gmm", "inputs": {"left_out": "same"}, "made_from": named}
        write_json(gmm / "stage.json", record)
        behind = outputs_behind(list(tmp_path.iterdir()), {"gmm"})
        assert {path.name for path in behind} == {gmm.name, *expected}

    def test_it_gets_their_directories_and_its_arguments(self, tmp_path: Path) -> None:
        def make(directory: Path, model: Path, parts: dict[str, Path], *, n: int) -> None:
            words = [(path / "out.txt").read_text() for path in (model, *parts.values())]
            (directory / "out.txt").write_text(f"{words} {list(parts)} {n}")

        one, two = (Step(text, writer(text, [])) for text in ("one", "two"))
        step = Step("s", make, {"model": one, "parts": {"a": two, "b": one}}, {"n": 3})
        store = StageStore(tmp_path)
        assert (store.output(step).path / "out.txt").read_text() == "['one', 'two', 'one'] ['a', 'b'] 3"
        record = read_json(store.output(step).path / "stage.json")
        digests = {label: store.output(given).digest for label, given in step.made_from.items()}
        assert record["inputs"] == digests == {"model": digests["b"], "a": digests["a"], "b": digests["b"]}
        assert record["config"] == {"n": 3}

    def test_the_same_bytes_stop_a_change(self, tmp_path: Path) -> None:
        calls: list[str] = []
        for n in (1, 2):
            first = Step("first", writer("same", calls), arguments={"n": n})
            second = Step("second", writer("second", calls), {"first": first})
            third = Step("third", writer("third", calls), {"second": second})
            StageStore(tmp_path).run([first, second, third])
        assert calls == ["same", "second", "third", "same"]

    def test_what_decides_may_be_said(self, tmp_path: Path) -> None:
        """Arguments that decide nothing, such as the label of a bar, are in no key."""
        calls: list[str] = []
        for label in ("a", "b"):
            step = Step("s", writer("x", calls), arguments={"label": label}, decided_by={"n": 1})
            StageStore(tmp_path).output(step)
        assert calls == ["x"]


class TestOutlook:
    """Which steps are done, and why others are made again."""

    @staticmethod
    def steps(n: int = 1, text: str = "x") -> list[Step]:
        one = Step("one", writer(text, []), arguments={"gmm": {"n": n, "beam": 3.0}})
        two = Step("two", writer("two", []), {"one": one})
        return [one, two, Step("three", writer("three", []), {"two": two})]

    def whys(self, root: Path, steps: list[Step]) -> list[str]:
        return [each.why for each in StageStore(root).outlook(steps)]

    def test_before_and_after(self, tmp_path: Path) -> None:
        found = StageStore(tmp_path).outlook(self.steps())
        assert [(each.path, each.why, each.is_again) for each in found] == [(None, "not made yet", False)] * 3
        assert not (tmp_path / "stages").exists()
        store, steps = StageStore(tmp_path), self.steps()
        store.run(steps)
        found = StageStore(tmp_path).outlook(self.steps())
        assert [each.path for each in found] == [store.output(step).path for step in steps]

    def test_a_changed_option_is_named(self, tmp_path: Path) -> None:
        StageStore(tmp_path).run(self.steps())
        assert self.whys(tmp_path, self.steps(n=2)) == [
            "configuration changed: gmm.n 1 → 2",
            "made from one, to be made first",
            "made from two, to be made first",
        ]

    def test_a_changed_input_is_named(self, tmp_path: Path) -> None:
        StageStore(tmp_path).run(self.steps())
        store, changed = StageStore(tmp_path), self.steps(n=2, text="y")
        store.output(changed[0])
        assert self.whys(tmp_path, changed) == ["", "input changed: one", "made from two, to be made first"]
        assert [each.is_again for each in store.outlook(changed)] == [False, True, True]

    def test_code_of_others_is_that_of_what_it_is_made_from(self, tmp_path: Path) -> None:
        def steps(n: int) -> list[Step]:
            model = Step("model", writer("x", []), arguments={"n": n}, other_code=("plugin 1 aa",))
            return [model, Step("words", writer("y", []), {"model": model})]

        StageStore(tmp_path).run(steps(1))
        assert self.whys(tmp_path, steps(2)) == [
            "configuration changed: n 1 → 2",
            "made from model, to be made first",
        ]

    def test_changed_code_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        StageStore(tmp_path).run(self.steps())
        monkeypatch.setattr("asr.store.code_behind", lambda module: f"{module} new")
        assert self.whys(tmp_path, self.steps())[0] == "code changed"

    def test_of_what_the_results_were_made_from(self, tmp_path: Path) -> None:
        """What lies there of other settings is not what a step was made from before."""
        store = StageStore(tmp_path)
        with store.used.counted_for(tmp_path / "results.json"):
            store.run(self.steps(n=1))
        StageStore(tmp_path).run(self.steps(n=5))
        assert self.whys(tmp_path, self.steps(n=2))[0] == "configuration changed: gmm.n 1 → 2"
        store = StageStore(tmp_path)
        with store.used.counted_for(tmp_path / "points/a/results.json"):
            assert [each.is_again for each in store.outlook(self.steps(n=2))] == [False] * 3

    def test_the_log_says_why(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        StageStore(tmp_path).run(self.steps())
        caplog.set_level(logging.INFO, "asr.store")
        StageStore(tmp_path).run(self.steps(n=2))
        assert "one: made again: configuration changed: gmm.n 1 → 2" in caplog.messages

    @pytest.mark.parametrize(
        "record",
        [
            {"stage": "one", "code": ["asr-sparse-kernel 0.0.1 abc"], "config": 3.0, "inputs": {"task": "a"}},
            {"stage": "one", "version": 1, "digest": "", "inputs": {}},
            {"code": 3},
            {"code": []},
            [],
        ],
    )
    def test_outputs_of_earlier_versions(self, tmp_path: Path, record: object) -> None:
        old = tmp_path / "stages/one-0123456789ab"
        old.mkdir(parents=True)
        write_json(old / "stage.json", record)
        (found, *_) = StageStore(tmp_path).outlook(self.steps())
        assert (found.is_again, found.why) == (True, "code changed")
        StageStore(tmp_path).run(self.steps())
        assert old.is_dir()


@pytest.mark.parametrize("content", ["[]", "3", '{"code": 3}', '{"seconds": {"cpu": "x"}}', "{"])
def test_a_record_that_nobody_wrote(tmp_path: Path, content: str) -> None:
    (tmp_path / "stage.json").write_text(content)
    assert stage_cpu_s(tmp_path) == 0.0


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

    def test_who_holds_it_is_said(self, tmp_path: Path) -> None:
        (tmp_path / ".lock").write_text("process 3 on another\n")  # long gone
        store = StageStore(tmp_path)
        message = rf"directory \(process {os.getpid()} on \S+\); expected one at a time"
        with store.locked(), pytest.raises(ExperimentError, match=message), StageStore(tmp_path).locked():
            pass

    @pytest.mark.parametrize("content", [b"\xff\xfe", b"\x1b[2J", b"x" * 10_000, b""])
    def test_what_a_lock_says_may_be_anything(self, tmp_path: Path, content: bytes) -> None:
        with StageStore(tmp_path).locked():
            (tmp_path / ".lock").write_bytes(content)
            with (
                pytest.raises(ExperimentError, match="another run is using") as caught,
                StageStore(tmp_path).locked(),
            ):
                pass
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 500

    @pytest.mark.skipif(sys.platform == "win32", reason="msvcrt locks there")
    def test_a_disk_without_locks_is_no_other_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(descriptor: int, operation: int) -> None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        monkeypatch.setattr("fcntl.flock", refuse)
        with pytest.raises(
            ExperimentError, match=r"cannot be locked \(No locks available\), expected a disk"
        ):
            StageStore(tmp_path).locked().__enter__()

    def test_lock_of_a_killed_process_is_gone(self, tmp_path: Path) -> None:
        code = (
            "import os, sys; from pathlib import Path; from asr.store import StageStore\n"
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


@dataclass(frozen=True)
class Options:
    width: float = 5.0
    names: tuple[str, ...] = ("a", "b")


def decisive(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"name": "train", "config": Options(), "inputs": {"x": "1", "y": "2"}}
    given |= {"other_code": ("plugin 1.0",), **changes}
    step = Step(given["name"], writer("x", []), arguments={"n": 1}, decided_by=given["config"])
    return step.decisive(given["inputs"], given["other_code"])


def test_everything_that_decides_the_output_is_listed() -> None:
    assert decisive() == {
        "stage": "train",
        "code": [code_behind(__name__), "plugin 1.0"],
        "config": {"width": 5.0, "names": ["a", "b"]},
        "inputs": {"x": "1", "y": "2"},
    }


@pytest.mark.parametrize(
    "change",
    [
        {"name": "align"},
        {"config": Options(width=5.5)},
        {"config": Options(names=("b", "a"))},
        {"inputs": {"x": "1", "y": "3"}},
        {"inputs": {"x": "1"}},
        {"other_code": ("plugin 1.1",)},
        {"other_code": ()},
    ],
)
def test_any_change_changes_the_key(change: dict[str, Any]) -> None:
    assert key(decisive(**change)) != key(decisive())


def test_order_of_inputs_makes_no_difference() -> None:
    assert key(decisive(inputs={"y": "2", "x": "1"})) == key(decisive())


def test_key_is_the_beginning_of_a_sha256_of_canonical_json() -> None:
    text = json.dumps(decisive(), sort_keys=True, separators=(",", ":"))
    assert key(decisive()) == hashlib.sha256(text.encode()).hexdigest()[:12]


def make(store: StageStore, *names: str) -> list[str]:
    """Run stages of these names and return what their directories are called."""
    touch = lambda directory, **_: (directory / "x").touch()  # noqa: E731
    return [run(store, n, touch, config=n).path.name for n in names]


def used(root: Path, result: str = "results.json") -> Used:
    return read_used(root)[result]


class TestUsed:
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


class TestUsedDamaged:
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
