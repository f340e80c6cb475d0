"""The trained experiment on the tone language, copied, so that tests may make further stages of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.experiment import Experiment
from asr.recipe import LoadedRecipe, Recipe, load_recipe
from asr.settings import with_settings
from asr.stages.task import TaskStages
from asr.store import StageStore

Tasks = Callable[..., TaskStages]


@pytest.fixture(scope="session")
def experiment(
    tones: Path, trained: Path, settings: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Experiment:
    """Return the experiment whose stages are made already, but for what no test has asked for yet."""
    out = tmp_path_factory.mktemp("stages") / "exp"
    shutil.copytree(trained, out)
    loaded = load_recipe("folder")
    return Experiment(loaded, tones, out, with_settings(loaded.recipe.config, settings), "best")


@pytest.fixture
def task_of(tmp_path: Path, experiment: Experiment) -> Tasks:
    """Return a function that gives the stages of a task some function prepares."""

    def make(prepare: Callable[[Path, Path], None], *settings: str, corpus: Path | None = None) -> TaskStages:
        loaded = LoadedRecipe("mine", Recipe(prepare), "its text")
        config = with_settings(experiment.config, settings)
        return TaskStages(StageStore(tmp_path / "exp"), loaded, corpus, config)

    return make
