"""How the hybrids of thesis table 4.2 grow with the frames they are trained on.

More frames are copies of the training recordings with a longer or shorter vocal tract (``hybrid.warps``), and
so many more frames of a state at most (``hybrid.max_frames``). At each size a random sample of pairs, the
same for all models, is trained on one thread; their CPU seconds are extrapolated to all pairs. Models that
are trained on all pairs of train are also scored on dev.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from hybrid_rows import Row, reconfigured, row_of
from made_steps import Made
from report import markdown_table
from sklearn.svm import SVC

from acoustic.emissions.aligned_frames import AlignedFrames, HybridConfig
from acoustic.pairs.class_frames import ClassFrames
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.train_forward import PairForwardConfig, fit_pairs
from acoustic.pairs.train_svm import SvmConfig
from asr.experiment import Experiment
from asr.files import read_json, write_json
from asr.store import StageOutput, Step
from asr.systems import HybridSystem
from asr.training.aligned import chosen_for
from asr.training.hybrid import hybrid_frames, hybrid_front_end, load_units
from asr.training.recognition import read_rows
from foundation.arrays import Ints

matplotlib.use("Agg")
import matplotlib.pyplot as plt

WARPS = {1: (), 2: (0.94,), 4: (0.94, 1.06, 1.12)}  # of the copies beside the recordings themselves
SVM = "svm"
SAMPLED = (SVM, "npd", "orols")
N_SAMPLED = 60  # pairs
_CACHE_MB = 100.0  # as in `acoustic.pairs.train_svm`
_SAMPLE_FILE = "sample.json"
# A training's seconds grow with this power of the frames of a pair, all else equal.
_POWERS = {SVM: 2.0, "npd": 1.0, "orols": 1.0}


@dataclass(frozen=True)
class Size:
    """A model trained on some times the frames.

    Attributes
    ----------
    model : name of the row
    times : number of frames, as a multiple of those of the recordings alone
    frames : number of training frames
    centers_per_machine : mean number of centres, or support vectors, of the sampled pairs
    cpu_s : CPU seconds of training all pairs, extrapolated from the sample
    word_accuracy : word accuracy on dev with the loop of the model trained on all pairs; None where there is
        no such model
    """

    model: str
    times: int
    frames: int
    centers_per_machine: float
    cpu_s: float
    word_accuracy: float | None


def with_frames(experiment: Experiment, times: int) -> Experiment:
    """Return an experiment with so many times the frames, decoded with the loop, in the same directory."""
    if times == 1:
        return experiment
    hybrid = experiment.config.hybrid
    larger = replace(hybrid, warps=WARPS[times], max_frames=times * hybrid.max_frames)
    return reconfigured(experiment, replace(experiment.config, hybrid=larger, grammars=("loop",)))


def chosen_once(experiment: Experiment, name: str) -> Experiment:
    """Return an experiment in which the options chosen for a model on dev, from train alone, are fixed."""
    row = row_of(experiment, name)
    if not isinstance(row.system, HybridSystem):
        raise TypeError(f"expected a hybrid to grow, got {name}")
    choice = f"choice-{row.system.way}"
    config = experiment.config
    if choice in row.made.steps:
        config = chosen_for(config, row.made.path(choice))
    return reconfigured(experiment, replace(config, chosen_on_dev=()))


def measure_growth(
    experiment: Experiment, names: Sequence[str], times: Sequence[int], *, all_pairs_too: bool
) -> list[Size]:
    """Return what each model costs and reaches at each size.

    Parameters
    ----------
    experiment : the experiment of the table
    names : models, of `SAMPLED`
    times : multiples of the frames
    all_pairs_too : whether npd and orols are trained on all pairs of more frames and scored on dev
    """
    sizes = []
    for n in times:
        for name in names:
            larger = with_frames(chosen_once(experiment, name), n)
            found = read_json(pair_sample(larger, name).path / _SAMPLE_FILE)
            row = row_of(larger if n > 1 else experiment, name)
            is_trained = n == 1 or (all_pairs_too and name != SVM)
            accuracy = _loop_accuracy(row) if is_trained else None
            sizes.append(Size(name, n, found["frames"], found["centers"], found["cpu_s"], accuracy))
    return sizes


def _loop_accuracy(row: Row) -> float:
    results = read_rows(
        row.tuned().path, row.made.experiment.found.grammars, model=row.name, preset="", split="dev"
    )
    return next(r.word_accuracy for r in results if r.grammar == "loop")


def pair_sample(experiment: Experiment, name: str) -> StageOutput:
    """Return CPU seconds and centres of a random sample of pairs, the former scaled to all pairs."""
    made, hybrid = Made(experiment, HybridSystem(name)), experiment.config.hybrid
    own = experiment.config.of_way(name)

    def compute(directory: Path, speech: object) -> None:
        copies = made.copies("train")
        aligned = load_units(made.units(), copies[0])
        front_end = hybrid_front_end(copies, aligned, experiment.config.front_end.front_end())
        frames = hybrid_frames(copies, aligned, front_end, hybrid)
        write_json(directory / _SAMPLE_FILE, sampled_cost(name, frames, hybrid, own))

    trained = made.steps[f"hybrid-{name}"]
    config = {"hybrid": hybrid, "own": own, "n_sampled": N_SAMPLED}
    return experiment.store.output(
        Step(f"sample-{name}", compute, {"speech": trained.made_from}, config=config)
    )


def sampled_cost(name: str, frames: AlignedFrames, hybrid: HybridConfig, own: Any) -> dict[str, float]:
    """Return the cost of a sample of pairs, and that of all pairs estimated from their numbers of frames.

    The seconds of a support vector machine grow with about the square of a pair's frames, those of a
    selection of a given number of centres with the frames.
    """
    counts = np.bincount(frames.codes, minlength=frames.n_classes)
    pairs = all_pairs(frames.n_classes)
    weights = counts[pairs].sum(axis=1).astype(np.float64) ** _POWERS[name]
    chosen = np.sort(np.random.default_rng(0).choice(len(pairs), min(N_SAMPLED, len(pairs)), replace=False))
    train = _train_machines if name == SVM else _train_selections
    train(name, frames, pairs[chosen[:1]], hybrid, own)  # compiles, and fills caches
    start = time.process_time()
    centers = train(name, frames, pairs[chosen], hybrid, own)
    seconds = time.process_time() - start
    return {
        "n_pairs": len(chosen),
        "sample_cpu_s": seconds,
        "cpu_s": seconds * float(weights.sum() / weights[chosen].sum()),
        "centers": centers,
        "frames": len(frames.x),
    }


def _train_machines(
    name: str, frames: AlignedFrames, pairs: Ints, hybrid: HybridConfig, own: SvmConfig
) -> float:
    """Return the mean number of support vectors of pairs."""
    ordered, n_support = ClassFrames(frames.x, frames.codes, frames.n_classes), 0
    for pair in pairs:
        rows = ordered.rows(pair)
        targets = np.where(np.arange(len(rows)) < ordered.counts[pair[0]], 1, -1)
        machine = SVC(C=own.cost, gamma=0.5 / hybrid.sigma**2, cache_size=_CACHE_MB)
        n_support += len(machine.fit(ordered.x[rows].astype(np.float64), targets).support_)
    return n_support / len(pairs)


def _train_selections(
    name: str, frames: AlignedFrames, pairs: Ints, hybrid: HybridConfig, own: PairForwardConfig
) -> float:
    """Return the mean number of centres of pairs."""
    selection = own.selection(hybrid.sigma, regularize=name == "orols")
    machines, _ = fit_pairs(
        frames.x,
        frames.codes,
        frames.n_classes,
        selection,
        pairs,
        n_workers=1,
        calibration=hybrid.calibration,
        counts=frames.counts,
        folds=frames.folds,
    )
    return machines.centers_a_pair


def powers(sizes: Sequence[Size]) -> list[dict[str, object]]:
    """Return with which power of the frames a model's centres and CPU seconds grow."""
    found: list[dict[str, object]] = []
    for name in dict.fromkeys(size.model for size in sizes):
        own = [size for size in sizes if size.model == name]
        times = [size.times for size in own]
        centers = power(times, [size.centers_per_machine for size in own])
        seconds = power(times, [size.cpu_s for size in own])
        found.append({"model": name, "centers_per_machine": centers, "cpu_s": seconds})
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
            s.frames,
            round(s.centers_per_machine),
            round(s.cpu_s),
            None if s.word_accuracy is None else round(s.word_accuracy, 1),
        )
        for s in sizes
    ]
    sampled = f"training CPU s, from {N_SAMPLED} pairs"
    head = ("model", "× frames", "frames", "centres a machine", sampled, "dev, loop %")
    slopes = [tuple(row.values()) for row in powers(sizes)]
    slope_head = ("grows as the frames to the power", "centres a machine", "training CPU s")
    return f"{markdown_table(head, cells)}\n\n{markdown_table(slope_head, slopes)}"


def draw_growth(sizes: Sequence[Size], path: Path) -> None:
    """Save a figure of CPU seconds, centres and, if there are several, accuracies against the frames."""
    n_scored = len({s.times for s in sizes if s.word_accuracy is not None})
    n_axes = 3 if n_scored > 1 else 2
    figure, axes = plt.subplots(1, n_axes, figsize=(3.7 * n_axes, 3.6), layout="constrained")
    for name, marker in zip(dict.fromkeys(s.model for s in sizes), "osvD^<", strict=False):
        own = sorted((s for s in sizes if s.model == name), key=lambda s: s.times)
        times, scored = [s.times for s in own], [s for s in own if s.word_accuracy is not None]
        axes[0].plot(times, [s.cpu_s for s in own], f"{marker}--", markerfacecolor="none", label=name)
        axes[1].plot(times, [s.centers_per_machine for s in own], f"{marker}-", label=name)
        if n_axes == 3:
            accuracies = [s.word_accuracy for s in scored]
            axes[2].plot([s.times for s in scored], accuracies, f"{marker}-", label=name)
    labels = (
        "training of all pairs, CPU s (extrapolated)",
        "centres of a machine",
        "word accuracy on dev, loop, %",
    )
    ticks = sorted({s.times for s in sizes})
    for axis, label in zip(axes, labels[:n_axes], strict=True):
        axis.set(xscale="log", xlabel="times the training frames", ylabel=label)
        axis.set_xticks(ticks, [str(n) for n in ticks])
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
