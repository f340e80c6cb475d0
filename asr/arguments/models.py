"""What the verbs take that make models and look into them, from ``plan`` to ``clean``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from asr.arguments.trained import add_experiment, add_model
from asr.parsing import Entry, Verbs
from asr.recipe import built_in_recipes, installed_recipes
from asr.systems import PRESETS, SPARSITY_SIZES, SYSTEMS


def _add_plan(verbs: Verbs) -> None:
    command = verbs.add_parser("plan", help="say what a training will cost, in time, memory and disk")
    command.add_argument("recipe", help="as of train")
    command.add_argument("--corpus", type=Path, help="directory of the raw corpus")
    command.add_argument("--out", type=Path, help="experiment directory, to keep the prepared task for train")
    command.add_argument("--model", action="append", default=[], help="as of train; may be repeated")
    command.add_argument("--preset", choices=PRESETS, default="best", help="as of train")
    command.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help="as of train"
    )
    command.add_argument("--workers", type=int, metavar="N", help="threads to tell of, beside 1, 2 and 4")


def _add_train(verbs: Verbs) -> None:
    command = verbs.add_parser("train", help="train, tune and test by a recipe; goes on where it stopped")
    _add_training_options(command)
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="change an option; may be repeated",
    )


def _add_info(verbs: Verbs) -> None:
    command = verbs.add_parser("info", help="say what a model is made of")
    add_experiment(command)
    add_model(command)
    command.add_argument("--measure", type=Path, metavar="WAV", help="also measure how fast it decodes this")


def _add_report(verbs: Verbs) -> None:
    command = verbs.add_parser(
        "report", help="one page that shows what the models hear and where they go wrong"
    )
    add_experiment(command)
    command.add_argument("--model", help="the model that is looked into; the best on dev by default")
    command.add_argument("--out", type=Path, metavar="FILE.html", help="the page; EXP/report.html by default")
    command.add_argument("--split", choices=("test", "dev"), help="test by default, where there is one")
    command.add_argument(
        "--utterances",
        type=int,
        default=100,
        metavar="N",
        help="show so many, the worst, with their sound (100)",
    )
    command.add_argument(
        "--audio",
        choices=("beside", "embed", "none"),
        help="sounds beside the page, in it, or none; in it by default if they are small",
    )


def _add_sweep(verbs: Verbs) -> None:
    command = verbs.add_parser(
        "sweep",
        help="train every combination of some settings, and compare them",
        description="Train every combination of some settings, sharing what they have in common, and print "
        "a table that compares them. Goes on where it stopped. Exit code 2 if a point failed; the others "
        "are in the table all the same.",
    )
    _add_training_options(command)
    command.add_argument(
        "--set",
        action="append",
        required=True,
        metavar="KEY=VALUE,VALUE",
        dest="settings",
        help="values of an option, separated by commas; those of an option that is itself a list by "
        'semicolons: "mixtures=1,2;1,2,4"; one value is common to all points; may be repeated',
    )
    command.add_argument(
        "--against",
        metavar='"KEY=VALUE …"',
        help="the point that the others are compared with; the first by default",
    )


def _add_sparsity(verbs: Verbs) -> None:
    command = verbs.add_parser("sparsity", help="accuracy on dev against the number of centres")
    add_experiment(command)
    command.add_argument("--model", default="npd", help="npd (default) or orols")
    command.add_argument("--recipe", help="the recipe script, if one trained the experiment")
    command.add_argument(
        "--centers",
        type=int,
        nargs="+",
        default=list(SPARSITY_SIZES),
        help=f"{', '.join(map(str, SPARSITY_SIZES))} by default",
    )


def _add_clean(verbs: Verbs) -> None:
    command = verbs.add_parser("clean", help="list, or remove, what an experiment's results do not need")
    add_experiment(command)
    command.add_argument("--yes", action="store_true", help="remove it; without this it is only listed")


def _add_training_options(command: argparse.ArgumentParser) -> None:
    """Add what ``train`` and ``sweep`` have in common."""
    known = (*built_in_recipes(), *installed_recipes())
    command.add_argument("recipe", help=f"one of {', '.join(known)}, or the path of a recipe script")
    command.add_argument("--corpus", type=Path, help="directory of the raw corpus")
    command.add_argument("--out", type=Path, required=True, help="experiment directory")
    command.add_argument(
        "--model", action="append", default=[], help=f"one of {', '.join(SYSTEMS)}; may be repeated"
    )
    command.add_argument(
        "--preset", choices=PRESETS, default="best", help="best (default), or as in the thesis"
    )
    _add_engine_options(command)


def _add_engine_options(command: argparse.ArgumentParser) -> None:
    """Add where the work is done; the results do not depend on it."""
    engine = command.add_mutually_exclusive_group()
    engine.add_argument("--workers", type=int, metavar="N", help="threads of this machine (one a core)")
    engine.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler, whose workers compute")
    engine.add_argument("--cluster", type=Path, metavar="FILE", help="TOML that describes a cluster to start")


VERBS: Mapping[str, Entry] = {
    "plan": Entry(_add_plan, "asr plan folder --corpus my_recordings"),
    "train": Entry(_add_train, "asr train folder --corpus my_recordings --out exp/mine"),
    "info": Entry(_add_info, "asr info exp/mine --measure my_recordings/anna/u01.wav"),
    "report": Entry(_add_report, "asr report exp/mine"),
    "sweep": Entry(
        _add_sweep, "asr sweep folder --corpus my_recordings --out exp/sweep --set gmm.beam=200,300"
    ),
    "sparsity": Entry(_add_sparsity, "asr sparsity exp/mine --centers 25 50 100"),
    "clean": Entry(_add_clean, "asr clean exp/mine --yes"),
}
