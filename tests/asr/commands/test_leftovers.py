"""Cleaning: all that results and resumption need stays, what is not ours stays, the rest goes."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from asr import clean, train
from asr.commands.leftovers import format_leftovers
from asr.errors import ExperimentError
from asr.files import write_json
from asr.store import StageStore, Step

KEY = "0123456789ab"


def make(store: StageStore, name: str, n_bytes: int = 10) -> Path:
    """Run a stage whose output has so many bytes and return its directory."""

    def write(directory: Path, n_bytes: int) -> None:
        (directory / "x").write_bytes(b"x" * n_bytes)

    return store.output(Step(name, write, arguments={"n_bytes": n_bytes})).path


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """Return an experiment with a stage that its results need, ``kept``, and two that they do not."""
    root = tmp_path / "exp"
    store = StageStore(root)
    with store.locked():
        with store.used.counted_for(root / "results.json"):
            make(store, "kept")
        for name, n_bytes in (("small", 3000), ("large", 2_000_000)):
            make(store, name, n_bytes)
    for name in ("config.json", "results.json"):
        write_json(root / name, {})
    return root


def names(root: Path) -> set[str]:
    return {path.name.rpartition("-")[0] or path.name for path in (root / "stages").iterdir()}


def everything(root: Path) -> list[Path]:
    return sorted(root.rglob("*"))


class TestList:
    def test_sorted_by_size_with_the_sum_and_nothing_removed(self, experiment: Path) -> None:
        before = everything(experiment)
        leftovers = clean(experiment)
        large, small = leftovers.found
        assert [large.path.name[:5], small.path.name[:5]] == ["large", "small"]
        record = (large.path / "stage.json").stat().st_size
        assert large.n_bytes == 2_000_000 + record
        assert leftovers.n_bytes == large.n_bytes + small.n_bytes
        assert everything(experiment) == before
        lines = format_leftovers(leftovers, experiment).splitlines()
        assert (
            lines[0]
            == f"  2.0 MB  stages/{large.path.name}: of other settings, models or data than the results"
        )
        assert (
            lines[-1]
            == f"{experiment}: 2 thing(s), 2.0 MB: not removed; run it again with --yes to remove them"
        )

    def test_other_code_is_named(self, experiment: Path) -> None:
        (path,) = (experiment / "stages").glob("small-*")
        record = json.loads((path / "stage.json").read_text())
        write_json(path / "stage.json", {**record, "code": ["asr-sparse-kernel 0.0.1 abc"]})
        whys = {leftover.path: leftover.why for leftover in clean(experiment).found}
        assert whys[path] == "made by other code than the results (asr-sparse-kernel 0.0.1 abc)"

    def test_nothing_to_remove(self, experiment: Path) -> None:
        clean(experiment, yes=True)
        assert format_leftovers(clean(experiment), experiment) == f"{experiment}: nothing to remove"


class TestRemove:
    def test_what_is_not_needed(self, experiment: Path) -> None:
        assert clean(experiment, yes=True).removed
        assert names(experiment) == {"kept"}
        assert clean(experiment).found == ()

    def test_blocks_of_a_stage_that_is_needed_stay(self, experiment: Path) -> None:
        clean(experiment, yes=True)
        kept = next(path for path in (experiment / "stages").iterdir())
        (kept.parent / f".{kept.name}.blocks").mkdir()
        assert clean(experiment, yes=True).found == ()
        assert (kept.parent / f".{kept.name}.blocks").is_dir()

    def test_leftovers_of_killed_runs(self, experiment: Path) -> None:
        stages, point = experiment / "stages", experiment / "points/a=1"
        directories = [
            (stages / f".fit-2-dev-{KEY}.partial", "output of a run that was killed or is under way"),
            (stages / f".fit-2-dev-{KEY}.blocks", "unfinished work, lost if removed"),
            (experiment / "models/.gmm.partial", "output of a run that was killed or is under way"),
            (point / "models/.npd.partial", "output of a run that was killed or is under way"),
        ]
        for path, _ in directories:
            (path / "deeper").mkdir(parents=True)
            (path / "deeper/x").write_bytes(b"x" * 4000)
        files = [experiment / ".results.json.partial", point / ".config.json.partial"]
        for file in files:
            file.write_text("{")
        (experiment / "models/gmm").mkdir()
        found = {leftover.path: leftover for leftover in clean(experiment).found}
        assert {path: found[path].why for path, _ in directories} == dict(directories)
        assert all(found[path].n_bytes == 4000 for path, _ in directories)
        assert set(files) < set(found)
        clean(experiment, yes=True)
        assert not any(path.exists() for path in found)
        assert (experiment / "models/gmm").exists()

    def test_one_that_is_interrupted_is_finished_by_the_next(
        self, experiment: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rmtree = shutil.rmtree

        def killed(path: Path, *arguments: object, **options: object) -> None:
            if path.is_dir():  # the record is gone first
                (path / "stage.json").unlink()
                raise KeyboardInterrupt("in the middle")

        monkeypatch.setattr("asr.commands.leftovers.shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt, match="in the middle"):
            clean(experiment, yes=True)
        monkeypatch.setattr("asr.commands.leftovers.shutil.rmtree", rmtree)
        assert names(experiment) > {"kept"}
        clean(experiment, yes=True)
        assert names(experiment) == {"kept"}

    def test_a_stage_and_its_own_partial(self, experiment: Path) -> None:
        (path,) = (experiment / "stages").glob("small-*")
        path.with_name(f".{path.name}.partial").mkdir()
        clean(experiment, yes=True)
        assert names(experiment) == {"kept"}

    def test_what_may_not_be_removed_is_one_line(
        self, experiment: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(*paths: Path) -> None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(paths[0]))

        monkeypatch.setattr("asr.commands.leftovers.os.replace", refused)
        with pytest.raises(ExperimentError, match="Permission denied; expected to read and write there"):
            clean(experiment, yes=True)


class TestWhatIsNotOurs:
    def test_is_left_and_named(self, experiment: Path) -> None:
        stages = experiment / "stages"
        foreign = {
            "notes.txt": None,
            "my-recordings": None,
            f"mine-{KEY}": None,  # no record
            f"other-{KEY}": {"stage": "something"},  # of another name
            f"damaged-{KEY}": "text",
            ".hidden": None,
            "..partial": None,
            f".mine-{KEY}.backup": None,
        }
        for name, record in foreign.items():
            (stages / name).mkdir()
            if record is not None:
                write_json(stages / name / "stage.json", record)
        (stages / f"file-{KEY}").write_text("no directory")
        (stages / f".file-{KEY}.partial").write_text("no directory")
        own = [experiment / "notes.txt", experiment / ".notes.partial", experiment / "models/.mine"]
        (experiment / "models").mkdir()
        for path in own:
            path.write_text("of the user")
        leftovers = clean(experiment, yes=True)
        expected = {*foreign, f"file-{KEY}", f".file-{KEY}.partial"}
        assert {path.name for path in leftovers.foreign} == expected
        assert {path.name for path in stages.iterdir()} > expected
        assert all(path.exists() for path in own)
        assert "left alone, for asr did not write it: stages/" in format_leftovers(leftovers, experiment)

    def test_links_are_not_followed(self, experiment: Path, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere"
        stage = make(StageStore(elsewhere), "other")
        stages = experiment / "stages"
        links = [
            stages / stage.name,
            stages / f".x-{KEY}.partial",
            stages / f".x-{KEY}.blocks",
            experiment / "models",
            experiment / "points",
            experiment / ".results.json.partial",
        ]
        (elsewhere / "models/.gmm.partial").mkdir(parents=True)
        for link, target in zip(
            links, [stage, stage, stage, elsewhere / "models", elsewhere, stage / "x"], strict=True
        ):
            link.symlink_to(target)
        (large,) = stages.glob("large-*")
        (large / "inside").symlink_to(elsewhere)  # goes, with what it is in
        fake = stages / f"fake-{KEY}"
        fake.mkdir()
        (fake / "stage.json").symlink_to(stage / "stage.json")
        before = everything(elsewhere)
        found = {leftover.path.name for leftover in clean(experiment, yes=True).found}
        assert found == {large.name, *(path for path in found if path.startswith("small-"))}
        assert everything(elsewhere) == before
        assert all(link.is_symlink() for link in links)
        assert fake.exists()

    def test_stages_that_are_a_link_themselves(self, experiment: Path, tmp_path: Path) -> None:
        (experiment / "stages").rename(tmp_path / "large_disk")
        (experiment / "stages").symlink_to(tmp_path / "large_disk")
        before = everything(tmp_path)
        with pytest.raises(
            ExperimentError, match="stages: a link, expected a directory of this experiment alone"
        ):
            clean(experiment, yes=True)
        assert everything(tmp_path) == before


class TestRefused:
    def test_a_run_is_under_way(self, experiment: Path) -> None:
        before = everything(experiment)
        with (
            StageStore(experiment).locked(),
            pytest.raises(ExperimentError, match="another run is using this experiment directory"),
        ):
            clean(experiment, yes=True)
        assert everything(experiment) == before

    def test_a_run_is_under_way_in_another_process(self, experiment: Path) -> None:
        code = (
            "import sys; from pathlib import Path; from asr.store import StageStore\n"
            "with StageStore(Path(sys.argv[1])).locked(): print(flush=True); sys.stdin.read()"
        )
        with subprocess.Popen([sys.executable, "-c", code, experiment], stdin=-1, stdout=-1) as process:
            assert process.stdout is not None
            process.stdout.readline()
            with pytest.raises(ExperimentError, match="another run is using"):
                clean(experiment, yes=True)
            assert len(clean(experiment).found) == 2  # to list is free
            process.communicate()
        assert clean(experiment, yes=True).removed

    @pytest.mark.parametrize("yes", [False, True])
    def test_no_experiment(self, tmp_path: Path, yes: bool) -> None:
        (tmp_path / "photos").mkdir()
        (tmp_path / "photos/.x.partial").mkdir()
        before = everything(tmp_path)
        with pytest.raises(
            ExperimentError, match=r"photos: no experiment; expected a directory that asr train"
        ):
            clean(tmp_path / "photos", yes=yes)
        with pytest.raises(ExperimentError, match=r"nowhere: no such directory; expected"):
            clean(tmp_path / "nowhere", yes=yes)
        assert everything(tmp_path) == before

    def test_an_experiment_without_a_record(self, experiment: Path) -> None:
        (experiment / "used.json").unlink()
        before = everything(experiment)
        with pytest.raises(
            ExperimentError, match=r"results\.json: nothing says which stages it was made from, expected"
        ):
            clean(experiment, yes=True)
        for name in ("config.json", "results.json"):
            (experiment / name).unlink()
        with pytest.raises(ExperimentError, match=r"used\.json: not found, expected the list of the stages"):
            clean(experiment, yes=True)
        assert set(before) - set(everything(experiment)) == {
            experiment / "config.json",
            experiment / "results.json",
        }

    @pytest.mark.parametrize("result", ["sparsity.json", "points/a=1/results.json"])
    def test_results_of_which_the_record_says_nothing(self, experiment: Path, result: str) -> None:
        (experiment / result).parent.mkdir(parents=True, exist_ok=True)
        write_json(experiment / result, {})
        write_json((experiment / result).with_name("config.json"), {})
        with pytest.raises(ExperimentError, match=f"{result}: nothing says which stages"):
            clean(experiment, yes=True)
        assert names(experiment) == {"kept", "small", "large"}

    def test_earlier_results_beside_a_first_run_that_was_killed(self, experiment: Path) -> None:
        (experiment / "used.json").unlink()
        store = StageStore(experiment)
        with suppress(KeyboardInterrupt), store.used.counted_for(experiment / "results.json"):
            make(store, "new")
            raise KeyboardInterrupt
        with pytest.raises(ExperimentError, match="nothing says which stages"):
            clean(experiment, yes=True)

    def test_a_damaged_record(self, experiment: Path) -> None:
        (experiment / "used.json").write_text("{")
        with pytest.raises(ExperimentError, match=r"used\.json: cannot be read"):
            clean(experiment, yes=True)
        assert names(experiment) == {"kept", "small", "large"}


class TestPoints:
    def test_all_count_until_their_directory_is_gone(self, experiment: Path) -> None:
        store = StageStore(experiment)
        for name in ("a=1", "a=2"):
            result = experiment / "points" / name / "results.json"
            result.parent.mkdir(parents=True)
            with store.used.counted_for(result):
                make(store, f"of {name}")
            write_json(result, {})
            write_json(result.with_name("config.json"), {})
        clean(experiment, yes=True)
        assert names(experiment) == {"kept", "of a=1", "of a=2"}
        with pytest.raises(ExperimentError, match=rf"a point of a sweep, .* run asr clean {experiment}$"):
            clean(experiment / "points/a=1")
        shutil.rmtree(experiment / "points/a=1")
        clean(experiment, yes=True)
        assert names(experiment) == {"kept", "of a=2"}


class TestWholeExperiment:
    def test_what_stays_is_enough_to_go_on(
        self,
        tones: Path,
        trained: Path,
        tmp_path: Path,
        settings: tuple[str, ...],
        digests: Callable[[Path], dict[str, str]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        out = tmp_path / "exp"
        shutil.copytree(trained, out)
        assert clean(out).found == ()
        options = (*settings, "gmm.variance_floor=0.1")
        train("folder", corpus=tones, out=out, models=["gmm2"], settings=options)
        stages = {path.name for path in (out / "stages").iterdir()}
        results = digests(out)
        leftovers = clean(out, yes=True)
        gone = sorted(leftover.path.name.rpartition("-")[0] for leftover in leftovers.found)
        assert gone == [
            *("confidence-gmm2", "fit-2-dev", "gmm-none-1", "gmm-none-1-dev", "gmm-none-2", "gmm-none-2-dev"),
            *("judged-test", "recognizer-gmm2", "test-gmm2", "tuning-gmm2"),
        ]
        assert len({path.name for path in (out / "stages").iterdir()}) == len(stages) - len(gone)
        monkeypatch.setattr(StageStore, "_made", lambda *arguments: pytest.fail(f"made {arguments[2]}"))
        train("folder", corpus=tones, out=out, models=["gmm2"], settings=options)
        assert digests(out).items() <= results.items()

    def test_an_interrupted_run_keeps_what_it_and_the_results_need(
        self,
        tones: Path,
        trained: Path,
        tmp_path: Path,
        settings: tuple[str, ...],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        out = tmp_path / "exp"
        shutil.copytree(trained, out)
        options = (*settings, "gmm.variance_floor=0.1")

        def interrupted(*given: object, **named: object) -> None:
            raise KeyboardInterrupt(1)

        with monkeypatch.context() as patch:
            patch.setattr("asr.training.aligned.own_units", None)
            patch.setattr(
                "asr.training.recognition.tune", lambda *given, **named: exec("raise KeyboardInterrupt(1)")
            )
            with pytest.raises(KeyboardInterrupt, match="1"):
                train("folder", corpus=tones, out=out, models=["gmm2"], settings=options)
        assert clean(out, yes=True).found == ()
        made: list[str] = []
        make_stage = StageStore._made
        monkeypatch.setattr(
            StageStore, "_made", lambda *given: (made.append(given[2]), make_stage(*given))[1]
        )
        train("folder", corpus=tones, out=out, models=["gmm2"], settings=options)
        assert made[0] == "tuning-gmm2"
        assert not {"gmm-none-1", "gmm-none-2"} & set(made)
