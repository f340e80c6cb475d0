"""The stages that train acoustic models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from acoustic.model import load_model, save_model
from asr.data import SpeechData
from asr.errors import ConfigError
from asr.gmm_stages import (
    align_data,
    fit_front_end,
    start_flat,
    start_projected,
    train_components,
    usable_for_training,
)
from asr.stages import StageOutput, write_json
from asr.systems import GmmSystem
from asr.task_stages import TaskStages, split_name

ALIGNER = GmmSystem(8)  # its alignment labels the frames a discriminant projection is learned from


class ModelStages:
    """Acoustic models of a task, each stage made from the one before."""

    def __init__(self, task: TaskStages) -> None:
        self.task = task
        self.store = task.store
        self.config = task.config

    def gmm(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        """Return the acoustic model of a system trained on some splits."""
        schedule = self.config.gmm.mixtures
        if system.n_components not in schedule:
            raise ConfigError(
                f"gmm.mixtures is {', '.join(map(str, schedule))}; "
                f"expected {system.n_components} among them for this model"
            )
        output = self._start(system, splits)
        for stage in range(schedule.index(system.n_components) + 1):
            output = self._components(system, splits, output, stage)
        return output

    def alignment(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        """Return the state of each training frame by a system's model, -1 where there is none."""
        model = self.gmm(system, splits)

        def compute(directory: Path) -> None:
            data = self._training_data(splits)
            alignments, failures = align_data(
                data, load_model(model.path), self.task.lexicon, self.config.gmm.beam
            )
            unknown = [np.full(len(c), -1, np.int32) for c in data.cepstra]
            labels = [u if a is None else a.states for a, u in zip(alignments, unknown, strict=True)]
            with open(directory / "states.npy", "wb") as file:
                np.save(file, np.concatenate(labels))
            write_json(directory / "failures.json", failures)

        return self.store.run(
            split_name(f"alignment-{system.n_components}", splits),
            compute,
            inputs={"model": model.digest, **self.task.digests(splits)},
            config=self.config.gmm.beam,
        )

    def _training_data(self, splits: Sequence[str]) -> SpeechData:
        skip = self.config.unusable == "skip"
        return usable_for_training(self.task.data(splits), self.task.lexicon, leave_out=skip)

    def _start(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        """Return the model a training begins with."""
        return (
            self._flat_start(splits) if system.projection == "none" else self._projected_start(system, splits)
        )

    def _flat_start(self, splits: Sequence[str]) -> StageOutput:
        config = replace(self.config.front_end, projection="none")

        def compute(directory: Path) -> None:
            data = self._training_data(splits)
            save_model(start_flat(data, fit_front_end(config, data), self.task.lexicon), directory)

        return self.store.run(
            split_name("start-none", splits), compute, inputs=self.task.digests(splits), config=config
        )

    def _projected_start(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        config = replace(self.config.front_end, projection=system.projection)
        aligner, alignment = self.gmm(ALIGNER, splits), self.alignment(ALIGNER, splits)

        def compute(directory: Path) -> None:
            data = self._training_data(splits)
            bounds = np.cumsum([len(c) for c in data.cepstra])[:-1]
            labels = np.split(np.load(alignment.path / "states.npy"), bounds)
            save_model(start_projected(data, load_model(aligner.path), labels, config), directory)

        return self.store.run(
            split_name(f"start-{system.projection}", splits),
            compute,
            inputs={"aligner": aligner.digest, "alignment": alignment.digest, **self.task.digests(splits)},
            config=config,
        )

    def _components(
        self, system: GmmSystem, splits: Sequence[str], start: StageOutput, stage: int
    ) -> StageOutput:
        """Return the model after one training stage with a fixed number of Gaussians."""
        gmm = self.config.gmm
        n_components = gmm.mixtures[stage]
        n_iterations = gmm.iterations[min(stage, len(gmm.iterations) - 1)]

        def compute(directory: Path) -> None:
            data, model = self._training_data(splits), load_model(start.path)
            model, history = train_components(data, model, self.task.lexicon, n_components, n_iterations, gmm)
            save_model(model, directory)
            write_json(directory / "history.json", [step._asdict() for step in history])

        return self.store.run(
            split_name(f"gmm-{system.projection}-{n_components}", splits),
            compute,
            inputs={"start": start.digest, **self.task.digests(splits)},
            config={**asdict(gmm), "mixtures": n_components, "iterations": n_iterations},
        )
