"""The outlook of the thesis (4.5 and chapter 6), measured on AN4's dev speakers.

    python benchmarks/outlook.py --corpus ../shared/data/an4 --work exp/outlook

``sparsity``: word accuracy and posteriors against the number of centres a pair, for NPD, OROLS and random
centres. ``graph``: Platt's decision graph, and coupling only the pairs among the survivors of an elimination.
``kernels``: several widths a pair, and kernels that are 0 between distant points. Trials are kept under
``--work`` and not measured twice; each section is written to ``--page``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from elimination import (
    lazy_survivors,
    posteriors_of_survivors,
    pruned_log_posteriors,
    share_of_pairs,
    survivors,
    winners_of_graph,
)
from given_centers import Choice, TruncatedGaussian, choice_of, fit_given, random_choice
from outlook_task import GRAMMARS, OutlookTask, Trial, accuracy_cells, as_record, difference_cells
from report import argument_parser, write_report

from acoustic.emissions.emission_model import PairwiseDiscriminantModel
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.calibration import Calibration
from acoustic.pairs.machines import SparseMachines
from acoustic.pairs.train_forward import PairForwardConfig, fit
from asr.files import read_json, write_json
from asr.scoring.scoring import score
from benchmarks.papers.layout import table, write_section
from foundation.arrays import Floats, Ints, Singles

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SIZES = (25, 50, 100, 200, 400)
RULES = ("npd", "orols", "random")
MAX_FRAMES = 500  # of a class
RULE = Calibration("fitted", "gaussian")
SIGMA, EPSILON = 5.0, 1e-3
SURVIVORS = (5, 10, 20)
ELIMINATIONS = (
    (5, -10.0),
    (10, -10.0),
    (20, -5.0),
    (20, -10.0),
    (20, -20.0),
)  # survivors, log posterior of the others
N_CENTERS = 50  # of the trials of kernels
N_TIMED = 2000  # frames on which the lazy evaluation is timed

Made = tuple[PairwiseDiscriminantModel, dict[str, float]]


def described(task: OutlookTask, machines: SparseMachines, curves: Floats) -> Made:
    """Return the model of some machines, and how many centres it has."""
    facts = {"centers_a_pair": machines.centers_a_pair, "distinct_centers": float(machines.n_centers)}
    return PairwiseDiscriminantModel(machines, curves, task.states), facts


class Trainer:
    """Trains models of pairs on the frames of a task; a selection that two trials need is made once."""

    def __init__(self, task: OutlookTask) -> None:
        self.task = task
        self.sigma = SIGMA
        self.selected = cache(self._selected)

    def _selected(self, rule: str, n_centers: int) -> Made:
        own = PairForwardConfig(n_centers, EPSILON, tol=0.0)  # as many centres as asked for
        found = fit(self.task.train, self.sigma, own, RULE, regularize=rule == "orols", n_workers=1)
        return described(self.task, *found)

    def given(self, choose: Choice, kernel: Kernel) -> Made:
        """Return the model on given centres."""
        return described(self.task, *fit_given(self.task.train, choose, kernel, EPSILON))

    def of_rule(self, rule: str, n_centers: int) -> Made:
        """Return the model whose centres a rule has chosen."""
        if rule == "random":
            return self.given(random_choice(n_centers, self.sigma), Kernel("gaussian", self.sigma))
        return self.selected(rule, n_centers)


def sparsity(task: OutlookTask, trainer: Trainer, sizes: Sequence[int]) -> list[Trial]:
    """Return a trial for each number of centres and rule."""
    return task.trials({f"{rule}-{n}": partial(trainer.of_rule, rule, n) for n in sizes for rule in RULES})


def sparsity_section(task: OutlookTask, trials: Sequence[Trial]) -> str:
    head = (
        "centres a pair",
        "rule",
        "distinct",
        *(f"{g} %" for g in GRAMMARS),
        "frames %",
        "−log p",
        "train CPU s",
    )
    rows = []
    for trial in trials:
        rule, _, n = trial.name.partition("-")
        distinct, seconds = trial.facts["distinct_centers"], trial.facts["training_cpu_s"]
        cells = [*accuracy_cells(trial, task.references), *frame_cells(trial), f"{seconds:.0f}"]
        rows.append((n, rule, f"{distinct:,.0f}", *cells))
    return table("Sparsity against accuracy", head, rows)


def frame_cells(trial: Trial) -> list[str]:
    return [f"{trial.frame_accuracy:.1f}", f"{trial.log_loss:.3f}"]


def draw_sparsity(task: OutlookTask, trials: Sequence[Trial], path: Path) -> None:
    """Save the figure: word accuracy and the loss of posteriors against centres, one line a rule."""
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
    for rule, marker, shift in zip(RULES, "os^", (0.96, 1.0, 1.04), strict=True):
        own = [t for t in trials if t.name.startswith(f"{rule}-")]
        sizes = np.array([float(t.name.partition("-")[2]) for t in own])
        for axes, grammar in zip(panels, GRAMMARS, strict=False):
            texts = ({i: tuple(w) for i, w in t.texts[grammar].items()} for t in own)
            scored = [score(task.references, text) for text in texts]
            found = np.array([s.word_accuracy for s in scored])
            bars = np.abs(np.array([s.interval for s in scored]).T - found)
            axes.errorbar(
                sizes * shift, found, bars, fmt=f"{marker}-", markersize=4, capsize=2, lw=1, label=rule
            )
        panels[-1].plot(sizes, [t.log_loss for t in own], f"{marker}-", markersize=4, lw=1, label=rule)
    for axes, title in zip(
        panels, (*(f"word accuracy on dev, {g}, %" for g in GRAMMARS), "−log p of the state"), strict=True
    ):
        shown = sorted({int(t.name.partition("-")[2]) for t in trials})
        axes.set(xscale="log", xlabel="centres a pair", title=title)
        axes.set_xticks(shown, list(map(str, shown)))
        axes.minorticks_off()
        axes.grid(axis="y", alpha=0.3)
    panels[0].legend(loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def lazy_log_posteriors(
    model: PairwiseDiscriminantModel, frames: Singles, order: Ints, n_survivors: int
) -> Floats:
    """Return pruned posteriors with no more kernel values than the pairs of each frame need."""
    machines = model.machines
    single = [np.asarray(a, dtype=np.float32) for a in (machines.weights, machines.biases, model.curves)]
    scale = np.float32(-0.5 / machines.sigma**2)
    left, among = lazy_survivors(frames, machines.centers, scale, machines.slots, *single, order, n_survivors)
    return posteriors_of_survivors(left, among, len(order), ELIMINATIONS[0][1])


def graph(task: OutlookTask, trainer: Trainer) -> tuple[list[Trial], dict[str, Any]]:
    """Return trials of pruned coupling, and what the elimination does to frames."""
    everything = task.trial("npd-100", partial(trainer.of_rule, "npd", 100))
    measured = cache(lambda: eliminated(task, trainer.selected("npd", 100)[0]))
    kept = task.work / "outlook" / "graph.json"
    if not kept.exists():
        write_json(kept, measured()[1])
    trials = [
        task.trial_of_posteriors(name, lambda way=way: (measured()[0][way], {}))
        for way in ELIMINATIONS
        if task.is_wanted(name := "{} survivors, floor {:g}".format(*way))
    ]
    return [everything, *trials], read_json(kept)


def eliminated(
    task: OutlookTask, model: PairwiseDiscriminantModel
) -> tuple[dict[tuple[int, float], list[Floats]], dict[str, Any]]:
    """Return the posteriors of the survivors' pairs, how often the right class survives, and its cost."""
    order = np.random.default_rng(0).permutation(task.train.n_classes).astype(np.int32)
    posteriors: dict[tuple[int, float], list[Floats]] = {way: [] for way in ELIMINATIONS}
    right: dict[str, list[bool]] = {name: [] for name in ("graph", *map(str, SURVIVORS))}
    for x, codes in zip(*task.dev, strict=True):
        odds, known = model.log_odds(x), codes >= 0
        right["graph"] += (winners_of_graph(odds, order) == codes)[known].tolist()
        for k in SURVIVORS:
            kept = survivors(odds, order, k) == codes[:, None]
            right[str(k)] += kept.any(axis=1)[known].tolist()
        for k, floor in ELIMINATIONS:
            posteriors[k, floor].append(pruned_log_posteriors(odds, order, k, floor))
    timed = np.concatenate(task.dev[0])[:N_TIMED]
    lazy = {str(k): milliseconds(partial(lazy_log_posteriors, model, timed, order, k)) for k in SURVIVORS}
    facts = {
        "right": {name: 100 * float(np.mean(found)) for name, found in right.items()},
        "all_pairs_ms": milliseconds(lambda: model.log_posteriors(timed)),
        "lazy_ms": lazy,
    }
    return posteriors, facts


def milliseconds(score_frames: Callable[[], object]) -> float:
    """Return the CPU milliseconds a frame of scoring `N_TIMED` frames, the best of three runs."""
    score_frames()
    taken = []
    for _ in range(3):
        start = time.process_time()
        score_frames()
        taken.append(1000 * (time.process_time() - start) / N_TIMED)
    return min(taken)


def graph_section(task: OutlookTask, trials: Sequence[Trial], facts: Mapping[str, Any]) -> str:
    everything, *pruned = trials
    head = (
        "survivors",
        "log p of others",
        "pairs of a frame %",
        "right class among them %",
        *(f"{g} %" for g in GRAMMARS),
    )
    head += (*(f"{g}, against all pairs" for g in GRAMMARS), "frames %", "−log p", "CPU ms a frame")
    cells = [*accuracy_cells(everything, task.references), *("" for _ in GRAMMARS), *frame_cells(everything)]
    rows, n = [("all", "", "100", "100", *cells, f"{facts['all_pairs_ms']:.2f}")], task.train.n_classes
    for trial in pruned:
        k, _, _, floor = trial.name.split()
        accuracies = accuracy_cells(trial, task.references)
        differences = difference_cells(everything, trial, task.references)
        shares = [f"{100 * share_of_pairs(n, int(k)):.1f}", f"{facts['right'][k]:.1f}"]
        costs = [*frame_cells(trial), f"{facts['lazy_ms'][k]:.2f}"]
        rows.append((k, floor, *shares, *accuracies, *differences, *costs))
    graph_cells = [f"{100 * 2 / n:.1f}", f"{facts['right']['graph']:.1f}"]
    blank = [""] * (2 * len(GRAMMARS))
    rows.append(("1, Platt's graph", "", *graph_cells, *blank, f"{facts['right']['graph']:.1f}", "", ""))
    return table("Elimination before coupling", head, rows)


def kernels(task: OutlookTask, trainer: Trainer) -> list[Trial]:
    """Return trials of other widths and kernels on NPD's centres."""
    s, n = trainer.sigma, N_CENTERS
    narrow, wide = s / 2**0.5, s * 2**0.5
    variants: dict[str, tuple[tuple[float, ...], int, Kernel]] = {
        f"{n} centres, σ÷√2": ((narrow,), n, Kernel("gaussian", narrow)),
        f"{n} centres, σ√2": ((wide,), n, Kernel("gaussian", wide)),
        f"{n // 2} centres, each in σ÷√2 and σ√2": ((narrow, wide), n // 2, Kernel("gaussian", s)),
        f"{n} centres, σ, 0 from 2 σ on": ((s,), n, TruncatedGaussian("gaussian", s, radius=2.0)),
        f"{n} centres, σ, 0 from 1.5 σ on": ((s,), n, TruncatedGaussian("gaussian", s, radius=1.5)),
        f"{n} centres, compact, 0 from 16 σ on": ((s,), n, Kernel("compact", s, radius=16.0)),
    }

    def make(widths: tuple[float, ...], n_centers: int, kernel: Kernel) -> Made:
        machines = trainer.selected("npd", N_CENTERS)[0].machines
        model, facts = trainer.given(choice_of(machines, widths, n_centers), kernel)
        return model, facts | {"not_zero": share_not_zero(task, model.machines)}

    first = {f"npd-{n}": partial(trainer.of_rule, "npd", n)}
    return task.trials(first | {name: partial(make, *variant) for name, variant in variants.items()})


def share_not_zero(task: OutlookTask, machines: SparseMachines) -> float:
    """Return the share of the kernel values between some dev frames and all centres that are not 0."""
    frames = np.concatenate(task.dev[0])[::50]
    return float(np.mean(machines.kernel.block(frames, machines.centers, machines.sigmas) > 0))


def kernels_section(task: OutlookTask, trials: Sequence[Trial]) -> str:
    first = trials[0]
    head = ("centres and kernel of a pair", "columns", "not 0 %", *(f"{g} %" for g in GRAMMARS))
    head += (*(f"{g}, against the first" for g in GRAMMARS), "frames %", "−log p")
    rows = []
    for trial in trials:
        differences = (
            ["" for _ in GRAMMARS] if trial is first else difference_cells(first, trial, task.references)
        )
        sizes = [f"{trial.facts['centers_a_pair']:.0f}", f"{100 * trial.facts.get('not_zero', 1.0):.0f}"]
        rows.append(
            (
                f"{N_CENTERS} centres, σ, as selected" if trial is first else trial.name,
                *sizes,
                *accuracy_cells(trial, task.references),
                *differences,
                *frame_cells(trial),
            )
        )
    return table("Several widths, and kernels that are 0 between distant points", head, rows)


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--work", type=Path, required=True, help="experiment directory, to resume")
    parser.add_argument("--page", type=Path, default=Path("docs/results/outlook.md"))
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/outlook_sparsity.png"))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="centres a pair")
    sections = ("sparsity", "graph", "kernels")
    parser.add_argument("--sections", nargs="+", default=list(sections), choices=sections)
    parser.add_argument("--only-kept", action="store_true", help="leave out trials not measured before")
    arguments = parser.parse_args()
    task = OutlookTask(arguments.corpus, arguments.work, MAX_FRAMES, only_kept=arguments.only_kept)
    trainer, report = Trainer(task), {}
    for name in arguments.sections:
        if name == "sparsity":
            trials = sparsity(task, trainer, arguments.sizes)
            text = sparsity_section(task, trials)
            draw_sparsity(task, trials, arguments.figure)
        elif name == "graph":
            trials, facts = graph(task, trainer)
            text = graph_section(task, trials, facts)
            report["graph facts"] = facts
        else:
            trials = kernels(task, trainer)
            text = kernels_section(task, trials)
        report[name] = [as_record(trial, task.references) for trial in trials]
        write_section(arguments.page, name, text)
        print(text, flush=True)
    write_report(arguments.out, {"max_frames": MAX_FRAMES, **report}, ("matplotlib",))


if __name__ == "__main__":
    main()
