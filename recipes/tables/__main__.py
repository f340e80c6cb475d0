"""The papers' tables beside ours, from the data in a folder: ``python -m recipes.tables FOLDER``.

FOLDER holds ``name/name.npz`` for each data set; the row of a missing data set says so. Only the kernel width
is chosen, by 5-fold cross-validation on training points. The same command always prints the same tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from asr.errors import ConfigError
from foundation.errors import AsrError
from recipes.tables.classification import benchmarks_table, characters_table, leave_one_out_table
from recipes.tables.datasets import is_there
from recipes.tables.published import BENCHMARKS, CHARACTERS, HOUSES_AND_SHELLS, LEAVE_ONE_OUT
from recipes.tables.regression import houses_and_shells_table, sinc_table
from recipes.tables.width_search import Search

NAMES = (*CHARACTERS, *BENCHMARKS, "sinc", *HOUSES_AND_SHELLS, "ripley", "spirals")
N_SINC_RUNS = 100


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables asked for and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        for text in tables(options):
            print(text, end="\n\n", flush=True)
    except AsrError as error:
        print(f"tables: {error}", file=sys.stderr)
        return 2
    return 0


def tables(options: argparse.Namespace) -> Iterator[str]:
    """Yield each table as soon as it is computed."""
    folder: Path = options.folder
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder, expected one with name/name.npz for each data set")
    only = _checked_names(options.only)
    search = Search(options.jobs, options.seed, is_coarse=options.quick)
    n_partitions, n_runs = (2, 1) if options.quick else (options.partitions, N_SINC_RUNS)
    if options.quick:
        yield "--quick: a few hundred points and partitions only, to see that all works; not results."

    def asked(names: Sequence[str]) -> list[str]:
        return [name for name in names if name in only]

    if names := asked(tuple(CHARACTERS)):
        yield characters_table(folder, names, search, is_quick=options.quick)
    if names := asked(tuple(BENCHMARKS)):
        yield benchmarks_table(folder, names, n_partitions, search, is_quick=options.quick)
    if names := asked(tuple(LEAVE_ONE_OUT)):
        yield leave_one_out_table(folder, names, n_partitions, search, is_quick=options.quick)
    if "sinc" in only:
        yield sinc_table(n_runs, search)
    if names := asked(tuple(HOUSES_AND_SHELLS)):
        yield houses_and_shells_table(folder, names, search, is_quick=options.quick)
    for name in asked(("ripley", "spirals")) if options.figures else []:
        yield _drawn(name, folder, options.figures, search)


def _drawn(name: str, folder: Path, figures: Path, search: Search) -> str:
    """Return the table of a figure, which is drawn too."""
    if name == "ripley" and not is_there(folder, "synth"):
        return "Ripley's data (synth): not in the folder"
    from recipes.tables import planar  # matplotlib is only needed for drawing

    draw: Callable[[], str] = {
        "ripley": lambda: planar.ripley(folder, figures, search),
        "spirals": lambda: planar.spirals(figures, search),
    }[name]
    return draw()


def _checked_names(only: str | None) -> set[str]:
    asked = set(NAMES) if only is None else set(only.split(","))
    if unknown := sorted(asked - set(NAMES)):
        raise ConfigError(f'--only: no table has "{unknown[0]}", expected some of {", ".join(NAMES)}')
    return asked


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m recipes.tables", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="of the data sets")
    parser.add_argument("--only", help=f"data sets, separated by commas: {', '.join(NAMES)}")
    parser.add_argument("--figures", type=Path, help="draw figures 3.2 and 5.1 into this folder (matplotlib)")
    parser.add_argument("--partitions", type=int, default=100, help="of each of the thirteen benchmarks")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, default=0, help="of folds, partitions and noise")
    parser.add_argument("--quick", action="store_true", help="small subsets, to see that all works")
    return parser


if __name__ == "__main__":
    sys.exit(main())
