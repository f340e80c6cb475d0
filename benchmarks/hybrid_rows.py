"""The rows of thesis table 4.2: what is trained, and what it costs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acoustic.emissions.aligned_frames import aligned_frames, halves
from acoustic.emissions.combined import uncombined
from acoustic.emissions.hybrid import train_emissions
from acoustic.emissions.kinds import describe
from acoustic.emissions.model_files import TENSORS_NAME, AcousticModel, load_model
from asr.config import ExperimentConfig
from asr.experiment import Experiment
from asr.files import read_json
from asr.stages.store import RECORD, StageOutput
from asr.systems import GmmSystem, HybridSystem, System, find_system

POOLS = "npd-pools"  # NPD whose centres are shared by the pairs of a state

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

    def trained(self, splits: Sequence[str]) -> StageOutput:
        """Return the acoustic model trained on some splits."""
        return self.experiment.models.acoustic_model(self.system, splits)

    def tuned(self) -> StageOutput:
        """Return weights and scores on dev of the model trained on train alone."""
        return self.experiment.decoding.tuning(self.name, self.trained(TRAIN))

    def tested(self) -> StageOutput:
        """Return words and scores on test of the model trained on train and dev."""
        decoding, model = self.experiment.decoding, self.trained(EVERYTHING)
        return decoding.evaluation(self.name, decoding.recognizer(self.name, model, self.tuned(), EVERYTHING))


def row_of(experiment: Experiment, name: str) -> Row:
    """Return the row of a model's name, or of `POOLS`."""
    if name == POOLS:
        return Row(name, HybridSystem("pools"), experiment)
    return Row(name, find_system(name, experiment.preset), experiment)


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
            train_emissions(row.system.way, chosen, config.hybrid, config.of_way(row.system.way))


@dataclass(frozen=True)
class Cost:
    """What a hybrid costs.

    Attributes
    ----------
    centers_per_machine, distinct_centers : training frames that machines, and all together, hold
    training_cpu_s : CPU seconds of the stage that trained it, from aligned cepstra to a stored model; None
        where it was
        not recorded
    megabytes : size of the model's tensors
    """

    centers_per_machine: float
    distinct_centers: int
    training_cpu_s: float | None
    megabytes: float


def cost_of(row: Row, splits: Sequence[str]) -> Cost | None:
    """Return what a row's model trained on some splits costs; None of a GMM."""
    if isinstance(row.system, GmmSystem):
        return None
    output = row.trained(splits)
    seconds = read_json(output.path / RECORD).get("seconds", {}).get("cpu")
    size = (output.path / TENSORS_NAME).stat().st_size / 1e6
    return Cost(*n_centers(load_model(output.path)), seconds, size)


def n_centers(model: AcousticModel) -> tuple[float, int]:
    """Return the mean number of centres of a machine, and that of distinct ones."""
    made_of = describe(uncombined(model.emissions))
    return made_of.get("centers_a_pair", made_of["centers"]), made_of["centers"]


def scoring_speed(row: Row) -> float:
    """Return the CPU seconds of all scores of a second of test recordings, features given."""
    model, data = load_model(row.trained(EVERYTHING).path), row.experiment.task.data(("test",))
    frames = model.front_end.transform(data.cepstra, data.speakers)
    model.emissions.log_likelihoods(frames[0])
    start = time.process_time()
    for f in frames:
        model.emissions.log_likelihoods(f)
    recorded_s = sum(map(len, frames)) * model.front_end.frame_shift_s
    return (time.process_time() - start) / recorded_s
