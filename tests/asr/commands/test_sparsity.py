"""Accuracy against the number of centres: what can be asked for; training is in training/test_hybrid.py."""

import json
from pathlib import Path

import pytest

from asr import sparsity
from asr.commands.sparsity import SparsityRow, config_of, format_sparsity
from asr.config import ExperimentConfig, with_preset, with_settings
from asr.corpora.amounts import Amount, DataRecord, write_data
from asr.errors import AsrError, ConfigError, ExperimentError
from asr.files import as_plain
from asr.recipe import built_in_recipes, load_recipe

SETTINGS = (
    "grammars=loop,bigram",
    "high_hz=none",
    "gmm.mixtures=1,2",
    "decoder.beam=inf",
    "tuning.lm_scales=5",
)


def through_json(config: ExperimentConfig) -> ExperimentConfig:
    return config_of(json.loads(json.dumps({"config": as_plain(config)})))


@pytest.mark.parametrize("preset", ["best", "thesis"])
@pytest.mark.parametrize("recipe", built_in_recipes())
def test_configurations_come_back_from_json(recipe: str, preset: str) -> None:
    config = with_preset(load_recipe(recipe).recipe.config, preset)
    assert through_json(config) == config
    changed = with_settings(config, SETTINGS)
    assert through_json(changed) == changed != config


def test_experiments_made_before_an_option_was_there_have_its_default() -> None:
    record = json.loads(json.dumps({"config": as_plain(ExperimentConfig())}))
    del record["config"]["pools"]["choice"]
    assert config_of(record) == ExperimentConfig()
    del record["config"]["pools"]["loss"]
    with pytest.raises(KeyError, match="loss"):
        config_of(record)


@pytest.mark.parametrize("preset", ["best", "thesis"])
@pytest.mark.parametrize("model", ["gmm", "gmm2", "svm", "krls"])
def test_models_without_a_number_of_centres(model: str, preset: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"preset": preset}))
    with pytest.raises(
        ConfigError, match=f'model "{model}" has no number of centres.*; expected pools, npd or orols'
    ):
        sparsity(tmp_path, model=model)


def test_an_experiment_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"config\.json: .*not found|config\.json: cannot be read"):
        sparsity(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"config": as_plain(ExperimentConfig())}))
    with pytest.raises(ExperimentError, match=r"config\.json: no 'recipe'; run asr train again"):
        sparsity(tmp_path)


def test_a_model_of_another_preset_than_the_last_training(tmp_path: Path) -> None:
    """What ``config.json`` holds is not how it was trained."""
    (tmp_path / "config.json").write_text(json.dumps({"preset": "thesis"}))
    (tmp_path / "models/pools").mkdir(parents=True)
    write_data(
        DataRecord("folder", "best", {"train": Amount(1, 2, 3, 3, 4)}, ("train",)), tmp_path / "models/pools"
    )
    with pytest.raises(
        ConfigError, match=r"pools is of the preset best, .* --model pools --preset best, which"
    ):
        sparsity(tmp_path)


SCRIPT = """
from pathlib import Path
import asr

(Path(__file__).parent / "executed").touch()
RECIPE = asr.Recipe(prepare=lambda corpus, out: None)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(SCRIPT)
    return path


def write_config(directory: Path, **changes: object) -> None:
    record = {"recipe": "folder", "corpus": None, "models": ["pools"], "preset": "best"}
    config = as_plain(ExperimentConfig())
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(record | {"config": config} | changes))


@pytest.mark.parametrize("named", ["path", "stem", "beside"])
def test_no_script_is_run_that_the_user_does_not_name(script: Path, tmp_path: Path, named: str) -> None:
    changes = {
        "path": {"recipe": str(script)},
        "stem": {"recipe": "mine"},
        "beside": {"recipe": "folder", "script": str(script)},
    }
    write_config(tmp_path / "exp", **changes[named])
    with pytest.raises(
        ExperimentError,
        match=r"exp: trained by a recipe script, which is run only if you name it, expected --recipe .*; add",
    ):
        sparsity(tmp_path / "exp")
    assert not (tmp_path / "executed").exists()


def test_the_script_that_is_named_is_run(script: Path, tmp_path: Path) -> None:
    write_config(tmp_path / "exp", recipe="mine", script="somewhere/else.py")
    with pytest.raises(AsrError, match=r"train"):  # it prepares nothing
        sparsity(tmp_path / "exp", recipe=script)
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"config": []}, "not as asr train writes it"),
        ({"config": {"front_end": 3}}, "not as asr train writes it"),
        ({"corpus": 3}, "not as asr train writes it"),
        ({"recipe": ["folder"]}, "which is run only if you name it"),
        ({"preset": {}}, "is not known"),
    ],
)
def test_a_damaged_configuration_is_one_line(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    write_config(tmp_path / "exp", **changes)
    with pytest.raises(AsrError, match=rf"\A[^\n]*{said}[^\n]*\Z"):
        sparsity(tmp_path / "exp")


def test_a_configuration_that_is_no_object(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ExperimentError, match=r"config\.json: holds a list, expected an object"):
        sparsity(tmp_path)


class TestSparsityTable:
    def test_a_row_for_each_size_a_column_for_each_grammar(self, tmp_path: Path) -> None:
        rows = [
            SparsityRow(n, 10 * n, grammar, accuracy, (0.0, 100.0), f"pairs on {n}")
            for n, grammar, accuracy in [(25, "loop", 50.0), (25, "bigram", 60.5), (50, "loop", 55.25)]
        ]
        rows.append(SparsityRow(50, 500, "bigram", 70.0, (0.0, 100.0), "pairs on 50"))
        title, head, *body, empty, place = format_sparsity(rows, tmp_path).splitlines()
        assert (title, empty, place) == ("word accuracy on dev, %", "", str(tmp_path / "sparsity.json"))
        assert head.split() == ["centres", "distinct", "loop", "bigram"]
        assert [line.split() for line in body] == [
            ["25", "250", "50.00", "60.50", "pairs", "on", "25"],
            ["50", "500", "55.25", "70.00", "pairs", "on", "50"],
        ]
