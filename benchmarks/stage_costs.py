"""CPU seconds and peak memory of each stage of an experiment, kept in its directory.

Linux alone says, and resets, the largest memory that a process has had (``/proc/self``). What earlier stages
of a process, and Python with its libraries (some 250 MB), have left in memory counts for each stage, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asr.stages.decoding import DecodingStages
from asr.stages.models import ModelStages
from asr.stages.task import TaskStages

from asr.config import ExperimentConfig
from asr.experiment import Experiment
from asr.files import read_json, write_json
from asr.recipe import LoadedRecipe
from asr.store import StageOutput, StageStore

COSTS = "costs.json"


class MeasuringStore(StageStore):
    """A store that measures the stages it makes, and remembers in their order which were asked for.

    What stages cost that an earlier process made is read from ``costs.json``. A stage that makes another one
    on its way is charged without it.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked_for: list[str] = []
        self.costs: dict[str, dict[str, float]] = {}
        if (root / COSTS).is_file():
            self.costs = read_json(root / COSTS)
        self._running: list[dict[str, float]] = []

    def run(
        self,
        name: str,
        function: Callable[[Path], None],
        *,
        inputs: Mapping[str, str | StageOutput] | None = None,
        config: object = None,
        other_code: Sequence[str] = (),
    ) -> StageOutput:
        """Return the stage's output, see `StageStore.run`."""

        def measured(directory: Path) -> None:
            with self._measuring(name):
                function(directory)

        output = super().run(name, measured, inputs=inputs, config=config, other_code=other_code)
        if name not in self.asked_for:
            self.asked_for.append(name)
        return output

    @contextmanager
    def _measuring(self, name: str) -> Iterator[None]:
        if self._running:
            self._running[-1]["peak_mb"] = max(self._running[-1]["peak_mb"], peak_mb())
        own = {"peak_mb": 0.0, "others_cpu_s": 0.0}
        self._running.append(own)
        reset_peak()
        start = time.process_time()
        try:
            yield
        finally:
            self._running.pop()
        cpu_s = time.process_time() - start
        if self._running:
            self._running[-1]["others_cpu_s"] += cpu_s
        self.costs[name] = {
            "cpu_s": round(cpu_s - own["others_cpu_s"], 2),
            "peak_mb": round(max(own["peak_mb"], peak_mb()), 1),
        }
        write_json(self.root / COSTS, self.costs)
        reset_peak()


class MeasuredExperiment(Experiment):
    """An experiment whose stages are measured."""

    def __init__(
        self, loaded: LoadedRecipe, corpus_dir: Path | None, out: Path, config: ExperimentConfig, preset: str
    ) -> None:
        super().__init__(loaded, corpus_dir, out, config, preset)
        self.store = self.measuring = MeasuringStore(out)
        self.task = TaskStages(self.store, loaded, corpus_dir, config)
        self.models = ModelStages(self.task)
        self.decoding = DecodingStages(self.task)

    def costs(self) -> dict[str, dict[str, float]]:
        """Return what the stages cost that were asked for, in their order."""
        known: dict[str, Any] = self.measuring.costs
        return {name: known[name] for name in self.measuring.asked_for if name in known}


def peak_mb() -> float:
    """Return the largest memory of this process since `reset_peak`, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def reset_peak() -> None:
    """Let the largest memory begin anew from what the process has now."""
    Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets the peak resident set size
