"""Which stages a training makes, found by asking the stages themselves and computing none but the first two.

The task's own stages, ``task`` and ``words``, are made: they take moments, and all that is counted comes from
them. Of every other stage only the name is noted, so that what is planned are the stages that training makes,
whatever the options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from asr.config import ExperimentConfig
from asr.corpora.corpus import SPLITS, Corpus
from asr.recipe import LoadedRecipe
from asr.stages.decoding import DecodingStages
from asr.stages.models import ModelStages
from asr.stages.store import StageOutput, StageStore
from asr.stages.task import TaskStages
from asr.systems import HybridSystem, System

Group = Literal["task", "features", "missing words", "GMM", "alignment", "discriminants", "tuning", "test"]
GROUPS: tuple[Group, ...] = get_args(Group)

_MADE = ("task", "words")
_GROUP_OF: Mapping[str, Group] = {
    "task": "task",
    "words": "task",
    "grammars": "task",
    "recognizer": "task",
    "features": "features",
    "pronunciations": "missing words",
    "start": "GMM",
    "gmm": "GMM",
    "alignment": "alignment",
    "units": "alignment",
    "fit": "alignment",
    "confidence": "alignment",
    "choice": "discriminants",
    "hybrid": "discriminants",
    "adapting": "discriminants",
    "tuning": "tuning",
    "test": "test",
}


@dataclass(frozen=True)
class Stage:
    """A stage that training makes.

    Attributes
    ----------
    name : as `asr.stages.store` names its directory, without the key
    """

    name: str

    @property
    def kind(self) -> str:
        """What the stage does, the first part of its name."""
        return self.name.partition("-")[0]

    @property
    def what(self) -> str:
        """The rest of its name, without the split dev at its end."""
        rest = self.name.partition("-")[2]
        return rest.removesuffix("-dev") if rest != "dev" else ""

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that it learns from."""
        return ("train", "dev") if self.name.endswith("-dev") else ("train",)

    @property
    def group(self) -> Group:
        """The group whose seconds its seconds are part of."""
        return _GROUP_OF[self.kind]


class NotingStore(StageStore):
    """A store that makes the stages of the task, and of others notes the names alone."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.noted: dict[str, None] = {}  # names in the order in which they were first asked for

    def run(
        self,
        name: str,
        function: Callable[[Path], None],
        *,
        inputs: Mapping[str, str | StageOutput] | None = None,
        config: object = None,
        other_code: Sequence[str] = (),
    ) -> StageOutput:
        """Return the stage's output, see `StageStore.run`; of most stages a path where nothing is."""
        self.noted[name] = None
        if name in _MADE:
            return super().run(name, function, inputs=inputs, config=config, other_code=other_code)
        return StageOutput(self.directory / f"{name}-planned", f"planned {name}", tuple(other_code))


class _NotingTask(TaskStages):
    """Stages of the task whose splits are read already."""

    def __init__(
        self,
        store: StageStore,
        loaded: LoadedRecipe,
        corpus_dir: Path | None,
        config: ExperimentConfig,
        corpora: dict[str, Corpus],
    ) -> None:
        super().__init__(store, loaded, corpus_dir, config)
        self._corpora = corpora


class _NotingModels(ModelStages):
    """Stages of models; options that are chosen on dev are taken as they are configured."""

    def chosen_config(self, system: HybridSystem) -> ExperimentConfig:
        """Return the configuration after asking for the choice."""
        self.choice(system)
        return self.config


class Walk:
    """The way through a recipe's stages.

    Parameters
    ----------
    loaded, corpus_dir, config : as `asr.experiment.Experiment` takes them
    root : where the task's own stages are kept, as in an experiment directory
    """

    def __init__(
        self, loaded: LoadedRecipe, corpus_dir: Path | None, root: Path, config: ExperimentConfig
    ) -> None:
        self.store = NotingStore(root)
        self._made_from = loaded, corpus_dir, config
        self._corpora: dict[str, Corpus] = {}
        self.task = self._task()

    def check(self, name: str, system: System) -> None:
        """Raise the error that training would raise at once."""
        ModelStages(self.task).check(name, system)

    def stages(self, name: str, system: System) -> tuple[Stage, ...]:
        """Return the stages of one model, those of the task first, as `Experiment.run` makes them."""
        name = name.replace(":", "-")  # as the experiment names them
        self.store.noted.clear()
        task = self._task()  # it asks for each stage once
        models, decoding, config = _NotingModels(task), DecodingStages(task), task.config
        has_dev, has_test = (len(task.corpus(split)) > 0 for split in ("dev", "test"))
        splits = ("train", "dev") if config.retrain_with_dev and has_dev else ("train",)
        self.store.noted.update(dict.fromkeys(_MADE))  # made before
        task.digests(SPLITS)
        task.grammar_files(("train",))
        tuning = decoding.tuning(name, models.acoustic_model(system, ("train",)))
        model = models.acoustic_model(system, splits)
        fit = models.fitting.confidence(name, model, splits)
        recognizer = decoding.recognizer(name, model, tuning, splits, fit)
        if has_test:
            decoding.evaluation(name, recognizer)
        models.fitting.suspicious([system], splits)
        return tuple(map(Stage, self.store.noted))

    def _task(self) -> TaskStages:
        return _NotingTask(self.store, *self._made_from, self._corpora)
