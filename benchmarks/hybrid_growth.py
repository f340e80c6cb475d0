"""How the hybrids of thesis table 4.2 grow with the frames they are trained on.

More frames are copies of the training recordings with a longer or shorter vocal tract (``hybrid.warps``), and
so many more frames of a state at most (``hybrid.max_frames``). Models are trained on train alone and scored
on dev. Support vector machines are trained on all pairs at the first size only; at the others a random sample
of pairs is trained, and their CPU seconds are extrapolated to all pairs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import matplotlib
import numpy as np
from hybrid_rows import TRAIN, Cost, cost_of, reconfigured, row_of
from markdown import markdown_table
from sklearn.svm import SVC

from acoustic.emissions.aligned_frames import AlignedFrames
from acoustic.pairs.class_frames import ClassFrames
from acoustic.pairs.coupling import all_pairs
from asr.experiment import Experiment
from asr.files import read_json, write_json
from asr.stages.store import StageOutput
from asr.systems import HybridSystem
from asr.training.hybrid import hybrid_frames, hybrid_front_end, load_units

matplotlib.use("Agg")
import matplotlib.pyplot as plt

WARPS = {1: (), 2: (0.94,), 4: (0.94, 1.06, 1.12)}  # of the copies beside the recordings themselves
SVM = "svm"
SAMPLE = "svm, sampled"
N_SAMPLED = 60  # pairs
_CACHE_MB = 100.0  # as in `acoustic.pairs.train_svm`
_SAMPLE_FILE = "sample.json"


@dataclass(frozen=True)
class Size:
    """A model trained on some times the frames.

    Attributes
    ----------
    model : name of the row
    times : number of frames, as a multiple of those of the recordings alone
    centers_per_machine : mean number of centres, or support vectors, of a pair
    training_cpu_s : CPU seconds of training all pairs
    word_accuracy : word accuracy on dev with each grammar, where the decoder weights were tuned, too; empty
        where not all pairs were trained
    """

    model: str
    times: int
    centers_per_machine: float | None
    training_cpu_s: float | None
    word_accuracy: dict[str, float]


def with_frames(experiment: Experiment, times: int) -> Experiment:
    """Return an experiment with so many times the frames, decoded with the loop, in the same directory.

    What is chosen on dev is chosen once, from the recordings alone.
    """
    if times == 1:
        return experiment
    hybrid = experiment.config.hybrid
    larger = replace(hybrid, warps=WARPS[times], max_frames=times * hybrid.max_frames)
    return reconfigured(experiment, replace(experiment.config, hybrid=larger, grammars=("loop",)))


def chosen_once(experiment: Experiment, name: str) -> Experiment:
    """Return an experiment in which the options chosen for a model on dev are fixed."""
    row = row_of(experiment, name)
    if not isinstance(row.system, HybridSystem):
        return experiment
    config = experiment.models.chosen_config(row.system)
    return reconfigured(experiment, replace(config, chosen_on_dev=()))


def measure_growth(experiment: Experiment, names: Sequence[str], times: Sequence[int]) -> list[Size]:
    """Return what each model costs and reaches at each size."""
    sizes = []
    for n in times:
        for name in names:
            if name == SVM:
                sizes.append(_sampled_size(with_frames(chosen_once(experiment, name), n), n))
            if name == SVM and n > 1:
                continue
            row = row_of(with_frames(chosen_once(experiment, name), n) if n > 1 else experiment, name)
            cost: Cost = cost_of(row, TRAIN)
            results = row.experiment.decoding.rows(row.tuned(), model=name, preset="", split="dev")
            accuracy = {r.grammar: r.word_accuracy for r in results}
            sizes.append(Size(name, n, cost.centers_per_machine, cost.training_cpu_s, accuracy))
    return sizes


def _sampled_size(experiment: Experiment, times: int) -> Size:
    found = read_json(svm_sample(experiment).path / _SAMPLE_FILE)
    return Size(SAMPLE, times, found["support_vectors"], found["cpu_s"], {})


def svm_sample(experiment: Experiment) -> StageOutput:
    """Return CPU seconds and support vectors of a random sample of pairs, the former scaled to all pairs."""
    models, task, hybrid = experiment.models, experiment.task, experiment.config.hybrid
    units = models.units(TRAIN)

    def compute(directory: Path) -> None:
        copies = models.training_copies(TRAIN)
        aligned = load_units(units.path, copies[0])
        front_end = hybrid_front_end(copies, aligned, experiment.config.front_end.front_end())
        frames = hybrid_frames(copies, aligned, front_end, hybrid)
        write_json(directory / _SAMPLE_FILE, sampled_cost(frames, hybrid.sigma, experiment.config.svm.cost))

    used = {f"warp {w:g}": task.features("train", w).digest for w in hybrid.warps}
    return experiment.store.run(
        "svm-sample",
        compute,
        inputs={"units": units, **task.digests(TRAIN), **used},
        config={"hybrid": hybrid, "svm": experiment.config.svm, "n_sampled": N_SAMPLED},
    )


def sampled_cost(frames: AlignedFrames, sigma: float, cost: float) -> dict[str, float]:
    """Return the cost of a sample of pairs and of all pairs, estimated by the products of their frames.

    libsvm's time grows with about the square of a pair's frames, which differ much from pair to pair: the
    seconds of the sample are scaled by the sum of the squared numbers of frames of all pairs over that of the
    sample's pairs.
    """
    ordered = ClassFrames(frames.x, frames.codes, frames.n_classes)
    pairs = all_pairs(frames.n_classes)
    n_frames = ordered.counts[pairs].sum(axis=1).astype(np.float64)
    chosen = np.sort(np.random.default_rng(0).choice(len(pairs), min(N_SAMPLED, len(pairs)), replace=False))
    n_support, start = 0, time.process_time()
    for pair in pairs[chosen]:
        rows = ordered.rows(pair)
        targets = np.where(np.arange(len(rows)) < ordered.counts[pair[0]], 1, -1)
        machine = SVC(C=cost, gamma=0.5 / sigma**2, cache_size=_CACHE_MB)
        n_support += len(machine.fit(ordered.x[rows].astype(np.float64), targets).support_)
    seconds = time.process_time() - start
    scale = float(np.sum(n_frames**2) / np.sum(n_frames[chosen] ** 2))
    return {
        "n_pairs": len(chosen),
        "sample_cpu_s": seconds,
        "cpu_s": seconds * scale,
        "support_vectors": n_support / len(chosen),
        "frames": len(frames.x),
    }


def powers(sizes: Sequence[Size]) -> list[dict[str, object]]:
    """Return with which power of the frames a model's centres and CPU seconds grow."""
    found: list[dict[str, object]] = []
    for name in dict.fromkeys(size.model for size in sizes):
        own = [size for size in sizes if size.model == name]
        times = [size.times for size in own]
        centers = power(times, [size.centers_per_machine for size in own])
        seconds = power(times, [size.training_cpu_s for size in own])
        found.append({"model": name, "centers_per_machine": centers, "training_cpu_s": seconds})
    return found


def power(times: Sequence[int], values: Sequence[float | None]) -> float | None:
    """Return the slope on logarithmic axes; None where a value is missing or there is one only."""
    known = [value for value in values if value]
    if len(known) < max(len(times), 2):
        return None
    return round(float(np.polyfit(np.log(times), np.log(known), 1)[0]), 2) + 0.0  # no minus zero


def growth_tables(sizes: Sequence[Size]) -> str:
    """Return the sizes and the powers as tables in Markdown."""
    cells = [
        (
            s.model,
            s.times,
            _rounded(s.centers_per_machine),
            _rounded(s.training_cpu_s),
            _rounded(s.word_accuracy.get("loop"), 1),
        )
        for s in sizes
    ]
    head = ("model", "× frames", "centres a machine", "training CPU s", "dev, loop %")
    slopes = [tuple(row.values()) for row in powers(sizes)]
    slope_head = ("grows as the frames to the power", "centres a machine", "training CPU s")
    return f"{markdown_table(head, cells)}\n\n{markdown_table(slope_head, slopes)}"


def draw_growth(sizes: Sequence[Size], path: Path) -> None:
    """Save a figure of CPU seconds, centres and accuracy on dev against the frames."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    names = list(dict.fromkeys(s.model for s in sizes))
    for name, marker in zip(names, "osvD^<", strict=False):
        own = sorted((s for s in sizes if s.model == name), key=lambda s: s.times)
        times = [s.times for s in own]
        style = {"fmt": f"{marker}--" if name == SAMPLE else f"{marker}-", "markersize": 5, "label": name}
        fill = {"markerfacecolor": "none"} if name == SAMPLE else {}
        axes[0].errorbar(times, [s.training_cpu_s for s in own], **style, **fill)
        axes[1].errorbar(times, [s.centers_per_machine for s in own], **style, **fill)
        if all("loop" in s.word_accuracy for s in own):
            axes[2].errorbar(times, [s.word_accuracy["loop"] for s in own], **style)
        else:
            axes[2].errorbar([], [], **style, **fill)
    for axis, label in zip(
        axes,
        ("training, CPU s of all pairs", "centres of a machine", "word accuracy on dev, loop, %"),
        strict=True,
    ):
        axis.set(xscale="log", xlabel="times the training frames", ylabel=label)
        axis.set_xticks(sorted({s.times for s in sizes}), [str(n) for n in sorted({s.times for s in sizes})])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_yscale("log")
    axes[1].set_yscale("log")
    axes[0].legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def growth_record(sizes: Sequence[Size]) -> dict[str, object]:
    """Return what the JSON holds."""
    return {"sizes": [asdict(size) for size in sizes], "powers": powers(sizes)}


def _rounded(value: float | None, digits: int = 0) -> float | int | None:
    return value if value is None else round(value, digits) if digits else round(value)
