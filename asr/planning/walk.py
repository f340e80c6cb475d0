"""The steps that a training makes, with the group that the time of each is part of.

The steps that prepare the task are made: they take moments, and all that is counted comes from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from asr.config import ExperimentConfig
from asr.corpora.corpus import Corpus
from asr.experiment import Experiment
from asr.pipeline import check_system
from asr.recipe import LoadedRecipe
from asr.store import Outlook
from asr.systems import GrammarName, System

Group = Literal["task", "features", "missing words", "GMM", "alignment", "discriminants", "tuning", "test"]
GROUPS: tuple[Group, ...] = get_args(Group)

_GROUP_OF: Mapping[str, Group] = {
    "task": "task",
    "words": "task",
    "grammars": "task",
    "recognizer": "task",
    "features": "features",
    "pronunciations": "missing words",
    "usable": "GMM",
    "start": "GMM",
    "gmm": "GMM",
    "alignment": "alignment",
    "units": "alignment",
    "fit": "alignment",
    "fitting": "alignment",
    "confidence": "alignment",
    "choice": "discriminants",
    "hybrid": "discriminants",
    "adapting": "discriminants",
    "tuning": "tuning",
    "test": "test",
}


@dataclass(frozen=True)
class Stage:
    """A step that training makes.

    Attributes
    ----------
    name : its name
    """

    name: str

    @property
    def kind(self) -> str:
        """What the step does, the first part of its name."""
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


class Walk:
    """The way through a recipe's steps; those that prepare the task are made when first asked for.

    Parameters
    ----------
    loaded, corpus_dir, config : as `asr.experiment.Experiment` takes them
    root : where the task is kept, as in an experiment directory
    """

    def __init__(
        self, loaded: LoadedRecipe, corpus_dir: Path | None, root: Path, config: ExperimentConfig
    ) -> None:
        self.experiment = Experiment(loaded, corpus_dir, root, config, "")
        self.store = self.experiment.store

    def check(self, name: str, system: System) -> None:
        """Raise the error that training would raise at once."""
        check_system(name, system, self.experiment.config)

    @property
    def grammars(self) -> tuple[GrammarName, ...]:
        """The grammars that are tuned for and tested."""
        return self._begun().found.grammars

    def made(self, name: str) -> Path:
        """Return the directory of a step that prepares the task."""
        return next(self.experiment.path(step) for step in self._begun().begun if step.name == name)

    def corpus(self, split: str) -> Corpus:
        """Return a split of the task."""
        return self._begun().found.corpora[split]

    def stages(self, name: str, system: System) -> tuple[Stage, ...]:
        """Return the steps of one model, those of the task first."""
        steps = self._begun().steps({name.replace(":", "-"): system})
        return tuple(Stage(step.name) for step in steps)

    def outlook(self, systems: Mapping[str, System]) -> list[Outlook]:
        """Return which steps of some models are done."""
        return self._begun().outlook({name.replace(":", "-"): s for name, s in systems.items()})

    def _begun(self) -> Experiment:
        if not self.experiment.begun:
            self.experiment.begin()
        return self.experiment
