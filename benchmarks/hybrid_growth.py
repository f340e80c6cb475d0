"""How the hybrids of thesis table 4.2 grow with the frames they are trained on.

More frames are copies of the training recordings with a longer or shorter vocal tract (``hybrid.warps``), and
so many more frames of a state at most (``hybrid.max_frames``). Models are trained on train alone and scored
on dev.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from hybrid_rows import POOLS, TRAIN, Cost, cost_of, reconfigured, row_of
from report import print_table

from asr.experiment import Experiment

GROWING = ("svm", "npd", "orols", POOLS)
WARPS = {1: (), 2: (0.94,), 4: (0.94, 1.06, 1.12)}  # of the copies beside the recordings themselves


@dataclass(frozen=True)
class Size:
    """A model trained on some times the frames.

    Attributes
    ----------
    model : name of the row
    times : number of frames, as a multiple of those of the recordings alone
    cost : cost of training and storing
    word_accuracy : word accuracy on dev with each grammar, where the decoder weights were tuned, too
    """

    model: str
    times: int
    cost: Cost
    word_accuracy: dict[str, float]


def with_frames(experiment: Experiment, times: int) -> Experiment:
    """Return an experiment with so many times the frames, in the same directory."""
    hybrid = experiment.config.hybrid
    larger = replace(hybrid, warps=WARPS[times], max_frames=times * hybrid.max_frames)
    return reconfigured(experiment, replace(experiment.config, hybrid=larger))


def measure_growth(experiment: Experiment, names: Sequence[str], times: Sequence[int]) -> list[Size]:
    """Return what each model costs and reaches at each size."""
    sizes = []
    for name in names:
        for n in times:
            row = row_of(with_frames(experiment, n), name)
            cost = cost_of(row, TRAIN)
            if cost is None:
                raise TypeError(f"expected a hybrid to grow, got {name}")
            results = row.experiment.decoding.rows(row.tuned(), model=name, preset="", split="dev")
            sizes.append(Size(name, n, cost, {r.grammar: r.word_accuracy for r in results}))
    return sizes


def powers(sizes: Sequence[Size]) -> list[dict[str, object]]:
    """Return with which power of the frames a model's distinct centres and CPU seconds grow."""
    found: list[dict[str, object]] = []
    for name in dict.fromkeys(size.model for size in sizes):
        own = [size for size in sizes if size.model == name]
        times = [size.times for size in own]
        distinct = power(times, [size.cost.distinct_centers for size in own])
        seconds = power(times, [size.cost.training_cpu_s for size in own])
        found.append({"model": name, "distinct_centers": distinct, "training_cpu_s": seconds})
    return found


def power(times: Sequence[int], values: Sequence[float | None]) -> float | None:
    """Return the slope on logarithmic axes; None where a value is missing or there is one only."""
    known = [value for value in values if value]
    if len(known) < max(len(times), 2):
        return None
    return round(float(np.polyfit(np.log(times), np.log(known), 1)[0]), 2) + 0.0  # no minus zero


def print_growth(sizes: Sequence[Size]) -> None:
    grammars = list(sizes[0].word_accuracy)
    head = ("model", "x frames", "centres a machine", "distinct", "training CPU s", "MB")
    cells = [
        (
            s.model,
            s.times,
            s.cost.centers_per_machine,
            s.cost.distinct_centers,
            s.cost.training_cpu_s,
            s.cost.megabytes,
            *(s.word_accuracy[g] for g in grammars),
        )
        for s in sizes
    ]
    print_table((*head, *(f"dev {g} %" for g in grammars)), cells)
    rows = [tuple(row.values()) for row in powers(sizes)]
    print_table(("grows as frames to the power", "distinct", "training CPU s"), rows)


def growth_record(sizes: Sequence[Size]) -> dict[str, object]:
    """Return what the JSON holds."""
    return {"sizes": [asdict(size) for size in sizes], "powers": powers(sizes)}
