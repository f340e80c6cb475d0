"""Whole experiments on the tone language: contract of their directory, resumption, determinism."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import soundfile
from threadpoolctl import threadpool_limits

import asr.experiment as experiment_module
from asr import AsrError, Recognizer, clean, decode, evaluate, train
from asr.corpora.amounts import read_data
from asr.errors import ConfigError, ExperimentError
from asr.experiment import experiment_of
from asr.planning.plan import plan
from asr.planning.table import plan_table
from asr.progress import terminal_messages
from asr.recipe import load_recipe
from asr.reports.finished import Finished, scored
from asr.scoring.results import read_results, write_results
from asr.store import StageStore, name_of

Digests = Callable[[Path], dict[str, str]]

CONTRACT = {  # DESIGN, 3
    "model": str,
    "preset": str,
    "split": str,
    "grammar": str,
    "word_accuracy": float,
    "substitutions": int,
    "deletions": int,
    "insertions": int,
    "words": int,
    "interval": list,
}
FURTHER = {"sentence_accuracy": float, "utterances": int, "incomplete": int}


def stage_names(experiment: Path) -> set[str]:
    return {path.name for path in (experiment / "stages").iterdir()}


def new_stages(
    tones: Path, trained: Path, copy: Path, settings: tuple[str, ...], **options: Any
) -> list[str]:
    """Return the stages another run on a copy of an experiment makes, without their keys."""
    shutil.copytree(trained, copy)
    train("folder", corpus=tones, out=copy, settings=settings, **{"models": ["gmm2"], **options})
    return sorted(name.rpartition("-")[0] for name in stage_names(copy) - stage_names(trained))


class TestResults:
    def test_contract(self, trained: Path) -> None:
        record = json.loads((trained / "results.json").read_text())
        assert record["synthetic"] is False
        rows = record["results"]
        assert [(row["split"], row["grammar"]) for row in rows] == [
            ("dev", "loop"),
            ("dev", "bigram"),
            ("test", "loop"),
            ("test", "bigram"),
        ]
        for row in rows:
            assert {key: type(value) for key, value in row.items()} == CONTRACT | FURTHER
            assert (row["model"], row["preset"]) == ("gmm2", "best")
            errors = row["substitutions"] + row["deletions"] + row["insertions"]
            assert row["word_accuracy"] == pytest.approx(100 - 100 * errors / row["words"], abs=1e-3)
            low, high = row["interval"]
            assert low <= row["word_accuracy"] <= high

    def test_tones_are_recognised(self, trained: Path) -> None:
        assert all(row.word_accuracy >= 90 for row in read_results(trained))

    def test_directory(self, trained: Path) -> None:
        names = {path.name for path in trained.iterdir()}
        assert names == {
            ".lock",
            "config.json",
            "default.json",
            "log.txt",
            "models",
            "results.json",
            "stages",
            "suspicious.json",
            "used.json",
        }
        assert {path.name for path in (trained / "models/gmm2").iterdir()} == {
            "bigram.arpa",
            "data.json",
            "decoding.json",
            "fit.json",
            "lexicon.txt",
            "model.json",
            "model.safetensors",
            "stage.json",
            "trained_on.json",
            "wording.json",
            "usual_rejection.json",
        }
        config = json.loads((trained / "config.json").read_text())
        assert config["config"]["gmm"]["mixtures"] == [1, 2]
        assert config["config"]["front_end"]["sample_rate"] == 16000
        assert "gmm-none-2: done in" in (trained / "log.txt").read_text()

    def test_no_row_without_a_split(self, tones: Path, tmp_path: Path, settings: tuple[str, ...]) -> None:
        shutil.copytree(tones, tmp_path / "corpus/train")
        script = tmp_path / "only_train.py"
        script.write_text(
            "import asr\nfrom recipes import folder\n"
            "def prepare(corpus_dir, output_dir):\n"
            "    asr.write_corpus(asr.read_corpus(corpus_dir / 'train'), output_dir / 'train')\n"
            "    folder.Lexicon.graphemic(['ASA', 'IMI', 'SUS', 'MAUI']).write(output_dir / 'lexicon.txt')\n"
            "RECIPE = asr.Recipe(prepare, asr.ExperimentConfig(grammars=('bigram',)), models=('gmm2',))\n"
        )
        out = tmp_path / "exp"
        assert train(str(script), corpus=tmp_path / "corpus", out=out, settings=settings) == ()
        found = Recognizer.load(out)
        assert found.decoder.config.lm_scale == 10.0  # not tuned: of 5 and 10 the one next to 8
        assert len(found.transcribe(tones / "speaker 1/0.wav").text) == 2


class TestSecondRun:
    def test_nothing_is_done_and_no_byte_changes(
        self,
        tones: Path,
        trained: Path,
        settings: tuple[str, ...],
        digests: Digests,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before, times = digests(trained), {p: p.stat().st_mtime_ns for p in (trained / "stages").rglob("*")}
        monkeypatch.setattr(StageStore, "_made", lambda *arguments: pytest.fail(f"made {arguments[2]}"))
        rows = train("folder", corpus=tones, out=trained, models=["gmm2"], settings=settings)
        assert rows == read_results(trained)
        assert digests(trained) == before
        assert {p: p.stat().st_mtime_ns for p in (trained / "stages").rglob("*")} == times

    @pytest.mark.parametrize(
        ("setting", "expected"),
        [
            (
                "unusable=skip",
                ["features-dev", "features-test", "features-train", "usable", "usable-dev"],
            ),
            (
                "tuning.word_penalties=0,-20,-10000",  # the same weights win: no new test
                ["recognizer-gmm2", "tuning-gmm2"],
            ),
            (
                "gmm.variance_floor=0.1",
                [
                    *("confidence-gmm2", "fit-2-dev"),
                    *("gmm-none-1", "gmm-none-1-dev", "gmm-none-2", "gmm-none-2-dev", "judged-test"),
                    *("recognizer-gmm2", "test-gmm2", "tuning-gmm2"),
                ],
            ),
            (
                "grammars=loop",
                ["grammars", "grammars-dev", "recognizer-gmm2", "test-gmm2", "tuning-gmm2"],
            ),
            (
                "grammars=bigram,loop",  # the same files, another default
                ["grammars", "grammars-dev", "recognizer-gmm2", "test-gmm2", "tuning-gmm2"],
            ),
            (
                "retrain_with_dev=false",
                [*("confidence-gmm2", "fit-2", "judged-dev", "judged-test"), "recognizer-gmm2", "test-gmm2"],
            ),
        ],
    )  # fmt: skip
    def test_a_changed_option_redoes_what_depends_on_it(
        self,
        tones: Path,
        trained: Path,
        tmp_path: Path,
        settings: tuple[str, ...],
        setting: str,
        expected: list[str],
    ) -> None:
        assert new_stages(tones, trained, tmp_path / "exp", (*settings, setting)) == expected

    def test_another_model_shares_what_it_can(
        self, tones: Path, trained: Path, tmp_path: Path, settings: tuple[str, ...]
    ) -> None:
        options = (*settings, "context=1", "n_components=5")
        made = new_stages(tones, trained, tmp_path / "exp", options, models=["gmm2", "gmm-lda2"])
        assert made == sorted(
            ["confidence-gmm-lda2", "fit-2", "recognizer-gmm-lda2", "test-gmm-lda2", "tuning-gmm-lda2"]
            + [f"{stage}{dev}" for stage in ("fitting", "alignment-2", "start-lda", "gmm-lda-1", "gmm-lda-2")
               for dev in ("", "-dev")]
        )  # fmt: skip
        assert {row.model for row in read_results(tmp_path / "exp")} == {"gmm2", "gmm-lda2"}

    def test_steps_of_other_code_are_left_and_made_anew(
        self,
        tones: Path,
        trained: Path,
        tmp_path: Path,
        settings: tuple[str, ...],
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        out, before = tmp_path / "exp", stage_names(trained)
        monkeypatch.setattr("asr.store.code_behind", lambda module: f"{module} abc")
        made = new_stages(tones, trained, out, settings)
        assert made == sorted(name.rpartition("-")[0] for name in before)
        assert before < stage_names(out)
        assert read_results(out) == read_results(trained)
        (line,) = [text for text in caplog.messages if "steps are made again" in text]
        assert line.startswith(f"{len(before)} of {len(before)} steps are made again: task, ")
        assert "(code changed)" in line
        assert f"asr clean {out} removes what is not needed" in line

    def test_why_steps_are_made_again_is_said(
        self,
        tones: Path,
        trained: Path,
        tmp_path: Path,
        settings: tuple[str, ...],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        new_stages(tones, trained, tmp_path / "exp", (*settings, "gmm.variance_floor=0.1"))
        (line,) = [text for text in caplog.messages if "steps are made again" in text]
        changed = "gmm-none-1, gmm-none-2, gmm-none-1-dev, gmm-none-2-dev"
        assert f"{changed} (configuration changed: variance_floor 0.01 → 0.1); " in line
        assert "that follow from them, unless these come out as before" in line
        assert "gmm-none-1: made again: configuration changed: variance_floor 0.01 → 0.1" in caplog.text

    def test_an_experiment_of_an_earlier_version_goes_on(
        self,
        tones: Path,
        trained: Path,
        tmp_path: Path,
        settings: tuple[str, ...],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """It has other keys and records; its results are read, and its steps are made again."""
        old = tmp_path / "old"
        shutil.copytree(trained, old)
        names = {}
        for n, path in enumerate(sorted((old / "stages").iterdir())):
            record = json.loads((path / "stage.json").read_text())
            record |= {"code": ["asr-sparse-kernel 0.0.1 0123"], "config": 3.0}
            (path / "stage.json").write_text(json.dumps(record))
            names[path.name] = f"{path.name.rpartition('-')[0]}-{n:012x}"
            path.rename(path.with_name(names[path.name]))
        (old / "used.json").write_text(json.dumps({"results.json": {"finished": sorted(names.values())}}))
        assert Recognizer.load(old).transcribe(tones / "speaker 0/0.wav").text
        assert Finished.read(old).models == ("gmm2",)
        assert clean(old).found == ()
        rows = train("folder", corpus=tones, out=old, models=["gmm2"], settings=settings)
        assert rows == read_results(trained)
        assert f"{len(names)} of {len(names)} steps are made again: " in caplog.text
        assert {each.path.name for each in clean(old).found} == set(names.values())

    def test_a_corpus_moved_elsewhere(self, tones: Path, tmp_path: Path, settings: tuple[str, ...]) -> None:
        first = tmp_path / "first"
        shutil.copytree(tones, first)
        rows = train("folder", corpus=first, out=tmp_path / "exp", models=["gmm2"], settings=settings)
        first.rename(tmp_path / "second")
        again = train(
            "folder", corpus=tmp_path / "second", out=tmp_path / "exp", models=["gmm2"], settings=settings
        )
        assert again == rows

    def test_a_changed_transcript_is_seen(
        self, tones: Path, tmp_path: Path, settings: tuple[str, ...]
    ) -> None:
        shutil.copytree(tones, tmp_path / "corpus")
        options: dict[str, Any] = {"corpus": tmp_path / "corpus", "out": tmp_path / "exp"}
        options |= {"models": ["gmm1"], "settings": settings}
        before = train("folder", **options)
        text = tmp_path / "corpus/speaker 0/0.txt"  # of the test set
        text.write_text("SUS SUS SUS SUS\n")
        after = train("folder", **options)
        assert before[-1].words + 2 == after[-1].words

    def test_a_damaged_model_is_made_again(
        self, tones: Path, trained: Path, tmp_path: Path, settings: tuple[str, ...], digests: Digests
    ) -> None:
        shutil.copytree(trained, tmp_path / "exp")
        before = digests(tmp_path / "exp")
        for file in (tmp_path / "exp").rglob("model.safetensors"):
            file.write_bytes(file.read_bytes()[:-1])
        train("folder", corpus=tones, out=tmp_path / "exp", models=["gmm2"], settings=settings)
        assert digests(tmp_path / "exp") == before


class TestModelsAddUp:
    """Models that are trained one after the other into one directory stand beside each other."""

    def test_rows_default_and_outputs_of_an_earlier_model_stay(
        self,
        tones: Path,
        trained: Path,
        tmp_path: Path,
        settings: tuple[str, ...],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        out = tmp_path / "exp"
        shutil.copytree(trained, out)
        before, files = read_results(out), (out / "models/gmm2/model.safetensors").read_bytes()
        options: dict[str, Any] = {"corpus": tones, "out": out, "settings": settings}
        rows = train("folder", models=["gmm1"], preset="thesis", **options)
        assert rows == read_results(out)
        assert rows[:4] == before  # unchanged, first as before
        grammars = ["word-pair", "loop", "bigram"]
        assert [(r.model, r.preset, r.split, r.grammar) for r in rows[4:]] == [
            ("gmm1", "thesis", split, grammar) for split in ("dev", "test") for grammar in grammars
        ]
        # The best on dev over the grammars that both have is the default.
        of_dev = [row for row in rows if row.split == "dev"]
        means = {
            model: sum(r.word_accuracy for r in of_dev if r.model == model and r.grammar != "word-pair")
            for model in ("gmm2", "gmm1")
        }
        best = max(means, key=lambda model: means[model])
        assert json.loads((out / "default.json").read_text()) == {"model": best}
        assert Recognizer.load(out).name == best
        assert {Recognizer.load(out, model).name for model in means} == {"gmm1", "gmm2"}
        # Nothing of either is a leftover, but for what listed the suspicious utterances of gmm2.
        assert {name_of(each.path.name) for each in clean(out).found} == {"fit-2-dev", "judged-test"}
        assert (out / "models/gmm2/model.safetensors").read_bytes() == files
        finished = Finished.read(out)
        assert set(scored(finished, "test", "bigram", finished.corpus("test"))) == {"gmm1", "gmm2"}
        assert set(scored(finished, "test", "word-pair", finished.corpus("test"))) == {"gmm1"}
        # The same commands again change nothing.
        caplog.clear()
        again = train("folder", models=["gmm2"], **options)
        assert sorted(map(str, again)) == sorted(map(str, rows))
        assert not [line for line in caplog.messages if "default model" in line or " go: " in line]

    def test_the_better_one_becomes_the_default_and_a_line_says_why(
        self,
        tones: Path,
        trained: Path,
        tmp_path: Path,
        settings: tuple[str, ...],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        out = tmp_path / "exp"
        shutil.copytree(trained, out)
        worse = [replace(row, model="gmm4", word_accuracy=10.0) for row in read_results(out)]
        inputs = json.loads((out / "results.json").read_text())["inputs"]
        write_results(worse, out, synthetic=False, inputs=inputs)
        (out / "default.json").write_text('{"model": "gmm4"}')
        shutil.copytree(out / "models/gmm2", out / "models/gmm4")
        for name in ("tuning", "test", "recognizer"):
            (stage,) = (out / "stages").glob(f"{name}-gmm2-*")
            copy = stage.with_name(stage.name.replace("gmm2", "gmm4"))
            shutil.copytree(stage, copy)
        used = json.loads((out / "used.json").read_text())
        names = [name.replace("gmm2", "gmm4") for name in used["results.json"]["finished"]]
        (out / "used.json").write_text(json.dumps({"results.json": {"finished": names}}))
        rows = train("folder", corpus=tones, out=out, models=["gmm2"], settings=settings)
        accuracy = sum(r.word_accuracy for r in rows if (r.model, r.split) == ("gmm2", "dev")) / 2
        (line,) = [text for text in caplog.messages if "default model" in text]
        assert line == (
            f"the default model is gmm2: {accuracy:.1f} % of words right on dev; gmm4 10.0 "
            "(--model takes another)"
        )
        assert [r.model for r in rows] == ["gmm4"] * 4 + ["gmm2"] * 4

    def test_rows_of_other_inputs_go_and_clean_finds_their_model(
        self,
        tones: Path,
        tmp_path: Path,
        settings: tuple[str, ...],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        shutil.copytree(tones, tmp_path / "corpus")
        out = tmp_path / "exp"
        options: dict[str, Any] = {"corpus": tmp_path / "corpus", "out": out, "settings": settings}
        train("folder", models=["gmm1"], **options)
        (tmp_path / "corpus/speaker 0/0.txt").write_text("SUS SUS SUS SUS\n")
        rows = train("folder", models=["gmm2"], **options)
        assert {row.model for row in rows} == {"gmm2"}
        (line,) = [text for text in caplog.messages if text.startswith("results of ")]
        assert line == (
            "results of gmm1 go: they are of other recordings, transcripts, words or splits than these, or "
            "of an earlier version; train them again to compare them"
        )
        whys = {each.path.name: each.why for each in clean(out).found}
        assert whys["gmm1"] == "no row of the results is of this model"
        assert "gmm2" not in whys
        assert Recognizer.load(out, "gmm1").name == "gmm1"  # until it is removed
        clean(out, yes=True)
        assert [path.name for path in (out / "models").iterdir()] == ["gmm2"]

    def test_a_model_whose_directory_is_gone_has_no_row(
        self, tones: Path, trained: Path, tmp_path: Path, settings: tuple[str, ...]
    ) -> None:
        out = tmp_path / "exp"
        shutil.copytree(trained, out)
        shutil.rmtree(out / "models/gmm2")
        rows = train("folder", corpus=tones, out=out, models=["gmm1"], settings=settings)
        assert {row.model for row in rows} == {"gmm1"}
        assert json.loads((out / "default.json").read_text()) == {"model": "gmm1"}


# Trains in children that are killed, at a moment each; the parent has no threads when it forks.
KILLER = """
import os, random, signal, sys, time
import asr, asr.store
corpus, out, *settings = sys.argv[1:]

def run(kill_at):
    replace, done = os.replace, iter(range(1, 10**6))
    def counted(*paths):
        n = next(done)
        if n == kill_at:  # before and after a file or a stage takes its place
            os.kill(os.getpid(), signal.SIGKILL)
        replace(*paths)
        if n == -kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
    os.replace = counted
    asr.train("folder", corpus=corpus, out=out, models=["gmm2"], settings=settings)

def child(kill_at, delay):
    pid = os.fork()
    if pid == 0:
        run(kill_at)
        os._exit(0)
    if delay:
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]

moments = [(n, 0) for n in (1, 3, -5, 7, -8, -10, 12, -13, 25, -26, 40, -60, 90)]
rng = random.Random(5)
moments += [(0, rng.uniform(0.01, 0.6)) for _ in range(6)]
statuses = [child(*moment) for moment in moments]
print(sum(status == signal.SIGKILL for status in statuses))
sys.exit(child(0, 0))
"""


# Trains each stage over and over, until it is interrupted.
ENDLESS = """
import signal, sys
import asr.cli, asr.training.gmm as training
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background jobs ignore it
train_stage = training.train_stage
training.train_stage = lambda *args, **options: [train_stage(*args, **options) for _ in range(5000)][-1]
sys.exit(asr.cli.main(sys.argv[1:]))
"""


def test_a_corpus_that_changes_after_it_was_read_is_named(
    tones: Path,
    trained: Path,
    settings: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    shutil.copytree(tones, tmp_path / "raw")
    written = experiment_module.write_results

    def changed_before(*arguments: Any, **options: Any) -> None:
        (tmp_path / "raw/speaker 3/1.txt").write_text("other words")
        written(*arguments, **options)

    monkeypatch.setattr("asr.experiment.write_results", changed_before)
    train("folder", corpus=tmp_path / "raw", out=tmp_path / "exp", models=["gmm2"], settings=settings)
    (message,) = [r.getMessage() for r in caplog.records if "changed after" in r.getMessage()]
    assert message.startswith("speaker 3/1.txt: changed after the corpus was read; these results are of what")
    assert read_results(tmp_path / "exp") == read_results(trained)


class TestInterrupted:
    def test_killed_at_many_moments_ends_with_the_same_bytes(
        self, tones: Path, trained: Path, tmp_path: Path, settings: tuple[str, ...], digests: Digests
    ) -> None:
        out = tmp_path / "exp"
        done = subprocess.run(
            [sys.executable, "-c", KILLER, tones, out, *settings], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert int(done.stdout) >= 8
        assert digests(out) == digests(trained)

    def test_interrupt_key(
        self,
        tones: Path,
        trained: Path,
        settings: tuple[str, ...],
        train_arguments: list[str],
        tmp_path: Path,
        digests: Digests,
    ) -> None:
        out = tmp_path / "exp"
        options = [*train_arguments, "--out", str(out)]
        endless = [sys.executable, "-c", ENDLESS, *options, "-v"]  # or a busy machine would come too late
        with subprocess.Popen(endless, stdout=-1, stderr=-1, text=True) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if line.startswith("gmm-none-1: started"):
                    break
            time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert errors.splitlines()[-1].startswith("asr: interrupted; run the same command again")
        assert "Traceback" not in errors
        train("folder", corpus=tones, out=out, models=["gmm2"], settings=settings)
        assert digests(out) == digests(trained)

    def test_disk_full_then_free_again(
        self,
        tones: Path,
        trained: Path,
        settings: tuple[str, ...],
        train_arguments: list[str],
        tmp_path: Path,
        digests: Digests,
    ) -> None:
        out = tmp_path / "exp"
        command = [sys.executable, "-m", "asr.cli", *train_arguments, "--out", str(out)]
        for n_bytes in (3_000, 100_000):  # the log and the features do not fit, then only the features
            full = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                preexec_fn=lambda n=n_bytes: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n)),
            )
            assert full.returncode == 2
            begun, *_, line = full.stderr.splitlines()
            assert begun == f"gmm2 by the recipe folder; the log is {out / 'log.txt'}"
            assert line.startswith("asr: ")
            assert "no space left on the disk" in line
            assert "run the same command again" in line
        train("folder", corpus=tones, out=out, models=["gmm2"], settings=settings)
        assert digests(out) == digests(trained)

    def test_two_runs_at_once(
        self, tones: Path, trained: Path, settings: tuple[str, ...], train_arguments: list[str]
    ) -> None:
        with StageStore(trained).locked(), pytest.raises(ExperimentError, match="another run is using"):
            train("folder", corpus=tones, out=trained, models=["gmm2"], settings=settings)


class TestDeterminism:
    @pytest.mark.parametrize("n_workers", [1, 5])
    def test_number_of_workers(
        self,
        tones: Path,
        trained: Path,
        tmp_path: Path,
        settings: tuple[str, ...],
        digests: Digests,
        monkeypatch: pytest.MonkeyPatch,
        n_workers: int,
    ) -> None:
        monkeypatch.setattr("foundation.threads.default_workers", lambda: n_workers)
        out = tmp_path / "exp"
        train("folder", corpus=tones, out=out, models=["gmm2"], settings=settings)
        assert digests(out) == digests(trained)

    @pytest.mark.skipif(
        not hasattr(os, "sched_setaffinity") or (os.cpu_count() or 1) < 2, reason="needs a choice of cores"
    )
    def test_number_of_cores(
        self,
        tones: Path,
        settings: tuple[str, ...],
        train_arguments: list[str],
        tmp_path: Path,
        digests: Digests,
    ) -> None:
        """A process that sees one core gives BLAS one thread, too; a projection could tell them apart."""
        lda = ["--model", "gmm-lda2", "--set", "context=2", "--set", "n_components=7"]
        core = min(os.sched_getaffinity(0))
        done = subprocess.run(
            [sys.executable, "-m", "asr.cli", *train_arguments, *lda, "--out", str(tmp_path / "one")],
            check=False,
            capture_output=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
        assert done.returncode == 0
        options = (*settings, "context=2", "n_components=7")
        with threadpool_limits(limits=2):  # of all libraries, as a process that sees two cores
            train("folder", corpus=tones, out=tmp_path / "two", models=["gmm2", "gmm-lda2"], settings=options)
        assert digests(tmp_path / "one") == digests(tmp_path / "two")


class TestPortable:
    def test_models_decode_elsewhere(self, trained: Path, tones: Path, tmp_path: Path) -> None:
        recording = tones / "speaker 0/0.wav"
        expected = Recognizer.load(trained).transcribe(recording).text
        shutil.copytree(trained / "models/gmm2", tmp_path / "gmm2")
        assert Recognizer.load(tmp_path / "gmm2").transcribe(recording).text == expected
        (tmp_path / "moved").mkdir()
        shutil.copytree(trained / "models", tmp_path / "moved/models")
        shutil.copy(trained / "default.json", tmp_path / "moved")
        assert Recognizer.load(tmp_path / "moved").transcribe(recording).text == expected

    def test_killed_while_a_model_is_published(
        self, tones: Path, trained: Path, tmp_path: Path, settings: tuple[str, ...]
    ) -> None:
        shutil.copytree(trained, tmp_path / "exp")
        (tmp_path / "exp/models/gmm2").rename(tmp_path / "exp/models/.gmm2.partial")
        with pytest.raises(ExperimentError, match="no trained model in it"):
            Recognizer.load(tmp_path / "exp")
        train("folder", corpus=tones, out=tmp_path / "exp", models=["gmm2"], settings=settings)
        assert os.listdir(tmp_path / "exp/models") == ["gmm2"]

    def test_killed_while_a_model_takes_the_place_of_another(
        self, tones: Path, trained: Path, tmp_path: Path, settings: tuple[str, ...]
    ) -> None:
        shutil.copytree(trained, tmp_path / "exp")
        models = tmp_path / "exp/models"
        (models / "gmm2/keywords.json").write_text("{}")  # chosen since
        (models / "gmm2").rename(models / ".gmm2.earlier.partial")
        train("folder", corpus=tones, out=tmp_path / "exp", models=["gmm2"], settings=settings)
        assert os.listdir(models) == ["gmm2"]
        assert (models / "gmm2/keywords.json").is_file()

    def test_a_model_that_stays_the_same_is_not_touched(
        self, tones: Path, trained: Path, tmp_path: Path, settings: tuple[str, ...]
    ) -> None:
        shutil.copytree(trained, tmp_path / "exp")
        model = tmp_path / "exp/models/gmm2"
        before = {path.name: path.stat().st_ino for path in [model, *model.iterdir()]}
        train("folder", corpus=tones, out=tmp_path / "exp", models=["gmm2"], settings=settings)
        assert {path.name: path.stat().st_ino for path in [model, *model.iterdir()]} == before

    def test_what_is_no_model_is_not_replaced_by_one(
        self, tones: Path, tmp_path: Path, settings: tuple[str, ...]
    ) -> None:
        recordings = tmp_path / "exp/models/gmm2"
        shutil.copytree(tones, recordings)
        before = sorted(recordings.rglob("*"))
        with pytest.raises(ExperimentError, match=r"models/gmm2: no model of a training, .*; move it away"):
            train("folder", corpus=recordings, out=tmp_path / "exp", models=["gmm2"], settings=settings)
        assert sorted(recordings.rglob("*")) == before
        assert os.listdir(tmp_path / "exp") == ["models"]

    def test_what_lies_beside_a_model_stays_when_another_takes_its_place(
        self, trained: Path, tmp_path: Path
    ) -> None:
        model, new = tmp_path / "models/gmm2", tmp_path / "new"
        for copy in (model, new):
            shutil.copytree(trained / "models/gmm2", copy)
        (new / "lexicon.txt").write_text("ASA A S A\n")
        (model / "old.arpa").touch()
        (model / "my").mkdir()
        (model / "my/a.wav").write_bytes(b"RIFF")
        (model / "notes.txt").write_text("precious")
        data = read_data(model)
        assert data is not None
        experiment_module._publish(new, model, data)
        assert set(os.listdir(model)) == {*os.listdir(trained / "models/gmm2"), "my", "notes.txt"}
        assert (model / "notes.txt").read_text() == "precious"
        assert (model / "my/a.wav").read_bytes() == b"RIFF"
        assert (model / "lexicon.txt").read_text() == "ASA A S A\n"
        # Killed after the new model had taken its place: what lay beside the old one has still to come.
        shutil.copytree(trained / "models/gmm2", model.with_name(".gmm2.earlier.partial"))
        (model / "notes.txt").rename(model.with_name(".gmm2.earlier.partial") / "notes.txt")
        experiment_module._publish(new, model, data)
        assert (model / "notes.txt").read_text() == "precious"
        assert os.listdir(model.parent) == ["gmm2"]

    @pytest.mark.skipif(os.name == "nt", reason="links need leave there")
    @pytest.mark.parametrize("is_there", [True, False])
    def test_a_link_to_a_model_stays_one(self, trained: Path, tmp_path: Path, is_there: bool) -> None:
        model, real, new = tmp_path / "models/gmm2", tmp_path / "elsewhere/gmm2", tmp_path / "new"
        shutil.copytree(trained / "models/gmm2", new)
        if is_there:
            shutil.copytree(new, real)
        (new / "lexicon.txt").write_text("ASA A S A\n")
        model.parent.mkdir()
        model.symlink_to(real)
        data = read_data(new)
        assert data is not None
        for text in ("ASA A S A\n", "ASA S A\n"):
            (new / "lexicon.txt").write_text(text)
            experiment_module._publish(new, model, data)
            assert model.is_symlink()
            assert (real / "lexicon.txt").read_text() == text
            assert os.listdir(real.parent) == os.listdir(model.parent) == ["gmm2"]

    def test_a_model_is_never_half_of_one_while_another_takes_its_place(
        self, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model, new = tmp_path / "models/gmm2", tmp_path / "new"
        for copy in (model, new):
            shutil.copytree(trained / "models/gmm2", copy)
        (new / "lexicon.txt").write_text("ASA A S A\n")
        whole = {frozenset(os.listdir(model)), frozenset()}
        seen = []

        def watched(source: Path, target: Path) -> None:
            seen.append(frozenset(os.listdir(model)) if model.is_dir() else frozenset())
            os.replace(source, target)

        monkeypatch.setattr(experiment_module, "put_in_place", watched)
        data = read_data(model)
        assert data is not None
        experiment_module._publish(new, model, data)
        assert len(seen) == 2
        assert set(seen) == whole
        assert (model / "lexicon.txt").read_text() == "ASA A S A\n"
        assert os.listdir(model.parent) == ["gmm2"]


class TestRefused:
    def test_before_anything_is_written(self, tones: Path, tmp_path: Path, settings: tuple[str, ...]) -> None:
        out = tmp_path / "exp"
        for options, message in (
            ({"models": ["gmm"]}, r'"gmm" has 8 Gaussians .* got 1, 2; train gmm1 or gmm2'),
            ({"models": ["gmn"]}, r'"gmn" is not known \(did you mean "gmm"\?\)'),
            ({"models": ["gmm2"], "preset": "bst"}, r'preset "bst" is not known .*; expected one of: best'),
            (
                {"models": ["gmm2"], "settings": (*settings, "context=3")},
                r"--set front_end\.context: belongs to gmm-lda, and hybrids with .*; got gmm2, which",
            ),
            (
                {"models": ["gmm2"], "settings": (*settings, "projection=lda")},
                r"--set projection: unknown option; did you mean hybrid\.input_projection",
            ),
            (
                {"models": ["svm"], "settings": (*settings, "hybrid.calibration.outputs=loo")},
                r'calibration\.outputs is "loo", expected fitted or held-out',
            ),
            (
                {"models": ["gmm-lda2"], "settings": (*settings, "context=0")},
                "n_components: expected at most 13 .*, got 60",
            ),
        ):
            with pytest.raises(AsrError, match=message):
                train("folder", corpus=tones, out=out, **{"settings": settings, **options})  # type: ignore[arg-type]
        assert not out.exists()

    def test_out_in_the_corpus(self, tones: Path) -> None:
        with pytest.raises(ConfigError, match=r"lies in the corpus .* choose another --out"):
            train("folder", corpus=tones, out=tones / "exp")

    def test_faults_of_test_recordings_and_grammars_before_training(
        self, tones: Path, tmp_path: Path, settings: tuple[str, ...]
    ) -> None:
        corpus, out = tmp_path / "corpus", tmp_path / "exp"
        shutil.copytree(tones, corpus)
        grammar, recording = corpus / "mine.arpa", corpus / "speaker 0/0.wav"  # a speaker of the test set
        grammar.write_text("\\data\\\nngram 1=2\n")
        with pytest.raises(AsrError, match=r"mine\.arpa: expected .* got the end of the file"):
            train("folder", corpus=corpus, out=out, models=["gmm2"], settings=settings)
        grammar.unlink()
        recording.write_bytes(recording.read_bytes()[:2000])
        stop = (*settings, "unusable=stop")
        with pytest.raises(AsrError, match=r"1 of \d+ recordings of train cannot .*\n.*0\.wav: truncated"):
            train("folder", corpus=corpus, out=out, models=["gmm2"], settings=stop)
        assert not any(name.startswith(("start", "gmm")) for name in stage_names(out))

    def test_grammar_without_its_file(self, tones: Path, tmp_path: Path, settings: tuple[str, ...]) -> None:
        out = tmp_path / "exp"
        with pytest.raises(ExperimentError, match=r"grammar arpa: \.arpa files .*: none; expected"):
            train("folder", corpus=tones, out=out, models=["gmm2"], settings=(*settings, "grammars=arpa"))
        assert not any(name.startswith("gmm") for name in stage_names(out))


class TestWarnings:
    def test_splits_that_overlap_and_no_dev(
        self, tones: Path, tmp_path: Path, settings: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        script = tmp_path / "overlapping.py"
        script.write_text(RECIPE_OF_OVERLAPPING_SPLITS)
        train(str(script), corpus=tones, out=tmp_path / "exp", models=["gmm2"], settings=settings)
        assert "40 recording(s) are in train and in test" in caplog.text
        assert "there is no dev set: the decoder's weights are not tuned" in caplog.text

    def test_another_corpus_in_the_same_directory(
        self,
        tones: Path,
        trained: Path,
        tmp_path: Path,
        settings: tuple[str, ...],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        shutil.copytree(trained, tmp_path / "exp")
        shutil.copytree(tones, tmp_path / "other")
        train("folder", corpus=tmp_path / "other", out=tmp_path / "exp", models=["gmm2"], settings=settings)
        assert f"was trained from {tones}; its results are replaced" in caplog.text

    def test_another_corpus_before_anything_was_trained(
        self, tones: Path, tmp_path: Path, settings: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "exp").mkdir()
        (tmp_path / "exp/config.json").write_text('{"corpus": "/somewhere/else"}')
        train("folder", corpus=tones, out=tmp_path / "exp", models=["gmm2"], settings=settings)
        assert "/somewhere/else" not in caplog.text
        assert (tmp_path / "exp/results.json").is_file()

    def test_what_each_pass_leaves_out_is_said_once(
        self, tones: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        corpus, out = tmp_path / "corpus", tmp_path / "exp"
        shutil.copytree(tones, corpus)
        samples, rate = soundfile.read(corpus / "speaker 7/0.wav")
        soundfile.write(corpus / "speaker 7/0.wav", samples[2000:2800], rate)
        options = ("gmm.mixtures=1,2", "gmm.iterations=1,1", "retrain_with_dev=false", "grammars=loop")
        with terminal_messages():
            train("folder", corpus=corpus, out=out, models=["gmm2"], settings=options)
        what = "utterances left out of training, no path through their transcript: speaker_7-0"
        assert capsys.readouterr().err.count(what) == 1
        assert (out / "log.txt").read_text().count(what) == 2


RECIPE_OF_OVERLAPPING_SPLITS = """
from asr import Recipe, read_corpus, write_corpus
from decoder import Lexicon


def prepare(corpus_dir, output_dir):
    corpus = read_corpus(corpus_dir)
    for split in ("train", "test"):
        write_corpus(corpus, output_dir / split)
    Lexicon.graphemic(corpus.vocabulary).write(output_dir / "lexicon.txt")


RECIPE = Recipe(prepare)
"""


def test_a_pronunciation_that_changes_no_model_is_published(
    tones: Path, tmp_path: Path, settings: tuple[str, ...]
) -> None:
    """A word that no transcript has is in the recogniser's lexicon alone."""
    corpus, out = tmp_path / "corpus", tmp_path / "exp"
    shutil.copytree(tones, corpus)
    words = [f"{word} {' '.join(word.lower())}\n" for word in ("ASA", "IMI", "SUS", "MAUI")]
    for pronunciation in ("a m", "u u s i"):
        (corpus / "lexicon.txt").write_text("".join(words) + f"NEW {pronunciation}\n")
        train("folder", corpus=corpus, out=out, models=["gmm2"], settings=(*settings, "grammars=bigram"))
        assert f"NEW {pronunciation}\n" in (out / "models/gmm2/lexicon.txt").read_text()


@pytest.fixture(scope="module")
def flat(tones: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the recordings of the tone language in one folder, in names that tell nothing."""
    folder = tmp_path_factory.mktemp("unknown") / "flat"
    folder.mkdir()
    for n, wav in enumerate(sorted(tones.rglob("*.wav"))):
        shutil.copyfile(wav, folder / f"u{n:02d}.wav")
        shutil.copyfile(wav.with_suffix(".txt"), folder / f"u{n:02d}.txt")
    return folder


@pytest.fixture(scope="module")
def unknown(flat: Path, settings: tuple[str, ...]) -> Path:
    """Return an experiment on them of which nobody has said who speaks."""
    out = flat.parent / "unknown"
    train("folder", corpus=flat, out=out, models=["gmm2"], settings=settings)
    return out


@pytest.fixture(scope="module")
def of_one(flat: Path, settings: tuple[str, ...]) -> Path:
    """Return an experiment on them of which somebody has said that one person speaks."""
    out = flat.parent / "one"
    train("folder", corpus=flat, out=out, models=["gmm2"], settings=[*settings, "speakers=one"])
    return out


class TestSpeakers:
    """Who speaks in a flat folder: an assumption, or as a person says."""

    def test_what_is_recorded(self, unknown: Path, of_one: Path) -> None:
        found = {}
        for name, out in (("unknown", unknown), ("one", of_one)):
            data = read_data(out / "models/gmm2")
            assert data is not None
            config = json.loads((out / "config.json").read_text())["config"]
            assert config["speakers"] == data.speakers
            found[name] = data.speakers, {split: a.n_speakers for split, a in data.amounts.items()}
        assert found == {
            "unknown": ("auto", {"train": 0, "dev": 0, "test": 0}),
            "one": ("one", {"train": 1, "dev": 1, "test": 1}),
        }

    def test_no_speaker_is_called_short(self, unknown: Path, of_one: Path) -> None:
        for out in (unknown, of_one):
            assert "speakers have less than 10 s" not in (out / "log.txt").read_text()
        assert "perhaps the same voices as train" in (unknown / "log.txt").read_text()

    def test_each_recording_by_itself_is_what_is_assumed(
        self, flat: Path, unknown: Path, tmp_path: Path, settings: tuple[str, ...]
    ) -> None:
        out = tmp_path / "recordings"
        train("folder", corpus=flat, out=out, models=["gmm2"], settings=[*settings, "speakers=recordings"])
        model = "models/gmm2/model.safetensors"
        assert (out / model).read_bytes() == (unknown / model).read_bytes()

    def test_one_person_is_normalised_as_one(self, unknown: Path, of_one: Path) -> None:
        model = "models/gmm2/model.safetensors"
        assert (of_one / model).read_bytes() != (unknown / model).read_bytes()

    def test_an_experiment_goes_on_as_it_was_begun(
        self,
        flat: Path,
        tones: Path,
        of_one: Path,
        settings: tuple[str, ...],
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        loaded = load_recipe("folder")
        line = "speakers: one, as this experiment was begun; --set speakers=auto changes it"
        with terminal_messages():
            begun = experiment_of(loaded, flat, of_one, ["gmm2"], "best", settings)
            assert begun.config.speakers == "one"
            assert capsys.readouterr().err.splitlines() == [line]
            for corpus, out, given in (
                (flat, of_one, [*settings, "speakers=auto"]),
                (tones, of_one, settings),
                (flat, tmp_path, settings),
            ):
                other = experiment_of(loaded, corpus, out, ["gmm2"], "best", given)
                assert other.config.speakers == "auto"
            assert capsys.readouterr().err == ""
            train("folder", corpus=flat, out=of_one, models=["gmm2"], settings=settings)
        said = capsys.readouterr().err.splitlines()
        assert said[0] == line
        assert f"{of_one}: gmm2 is already done, with this corpus and these options" in said

    def test_other_corpora_are_taken_alike(
        self, flat: Path, tones: Path, unknown: Path, of_one: Path
    ) -> None:
        def speakers(out: Path, corpus: Path, **options: Any) -> list[str]:
            accuracy, _ = evaluate(out, corpus, **options)
            assert accuracy.word_accuracy > 90
            return [s.speaker for s in accuracy.speakers]

        folders = [f"speaker_{n}" for n in range(8)]
        assert speakers(unknown, flat) == []
        assert speakers(of_one, flat) == speakers(unknown, flat, speakers="one") == ["one"]
        assert speakers(of_one, flat, speakers="recordings") == []
        assert speakers(of_one, tones) == speakers(unknown, tones) == folders

    def test_decoding_one_person_is_decoding_the_same_speaker(self, flat: Path, unknown: Path) -> None:
        wavs = sorted(flat.glob("*.wav"))[:3]
        told, same = decode(unknown, wavs, speakers="one"), decode(unknown, wavs, same_speaker=True)
        assert told == same
        assert decode(unknown, wavs, speakers="recordings") == decode(unknown, wavs) != same

    def test_recipes_that_know_are_not_told(self, tones: Path, tmp_path: Path) -> None:
        with pytest.raises(
            ConfigError, match=r'speakers=one: the recipe "an4" knows who speaks, expected one'
        ):
            train("an4", corpus=tones, out=tmp_path, models=["gmm"], settings=["speakers=one"])

    def test_the_plan_does_not_count_them(self, flat: Path, tones: Path) -> None:
        tables = [
            plan_table(plan("folder", corpus=corpus, models=["gmm"], settings=settings))
            for corpus, settings in ((flat, []), (flat, ["speakers=one"]), (tones, []))
        ]
        rows = [re.search(r"^train +\S+ +\d+ +(\S+) ", table, re.MULTILINE) for table in tables]
        assert [row and row[1] for row in rows] == ["?", "1", "6"]
