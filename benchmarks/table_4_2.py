"""Thesis table 4.2 on AN4: GMM, SVM, NPD, OROLS and KRLS as emission models of the same monophones.

    python benchmarks/table_4_2.py --corpus ../shared/data/an4 --out table_4_2.json
    python benchmarks/table_4_2.py --corpus ../shared/data/an4 --work exp/thesis --frames 1 2 4

The thesis's system (``--preset thesis``): 39 components standardised over the corpus, Gaussians of fitted
outputs, coupling of Price, division by the prior; ``npd-pools`` differs in that the pairs of a state share
its centres. Decoder weights are tuned on the ten dev speakers, models retrained on train and dev, the
official test decoded once. Differences are paired by utterance against the GMM and against the SVM. CPU
seconds are those that the experiment recorded when it trained a model, from aligned cepstra to a stored
model; a dash stands where the experiment did not record them. ``--frames`` adds how the hybrids grow with the
frames they are trained on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hybrid_growth import GROWING, WARPS, growth_record, measure_growth, print_growth
from hybrid_rows import EVERYTHING, POOLS, Cost, Row, compile_kernels, cost_of, row_of, scoring_speed
from report import argument_parser, print_table, write_report

from asr.experiment import Experiment
from asr.formats.transcripts import read_transcripts
from asr.logs import log_file
from asr.recipe import load_recipe
from asr.scoring.results import Result
from asr.scoring.scoring import compare
from asr.settings import with_settings
from asr.verbs import with_preset

NAMES = ("gmm", "svm", "npd", "orols", "krls", POOLS)
BASELINES = ("gmm", "svm")
RM1 = {"gmm": 91.96, "svm": 94.10, "npd": 94.41, "orols": 94.25, "krls": 90.1}  # thesis table 4.2, Feb'89


def results_of(row: Row) -> list[Result]:
    """Return a row's results on dev and test."""
    rows, preset = row.experiment.decoding.rows, row.experiment.preset
    on_dev = rows(row.tuned(), model=row.name, preset=preset, split="dev")
    return on_dev + rows(row.tested(), model=row.name, preset=preset, split="test")


def comparison(baseline: Row, row: Row, grammar: str) -> dict[str, Any]:
    """Return how much better a row is on test than another."""
    first, second = (read_transcripts(r.tested().path / f"{grammar}.txt") for r in (baseline, row))
    found = compare(row.experiment.task.corpus("test").text, first, second)
    return {
        "model": row.name,
        "against": baseline.name,
        "grammar": grammar,
        "difference": found.difference,
        "interval": found.interval,
        "p_value": found.p_value,
    }


def comparisons_of(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return each row against the baselines before it."""
    return [
        comparison(baseline, row, grammar)
        for n, row in enumerate(rows)
        for baseline in rows[:n]
        if baseline.name in BASELINES
        for grammar in row.experiment.task.grammars
    ]


def print_accuracies(results: Sequence[Result], comparisons: Sequence[dict[str, Any]]) -> None:
    against = {(c["model"], c["against"], c["grammar"]): c for c in comparisons}
    cells = []
    for r in results:
        if r.split != "test":
            continue
        found = [against.get((r.model, baseline, r.grammar), {}) for baseline in BASELINES]
        differences = [c.get(key) for c in found for key in ("difference", "p_value")]
        cells.append((r.model, r.grammar, r.word_accuracy, *r.interval, *differences, RM1.get(r.model)))
    head = ("model", "grammar", "test acc %", "low", "high", "- GMM", "p", "- SVM", "p", "RM1, thesis")
    print_table(head, cells)


def print_costs(costs: Mapping[str, Cost | None], speeds: Mapping[str, float]) -> None:
    head = ("model", "centres a machine", "distinct", "training CPU s", "MB", "scoring x real time")
    missing = [None] * 4
    cells = [
        (name, *(missing if cost is None else asdict(cost).values()), speeds[name])
        for name, cost in costs.items()
    ]
    print_table(head, cells)


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--models", nargs="+", default=list(NAMES), choices=NAMES, help="gmm is always there")
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="as of asr train")
    parser.add_argument("--preset", default="thesis", choices=["thesis", "best"])
    parser.add_argument("--frames", type=int, nargs="+", default=[], choices=WARPS, help="times the frames")
    parser.add_argument("--work", type=Path, help="experiment directory, to resume; by default thrown away")
    arguments = parser.parse_args()
    recipe = load_recipe("an4")
    config = with_settings(with_preset(recipe.recipe.config, arguments.preset), arguments.set)
    names = [name for name in NAMES if name in ("gmm", *arguments.models)]
    with tempfile.TemporaryDirectory() as temporary:
        out = arguments.work or Path(temporary)
        experiment = Experiment(recipe, arguments.corpus, out, config, arguments.preset)
        rows = [row_of(experiment, name) for name in names]
        compile_kernels(rows)
        experiment.run([name for name in names if name != POOLS])
        with experiment.store.locked(), log_file(out / "log.txt"):
            results = [result for row in rows for result in results_of(row)]
            comparisons = comparisons_of(rows)
            costs = {row.name: cost_of(row, EVERYTHING) for row in rows}
            speeds = {row.name: scoring_speed(row) for row in rows}
            growing = [name for name in names if name in GROWING]
            sizes = measure_growth(experiment, growing, arguments.frames)
    print_accuracies(results, comparisons)
    print_costs(costs, speeds)
    if sizes:
        print_growth(sizes)
    report = {
        "preset": arguments.preset,
        "settings": arguments.set,
        "thesis_rm1": RM1,
        "results": [asdict(r) for r in results],
        "comparisons": comparisons,
        "costs": {name: None if cost is None else asdict(cost) for name, cost in costs.items()},
        "scoring_x_real_time": speeds,
        "growth": growth_record(sizes),
    }
    write_report(arguments.out, report)


if __name__ == "__main__":
    main()
