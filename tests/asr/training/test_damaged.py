"""Damaged outputs of steps: a run that finds them makes them anew; a reader says in a line what is wrong."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asr.corpora.corpus import Corpus
from asr.corpora.speech_data import SpeechData, load_cepstra
from asr.corpora.wording import read_wording
from asr.errors import ExperimentError
from asr.store import StageOutput
from asr.systems import HybridSystem
from asr.training.aligned import CHOICE, chosen_for
from asr.training.hybrid import load_labels, load_units
from asr.training.recognition import options_tuned, read_rows

Damage = Callable[[Path], object]
ONE_LINE = (
    r"\A[^\n]*{}: damaged \([^\n;]*{}[^\n;]*\), expected [^\n;]*; "
    r"delete [^\n]* and run the same training again\Z"
)


def text(content: str) -> Damage:
    return lambda path: path.write_text(content)


def value(content: object) -> Damage:
    return text(json.dumps(content))


def array(change: Callable[[np.ndarray], np.ndarray]) -> Damage:
    return lambda path: np.save(path, change(np.load(path)))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def remove(path: Path) -> None:
    path.unlink()


NO_JSON = [("", text("")), ("", text('{"a"')), ("", text("[" * 100_000)), ("list", value([1])), ("", remove)]
NO_ARRAY = [
    ("", text("")),
    ("", text("PK\x03\x04")),
    ("", cut),
    ("float64", array(lambda x: x.astype(np.float64))),
    ("", remove),
]


def refused(name: str, said: str) -> object:
    return pytest.raises(ExperimentError, match=ONE_LINE.format(name.replace(".", r"\."), said))


@pytest.fixture(scope="module")
def made(made: Any) -> Any:
    return made.configured(models=["gmm2", HybridSystem("npd")])


@pytest.fixture(scope="module")
def data(made: Any) -> SpeechData:
    return made.data("train")


@pytest.fixture
def corpus(made: Any) -> Corpus:
    return made.corpus("train")


@pytest.fixture
def features(made: Any, tmp_path: Path) -> Path:
    return copied(made["features-train"], tmp_path)


@pytest.fixture(scope="module")
def units_output(made: Any) -> StageOutput:
    return made["units-context"]


@pytest.fixture
def units(units_output: StageOutput, tmp_path: Path) -> Path:
    return copied(units_output, tmp_path)


def copied(output: StageOutput, tmp_path: Path) -> Path:
    return Path(shutil.copytree(output.path, tmp_path / "stage"))


@pytest.mark.parametrize(
    ("said", "damage"),
    [*NO_JSON, ("expected a number of frames", value({"u": -1})), ("frames", value({"u": "3"}))],
)
def test_lengths_of_cepstra(corpus: Corpus, features: Path, said: str, damage: Damage) -> None:
    damage(features / "train.json")
    with refused("train.json", said):
        load_cepstra(corpus, features, "train")


@pytest.mark.parametrize(
    ("said", "damage"),
    [
        *NO_ARRAY,
        (r"expected \d+ frames, got \d+", array(lambda x: x[:-1])),
        ("shape", array(lambda x: x.ravel())),
    ],
)
def test_cepstra(corpus: Corpus, features: Path, said: str, damage: Damage) -> None:
    damage(features / "train.npy")
    with refused("train.npy", said):
        load_cepstra(corpus, features, "train")


def test_cepstra_that_are_damaged_after_they_were_opened(corpus: Corpus, features: Path) -> None:
    data = load_cepstra(corpus, features, "train")
    cut(features / "train.npy")
    with refused("train.npy", "reshape"):
        list(data.cepstra)


@pytest.mark.parametrize(
    ("said", "damage"),
    [*NO_JSON, ("KeyError", value({})), ("expected an object", lambda path: _each(path, "GO"))],
)
def test_words(made: Any, corpus: Corpus, tmp_path: Path, said: str, damage: Damage) -> None:
    path = copied(made["words"], tmp_path) / "train.json"
    damage(path)
    with refused("train.json", said):
        read_wording(corpus, path)


def _each(path: Path, new: object) -> None:
    path.write_text(json.dumps(dict.fromkeys(json.loads(path.read_text()), new)))


def test_words_that_are_none(made: Any, corpus: Corpus, tmp_path: Path) -> None:
    path = copied(made["words"], tmp_path) / "train.json"
    _each(path, {"words": [1], "written": []})
    with refused("train.json", r"words\[0\]: expected a text"):
        read_wording(corpus, path)


@pytest.mark.parametrize(
    ("said", "damage"),
    [
        *NO_ARRAY,
        ("shape", array(lambda x: x[:-1])),
        ("shape", array(lambda x: x[None])),
        ("expected numbers from -1", array(lambda x: np.where(x == x[0], np.int32(10**6), x))),
        ("expected numbers from -1", array(lambda x: x - np.int32(9))),
    ],
)
def test_states_of_frames(data: SpeechData, units: Path, said: str, damage: Damage) -> None:
    n_states = load_units(units, data).topology.n_states
    damage(units / "states.npy")
    with refused("states.npy", said):
        load_units(units, data)
    with refused("states.npy", said):
        load_labels(units, data, n_states)


@pytest.mark.parametrize("name", ["topology.json", "failures.json"])
@pytest.mark.parametrize(("said", "damage"), NO_JSON)
def test_units(data: SpeechData, units: Path, name: str, said: str, damage: Damage) -> None:
    damage(units / name)
    with refused(name, "" if name == "topology.json" else said):
        load_units(units, data)


@pytest.fixture(scope="module")
def tuning(made: Any) -> StageOutput:
    return made["tuning-gmm2"]


@pytest.mark.parametrize(
    ("said", "damage"),
    [
        *NO_JSON,
        ("KeyError", value({})),
        ("TypeError", value({"weights": 3})),
        ("lm_scale: expected a number", value({"weights": {"lm_scale": "5"}})),
        ("unknown key lm_scales", value({"weights": {"lm_scales": 5.0}})),
    ],
)
def test_weights(made: Any, tuning: StageOutput, tmp_path: Path, said: str, damage: Damage) -> None:
    path, given = copied(tuning, tmp_path), made.steps["tuning-gmm2"].arguments
    assert options_tuned(given["decoder"], path, given["names"])
    damage(path / "bigram.json")
    with refused("bigram.json", said):
        options_tuned(given["decoder"], path, given["names"])


@pytest.mark.parametrize(
    ("said", "damage"),
    [
        *NO_JSON,
        ("no .*words", value({})),
        ("unknown key y", lambda p: p.write_text(p.read_text().replace(": ", ': "x", "y": ', 1))),
    ],
)
def test_scores(made: Any, tuning: StageOutput, tmp_path: Path, said: str, damage: Damage) -> None:
    path = copied(tuning, tmp_path)
    damage(path / "score-bigram.json")
    with refused("score-bigram.json", said):
        read_rows(path, ("loop", "bigram"), model="gmm2", preset="best", split="dev")


@pytest.mark.parametrize(
    ("said", "damage"),
    [
        *NO_JSON,
        ("KeyError", value({})),
        ("AttributeError", value({"weights": {"hybrid.sigmas": 4.0}})),
        ("ValueError", value({"weights": {"hybrid.sigma": "wide"}})),
    ],
)
def test_choice(tmp_path: Path, said: str, damage: Damage, made: Any) -> None:
    (tmp_path / CHOICE).write_text("{}")
    damage(tmp_path / CHOICE)
    with refused(CHOICE, said):
        chosen_for(made.config, tmp_path)
