"""The trained experiment on the tone language, copied, so that tests may make further steps of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from made_steps import Made

from asr.config import with_settings
from asr.experiment import Experiment
from asr.recipe import LoadedRecipe, Recipe, load_recipe


@pytest.fixture(scope="session")
def experiment(
    tones: Path, trained: Path, settings: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Experiment:
    """Return the experiment whose steps are made already, but for what no test has asked for yet."""
    out = tmp_path_factory.mktemp("steps") / "exp"
    shutil.copytree(trained, out)
    loaded = load_recipe("folder")
    return Experiment(loaded, tones, out, with_settings(loaded.recipe.config, settings), "best")


@pytest.fixture(scope="session")
def made(experiment: Experiment) -> Made:
    """Return the steps of the experiment."""
    return Made(experiment)


Tasks = Callable[..., Experiment]


@pytest.fixture
def task_of(tmp_path: Path, experiment: Experiment) -> Tasks:
    """Return a function that gives an experiment on a task some function prepares."""

    def make(prepare: Callable[[Path, Path], None], *settings: str, corpus: Path | None = None) -> Experiment:
        loaded = LoadedRecipe("mine", Recipe(prepare), "its text")
        config = with_settings(experiment.config, settings)
        return Experiment(loaded, corpus, tmp_path / "exp", config, "best")

    return make


@pytest.fixture(scope="session")
def made_of() -> type[Made]:
    """Return what gives the steps of an experiment by their names."""
    return Made
