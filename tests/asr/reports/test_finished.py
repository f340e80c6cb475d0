"""What an experiment directory holds, and what is said where it does not."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from asr.corpora.corpus import Corpus
from asr.errors import ConfigError, ExperimentError
from asr.reports.finished import Finished


def test_models_splits_and_grammars(finished: Finished) -> None:
    assert finished.models == ("gmm1", "gmm2")
    assert (finished.split(None), finished.split("dev")) == ("test", "dev")
    assert finished.grammars("test") == ("loop", "bigram")
    assert finished.model(None) == json.loads((finished.directory / "default.json").read_text())["model"]
    assert finished.config["recipe"] == "folder"
    assert not finished.synthetic


def test_data_and_words_are_of_the_same_utterances(finished: Finished) -> None:
    for split in ("dev", "test"):
        corpus: Corpus = finished.corpus(split)
        assert finished.data(split).corpus == corpus
        assert set(finished.recognised("gmm2", split, "loop")) == set(corpus.ids)


def test_what_a_stage_was_made_from(finished: Finished) -> None:
    assert finished.made_from(finished.stage("test-gmm1"), "recognizer") == finished.stage("recognizer-gmm1")
    with pytest.raises(ExperimentError, match="the nothing that it was made from is not there"):
        finished.made_from(finished.stage("test-gmm1"), "nothing")


def test_what_is_not_there(finished: Finished) -> None:
    with pytest.raises(ConfigError, match='no model "npd"; expected one of: gmm1, gmm2'):
        finished.model("npd")
    with pytest.raises(ConfigError, match='no results of split "train"; expected one of: test, dev'):
        finished.split("train")
    with pytest.raises(ExperimentError, match="no output of the stage hybrid, expected it among stages"):
        finished.stage("hybrid")


def test_an_experiment_is_needed(compared: Path, tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"results\.json: not found"):
        Finished.read(tmp_path)
    shutil.copy(compared / "results.json", tmp_path)
    with pytest.raises(ExperimentError, match="no stages, expected those that asr train keeps there"):
        Finished.read(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", r"default\.json: not as asr train writes it \(KeyError: 'model'\)"),
        ("[1]", r"default\.json: not as asr train writes it \(TypeError"),
        ("null", r"default\.json: not as asr train writes it \(TypeError"),
        ('{"model": "npd"}', 'no results of model "npd", expected one of: gmm1, gmm2; run asr train again'),
    ],
)
def test_a_strange_default_model(finished: Finished, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "default.json").write_text(text)
    strange = replace(finished, directory=tmp_path)
    with pytest.raises(ExperimentError, match=said):
        strange.model(None)
    assert strange.model("gmm2") == "gmm2"
    (tmp_path / "default.json").unlink()
    assert strange.model(None) == "gmm1"


def test_only_stages_in_use_count(compared: Path, tmp_path: Path) -> None:
    """An older output of a stage is not taken, whether a file says what is used or the times do."""
    copy = tmp_path / "exp"
    shutil.copytree(compared, copy)
    newest = Finished.read(copy).stage("test-gmm1").name
    stale = copy / "stages" / "test-gmm1-000000000000"
    shutil.copytree(copy / "stages" / newest, stale)
    assert Finished.read(copy).stage("test-gmm1").name == newest
    (copy / "used.json").unlink()
    (copy / "stages" / newest / "stage.json").touch()
    assert Finished.read(copy).stage("test-gmm1").name == newest


def test_stages_of_a_killed_run_do_not_count(compared: Path, tmp_path: Path) -> None:
    """A later run with other settings has evaluated a model and was killed: the results are the earlier's."""
    copy = tmp_path / "exp"
    shutil.copytree(compared, copy)
    evaluated = Finished.read(copy).stage("test-gmm1").name
    shutil.copytree(copy / "stages" / evaluated, copy / "stages" / "test-gmm1-000000000000")
    (copy / "stages" / "test-gmm1-000000000000" / "stage.json").touch()  # the newest
    used = json.loads((copy / "used.json").read_text())
    used["results.json"]["unfinished"] = ["test-gmm1-000000000000"]
    (copy / "used.json").write_text(json.dumps(used))
    assert Finished.read(copy).stage("test-gmm1").name == evaluated
    used["results.json"] = {"unfinished": ["test-gmm1-000000000000"]}  # nothing says more
    (copy / "used.json").write_text(json.dumps(used))
    assert list(Finished.read(copy).stages) == ["test-gmm1"]


def test_a_point_of_a_sweep_finds_the_stages_of_the_sweep(compared: Path, tmp_path: Path) -> None:
    sweep, point = tmp_path / "sweep", tmp_path / "sweep" / "points" / "a"
    point.mkdir(parents=True)
    shutil.copytree(compared / "stages", sweep / "stages")
    shutil.copy(compared / "results.json", point)
    used = json.loads((compared / "used.json").read_text())
    (sweep / "used.json").write_text(json.dumps({"points/a/results.json": used["results.json"]}))
    found = Finished.read(point)
    assert found.stage("task").parent == sweep.resolve() / "stages"
    assert found.recognised("gmm1", "test", "loop") == Finished.read(compared).recognised(
        "gmm1", "test", "loop"
    )
