"""The rows of thesis table 4.2: what is trained, and what it costs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from made_steps import Made

from acoustic.emissions.aligned_frames import aligned_frames, halves
from acoustic.emissions.emission_model import uncombined
from acoustic.emissions.kinds import describe
from acoustic.model import TENSORS_NAME, AcousticModel, load_model
from acoustic.ways import train_emissions
from asr.config import ExperimentConfig
from asr.experiment import Experiment
from asr.files import read_json
from asr.pipeline import on_splits
from asr.store import RECORD, StageOutput
from asr.systems import GmmSystem, HybridSystem, System, find_system

POOLS = "pools"  # centres that NPD selects for each state, shared by the state's pairs; least squares

TRAIN, EVERYTHING = ("train",), ("train", "dev")


@dataclass(frozen=True)
class Row:
    """One row; its stages run when their output is first asked for.

    Attributes
    ----------
    name : name of the row in tables and of its stages
    system : what is trained
    experiment : experiment with the row's configuration
    """

    name: str
    system: System
    experiment: Experiment

    @property
    def splits(self) -> tuple[str, ...]:
        """What the model that is tested is trained on."""
        return EVERYTHING if self.experiment.config.retrain_with_dev else TRAIN

    @cached_property
    def made(self) -> Made:
        """The steps of the row's model."""
        return Made(self.experiment, named={self.name: self.system})

    def trained(self, splits: Sequence[str]) -> StageOutput:
        """Return the acoustic model trained on some splits."""
        return self.made.model(self.name, splits)

    def tuned(self) -> StageOutput:
        """Return weights and scores on dev of the model trained on train alone."""
        return self.made[f"tuning-{self.name}"]

    def tested(self) -> StageOutput:
        """Return words and scores on test of the model that is tested."""
        return self.made[f"test-{self.name}"]


def row_of(experiment: Experiment, name: str) -> Row:
    """Return the row of a model's name."""
    return Row(name, find_system(name, experiment.preset), experiment)


def with_thesis_pools(config: ExperimentConfig) -> ExperimentConfig:
    """Return a configuration whose pools differ from the thesis only in that a state's pairs share them."""
    return replace(config, pools=replace(config.pools, n_centers=100, loss="squared"))


def reconfigured(experiment: Experiment, config: ExperimentConfig) -> Experiment:
    """Return an experiment with another configuration in the same directory."""
    return Experiment(experiment.loaded, experiment.corpus_dir, experiment.out, config, experiment.preset)


def compile_kernels(rows: Sequence[Row]) -> None:
    """Train the rows' hybrids on a few frames, so that no stage's seconds hold those of a compiler."""
    rng = np.random.default_rng(0)
    labels = [np.repeat(np.arange(3, dtype=np.int32), 20)] * 4
    frames = [rng.normal(size=(60, 4)).astype(np.float32) for _ in labels]
    chosen = aligned_frames(
        lambda: enumerate(frames), labels, halves("abcd"), 3, max_frames=100, min_frames=1
    )
    for row in rows:
        if isinstance(row.system, HybridSystem):
            config = row.experiment.config
            model = train_emissions(row.system.way, chosen, config.hybrid, config.of_way(row.system.way))
            model.log_likelihoods(frames[0])


@dataclass(frozen=True)
class Cost:
    """What a model costs.

    Attributes
    ----------
    centers_per_machine, distinct_centers : training frames that machines, and all together, hold; None of a
        mixture model
    training_cpu_s : CPU seconds of the stages that trained it: of a hybrid from aligned cepstra to a stored
        model, of a mixture model those of all its stages; None where they were not recorded
    megabytes : size of the model's tensors
    """

    centers_per_machine: float | None
    distinct_centers: int | None
    training_cpu_s: float | None
    megabytes: float


def cost_of(row: Row, splits: Sequence[str]) -> Cost:
    """Return what a row's model trained on some splits costs."""
    output = row.trained(splits)
    size = (output.path / TENSORS_NAME).stat().st_size / 1e6
    if isinstance(row.system, GmmSystem):
        return Cost(None, None, _mixture_seconds(row, row.system, splits), size)
    return Cost(*n_centers(load_model(output.path)), seconds_of(output), size)


def seconds_of(output: StageOutput) -> float | None:
    """Return the CPU seconds that a stage recorded."""
    seconds: float | None = read_json(output.path / RECORD).get("seconds", {}).get("cpu")
    return seconds


def _mixture_seconds(row: Row, system: GmmSystem, splits: Sequence[str]) -> float | None:
    """Return the CPU seconds of all stages from one Gaussian a state on."""
    sizes = [n for n in row.experiment.config.gmm.mixtures if n <= system.n_components]
    outputs = [row.made[on_splits(f"gmm-{system.projection}-{n}", splits)] for n in sizes]
    seconds = [seconds_of(output) for output in outputs]
    return None if None in seconds else sum(s for s in seconds if s is not None)


def n_centers(model: AcousticModel) -> tuple[float, int]:
    """Return the mean number of centres of a machine, and that of distinct ones."""
    made_of = describe(uncombined(model.emissions))
    return made_of.get("centers_a_pair", made_of["centers"]), made_of["centers"]


def scoring_speed(row: Row) -> float:
    """Return the CPU seconds of all scores of a second of test recordings, features given."""
    model, data = load_model(row.trained(row.splits).path), row.made.data("test")
    frames = model.front_end.transform(data.cepstra, data.speakers)
    model.emissions.log_likelihoods(frames[0])
    start = time.process_time()
    for f in frames:
        model.emissions.log_likelihoods(f)
    recorded_s = sum(map(len, frames)) * model.front_end.frame_shift_s
    return (time.process_time() - start) / recorded_s
