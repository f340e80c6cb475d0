"""Accuracy against the number of centres: what can be asked for; training is in training/test_hybrid.py."""

import json
from pathlib import Path

import pytest

from asr import sparsity
from asr.config import ExperimentConfig
from asr.errors import ConfigError, ExperimentError
from asr.files import as_plain
from asr.recipe import built_in_recipes, load_recipe
from asr.settings import with_settings
from asr.sparsity import SparsityRow, config_of, format_sparsity
from asr.verbs import with_preset

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


@pytest.mark.parametrize("preset", ["best", "thesis"])
@pytest.mark.parametrize("model", ["gmm", "gmm2", "svm", "krls"])
def test_models_without_a_number_of_centres(model: str, preset: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"preset": preset}))
    with pytest.raises(
        ConfigError, match=f'model "{model}" has no number of centres.*; expected npd, orols or pools'
    ):
        sparsity(tmp_path, model=model)


def test_an_experiment_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"config\.json: .*not found|config\.json: cannot be read"):
        sparsity(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"config": as_plain(ExperimentConfig())}))
    with pytest.raises(ExperimentError, match=r"config\.json: no 'recipe'; run asr train again"):
        sparsity(tmp_path)


class TestSparsityTable:
    def test_a_row_for_each_size_a_column_for_each_grammar(self, tmp_path: Path) -> None:
        rows = [
            SparsityRow(n, 10 * n, grammar, accuracy, (0.0, 100.0))
            for n, grammar, accuracy in [(25, "loop", 50.0), (25, "bigram", 60.5), (50, "loop", 55.25)]
        ]
        rows.append(SparsityRow(50, 500, "bigram", 70.0, (0.0, 100.0)))
        title, head, *body, empty, place = format_sparsity(rows, tmp_path).splitlines()
        assert (title, empty, place) == ("word accuracy on dev, %", "", str(tmp_path / "sparsity.json"))
        assert head.split() == ["centres", "distinct", "loop", "bigram"]
        assert [line.split() for line in body] == [
            ["25", "250", "50.00", "60.50"],
            ["50", "500", "55.25", "70.00"],
        ]
