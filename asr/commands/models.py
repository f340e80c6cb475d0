"""What the verbs do that make models and look into them, from ``plan`` to ``clean``."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager

from asr import verbs
from asr.commands import terminal
from asr.commands.printing import Command, print_result
from asr.commands.sweep_table import format_sweep
from asr.engines.clusters import running_on
from asr.files import as_plain, read_json
from asr.leftovers import clean, format_leftovers
from asr.model_info import format_info
from asr.planning.plan import plan
from asr.planning.table import plan_json, plan_table
from asr.reports.report import report
from asr.scoring.results import RESULTS
from asr.sparsity import format_sparsity, sparsity
from asr.sweeps import sweep


def _plan(options: argparse.Namespace) -> int:
    found = plan(
        options.recipe,
        corpus=options.corpus,
        out=options.out,
        models=options.model,
        preset=options.preset,
        settings=options.settings,
        workers=options.workers,
    )
    print_result(options, lambda: plan_json(found), lambda: plan_table(found))
    return 0


def _engine(options: argparse.Namespace) -> AbstractContextManager[None]:
    """Return a context in which is computed where the options say."""
    return running_on(options.workers, options.scheduler, options.cluster)


def _train(options: argparse.Namespace) -> int:
    with _engine(options):
        results = verbs.train(
            options.recipe,
            corpus=options.corpus,
            out=options.out,
            models=options.model,
            preset=options.preset,
            settings=options.settings,
        )
    print_result(
        options,
        lambda: read_json(options.out / RESULTS),
        lambda: terminal.results_table(results, options.out),
    )
    return 0


def _info(options: argparse.Namespace) -> int:
    found = verbs.info(options.experiment, model=options.model, measure=options.measure)
    print_result(options, lambda: found, lambda: format_info(found))
    return 0


def _report(options: argparse.Namespace) -> int:
    page = report(
        options.experiment,
        model=options.model,
        out=options.out,
        split=options.split,
        utterances=options.utterances,
        audio=options.audio,
    )
    print_result(options, lambda: {"path": page}, lambda: str(page))
    return 0


def _sweep(options: argparse.Namespace) -> int:
    with _engine(options):
        found = sweep(
            options.recipe,
            corpus=options.corpus,
            out=options.out,
            settings=options.settings,
            models=options.model,
            preset=options.preset,
            against=options.against,
        )
    # A file or a pipe takes lines of any length.
    width = shutil.get_terminal_size(fallback=(sys.maxsize, 24)).columns
    print_result(
        options,
        lambda: found,
        lambda: format_sweep(found.rows, found.against, found.place, width=width, synthetic=found.synthetic),
    )
    return 2 if any(row.error for row in found.rows) else 0


def _sparsity(options: argparse.Namespace) -> int:
    rows = sparsity(options.experiment, model=options.model, sizes=options.centers, recipe=options.recipe)
    print_result(
        options,
        lambda: {"model": options.model, "rows": rows},
        lambda: format_sparsity(rows, options.experiment),
    )
    return 0


def _clean(options: argparse.Namespace) -> int:
    leftovers = clean(options.experiment, yes=options.yes)
    print_result(
        options,
        lambda: {**as_plain(leftovers), "n_bytes": leftovers.n_bytes},
        lambda: format_leftovers(leftovers, options.experiment),
    )
    return 0


COMMANDS: Mapping[str, Command] = {
    "plan": _plan,
    "train": _train,
    "info": _info,
    "report": _report,
    "sweep": _sweep,
    "sparsity": _sparsity,
    "clean": _clean,
}
