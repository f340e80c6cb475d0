import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from compare_checkouts import Comparison, Run, names, speed_row
from experiment_differences import (
    StageSeconds,
    by_kind,
    changes,
    compare_model,
    compare_stages,
    compare_tensors,
    compare_words,
    match_names,
)
from report import markdown_table
from safetensors.numpy import save_file

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "compare_checkouts.py"
KEY = "0123456789ab"


def write_stage(experiment, name, cpu, texts=(), key=KEY):
    folder = experiment / "stages" / f"{name}-{key}"
    folder.mkdir(parents=True)
    for grammar, text in dict(texts).items():
        (folder / f"{grammar}.txt").write_text(text)
    (folder / "stage.json").write_text(json.dumps({"stage": name, "seconds": {"cpu": cpu, "wall": cpu}}))


@pytest.fixture
def experiment(tmp_path):
    """Return an experiment of a model ``npd`` with one grammar."""
    directory = tmp_path / "before"
    write_stage(directory, "hybrid-npd", 10.0)
    write_stage(directory, "tuning-npd", 2.0, {"loop": "u1 GO LEFT\nu2 STOP\n"})
    write_stage(directory, "test-npd", 1.0, {"loop": "u3 GO\nu4 GO UP\n"})
    model = directory / "models" / "npd"
    model.mkdir(parents=True)
    save_file({"weights": np.arange(4.0), "centers": np.ones((2, 3))}, model / "model.safetensors")
    (model / "model.json").write_text('{"kind": "pairwise", "tensors_sha256": "abc"}')
    (model / "decoding.json").write_text('{"grammars": {"loop": {"beam": 200.0}}}')
    row = {"model": "npd", "grammar": "loop", "substitutions": 1, "deletions": 0, "insertions": 2}
    rows = [{**row, "split": split, "word_accuracy": 90.0} for split in ("dev", "test")]
    (directory / "results.json").write_text(json.dumps({"results": rows}))
    return directory


@pytest.fixture
def copy(experiment):
    return Path(shutil.copytree(experiment, experiment.with_name("after")))


def kinds(before, after, name="npd"):
    return list(compare_model(name, before, after).kinds())


class TestModel:
    def test_equal(self, experiment, copy):
        found = compare_model("npd", experiment, copy)
        assert list(found.kinds()) == []
        assert found.is_identical
        assert [(r.split, r.errors, r.n_utterances) for r in found.rows] == [
            ("dev", (3, 3), 2),
            ("test", (3, 3), 2),
        ]

    def test_other_words_of_the_same_accuracy(self, experiment, copy):
        (copy / "stages" / f"test-npd-{KEY}" / "loop.txt").write_text("u3 UP\nu4 GO UP UP\n")
        found = compare_model("npd", experiment, copy)
        assert list(found.kinds()) == ["words"]
        assert found.rows[1].utterances == ("u3", "u4")
        assert found.rows[1].words == 2

    def test_other_results(self, experiment, copy):
        text = (copy / "results.json").read_text().replace("90.0", "89.5", 1)
        (copy / "results.json").write_text(text)
        found = compare_model("npd", experiment, copy)
        assert list(found.kinds()) == ["results"]
        assert [row.fields for row in found.rows] == [("word_accuracy",), ()]

    def test_a_new_field_of_the_results_is_no_difference(self, experiment, copy):
        text = (copy / "results.json").read_text().replace('"split"', '"speakers": 3, "split"')
        (copy / "results.json").write_text(text)
        assert kinds(experiment, copy) == []

    def test_other_tensors_and_their_digest(self, experiment, copy):
        tensors = {"weights": np.array([0.0, 1.0, 2.0, 3.5]), "centers": np.ones((2, 3))}
        save_file(tensors, copy / "models" / "npd" / "model.safetensors")
        (copy / "models" / "npd" / "model.json").write_text('{"kind": "pairwise", "tensors_sha256": "x"}')
        found = compare_model("npd", experiment, copy)
        assert list(found.kinds()) == ["model"]
        (tensor,) = found.tensors
        assert (tensor.name, tensor.what, tensor.largest, tensor.share) == ("weights", "values", 0.5, 0.25)
        assert tensor.relative == pytest.approx(0.5 / 3, rel=1e-12)

    def test_other_options(self, experiment, copy):
        (copy / "models" / "npd" / "model.json").write_text('{"kind": "pooled"}')
        (copy / "models" / "npd" / "decoding.json").write_text('{"grammars": {"loop": {"beam": 250.0}}}')
        found = compare_model("npd", experiment, copy)
        assert list(found.kinds()) == ["description", "decoding"]
        assert found.decoding == (("grammars.loop.beam", 200.0, 250.0),)

    def test_a_missing_model(self, experiment, copy):
        shutil.rmtree(copy / "models" / "npd")
        assert compare_model("npd", experiment, copy).missing == "after"
        assert kinds(experiment, copy) == ["missing"]
        assert compare_model("svm", experiment, copy).missing == "both"

    def test_nothing_to_compare_is_not_equal(self, experiment, copy):
        for directory in (experiment, copy):
            (directory / "results.json").unlink()
            shutil.rmtree(directory / "stages")
        assert kinds(experiment, copy) == ["results"]

    def test_the_last_of_several_stages_counts(self, experiment, copy):
        write_stage(copy, "test-npd", 5.0, {"loop": "u3 UP\nu4 GO UP\n"}, key="fedcba987654")
        assert kinds(experiment, copy) == ["words"]


class TestTensors:
    def test_renamed_lost_new_and_of_another_form(self):
        before = {"a": np.arange(3.0), "b": np.zeros(2), "c": np.ones(2), "d": np.ones(5)}
        after = {"x": np.arange(3.0), "b": np.zeros(2, np.float32), "c": np.ones(2), "e": np.ones(6)}
        found = {t.name: t.what for t in compare_tensors(before, after)}
        assert found == {"a": "renamed to x", "b": "form", "d": "only before", "e": "only after"}

    def test_infinite_values(self):
        before, after = np.array([-np.inf, 1.0, np.nan]), np.array([-np.inf, -np.inf, np.nan])
        (found,) = compare_tensors({"a": before}, {"a": after})
        assert found.largest == np.inf
        assert found.share == pytest.approx(1 / 3, rel=1e-12)

    def test_equal_infinities(self):
        values = np.array([np.inf, np.nan])
        assert list(compare_tensors({"a": values}, {"a": values.copy()})) == []


def test_words_of_an_utterance_that_one_side_lacks():
    before, after = {"u1": ("GO", "UP"), "u2": ("STOP",)}, {"u2": ("STOP",), "u3": ("GO",)}
    assert compare_words(before, after) == (("u1", "u3"), 3)


def test_changes_of_nested_values():
    before = {"a": {"b": [1, 2]}, "c": 1, "d": "x"}
    after = {"a": {"b": [1, 3, 4]}, "d": "x", "e": 1.5}
    assert list(changes(before, after)) == [
        ("a.b[1]", 2, 3),
        ("a.b[2]", None, 4),
        ("c", 1, None),
        ("e", None, 1.5),
    ]


class TestStages:
    def test_names(self):
        before = ["gmm-none-8", "hybrid-npd", "hybrid-npd-dev", "gmm-none-2", "adapting-hybrid-npd"]
        after = ["gmm-none-8", "hybrids-npd", "hybrids-npd-dev", "gmm-none-4", "grammars"]
        assert match_names(["hybrid-npd"], ["hybrid-pools", "tuning-npd"]) == {"hybrid-npd": "hybrid-pools"}
        assert match_names(before, after) == {
            "gmm-none-8": "gmm-none-8",
            "hybrid-npd": "hybrids-npd",
            "hybrid-npd-dev": "hybrids-npd-dev",
        }

    def test_seconds(self, experiment, copy):
        shutil.rmtree(copy / "stages" / f"hybrid-npd-{KEY}")
        write_stage(copy, "hybrids-npd", 12.0)
        write_stage(copy, "grammars", 1.0)
        found = {s.name: s for s in compare_stages(experiment, copy)}
        assert found["hybrid-npd"] == StageSeconds("hybrid-npd", 10.0, 12.0, "hybrids-npd")
        assert found["test-npd"] == StageSeconds("test-npd", 1.0, 1.0)
        assert found["grammars"] == StageSeconds("grammars", None, 1.0)

    def test_sums(self):
        stages = [
            StageSeconds("gmm-none-1", 1.0, 2.0),
            StageSeconds("gmm-none-2", 3.0, 4.0),
            StageSeconds("test", 1.0, None),
        ]
        assert by_kind(stages) == [StageSeconds("gmm", 4.0, 6.0)]


def test_differences_are_named_with_recipe_model_and_preset(experiment, copy):
    shutil.rmtree(copy / "models")
    comparison = Comparison(Run("an4", "best"), [compare_model("npd", experiment, copy)], [])
    assert list(comparison.differences()) == ["an4-npd-best-missing"]


def test_expectations_with_and_without_the_recipe():
    assert names("npd-best-model", "an4-npd-best-model")
    assert names("an4-npd-best-model", "an4-npd-best-model")
    assert not names("fsdd-npd-best-model", "an4-npd-best-model")
    assert not names("best-model", "an4-npd-best-model")


def test_ratios_are_of_rounds():
    rounds = [
        [{"seconds": a, "digest": "x"}, {"seconds": b, "digest": "x"}] for a, b in ((1, 2), (4, 4), (2, 1))
    ]
    row = speed_row("scoring", rounds)
    assert (row["ratio"], row["lowest"], row["highest"], row["same_outputs"]) == (1.0, 0.5, 2.0, True)


def test_table():
    table = markdown_table(("name", "n"), [("a|b", 1), ("c", None)])
    assert table == "| name | n |\n| --- | ---: |\n| a\\|b | 1 |\n| c | – |"


def run_script(*arguments):
    checkout = SCRIPT.parents[1]
    command = [sys.executable, SCRIPT, "--before", checkout, "--after", checkout, *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)


@pytest.mark.slow
class TestCommandLine:
    def test_exit_codes(self, experiment, copy, tmp_path):
        given = [
            "--models",
            "npd",
            "--before-exp",
            f"an4-thesis={experiment}",
            "--out",
            tmp_path / "report.json",
        ]
        given += ["--after-exp", f"an4-thesis={copy}"]
        assert run_script(*given).returncode == 0
        (copy / "models" / "npd" / "model.json").write_text('{"kind": "pooled"}')
        done = run_script(*given)
        assert done.returncode == 1, done.stderr
        assert "different, not expected: an4-npd-thesis-description\n" in done.stdout
        assert run_script(*given, "--expect", "npd-thesis-description").returncode == 0
        report = json.loads((tmp_path / "report.json").read_text())
        assert report["differences"] == ["an4-npd-thesis-description"]
        assert report["unexpected"] == []

    def test_nothing_to_do(self):
        done = run_script()
        assert done.returncode == 2
        assert "no run to compare; give a corpus" in done.stderr

    def test_an_unknown_run(self, tmp_path):
        done = run_script("--before-exp", f"timit-best={tmp_path}")
        assert done.returncode == 2
        assert "run timit-best is not known; expected one of an4-best" in done.stderr
