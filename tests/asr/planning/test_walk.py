"""The stages that are planned are those that training makes, each in a group."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from asr import train
from asr.config import ExperimentConfig, with_preset, with_settings
from asr.planning.walk import GROUPS, Stage, Walk
from asr.recipe import LoadedRecipe, Recipe, load_recipe
from asr.systems import find_system
from recipes.folder import prepare

SMALL, TREES = ("hybrid.min_frames=5",), ("tying.min_frames=60", "tying.min_gain=20")


def made(experiment: Path) -> set[str]:
    """Return the names of the stages of an experiment."""
    return {path.parent.name.rpartition("-")[0] for path in experiment.glob("stages/*/stage.json")}


def planned(root: Path, tones: Path, model: str, preset: str, settings: tuple[str, ...]) -> list[Stage]:
    loaded = load_recipe("folder")
    config = with_settings(with_preset(loaded.recipe.config, preset), settings)
    walk = Walk(loaded, tones, root, config)
    first = walk.stages(model, find_system(model, preset))
    assert walk.stages(model, find_system(model, preset)) == first  # once more, and nothing is forgotten
    return list(first)


def test_the_stages_of_a_gmm(trained: Path, tones: Path, settings: tuple[str, ...], tmp_path: Path) -> None:
    stages = planned(tmp_path, tones, "gmm2", "best", settings)
    assert {stage.name for stage in stages} == made(trained)
    assert len(stages) == len({stage.name for stage in stages})
    assert all(stage.group in GROUPS for stage in stages)
    assert made(tmp_path) == {"task", "words"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "preset", "options"),
    [
        ("npd", "best", (*SMALL, *TREES, "pools.n_centers=10")),
        (
            "npd",
            "best",
            (*SMALL, "retrain_with_dev=false", "hybrid.adaptation=none", "hybrid.units=phone"),
        ),
        ("pools", "best", (*SMALL, *TREES, "hybrid.units=cross-word", "hybrid.warps=", "grammars=bigram")),
        ("orols", "thesis", (*SMALL, "forward.n_centers=10")),
        ("sklearn:naive_bayes.GaussianNB", "best", (*SMALL, "hybrid.units=phone")),
        ("gmm-lda2-cmllr", "best", ()),
    ],
)
def test_the_stages_of_others(
    tones: Path, settings: tuple[str, ...], tmp_path: Path, model: str, preset: str, options: tuple[str, ...]
) -> None:
    own, out = (*settings, *options), tmp_path / "exp"
    train("folder", corpus=tones, out=out, models=[model], preset=preset, settings=own)
    stages = planned(tmp_path / "plan", tones, model, preset, own)
    assert {stage.name for stage in stages} == made(out)
    assert all(stage.group in GROUPS for stage in stages)


def test_without_dev_and_test(tones: Path, tmp_path: Path) -> None:
    def train_alone(corpus_dir: Path, output_dir: Path) -> None:
        prepare(corpus_dir, output_dir)
        shutil.rmtree(output_dir / "dev")
        shutil.rmtree(output_dir / "test")

    loaded = LoadedRecipe("alone", Recipe(train_alone), "its text")
    walk = Walk(loaded, tones, tmp_path, ExperimentConfig())
    names = [stage.name for stage in walk.stages("gmm", find_system("gmm"))]
    assert "features-train" in names
    assert not {"features-dev", "features-test", "test-gmm", "gmm-none-1-dev"}.intersection(names)
    assert "tuning-gmm" in names  # weights next to neutral ones


@pytest.mark.parametrize(
    ("name", "kind", "what", "splits", "group"),
    [
        ("gmm-none-8-dev", "gmm", "none-8", ("train", "dev"), "GMM"),
        ("gmm-lda-16", "gmm", "lda-16", ("train",), "GMM"),
        ("grammars-dev", "grammars", "", ("train", "dev"), "task"),
        ("units-cross-word", "units", "cross-word", ("train",), "alignment"),
        ("adapting-hybrid-npd-pools-dev", "adapting", "hybrid-npd-pools", ("train", "dev"), "discriminants"),
        ("features-train-warp-0.93", "features", "train-warp-0.93", ("train",), "features"),
        ("confidence-npd", "confidence", "npd", ("train",), "alignment"),
    ],
)
def test_names(name: str, kind: str, what: str, splits: tuple[str, ...], group: str) -> None:
    stage = Stage(name)
    assert (stage.kind, stage.what, stage.splits, stage.group) == (kind, what, splits, group)
