"""Two checkouts of the product on the same corpora: the same words, the same models, as fast?

    python benchmarks/compare_checkouts.py --before ../base --after . \\
        --an4 ../shared/data/an4 --fsdd ../shared/data/fsdd --out report.json
    python benchmarks/compare_checkouts.py --before ../base --after . --speed --out speed.json

The runs are ``RECIPE-best`` (models gmm, pools) and ``RECIPE-thesis`` (npd, orols, svm) of every recipe whose
corpus is given. Each is trained by both checkouts on one BLAS thread, in ``WORK/before-COMMIT/RUN`` and
``WORK/after-COMMIT/RUN``; finished runs of an earlier call there are reused. ``--before-exp RUN=DIR`` and
``--after-exp RUN=DIR`` give experiments that were made elsewhere. For a checkout with changed files, or
without git, the commit does not identify the code: give such a comparison a ``--work`` of its own.

Machine code that numba compiles in a process can differ in the last bits from the same code read from its
cache, and so can the models of `acoustic.pairs.compiled_forward`: a training that compiled anything is
discarded and repeated. For experiments made elsewhere this cannot be detected; make them with a warm cache.

What differs has a name, ``RECIPE-MODEL-PRESET-KIND``, where the kind is

    results      a row of results.json
    words        the words recognised in dev or test, even where their accuracy is the same
    model        the bytes of model.safetensors
    description  model.json
    decoding     decoding.json, the tuned weights and decoder options
    missing      the model itself, in one or both

``--expect`` names an intended difference, with or without the recipe: ``--expect pools-best-model``.
Checkouts from before the pooled system was called ``pools`` (``npd`` of the preset best, where ``pools``
was another model) cannot be compared in ``RECIPE-best`` but for ``gmm``: ``--models gmm``.

The exit code is 1 if anything else differs. Seconds are shown, never judged: compare them on an idle machine,
or by ``--speed``, which trains and scores machines of pairs on fixed synthetic frames in turn by one checkout
and the other (`pair_speed`).
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from checkouts import Checkout
from experiment_differences import (
    ModelDifference,
    RowDifference,
    StageSeconds,
    by_kind,
    compare_model,
    compare_stages,
    model_names,
)
from report import argument_parser, markdown_table, write_report

RECIPES = ("an4", "fsdd", "folder")
MODELS = {"best": ("gmm", "pools"), "thesis": ("npd", "orols", "svm")}  # of each preset
SIDES = ("before", "after")
_N_NAMED = 8  # tensors and entries of a model in the table; the JSON has all
_SPEED = Path(__file__).with_name("pair_speed.py")


@dataclass(frozen=True)
class Run:
    """A training: a recipe with the models of a preset."""

    recipe: str
    preset: str

    @property
    def name(self) -> str:
        """Return what it is called on the command line."""
        return f"{self.recipe}-{self.preset}"


@dataclass(frozen=True)
class Comparison:
    """A run in both checkouts."""

    run: Run
    models: list[ModelDifference]
    stages: list[StageSeconds]

    def differences(self) -> Iterator[str]:
        """Yield the names of what differs."""
        for model in self.models:
            for kind in model.kinds():
                yield f"{self.run.recipe}-{model.name}-{self.run.preset}-{kind}"


RUNS = tuple(Run(recipe, preset) for recipe in RECIPES for preset in MODELS)


def main() -> int:
    """Compare, print and write; return the exit code."""
    arguments = parsed()
    checkouts = [
        Checkout(arguments.before, arguments.before_python),
        Checkout(arguments.after, arguments.after_python),
    ]
    for checkout in checkouts:
        checkout.check()
    revisions = dict(zip(SIDES, (checkout.revision() for checkout in checkouts), strict=True))
    print(f"before {revisions['before']}, after {revisions['after']}\n")
    if arguments.speed:
        rows = speeds(checkouts, arguments.rounds)
        print_speeds(rows)
        write_report(arguments.out, {"revisions": revisions, "speed": rows})
        return 0
    comparisons = [compared(run, checkouts, arguments) for run in chosen_runs(arguments)]
    found = [name for comparison in comparisons for name in comparison.differences()]
    unexpected = [name for name in found if not any(names(e, name) for e in arguments.expect)]
    print_comparisons(comparisons)
    print_verdict(found, unexpected, arguments.expect)
    report = {"revisions": revisions, "differences": found, "unexpected": unexpected}
    write_report(arguments.out, {**report, "runs": {c.run.name: as_report(c) for c in comparisons}})
    return 1 if unexpected else 0


def parsed() -> Namespace:
    """Return the command line."""
    parser = argument_parser(__doc__, __file__)
    for side in SIDES:
        parser.add_argument(f"--{side}", type=Path, required=True, metavar="DIR", help="checkout")
        parser.add_argument(f"--{side}-python", type=Path, default=Path(sys.executable), metavar="P")
        parser.add_argument(
            f"--{side}-exp",
            type=named_path,
            action="append",
            default=[],
            metavar="RUN=DIR",
            help=f"experiment of the checkout {side} that is there already",
        )
    for recipe in RECIPES:
        parser.add_argument(f"--{recipe}", type=Path, metavar="DIR", help=f"corpus of the recipe {recipe}")
    parser.add_argument("--work", type=Path, default=Path("exp/compared"), help="where experiments are made")
    parser.add_argument("--models", nargs="+", metavar="M", help="only these of each run's")
    parser.add_argument("--runs", nargs="+", choices=[run.name for run in RUNS], help="only these")
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="as of asr train")
    parser.add_argument("--expect", nargs="+", action="extend", default=[], metavar="NAME")
    parser.add_argument("--speed", action="store_true", help="compare seconds on synthetic frames instead")
    parser.add_argument("--rounds", type=int, default=5, help="of --speed, each in both checkouts")
    return checked(parser)


def checked(parser: ArgumentParser) -> Namespace:
    """Return the parsed command line; an error if there would be nothing to do."""
    arguments = parser.parse_args()
    known = {run.name for run in RUNS}
    wrong = [name for side in SIDES for name, _ in getattr(arguments, f"{side}_exp") if name not in known]
    if wrong:
        parser.error(f"run {', '.join(wrong)} is not known; expected one of {', '.join(sorted(known))}")
    if not arguments.speed and not chosen_runs(arguments):
        parser.error("no run to compare; give a corpus, as --an4 DIR, or experiments of both checkouts")
    if arguments.rounds < 1:
        parser.error(f"--rounds: expected 1 or more, got {arguments.rounds}")
    return arguments


def named_path(text: str) -> tuple[str, Path]:
    """Return NAME and DIR of ``NAME=DIR``."""
    name, separator, path = text.partition("=")
    if not separator or not Path(path).is_dir():
        raise ArgumentTypeError(f'"{text}": expected RUN=DIR with a directory that exists')
    return name, Path(path)


def chosen_runs(arguments: Namespace) -> list[Run]:
    """Return the runs that are asked for: of which there is a corpus, or both experiments."""
    made = [dict(getattr(arguments, f"{side}_exp")) for side in SIDES]
    return [
        run
        for run in RUNS
        if (getattr(arguments, run.recipe) or all(run.name in of for of in made))
        and (not arguments.runs or run.name in arguments.runs)
        and chosen_models(run, arguments)
    ]


def chosen_models(run: Run, arguments: Namespace) -> list[str]:
    """Return the models of a run that are asked for."""
    return [model for model in MODELS[run.preset] if not arguments.models or model in arguments.models]


def compared(run: Run, checkouts: Sequence[Checkout], arguments: Namespace) -> Comparison:
    """Return the differences of a run, trained where it is not there yet."""
    before, after = (
        experiment(run, side, checkout, arguments) for side, checkout in zip(SIDES, checkouts, strict=True)
    )
    models = chosen_models(run, arguments)
    if unnamed := set(model_names(before, after)).difference(*MODELS.values()):
        print(f"{run.name}: models {', '.join(sorted(unnamed))} are not compared")
    differences = [compare_model(model, before, after) for model in models]
    return Comparison(run, differences, compare_stages(before, after))


def experiment(run: Run, side: str, checkout: Checkout, arguments: Namespace) -> Path:
    """Return the experiment of a run by one checkout: the one that is given, or trained now."""
    given = dict(getattr(arguments, f"{side}_exp"))
    if run.name in given:
        return given[run.name]
    directory = arguments.work.absolute() / f"{side}-{checkout.revision()}" / run.name
    is_new, compiled = not directory.exists(), checkout.compiled()
    train(run, checkout, directory, arguments)
    if checkout.compiled() != compiled:
        if is_new:
            print(f"{run.name} {side}: code was compiled on the way, trained again", flush=True)
            shutil.rmtree(directory)
            train(run, checkout, directory, arguments)
        else:
            print(f"{run.name} {side}: code was compiled on the way; its last bits may differ by that")
    return directory


def train(run: Run, checkout: Checkout, directory: Path, arguments: Namespace) -> None:
    """Train the models of a run."""
    print(f"{run.name}: {directory}", flush=True)
    corpus = getattr(arguments, run.recipe).absolute()
    models = [word for model in chosen_models(run, arguments) for word in ("--model", model)]
    settings = [word for setting in arguments.set for word in ("--set", setting)]
    command = ("train", run.recipe, "--corpus", corpus, "--out", directory, "--preset", run.preset)
    checkout.run("-m", "asr.cli", *command, *models, *settings)


def names(expected: str, difference: str) -> bool:
    """Return whether an expectation, with or without the recipe, names a difference."""
    return expected in (difference, difference.partition("-")[2])


def speeds(checkouts: Sequence[Checkout], n_rounds: int) -> list[dict[str, Any]]:
    """Return the CPU seconds of each task, measured in turn by one checkout and the other."""
    for checkout in checkouts:  # compiles
        checkout.run(_SPEED)
    rounds = [[json.loads(checkout.run(_SPEED)) for checkout in checkouts] for _ in range(n_rounds)]
    tasks = [task for task in rounds[0][0] if task in rounds[0][1]]
    return [speed_row(task, [[side[task] for side in both] for both in rounds]) for task in tasks]


def speed_row(task: str, rounds: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return medians of the seconds and of the ratios of rounds, and whether the outputs are the same."""
    before, after = ([both[side]["seconds"] for both in rounds] for side in (0, 1))
    ratios = [b / a for a, b in zip(before, after, strict=True)]
    digests = {both[side]["digest"] for both in rounds for side in (0, 1)}
    return {
        "task": task,
        "before": statistics.median(before),
        "after": statistics.median(after),
        "ratio": statistics.median(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
        "same_outputs": len(digests) == 1,
    }


def print_speeds(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the seconds of synthetic tasks."""
    head = ("task", "CPU s before", "after", "ratio", "lowest", "highest", "same outputs")
    print(markdown_table(head, [tuple(row.values()) for row in rows]), "\n")


def print_comparisons(comparisons: Sequence[Comparison]) -> None:
    """Print the tables of words, models and seconds."""
    models = [(c.run.name, model) for c in comparisons for model in c.models]
    numbers = ("utterances", "that differ", "words that differ", "word errors before", "after")
    head = ("run", "model", "split", "grammar", "results", *numbers)
    words = [(run, model.name, *row_cells(row)) for run, model in models for row in model.rows]
    print(markdown_table(head, words), "\n")
    head = ("run", "model", "model.safetensors", "model.json", "decoding.json")
    print(markdown_table(head, [(run, model.name, *model_cells(model)) for run, model in models]), "\n")
    for run, model in models:
        for line in (*tensor_lines(model), *entry_lines(model)):
            print(f"- {run}, {model.name}: {line}")
    print()
    for comparison in comparisons:
        print_seconds(comparison)


def row_cells(row: RowDifference) -> tuple[object, ...]:
    """Return a row of the table of words."""
    results = ", ".join(row.fields) or "equal"
    differing = len(row.utterances)
    return (row.split, row.grammar, results, row.n_utterances, differing, row.words, *row.errors)


def model_cells(model: ModelDifference) -> tuple[str, ...]:
    """Return a row of the table of models."""
    if model.missing:
        return (f"missing {model.missing}", "", "")
    number = len(model.tensors)
    tensors = "identical" if model.is_identical else f"{number} tensors differ" if number else "other header"
    entries = (f"{len(c)} differ" if c else "equal" for c in (model.description, model.decoding))
    return (tensors, *entries)


def tensor_lines(model: ModelDifference) -> Iterator[str]:
    """Yield what the first tensors that differ differ in."""
    for tensor in model.tensors[:_N_NAMED]:
        values = ""
        if tensor.largest is not None and tensor.share is not None:
            relative = "" if tensor.relative is None else f", {tensor.relative:.2g} of the largest"
            values = f", {100 * tensor.share:.3g} % of them, by {tensor.largest:.2g} at most{relative}"
        yield f"{tensor.name}: {tensor.what}{values}"
    yield from more(len(model.tensors), "tensors")


def entry_lines(model: ModelDifference) -> Iterator[str]:
    """Yield the first entries of the JSON files that differ."""
    for file, found in (("model.json", model.description), ("decoding.json", model.decoding)):
        for path, before, after in found[:_N_NAMED]:
            yield f"{file}: {path}: {shortened(before)} → {shortened(after)}"
        yield from more(len(found), f"entries of {file}")


def more(number: int, what: str) -> Iterator[str]:
    """Yield how many are not named."""
    if number > _N_NAMED:
        yield f"and {number - _N_NAMED} {what} more"


def shortened(value: object) -> str:
    """Return a JSON value in 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


def print_seconds(comparison: Comparison) -> None:
    """Print the CPU seconds of a run's stages, kind by kind, and the stages without a partner."""
    head = (f"{comparison.run.name}: stages", "CPU s before", "after", "ratio")
    rows = [
        (kind.name, kind.before, kind.after, kind.after / kind.before if kind.before else None)
        for kind in by_kind(comparison.stages)
    ]
    print(markdown_table(head, rows), "\n")
    for stage in comparison.stages:
        if stage.renamed:
            print(f"- {stage.name} is taken for {stage.renamed}")
        elif stage.before is None or stage.after is None:
            print(f"- {stage.name} is there only {'after' if stage.before is None else 'before'}")


def print_verdict(found: Sequence[str], unexpected: Sequence[str], expected: Sequence[str]) -> None:
    """Print the names of the differences, and the expected ones that did not come."""
    print(f"different as expected: {', '.join(n for n in found if n not in unexpected) or 'nothing'}")
    print(f"different, not expected: {', '.join(unexpected) or 'nothing'}")
    if idle := [e for e in expected if not any(names(e, name) for name in found)]:
        print(f"expected to differ, but equal: {', '.join(idle)}")


def as_report(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison for the JSON."""
    models = {model.name: asdict(model) for model in comparison.models}
    return {"models": models, "stages": [asdict(stage) for stage in comparison.stages]}


if __name__ == "__main__":
    sys.exit(main())
