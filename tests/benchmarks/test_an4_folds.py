"""The comparison in folds: a model with an option of its own, and the section of a page."""

from pathlib import Path

import pytest
from an4_folds import page_section, with_own_settings

from asr.config import ExperimentConfig
from asr.errors import ConfigError
from asr.experiment import Experiment
from asr.recipe import load_recipe


def row(model: str, grammar: str, accuracy: float) -> dict[str, object]:
    return {
        "model": model,
        "grammar": grammar,
        "word_accuracy": accuracy,
        "interval": (accuracy - 1, accuracy + 1),
    }


def difference(grammar: str, points: float) -> dict[str, object]:
    return {
        "grammar": grammar,
        "first": "pools",
        "second": "npd",
        "difference": points,
        "interval": (points - 0.5, points + 0.5),
        "p_value": 0.012345,
        "speakers_better": 7,
        "speakers_worse": 3,
    }


def test_a_page_has_models_then_their_differences() -> None:
    rows = [row(m, g, a) for m, a in (("pools", 90.0), ("npd", 91.25)) for g in ("loop", "bigram")]
    found = page_section(rows, [difference("loop", 1.25), difference("bigram", -0.25)])
    assert found.splitlines() == [
        "|  | loop | bigram | speakers better / worse, loop | speakers better / worse, bigram |",
        "| --- | --- | --- | --- | --- |",
        "| `pools` | 90.0 (89.0–91.0) | 90.0 (89.0–91.0) |  |  |",
        "| `npd` | 91.2 (90.2–92.2) | 91.2 (90.2–92.2) |  |  |",
        "| `npd` − `pools` | +1.2 (+0.8, +1.8), p 0.012 | −0.2 (−0.8, +0.2), p 0.012 | 7 / 3 | 7 / 3 |",
    ]


def test_a_model_may_have_an_option_of_its_own(tmp_path: Path) -> None:
    task = Experiment(load_recipe("an4"), None, tmp_path, ExperimentConfig(), "best")
    assert with_own_settings(task, "npd").config == ExperimentConfig()
    assert with_own_settings(task, "pools@pools.n_centers=7").config.pools.n_centers == 7
    with pytest.raises(ConfigError, match=r"pools\.n_center: unknown option; did you mean pools\.n_centers"):
        with_own_settings(task, "pools@pools.n_center=7")
