"""What more hours of speech cost and bring: parts of Iban, all of it, and AN4.

    python benchmarks/growth.py --iban iban --an4 ../shared/data/an4 --work exp/growth
    python benchmarks/growth.py --iban iban --sizes 0.125 0.25 --models gmm --work exp/growth

A part has every eighth (fourth, second) training utterance, and so those of all speakers; the trigram is of
the same utterances, the lexicon is the whole one. Dev and test are the same at all sizes; by default every
fourth utterance of Iban's, which ``--held-out 1`` makes all, of dev, too, but for ``--dev``.

Each model of each size is trained, tuned and tested in a process of its own in ``WORK/NAME-SIZE``, models of
one size share its stages. CPU seconds and peak memory are of each stage. A run that was stopped goes on where
it was; what other runs have left in WORK is in the report, too. Slopes are those of the logarithms of costs
over the logarithm of the hours: 1 is linear.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from made_steps import Made
from report import argument_parser, markdown_table, write_report
from stage_costs import MeasuredExperiment

from asr import info
from asr.config import with_settings
from asr.corpora.corpus import Corpus, read_corpus, write_corpus
from asr.files import as_plain, read_json, write_json
from asr.progress import terminal_messages
from asr.recipe import LoadedRecipe, load_recipe
from asr.scoring.results import Result

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SIZES = (0.125, 0.25, 0.5, 1.0)
MODELS = ("gmm", "pools")
HELD_OUT = {"iban": 0.25, "an4": 1.0}  # shares of dev and test
FIGURE = Path("docs/figures/growth.png")


@dataclass(frozen=True)
class Task:
    """One model of one part of a corpus.

    Attributes
    ----------
    recipe, corpus : what is trained on
    size : share of the training utterances
    dev, held_out : shares of the utterances of dev and of test
    model : name of the model
    settings : options ``key=value``
    work : where the experiments lie
    """

    recipe: str
    corpus: Path
    size: float
    dev: float
    held_out: float
    model: str
    settings: tuple[str, ...]
    work: Path

    @property
    def experiment(self) -> Path:
        """Directory of the experiment."""
        return self.work / f"{self.recipe}-{self.size:g}"

    @property
    def record(self) -> Path:
        """Where the row of the report lies."""
        return self.experiment / f"growth-{self.model}.json"


def part_of(corpus: Corpus, share: float) -> Corpus:
    """Return every eighth utterance of an eighth, in the order of the ids, and so on.

    A share has none that a multiple of it lacks.
    """
    kept = [i for i in range(len(corpus)) if math.floor((i + 1) * share) > math.floor(i * share)]
    return Corpus(tuple(corpus.utterances[i] for i in kept))


def cut(loaded: LoadedRecipe, size: float, dev: float, held_out: float) -> LoadedRecipe:
    """Return a recipe that prepares a part of the training utterances, and of dev and test."""

    def prepare(corpus_dir: Path, output_dir: Path) -> None:
        loaded.recipe.prepare(corpus_dir, output_dir)
        for split, share in {"train": size, "dev": dev, "test": held_out}.items():
            write_corpus(part_of(read_corpus(output_dir / split), share), output_dir / split)

    source = f"{loaded.source}\n# {size:g} of train, {dev:g} of dev, {held_out:g} of test\n"
    return LoadedRecipe(loaded.name, replace(loaded.recipe, prepare=prepare), source)


def run_one(task: Task) -> None:
    """Train and test one model, and write its row."""
    loaded = cut(load_recipe(task.recipe), task.size, task.dev, task.held_out)
    config = with_settings(loaded.recipe.config, task.settings)
    experiment = MeasuredExperiment(loaded, task.corpus, task.experiment, config, "best")
    with terminal_messages(verbose=False):
        results = experiment.run([task.model])
    write_json(task.record, row_of(task, experiment, results))


def row_of(task: Task, experiment: MeasuredExperiment, results: Sequence[Result]) -> dict[str, Any]:
    """Return what is known of one model of one size."""
    shift_s = experiment.config.front_end.shift_ms / 1000
    made = Made(experiment)
    data = made.data("train")
    description, costs = info(task.experiment, model=task.model), experiment.costs()
    return {
        "corpus": task.recipe,
        "size": task.size,
        "dev": task.dev,
        "held_out": task.held_out,
        "model": task.model,
        "settings": task.settings,
        "hours": round(sum(len(c) for c in data.cepstra) * shift_s / 3600, 4),
        "speakers": len(data.corpus.speakers),
        "words": sum(len(u.spoken) for u in data.corpus),
        "different_words": len(data.corpus.vocabulary),
        "lexicon": len(made.lexicon),
        "states": description["states"],
        "pairs": description.get("first", description).get("pairs"),
        "cpu_s": round(sum(cost["cpu_s"] for cost in costs.values()), 1),
        "peak_mb": max(cost["peak_mb"] for cost in costs.values()),
        "stages": costs,
        "results": [as_plain(result) for result in results if result.model == task.model],
    }


def slopes(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return with which power of the hours time and memory of each model grow, in all and by stage."""
    found = []
    for model in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == model]
        hours = [row["hours"] for row in own]
        common = [name for name in own[0]["stages"] if all(name in row["stages"] for row in own)]
        series = {"all": [(row["cpu_s"], row["peak_mb"]) for row in own]}
        for name in common:
            costs = [row["stages"][name] for row in own]
            series[name] = [(cost["cpu_s"], cost["peak_mb"]) for cost in costs]
        for name, values in series.items():
            seconds, megabytes = zip(*values, strict=True)
            of_time, of_memory = slope(hours, seconds), slope(hours, megabytes)
            found.append({"model": model, "stage": name, "cpu_s": of_time, "peak_mb": of_memory})
    return found


def slope(hours: Sequence[float], values: Sequence[float]) -> float | None:
    """Return the slope on logarithmic axes; None of less than two sizes, or where a value is zero."""
    if len(set(hours)) < 2 or min(values) <= 0:
        return None
    return round(float(np.polyfit(np.log(hours), np.log(values), 1)[0]), 2) + 0.0  # no minus zero


def tables(rows: Sequence[dict[str, Any]], of_growth: Sequence[dict[str, Any]]) -> str:
    """Return the sizes, the stages and the slopes as tables in Markdown."""
    head = ("corpus", "part", "hours", "words (different)", "model", "states", "pairs", "CPU s", "peak MB")
    grammars = list(dict.fromkeys(r["grammar"] for row in rows for r in row["results"]))
    cells = []
    for row in rows:
        words = f"{row['words']:,} ({row['different_words']:,})"
        first = (row["corpus"], row["size"], round(row["hours"], 2), words, row["model"])
        costs = (row["states"], row["pairs"], round(row["cpu_s"]), round(row["peak_mb"]))
        cells.append((*first, *costs, *(_accuracy(row, grammar) for grammar in grammars)))
    sizes = markdown_table((*head, *(f"test, {grammar} %" for grammar in grammars)), cells)
    by_stage = [
        (row["corpus"], row["size"], row["model"], name, round(cost["cpu_s"], 1), round(cost["peak_mb"]))
        for row in rows
        for name, cost in row["stages"].items()
    ]
    stages = markdown_table(("corpus", "part", "model", "stage", "CPU s", "peak MB"), by_stage)
    growth = [tuple(found.values()) for found in of_growth if found["cpu_s"] is not None]
    powers = markdown_table(("model", "stage", "CPU s as the hours to the power", "memory"), growth)
    return "\n\n".join([sizes, stages, *([powers] if growth else [])])


def _accuracy(row: dict[str, Any], grammar: str) -> str | None:
    """Return the accuracy on test with its interval."""
    found = [r for r in row["results"] if r["split"] == "test" and r["grammar"] == grammar]
    if not found:
        return None
    low, high = found[0]["interval"]
    return f"{found[0]['word_accuracy']:.1f} ({low:.1f}–{high:.1f})"


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Save a figure of time, memory and accuracy against the hours; AN4 stands alone."""
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.6), layout="constrained")
    for corpus, model in dict.fromkeys((row["corpus"], row["model"]) for row in rows):
        own = [row for row in rows if (row["corpus"], row["model"]) == (corpus, model)]
        hours, label = [row["hours"] for row in own], f"{model}, {corpus}"
        style = "o-" if len(own) > 1 else "s"
        axes[0].plot(hours, [row["cpu_s"] for row in own], style, label=label)
        axes[1].plot(hours, [row["peak_mb"] for row in own], style, label=label)
        tested = [r for row in own for r in [r for r in row["results"] if r["split"] == "test"][-1:]]
        errors = np.array([[r["word_accuracy"] - r["interval"][0] for r in tested]])
        above = np.array([[r["interval"][1] - r["word_accuracy"] for r in tested]])
        accuracies = [r["word_accuracy"] for r in tested]
        axes[2].errorbar(hours, accuracies, np.vstack([errors, above]), fmt=style, capsize=3, label=label)
    hours_of_all = sorted({row["hours"] for row in rows})
    labels = ("CPU s, training, tuning and test", "peak memory, MB", "words right on test, %")
    for axis, label in zip(axes, labels, strict=True):
        axis.set(xscale="log", xlabel="hours of training speech", ylabel=label)
        axis.set_xticks(hours_of_all, [f"{hours:.2g}" for hours in hours_of_all])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylim(bottom=0)
    axes[1].set_ylim(bottom=0)
    axes[0].legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def tasks_of(options: argparse.Namespace) -> list[Task]:
    """Return what is to be run, the small sizes first."""
    corpora = {"iban": options.iban, "an4": options.an4}
    return [
        Task(
            recipe,
            corpus,
            size,
            options.dev or options.held_out or HELD_OUT[recipe],
            options.held_out or HELD_OUT[recipe],
            model,
            tuple(options.settings),
            options.work,
        )
        for recipe, corpus in corpora.items()
        if corpus is not None
        for size in (sorted(options.sizes) if recipe == "iban" else [1.0])
        for model in options.models
    ]


def main() -> None:
    """Run what is asked for, each task in a process of its own, and report all there is."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--iban", type=Path, help="the published corpus")
    parser.add_argument("--an4", type=Path, help="the published corpus")
    parser.add_argument("--sizes", type=float, nargs="+", default=list(SIZES), help="parts of Iban")
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--held-out", type=float, help="share of dev and test (Iban 0.25, AN4 1)")
    parser.add_argument("--dev", type=float, help="share of dev if it is another")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    parser.add_argument("--work", type=Path, default=Path("exp/growth"))
    parser.add_argument("--figure", type=Path, default=FIGURE)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)  # the task of this number, in this process
    options = parser.parse_args()
    tasks = tasks_of(options)
    if options.one is not None:
        run_one(tasks[options.one])
        return
    for number, task in enumerate(tasks):
        print(f"{task.recipe}, {task.size:g} of it, {task.model}", flush=True)
        subprocess.run([sys.executable, *sys.argv, "--one", str(number)], check=True)
    rows = sorted(
        (read_json(path) for path in options.work.glob("*/growth-*.json")),
        key=lambda row: (row["corpus"] != "iban", row["model"], row["hours"]),
    )
    of_growth = slopes([row for row in rows if row["corpus"] == "iban"])
    print(tables(rows, of_growth))
    draw(rows, options.figure)
    write_report(options.out, {"rows": rows, "slopes": of_growth})


if __name__ == "__main__":
    main()
