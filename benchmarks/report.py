"""What all benchmarks need: count CPU seconds, print a table, write the JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from machine import machine_description


def argument_parser(description: str | None, script: str) -> argparse.ArgumentParser:
    """Return a parser with ``--out``, whose default is named after the script."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(f"{Path(script).stem}.json"), help="JSON to write")
    return parser


@contextmanager
def cpu_time(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Add the CPU seconds of a block, all its threads together, to ``seconds[name]``."""
    start = time.process_time()
    yield
    seconds[name] = seconds.get(name, 0.0) + time.process_time() - start


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a head, the first column to the left, the others to the right; None is a dash."""
    cells = [list(head), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for row in cells:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join([row[0].ljust(len(first)), *others]))
    print()


def write_report(path: Path, report: Mapping[str, object], peers: Sequence[str] = ()) -> None:
    """Write what was measured, with the command and the machine."""
    whole = {"command": " ".join(sys.argv), **report, "machine": machine_description(peers)}
    path.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written: {path}")


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) and abs(value) < 1 else _rounded(value)


def _rounded(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
