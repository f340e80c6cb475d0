"""The papers' tables beside ours, from the data in a folder: ``python -m benchmarks.papers FOLDER``.

FOLDER holds ``name/name.npz`` for each data set; the row of a missing data set says so. Each part is printed,
and with ``--page`` it replaces its section of that page. The same command always prints the same numbers.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from asr.errors import ConfigError
from benchmarks.papers import (
    benchmarks,
    characters,
    equal_centers,
    kernel_choices,
    leave_one_out,
    planar,
    printed,
    reduction,
    regression,
    sinc,
    sinc_figures,
    size_scores,
)
from benchmarks.papers.layout import write_section
from benchmarks.papers.parts import Kept, Part, Request
from benchmarks.papers.width_search import Search
from foundation.errors import AsrError

# The order is that of the page.
PARTS: dict[str, Part] = {
    **planar.PARTS,
    **characters.PARTS,
    "printed-characters": printed.PARTS["printed-characters"],
    **benchmarks.PARTS,
    "printed-benchmarks": printed.PARTS["printed-benchmarks"],
    **equal_centers.PARTS,
    **leave_one_out.PARTS,
    **kernel_choices.PARTS,
    **sinc.PARTS,
    **sinc_figures.PARTS,
    "printed-sinc": printed.PARTS["printed-sinc"],
    **regression.PARTS,
    "printed-regression": printed.PARTS["printed-regression"],
    **size_scores.PARTS,
    **reduction.PARTS,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the parts asked for, or write them into a page, and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        for name, text in sections(options):
            print(text, end="\n\n", flush=True)
            if options.page:
                write_section(options.page, name, text)
    except AsrError as error:
        print(f"tables: {error}", file=sys.stderr)
        return 2
    return 0


def sections(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield name and Markdown of each part as soon as it is computed."""
    folder: Path = options.folder
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder, expected one with name/name.npz for each data set")
    names = _checked("--only", options.only, tuple(PARTS)) or tuple(PARTS)
    known = tuple(dict.fromkeys(data for name in names for data in PARTS[name].data))
    data = _checked("--data", options.data, known)
    for name in names:
        kept = Kept(options.kept)
        request = Request(
            folder,
            Search(options.jobs, options.seed, is_coarse=options.quick),
            2 if options.quick else options.partitions,
            options.quick,
            None if data is None else frozenset(data),
            options.figures,
            options.page,
            kept,
        )
        yield name, _section(name, request, _command(name, options))


def _section(name: str, request: Request, command: str) -> str:
    """Return heading, command, protocol and tables of a part, and the time it took."""
    part, n_jobs = PARTS[name], request.search.n_jobs
    clock = time.process_time if n_jobs == 1 else time.perf_counter
    start = clock()
    text = part.make(request)
    seconds = clock() - start + request.kept.seconds
    paragraphs = [f"## {part.title}", f"`{command}`"]
    if request.is_quick:
        paragraphs.append("**`--quick`: a few points and partitions, to see that all works; not results.**")
    where = "one core" if n_jobs == 1 else f"{n_jobs} cores"
    paragraphs += [part.protocol, text, f"This took {seconds:.0f} s of {where}."]
    return "\n\n".join(paragraphs)


def _command(name: str, options: argparse.Namespace) -> str:
    """Return the command that makes this part alone."""
    words = ["python", "-m", "benchmarks.papers", "FOLDER", "--only", name]
    if options.data:
        words += ["--data", options.data]
    if options.quick:
        words += ["--quick"]
    for option, default in (("partitions", _N_PARTITIONS), ("seed", 0)):
        if getattr(options, option) != default:
            words += [f"--{option}", str(getattr(options, option))]
    if options.figures and PARTS[name].draws:
        words += ["--figures", options.figures.as_posix()]
    return shlex.join(words)


def _checked(option: str, text: str | None, known: Sequence[str]) -> tuple[str, ...] | None:
    """Return the names of an option, in the order of the known ones; None if it is not given."""
    if text is None:
        return None
    asked = set(text.split(","))
    if unknown := sorted(asked - set(known)):
        raise ConfigError(f'{option}: there is no "{unknown[0]}", expected some of {", ".join(known)}')
    return tuple(name for name in known if name in asked)


_N_PARTITIONS = 100


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="of the data sets")
    parser.add_argument("--only", help=f"parts, separated by commas: {', '.join(PARTS)}")
    parser.add_argument("--data", help="data sets of these parts, separated by commas; all by default")
    parser.add_argument("--page", type=Path, help="Markdown page whose sections the parts replace")
    parser.add_argument("--figures", type=Path, help="draw figures into this folder (needs matplotlib)")
    parser.add_argument("--kept", type=Path, help="keep results in this folder, and take them from there")
    parser.add_argument("--partitions", type=int, default=_N_PARTITIONS, help="of each of the benchmarks")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, default=0, help="of folds, partitions and noise")
    parser.add_argument("--quick", action="store_true", help="small subsets, to see that all works")
    return parser


if __name__ == "__main__":
    sys.exit(main())
