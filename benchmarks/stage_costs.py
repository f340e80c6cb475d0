"""CPU seconds and peak memory of each step of an experiment, kept in its directory.

Linux alone says, and resets, the largest memory that a process has had (``/proc/self``). What earlier steps
of a process, and Python with its libraries (some 250 MB), have left in memory counts for each step, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from asr.config import ExperimentConfig
from asr.experiment import Experiment
from asr.files import read_json, write_json
from asr.recipe import LoadedRecipe
from asr.store import StageOutput, StageStore, Step

COSTS = "costs.json"


class MeasuringStore(StageStore):
    """A store that measures the steps it makes, and remembers in their order which were asked for.

    What steps cost that an earlier process made is read from ``costs.json``.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked_for: dict[str, None] = {}
        self.costs: dict[str, dict[str, float]] = {}
        if (root / COSTS).is_file():
            self.costs = read_json(root / COSTS)

    def output(self, step: Step) -> StageOutput:
        """Return a step's output, see `StageStore.output`."""
        found = super().output(step)
        self.asked_for[step.name] = None
        return found

    def _made(
        self, path: Path, name: str, function: Callable[[Path], None], decisive: Mapping[str, Any]
    ) -> str:
        reset_peak()
        start = time.process_time()
        digest = super()._made(path, name, function, decisive)
        cpu_s = time.process_time() - start
        self.costs[name] = {"cpu_s": round(cpu_s, 2), "peak_mb": round(peak_mb(), 1)}
        write_json(self.root / COSTS, self.costs)
        return digest


class MeasuredExperiment(Experiment):
    """An experiment whose steps are measured."""

    def __init__(
        self, loaded: LoadedRecipe, corpus_dir: Path | None, out: Path, config: ExperimentConfig, preset: str
    ) -> None:
        self.measuring = MeasuringStore(out)
        super().__init__(loaded, corpus_dir, out, config, preset, self.measuring)

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
