"""The stages that train acoustic models."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from acoustic.model import load_model, save_model
from acoustic.ways import check_way
from asr.config import ExperimentConfig
from asr.corpora.speech_data import SpeechData
from asr.errors import ConfigError
from asr.files import as_stage_wrote, read_json, write_json
from asr.stages.fitting import FittingStages
from asr.stages.store import StageOutput
from asr.stages.task import TaskStages, split_name
from asr.systems import GmmSystem, HybridSystem, System, other_code
from asr.training.choice import DevFrames, choose, chosen_config, said_values, values_of
from asr.training.gmm import (
    fit_front_end,
    start_flat,
    start_projected,
    train_components,
    warn_of_untrained_phones,
)
from asr.training.hybrid import (
    context_units,
    discriminant_frames,
    hybrid_frames,
    hybrid_front_end,
    load_labels,
    load_units,
    own_units,
    save_labels,
    save_units,
    train_hybrid,
    with_targets,
)
from features.frontend import FrontEndConfig, Projection

CHOICE = "choice.json"
logger = logging.getLogger(__name__)

_ALIGNER_COMPONENTS = 8  # at most; with more the alignment fits the training data too closely


class ModelStages:
    """Acoustic models of a task, each stage made from the one before."""

    def __init__(self, task: TaskStages) -> None:
        self.task = task
        self.store = task.store
        self.config = task.config
        self.fitting = FittingStages(task, self.aligner, self.gmm)

    @property
    def aligner(self) -> GmmSystem:
        """The model whose alignment labels the frames a discriminant projection is learned from."""
        schedule = self.config.gmm.mixtures
        return GmmSystem(max((n for n in schedule if n <= _ALIGNER_COMPONENTS), default=schedule[0]))

    def check(self, name: str, system: System) -> None:
        """Raise an error if the configuration has no place for a system."""
        schedule = self.config.gmm.mixtures
        if isinstance(system, GmmSystem) and system.n_components not in schedule:
            stem = "gmm-lda" if system.projection == "lda" else "gmm"
            raise ConfigError(
                f'model "{name}" has {system.n_components} Gaussians a state, expected a number in '
                f"gmm.mixtures, got {', '.join(map(str, schedule))}; "
                f"train {' or '.join(f'{stem}{n}' for n in schedule)}, "
                "or change gmm.mixtures"
            )
        if isinstance(system, HybridSystem):
            check_way(system.way, self.config.hybrid)
            self._check_choice(system)
        self.config.front_end.front_end(self._projection(system)).check()

    def _check_choice(self, system: HybridSystem) -> None:
        """Raise an error if there are values to choose from, but no alignment of dev to choose them by."""
        values, units = values_of(system.way, self.config), self.config.hybrid.units
        if values and units != "phone":
            raise ConfigError(
                f"chosen_on_dev: {', '.join(values)} with hybrid.units={units}, expected "
                "hybrid.units=phone, since only phones are aligned on dev; set them instead"
            )

    def _projection(self, system: System) -> Projection:
        return system.projection if isinstance(system, GmmSystem) else self.config.hybrid.input_projection

    def acoustic_model(self, system: System, splits: Sequence[str]) -> StageOutput:
        """Return the acoustic model of a system trained on some splits."""
        if isinstance(system, HybridSystem):
            return self.hybrid(system, splits)
        model = self.gmm(system, splits)
        return self._adapting(model, self.alignment(system, splits), splits) if system.adapts else model

    def _adapting(self, model: StageOutput, labels: StageOutput, splits: Sequence[str]) -> StageOutput:
        """Return a model that adapts to speakers."""

        def compute(directory: Path) -> None:
            data, trained = self.fitting.data(splits), load_model(model.path)
            found = load_labels(labels.path, data, trained.topology.n_states)
            save_model(with_targets(data, trained, found), directory)

        return self.store.run(
            f"adapting-{model.path.name.rsplit('-', 1)[0]}",
            compute,
            inputs={"model": model, "labels": labels, **self.task.digests(splits)},
        )

    def gmm(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        """Return the acoustic model of a GMM trained on some splits."""
        output = self._start(system, splits)
        for stage in range(self.config.gmm.mixtures.index(system.n_components) + 1):
            output = self._components(system, splits, output, stage)
        return output

    def alignment(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        """Return the state of each training frame by a system's model, -1 where there is none."""
        model = self.gmm(system, splits)

        def compute(directory: Path) -> None:
            data = self.fitting.data(splits)
            units = own_units(data, load_model(model.path), self.task.lexicon, self.config.gmm.beam)
            save_labels(units, directory)

        return self.store.run(
            split_name(f"alignment-{system.n_components}", splits),
            compute,
            inputs={"model": model.digest, "fit": self.fitting.digest(splits), **self.task.digests(splits)},
            config=self.config.gmm.beam,
        )

    def hybrid(self, system: HybridSystem, splits: Sequence[str]) -> StageOutput:
        """Return the acoustic model of a hybrid trained on some splits."""
        units = self.units(splits)
        model = self._hybrid(system, splits, units)
        return model if self.config.hybrid.adaptation == "none" else self._adapting(model, units, splits)

    def _hybrid(self, system: HybridSystem, splits: Sequence[str], units: StageOutput) -> StageOutput:
        """Return a hybrid trained on units, before it adapts."""
        aligner, chosen = self.gmm(self.aligner, splits), self.chosen_config(system)
        hybrid, own = chosen.hybrid, chosen.of_way(system.way)
        config = self._hybrid_front_end

        def compute(directory: Path) -> None:
            copies = self.training_copies(splits)
            aligned = load_units(units.path, copies[0])
            front_end = hybrid_front_end(copies, aligned, config)
            model = load_model(aligner.path)
            trained = train_hybrid(system.way, copies, aligned, front_end, hybrid, own, model)
            save_model(trained, directory)

        used = [split for split in splits if len(self.task.corpus(split))]
        warped = {f"{s} {w:g}": self.task.features(s, w).digest for w in hybrid.warps for s in used}
        return self.store.run(
            split_name(f"hybrid-{system.way.replace(':', '-')}", splits),
            compute,
            inputs={"units": units.digest, "aligner": aligner.digest, **self.task.digests(splits), **warped},
            config={"front_end": config, "hybrid": hybrid.of_training(), "own": own},
            other_code=other_code(system.way),
        )

    @property
    def _hybrid_front_end(self) -> FrontEndConfig:
        hybrid = self.config.hybrid
        return self.config.front_end.front_end(hybrid.input_projection, keep_cepstra=hybrid.gmm_weight > 0)

    def chosen_config(self, system: HybridSystem) -> ExperimentConfig:
        """Return the configuration with the options of a hybrid that are chosen on the dev set."""
        choice = self.choice(system)
        if choice is None:
            return self.config
        with as_stage_wrote(choice.path / CHOICE):
            return chosen_config(self.config, read_json(choice.path / CHOICE)["weights"])

    def choice(self, system: HybridSystem) -> StageOutput | None:
        """Return the options chosen on dev and all that was tried; None where there is nothing to choose."""
        values = values_of(system.way, self.config)
        if not values:
            return None
        if not len(self.task.corpus("dev")):
            named = ", ".join(values)
            logger.warning("%s: no dev set to choose %s on; they are used as configured", system.way, named)
            return None
        splits, hybrid = ("train",), self.config.hybrid
        units, aligner, config = self.units(splits), self.gmm(self.aligner, splits), self._hybrid_front_end

        def compute(directory: Path) -> None:
            data, spoken = self.fitting.data(splits), self.task.data(("dev",))
            aligned = load_units(units.path, data)
            front_end = hybrid_front_end([data], aligned, config)
            of_dev = own_units(spoken, load_model(aligner.path), self.task.lexicon, self.config.gmm.beam)
            dev = DevFrames(
                np.concatenate(discriminant_frames(spoken, front_end)), np.concatenate(of_dev.labels)
            )
            found = choose(system.way, hybrid_frames([data], aligned, front_end, hybrid), dev, self.config)
            logger.info("%s: chosen on dev: %s", system.way, said_values(found.weights))
            write_json(directory / CHOICE, asdict(found))

        return self.store.run(
            f"choice-{system.way}",
            compute,
            inputs={"units": units, "aligner": aligner, **self.task.digests(("train", "dev"))},
            config={
                "front_end": config,
                "hybrid": hybrid.of_training(),
                "own": self.config.of_way(system.way),
                "values": values,
                "beam": self.config.gmm.beam,
            },
            other_code=other_code(system.way),
        )

    def training_copies(self, splits: Sequence[str]) -> list[SpeechData]:
        """Return the usable data of some splits and their warped copies, from which hybrids learn."""
        data = self.fitting.data(splits)
        return [data, *(self._like(data, splits, warp) for warp in self.config.hybrid.warps)]

    def _like(self, data: SpeechData, splits: Sequence[str], warp: float) -> SpeechData:
        """Return the same utterances with their frequencies warped."""
        warped = self.task.data(splits, warp)
        return warped.without(set(warped.corpus.ids) - set(data.corpus.ids))

    def units(self, splits: Sequence[str]) -> StageOutput:
        """Return the states that hybrids tell apart and the state of each training frame."""
        model, units_name = self.gmm(self.aligner, splits), self.config.hybrid.units
        is_contextual, crosses_words = units_name != "phone", units_name == "cross-word"

        def compute(directory: Path) -> None:
            data, aligner = self.fitting.data(splits), load_model(model.path)
            lexicon, beam = self.task.lexicon, self.config.gmm.beam
            if is_contextual:
                units = context_units(data, aligner, lexicon, beam, self.config.tying, crosses_words)
            else:
                units = own_units(data, aligner, lexicon, beam)
            save_units(units, directory)

        return self.store.run(
            split_name(f"units-{units_name}", splits),
            compute,
            inputs={"model": model.digest, "fit": self.fitting.digest(splits), **self.task.digests(splits)},
            config={"beam": self.config.gmm.beam, "tying": self.config.tying if is_contextual else None},
        )

    def _start(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        """Return the model a training begins with."""
        return (
            self._flat_start(splits) if system.projection == "none" else self._projected_start(system, splits)
        )

    def _flat_start(self, splits: Sequence[str]) -> StageOutput:
        config = self.config.front_end.front_end()

        def compute(directory: Path) -> None:
            data = self.fitting.usable(splits)
            if tuple(splits) == ("train",):
                warn_of_untrained_phones(data, self.task.lexicon)
            save_model(start_flat(data, fit_front_end(config, data), self.task.lexicon), directory)

        return self.store.run(
            split_name("start-none", splits),
            compute,
            inputs=self.task.digests(splits),
            config={"front_end": config, "unusable": self.config.most_unusable},
        )

    def _projected_start(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        config = self.config.front_end.front_end(system.projection)
        aligner, alignment = self.gmm(self.aligner, splits), self.alignment(self.aligner, splits)

        def compute(directory: Path) -> None:
            data = self.fitting.data(splits)
            model = load_model(aligner.path)
            labels = load_labels(alignment.path, data, model.topology.n_states)
            save_model(start_projected(data, model, labels, config), directory)

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
        # What does not fit is known as soon as the aligner is trained.
        fits_only = system.projection != "none" or n_components > self.aligner.n_components
        fit = {"fit": self.fitting.digest(splits)} if fits_only else {}

        def compute(directory: Path) -> None:
            data = self.fitting.data(splits) if fits_only else self.fitting.usable(splits)
            model = load_model(start.path)
            model, history = train_components(data, model, self.task.lexicon, n_components, n_iterations, gmm)
            save_model(model, directory)
            write_json(directory / "history.json", [step._asdict() for step in history])

        return self.store.run(
            split_name(f"gmm-{system.projection}-{n_components}", splits),
            compute,
            inputs={"start": start.digest, **fit, **self.task.digests(splits)},
            config={**asdict(gmm), "mixtures": n_components, "iterations": n_iterations},
        )
