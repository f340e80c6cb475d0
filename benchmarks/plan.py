"""What `asr plan` said, beside what then happened: finished experiments, planned again on this machine.

    python benchmarks/plan.py exp/an4 exp/fsdd exp/growth/iban-1 --page
    python benchmarks/plan.py exp/an4 --rm1 exp/rm1-sized/npd-10731-9000.json

Real seconds are those of ``stages/*/stage.json`` (`seconds.cpu`), or with real peaks those of
``growth-MODEL.json`` in experiments that `growth.py` has made, whose parts of a corpus are planned as they
were cut. ``--rm1`` takes a record of `rm1_sized.py`: training of all pairs of 147 generated states. A ratio
is plan / reality. Costs of other hours of a shared machine differ by a third or more: plan soon after the
experiment, with as much other work on the machine, if the ratios are to say something about the plan. Stages
that compiled functions for the first time took some ten seconds longer than they are planned to.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from growth import cut
from report import argument_parser, markdown_table, write_report

from asr import info
from asr.commands.sparsity import config_of
from asr.config import ExperimentConfig, with_preset, with_settings
from asr.files import read_json
from asr.planning.laws import BASE_MB
from asr.planning.pair_costs import costs_by_size
from asr.planning.plan import plan_of
from asr.planning.records import ModelPlan
from asr.planning.sample import size_of
from asr.planning.walk import GROUPS, Stage
from asr.recipe import LoadedRecipe, load_recipe
from asr.store import RECORD
from asr.systems import find_system
from benchmarks.papers.layout import write_section

PAGE = Path("docs/results/plan.md")
_RM1_STATES, _RM1_CENTERS = 147, 100

Row = dict[str, Any]


def rows_of(experiment: Path) -> list[Row]:
    """Return a row for each model of a finished experiment: what was planned and what it took."""
    record = read_json(experiment / "config.json")
    names = sorted(path.name for path in (experiment / "models").iterdir())
    corpus = Path(record["corpus"]) if record["corpus"] else None
    loaded, preset = as_cut(load_recipe(record["recipe"]), experiment), record["preset"]
    found = []
    for name in names:
        config = config_of_model(experiment, name, loaded, preset) or config_of(record)
        systems = {name: find_system(name, preset)}
        (planned,) = plan_of(loaded, corpus, config, systems, preset, centers=()).models
        found.append(row_of(experiment, planned))
    return found


def config_of_model(
    experiment: Path, name: str, loaded: LoadedRecipe, preset: str
) -> ExperimentConfig | None:
    """Return what a model was trained with that `growth.py` has trained; other models may have had other
    options."""
    path = experiment / f"growth-{name}.json"
    if not path.is_file():
        return None
    config = with_preset(loaded.recipe.config, preset, loaded.recipe.thesis)
    return with_settings(config, read_json(path)["settings"])


def as_cut(loaded: LoadedRecipe, experiment: Path) -> LoadedRecipe:
    """Return the recipe of the part of the corpus that an experiment is of."""
    for path in sorted(experiment.glob("growth-*.json")):
        row = read_json(path)
        if "held_out" in row:
            return cut(loaded, row["size"], row["held_out"])
    return loaded


def row_of(experiment: Path, planned: ModelPlan) -> Row:
    """Return what was planned for a model beside what it took."""
    made = {name: stage_of(experiment, name) for name in planned.stages}
    growth = experiment / f"growth-{planned.model}.json"
    measured = read_json(growth)["stages"] if growth.is_file() else {}
    seconds = {
        name: measured[name]["cpu_s"] if name in measured else read_json(path / RECORD)["seconds"]["cpu"]
        for name, path in made.items()
        if path
    }
    described = info(experiment, model=planned.model)
    description: dict[str, Any] = described.get("first", described)  # type: ignore[assignment]
    model = experiment / "models" / planned.model
    kept = sum(size_of(path) for path in made.values() if path) + size_of(model)
    return {
        "experiment": experiment.name,
        "model": planned.model,
        "stages": {name: (planned.stages[name], s) for name, s in seconds.items()},
        "not made": [name for name, path in made.items() if path is None],
        "cpu_s": (sum(planned.stages[name] for name in seconds), sum(seconds.values())),
        "peak_mb": (planned.peak_mb, read_json(growth)["peak_mb"] if growth.is_file() else None),
        "model_mb": (planned.model_mb, size_of(model) / 1e6),
        "disk_mb": (planned.disk_mb, kept / 1e6),
        "states": (planned.states, described["states"]),
        "pairs": (planned.pairs or None, description.get("pairs")),
    }


def stage_of(experiment: Path, name: str) -> Path | None:
    """Return the newest output of a stage, None if there is none."""
    paths = (p.parent for p in experiment.glob(f"stages/{name}-*/{RECORD}"))
    own = [path for path in paths if path.name.rpartition("-")[0] == name]
    return max(own, key=lambda path: (path / RECORD).stat().st_mtime, default=None)


def rm1_row(path: Path) -> Row:
    """Return a row for a training of pairs of generated states, which `rm1_sized.py` has measured."""
    real = read_json(path)
    found = costs_by_size(
        "npd",
        _RM1_STATES,
        real["frames_a_state"],
        _RM1_CENTERS,
        n_pairs=real["pairs"],
        n_workers=real["workers"],
    )
    if found is None:
        raise SystemExit("npd is a way of training")
    seconds = found.train_s, real["cpu_s"]
    return {
        "experiment": "RM1-sized",
        "model": f"npd, {real['pairs']:,} pairs of {2 * real['frames_a_state']:,} frames",
        "stages": {"hybrid-npd": seconds},
        "not made": [],
        "cpu_s": seconds,
        "peak_mb": (BASE_MB + found.peak_bytes / 1e6, real["peak_mb"]),
        "model_mb": (found.model_bytes / 1e6, real.get("file_mb")),
        "disk_mb": (None, None),
        "states": (None, None),
        "pairs": (None, None),
    }


def group_rows(row: Row) -> Iterator[tuple[object, ...]]:
    """Yield planned and real seconds of each group of stages."""
    for group in GROUPS:
        pairs = [both for name, both in row["stages"].items() if Stage(name).group == group]
        if pairs:
            planned, real = (sum(column) for column in zip(*pairs, strict=True))
            yield (row["experiment"], row["model"], group, *cells(planned, real))


def cells(planned: float | None, real: float | None, digits: int = 1) -> tuple[object, ...]:
    """Return two numbers and their ratio."""
    if planned is None or real is None:
        return (None, None, None)
    ratio = round(planned / real, 2) if real else None
    return round(planned, digits), round(real, digits), ratio


def totals_table(rows: Sequence[Row]) -> str:
    """Return all seconds, peaks, sizes and counts as a table in Markdown."""
    names = ("cpu_s", "peak_mb", "model_mb", "disk_mb", "states", "pairs")
    head = ("experiment", "model", "what", "planned", "real", "ratio")
    labels = ("CPU s", "peak MB", "model MB", "disk MB", "states", "pairs")
    found = [
        (row["experiment"], row["model"], label, *cells(*row[name]))
        for row in rows
        for name, label in zip(names, labels, strict=True)
        if None not in row[name]
    ]
    return markdown_table(head, found)


def groups_table(rows: Sequence[Row]) -> str:
    """Return the seconds of groups of stages as a table in Markdown."""
    head = ("experiment", "model", "stages", "planned CPU s", "real CPU s", "ratio")
    return markdown_table(head, [cells_ for row in rows for cells_ in group_rows(row)])


def summary(rows: Sequence[Row]) -> str:
    """Return how many totals lie within a factor of 1.5."""
    ratios = [planned / real for planned, real in (row["cpu_s"] for row in rows)]
    load = os.getloadavg()[0]
    within = sum(abs(math.log(ratio)) <= math.log(1.5) for ratio in ratios)
    return (
        f"{within} of {len(ratios)} totals of CPU seconds are within a factor of 1.5; "
        f"ratios from {min(ratios):.2f} to {max(ratios):.2f}, planned at a load of {load:.0f}."
    )


def main() -> None:
    """Plan each experiment again, and print and write how far it was from what happened."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiments", type=Path, nargs="*", metavar="EXP")
    parser.add_argument("--rm1", type=Path, action="append", default=[], help="a record of rm1_sized.py")
    parser.add_argument("--page", action="store_true", help=f"write the tables into {PAGE}")
    parser.add_argument("--stages", action="store_true", help="print every stage")
    options: argparse.Namespace = parser.parse_args()
    rows = [row for experiment in options.experiments for row in rows_of(experiment)]
    rows += map(rm1_row, options.rm1)
    for row in rows if options.stages else ():
        for name, both in row["stages"].items():
            print(row["experiment"], row["model"], name, *cells(*both, 2))
    for row in rows:
        if row["not made"]:
            print(f"{row['experiment']}, {row['model']}: planned and not made: {', '.join(row['not made'])}")
    sections = {"totals": totals_table(rows), "groups": groups_table(rows)}
    print(f"{sections['totals']}\n\n{sections['groups']}\n\n{summary(rows)}")
    if options.page:
        write_section(PAGE, "totals", f"{sections['totals']}\n\n{summary(rows)}")
        write_section(PAGE, "groups", sections["groups"])
    write_report(options.out, {"rows": rows})


if __name__ == "__main__":
    main()
