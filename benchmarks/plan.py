"""What `asr plan` said, beside what then happened: finished experiments, planned again on this machine.

    python benchmarks/plan.py exp/an4 exp/fsdd exp/growth/iban-1 --page

Real seconds are those of ``stages/*/stage.json`` (`seconds.cpu`), or with real peaks those of
``growth-MODEL.json`` in experiments that `growth.py` has made, whose parts of a corpus are planned as they
were cut. A ratio is reality / plan. Costs of other hours of a shared machine differ by a third or more: plan
soon after the experiment, with as much other work on the machine, if the ratios are to say something about
the plan. Stages that compiled functions for the first time took some ten seconds longer than they are planned
to.
"""

from __future__ import annotations

import argparse
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
from asr.planning.plan import ModelPlan, plan_of
from asr.planning.small_runs import size_of
from asr.planning.work import GROUPS
from asr.recipe import LoadedRecipe, load_recipe
from asr.store import RECORD, stage_cpu_s
from asr.systems import find_system
from benchmarks.papers.layout import write_section

PAGE = Path("docs/results/plan.md")
_LEAST, _MOST = 0.65, 1.5  # reality / plan

Row = dict[str, Any]


def rows_of(experiment: Path) -> list[Row]:
    """Return a row for each model of a finished experiment: what was planned and what it took."""
    record = read_json(experiment / "config.json")
    names = sorted(path.name for path in (experiment / "models").iterdir())
    corpus = Path(record["corpus"]) if record["corpus"] else None
    loaded, preset = as_cut(load_recipe(record["recipe"]), experiment), record["preset"]
    configs = {name: config_of_model(experiment, name, loaded, preset) or config_of(record) for name in names}
    found = []
    for config in dict.fromkeys(configs.values()):
        systems = {name: find_system(name, preset) for name in names if configs[name] == config}
        planned = plan_of(loaded, corpus, config, systems, preset, centers=())
        group_of = {step["name"]: step["group"] for step in planned.steps}
        found += [row_of(experiment, each, group_of) for each in planned.models]
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
            return cut(loaded, row["size"], row.get("dev", row["held_out"]), row["held_out"])
    return loaded


def row_of(experiment: Path, planned: ModelPlan, group_of: dict[str, str]) -> Row:
    """Return what was planned for a model beside what it took."""
    made = {name: stage_of(experiment, name) for name in planned.stages}
    growth = experiment / f"growth-{planned.model}.json"
    measured = read_json(growth)["stages"] if growth.is_file() else {}
    seconds = {
        name: measured[name]["cpu_s"] if name in measured else stage_cpu_s(path)
        for name, path in made.items()
        if path
    }
    described = info(experiment, model=planned.model)
    description: dict[str, Any] = described.get("first", described)
    model = experiment / "models" / planned.model
    kept = sum(size_of(path) for path in made.values() if path) + size_of(model)
    return {
        "experiment": experiment.name,
        "model": planned.model,
        "stages": {name: (group_of[name], planned.stages[name], s) for name, s in seconds.items()},
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


def group_rows(row: Row) -> Iterator[tuple[object, ...]]:
    """Yield planned and real seconds of each group of stages."""
    for group in GROUPS:
        both = [(planned, real) for own, planned, real in row["stages"].values() if own == group]
        if both:
            planned, real = (sum(column) for column in zip(*both, strict=True))
            yield (row["experiment"], row["model"], group, *cells(planned, real))


def cells(planned: float | None, real: float | None, digits: int = 1) -> tuple[object, ...]:
    """Return two numbers and the second for one of the first."""
    if planned is None or real is None:
        return (None, None, None)
    return round(planned, digits), round(real, digits), round(real / planned, 2) if planned else None


def totals_table(rows: Sequence[Row]) -> str:
    """Return all seconds, peaks, sizes and counts as a table in Markdown."""
    labels = {
        "cpu_s": "CPU s",
        "peak_mb": "peak MB",
        "model_mb": "model MB",
        "disk_mb": "disk MB",
        "states": "states",
        "pairs": "pairs",
    }
    found = [
        (row["experiment"], row["model"], label, *cells(*row[name]))
        for row in rows
        for name, label in labels.items()
        if None not in row[name]
    ]
    return markdown_table(("experiment", "model", "what", "planned", "real", "real / planned"), found)


def groups_table(rows: Sequence[Row]) -> str:
    """Return the seconds of groups of stages as a table in Markdown."""
    head = ("experiment", "model", "steps", "planned CPU s", "real CPU s", "real / planned")
    return markdown_table(head, [cells_ for row in rows for cells_ in group_rows(row)])


def summary(rows: Sequence[Row]) -> str:
    """Return how many totals are as they should be."""
    ratios = [real / planned for planned, real in (row["cpu_s"] for row in rows)]
    within = sum(_LEAST <= ratio <= _MOST for ratio in ratios)
    return (
        f"{within} of {len(ratios)} totals of CPU seconds are {_LEAST} to {_MOST} times what was planned; "
        f"ratios from {min(ratios):.2f} to {max(ratios):.2f}, planned at a load of {os.getloadavg()[0]:.0f}."
    )


def main() -> None:
    """Plan each experiment again, and print and write how far it was from what happened."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiments", type=Path, nargs="+", metavar="EXP")
    parser.add_argument("--page", action="store_true", help=f"write the tables into {PAGE}")
    parser.add_argument("--stages", action="store_true", help="print every stage")
    options: argparse.Namespace = parser.parse_args()
    rows = [row for experiment in options.experiments for row in rows_of(experiment)]
    for row in rows if options.stages else ():
        for name, (_, planned, real) in row["stages"].items():
            print(row["experiment"], row["model"], name, *cells(planned, real, 2))
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
