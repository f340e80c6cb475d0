"""Sweeps on the tone language: points share stages, are experiments of their own, fail alone, and resume."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from asr import Recognizer, clean, compare, sweep, train
from asr.commands.data import suspicious
from asr.commands.sweeps import Sweep
from asr.errors import ConfigError, CorpusError, ExperimentError
from asr.experiment import Experiment
from asr.files import as_plain
from asr.formats.transcripts import read_transcripts
from asr.scoring.results import read_results
from asr.store import StageStore

Digests = Callable[[Path], dict[str, str]]
FIRST, SECOND = "retrain_with_dev=true", "retrain_with_dev=false"


@pytest.fixture(scope="module")
def options(tones: Path, settings: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of a sweep over two points; its lists of settings are common to both."""
    return {"corpus": tones, "models": ["gmm2"], "settings": (*settings, "retrain_with_dev=true,false")}


@pytest.fixture(scope="module")
def swept(trained: Path, options: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Return a sweep whose first point finds all its stages, those of ``trained``."""
    out = tmp_path_factory.mktemp("sweep") / "exp"
    shutil.copytree(trained / "stages", out / "stages")
    return sweep("folder", out=out, **options)


def stage_names(experiment: Path) -> set[str]:
    return {path.name for path in (experiment / "stages").iterdir()}


def point(found: Sweep, name: str) -> Path:
    return found.place.parent / "points" / name


def unused(*arguments: object, **options: object) -> None:
    pytest.fail("nothing was to be run")


class TestPoints:
    def test_share_their_stages(self, swept: Sweep, trained: Path) -> None:
        made = stage_names(swept.place.parent) - stage_names(trained)
        assert sorted(name.rpartition("-")[0] for name in made) == [
            *("confidence-gmm2", "fit-2", "judged-dev", "judged-test", "recognizer-gmm2", "test-gmm2")
        ]
        first, second = swept.rows[0], swept.rows[2]
        assert 0 < second.cpu_s < second.cpu_s_in_all
        assert first.cpu_s == first.cpu_s_in_all > 0
        record = json.loads((swept.place.parent / "used.json").read_text())
        used = [set(record[f"points/{name}/results.json"]["finished"]) for name in (FIRST, SECOND)]
        assert used[0] == stage_names(trained)
        assert used[1] - used[0] == made
        assert set(record) == {f"points/{name}/results.json" for name in (FIRST, SECOND)}

    def test_are_experiments(self, swept: Sweep, trained: Path, tones: Path, digests: Digests) -> None:
        there, here = digests(trained), digests(point(swept, FIRST))
        published = {name for name in there if not name.startswith("stages/")} - {"used.json"}
        assert set(here) == published
        assert {name: here[name] for name in published} == {name: there[name] for name in published}
        assert Recognizer.load(point(swept, SECOND)).transcribe(tones / "speaker 0/0.wav").text
        assert suspicious(point(swept, SECOND))[1] == 40
        config = json.loads((point(swept, SECOND) / "config.json").read_text())
        assert config["config"]["retrain_with_dev"] is False

    def test_rows_are_their_results(self, swept: Sweep) -> None:
        assert [(row.point, row.grammar) for row in swept.rows] == [
            (name, grammar) for name in (FIRST, SECOND) for grammar in ("loop", "bigram")
        ]
        for row in swept.rows:
            results = {(r.split, r.grammar): r for r in read_results(point(swept, row.point))}
            dev, test = results["dev", row.grammar], results["test", row.grammar]
            assert (row.dev, row.dev_interval) == (dev.word_accuracy, dev.interval)
            assert (row.test, row.test_interval) == (test.word_accuracy, test.interval)

    def test_differences_are_paired_on_the_words_of_test(
        self, swept: Sweep, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A second point that recognises worse, for its test hypotheses are changed when they are read."""
        root = swept.place.parent
        record = json.loads((root / "used.json").read_text())
        tests = [
            root / "stages" / stage / "loop.txt"
            for name in (FIRST, SECOND)
            for stage in record[f"points/{name}/results.json"]["finished"]
            if stage.startswith("test-")
        ]
        said = read_transcripts(next((root / "stages").glob("task-*/test/text")), "kaldi")

        def read(path: Path, *given: Any) -> dict[str, tuple[str, ...]]:
            found = read_transcripts(path, *given)
            worse = dict.fromkeys(list(found)[:3], ("SUS",))
            return {**found, **worse} if path == tests[1] else found

        monkeypatch.setattr("asr.experiment.read_transcripts", read)
        found = sweep("folder", out=root, **options).rows[2].difference
        expected = compare(said, read(tests[0], "kaldi"), read(tests[1], "kaldi"))
        assert found is not None
        assert found.points == round(expected.difference, 3) < -20
        assert found.interval == tuple(round(edge, 3) for edge in expected.interval)
        assert (found.p_value, found.sign_test_p_value) == (expected.p_value, expected.sign_test_p_value)
        monkeypatch.undo()
        assert sweep("folder", out=root, **options) == swept

    def test_machine_readable(self, swept: Sweep, tones: Path) -> None:
        record = json.loads(swept.place.read_text())
        assert record["rows"] == as_plain([asdict(row) for row in swept.rows])
        assert (record["recipe"], record["corpus"], record["preset"]) == ("folder", str(tones), "best")
        assert (record["models"], record["against"]) == (["gmm2"], FIRST)
        assert "iterations=4,3" in record["settings"]


class TestSecondRun:
    def test_does_nothing_anew(
        self,
        swept: Sweep,
        options: dict[str, Any],
        digests: Digests,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        root = swept.place.parent
        before, times = digests(root), {p: p.stat().st_mtime_ns for p in (root / "stages").rglob("*")}
        monkeypatch.setattr(StageStore, "_made", unused)
        assert sweep("folder", out=root, **options) == swept
        assert digests(root) == before
        assert {p: p.stat().st_mtime_ns for p in (root / "stages").rglob("*")} == times
        assert clean(root).found == ()

    def test_goes_on_after_an_interruption(
        self,
        swept: Sweep,
        trained: Path,
        options: dict[str, Any],
        tmp_path: Path,
        digests: Digests,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        out, run = tmp_path / "exp", Experiment.run
        shutil.copytree(trained / "stages", out / "stages")

        def interrupted(experiment: Experiment, *given: Any, **named: Any) -> object:
            if experiment.out.name == SECOND:
                raise KeyboardInterrupt("at the second point")
            return run(experiment, *given, **named)

        with monkeypatch.context() as patch:
            patch.setattr(Experiment, "run", interrupted)
            with pytest.raises(KeyboardInterrupt, match="at the second point"):
                sweep("folder", out=out, **options)
        assert {row["point"] for row in json.loads((out / "sweep.json").read_text())["rows"]} == {FIRST}
        assert clean(out).found == ()
        found = sweep("folder", out=out, **options)
        assert [(r.point, r.dev, r.test, r.difference) for r in found.rows] == [
            (r.point, r.dev, r.test, r.difference) for r in swept.rows
        ]
        assert digests(out / "points") == digests(swept.place.parent / "points")

    def test_another_point_adds_what_it_needs(
        self, swept: Sweep, tones: Path, settings: tuple[str, ...], tmp_path: Path
    ) -> None:
        out = tmp_path / "exp"
        shutil.copytree(swept.place.parent, out)
        before = stage_names(out)
        varied = (*settings, "retrain_with_dev=true,false", "grammars=loop;bigram;loop,bigram")
        found = sweep(
            "folder",
            corpus=tones,
            out=out,
            models="gmm2",
            settings=varied,
            against="grammars=loop,bigram retrain_with_dev=true",
        )
        names = [path.name for path in sorted((out / "points").iterdir())]
        assert len(names) == 8  # the two of before, too
        assert found.against == "retrain_with_dev=true+grammars=loop,bigram"
        assert [row.difference is None for row in found.rows if row.point == found.against] == [True, True]
        assert all(row.difference for row in found.rows if row.point != found.against)
        made = {name.rpartition("-")[0] for name in stage_names(out) - before}
        assert made == {"grammars", "grammars-dev", "tuning-gmm2", "recognizer-gmm2", "test-gmm2"}


class TestBesideTrain:
    def test_neither_disturbs_the_other(
        self,
        swept: Sweep,
        trained: Path,
        tones: Path,
        settings: tuple[str, ...],
        tmp_path: Path,
        digests: Digests,
    ) -> None:
        out = tmp_path / "exp"
        shutil.copytree(swept.place.parent, out)
        of_sweep, stages = digests(out / "points"), stage_names(out)
        train("folder", corpus=tones, out=out, models=["gmm2"], settings=settings)
        own = digests(trained)
        assert {n: d for n, d in digests(out).items() if n in own and n != "used.json"} == {
            name: digest for name, digest in own.items() if name != "used.json"
        }
        assert digests(out / "points") == of_sweep
        assert stage_names(out) == stages
        assert clean(out).found == ()
        shutil.rmtree(out / "points")
        clean(out, yes=True)
        assert stage_names(out) == stage_names(trained)


class TestFailing:
    def test_a_point_fails_alone_and_later_goes_on(
        self, tones: Path, settings: tuple[str, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        corpus, out = tmp_path / "corpus", tmp_path / "exp"
        shutil.copytree(tones, corpus)
        for name in ("0", "1", "2", "3"):
            (corpus / f"speaker 5/{name}.wav").write_bytes(b"no sound")
        options: dict[str, Any] = {"corpus": corpus, "out": out, "models": "gmm1"}
        options |= {"settings": (*settings, "grammars=loop", "unusable=stop,skip")}
        found = sweep("folder", **options)
        failed, good = found.rows
        assert failed.error is not None
        assert "cannot be used" in failed.error
        assert "\n" not in failed.error
        assert (failed.point, failed.model, failed.dev, failed.test, failed.difference) == (
            *("unusable=stop", "", None, None, None),
        )
        assert (good.error, good.difference) == (None, None)
        assert good.test is not None
        assert good.best_on_dev
        assert "point unusable=stop failed" in caplog.text
        assert not (out / "points/unusable=stop/results.json").exists()
        assert clean(out).found == ()
        assert json.loads((out / "sweep.json").read_text())["rows"][0]["error"] == failed.error
        for name in ("0", "1", "2", "3"):
            shutil.copy(tones / f"speaker 5/{name}.wav", corpus / "speaker 5")
        assert [row.error for row in sweep("folder", **options).rows] == [None, None]

    def test_only_one_run_at_a_time(self, swept: Sweep, options: dict[str, Any]) -> None:
        with (
            StageStore(swept.place.parent).locked(),
            pytest.raises(ExperimentError, match="another run is using this experiment directory"),
        ):
            sweep("folder", out=swept.place.parent, **options)

    def test_impossible_combinations_fail_alone(
        self, tones: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Experiment, "run", lambda *given, **named: ())
        found = sweep(
            "folder",
            corpus=tones,
            out=tmp_path / "exp",
            models="gmm-lda",
            settings=["context=0,3", "n_components=13,30"],
        )
        errors = [row.error for row in found.rows]
        assert [error is None for error in errors] == [True, False, True, True]
        assert "n_components: expected at most 13" in str(errors[1])


class TestRefused:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"settings": ["gmm.bean=1,2"]}, r"--set gmm\.bean: unknown option; did you mean gmm\.beam"),
            ({"settings": ["gmm.beam=1,"]}, "a value is empty"),
            ({"settings": ["gmm.beam="]}, "a value is empty"),
            ({"settings": ["gmm.beam=100"]}, "no option has several values"),
            ({"settings": []}, "no option has several values"),
            ({"settings": ["gmm.beam=100,x"]}, r'--set gmm\.beam: "x" does not fit, expected a number'),
            ({"settings": ["gmm.beam=100,-1"]}, "beam: expected more than 0"),
            ({"settings": ["gmm.beam=100,200", "n_channels=none"]}, '"none" does not fit'),
            ({"settings": ["mixtures=1,2;1,2,8"], "models": "gmm8"}, '"gmm8" has 8 Gaussians .* got 1, 2;'),
            ({"settings": ["context=6,7"], "models": "gmm"}, r"--set front_end\.context: belongs to gmm-lda"),
            ({"settings": ["gmm.beam=100,100.0"]}, '"gmm.beam=100" and "gmm.beam=100.0" are the same config'),
            ({"models": "gmn"}, r'"gmn" is not known \(did you mean "gmm"'),
            ({"preset": "bst"}, 'preset "bst" is not known'),
            ({"corpus": None}, 'recipe "folder" needs a corpus'),
            ({"corpus": "nowhere"}, "nowhere: no such directory"),
            ({"against": "gmm.beam=3"}, '--against "gmm.beam=3": no point is like that'),
        ],
    )
    def test_before_anything_is_written(
        self,
        tones: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        changes: dict[str, Any],
        message: str,
    ) -> None:
        monkeypatch.setattr(Experiment, "run", unused)
        options: dict[str, Any] = {"corpus": tones, "settings": ["gmm.beam=100,200"], "models": "gmm"}
        with pytest.raises(ConfigError, match=message):
            sweep("folder", out=tmp_path / "exp", **{**options, **changes})
        assert not (tmp_path / "exp").exists()

    def test_out_in_the_corpus(self, tones: Path) -> None:
        with pytest.raises(ConfigError, match="lies in the corpus"):
            sweep("folder", corpus=tones, out=tones / "exp", settings=["gmm.beam=100,200"])
        assert not (tones / "exp").exists()

    def test_out_is_a_file(self, tones: Path, tmp_path: Path) -> None:
        (tmp_path / "exp").touch()
        with pytest.raises(ExperimentError, match="expected to read and write there"):
            sweep("folder", corpus=tones, out=tmp_path / "exp", settings=["gmm.beam=100,200"])


def test_decoding_the_whole_sweep_names_its_points(swept: Sweep) -> None:
    root = swept.place.parent
    with pytest.raises(ExperimentError, match=f"a sweep, expected one of its points; .*{SECOND}, .*{FIRST}$"):
        Recognizer.load(root)


def test_errors_of_several_lines_are_one_in_the_table(
    tones: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: Any, **named: Any) -> None:
        raise CorpusError("two recordings are bad\na\nb")

    monkeypatch.setattr(Experiment, "run", fails)
    found = sweep("folder", corpus=tones, out=tmp_path / "exp", models="gmm", settings=["gmm.beam=1,2"])
    assert [row.error for row in found.rows] == ["two recordings are bad"] * 2
    assert [row.cpu_s for row in found.rows] == [0, 0]
