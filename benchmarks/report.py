"""What all benchmarks need: seconds of a call, a table, a JSON that says what it was measured on."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple, TypeVar

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "hmmlearn", "soundfile", "soxr")

Found = TypeVar("Found")


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


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table, the first column to the left, numbers to the right; None is a dash."""
    is_number = [
        all(isinstance(row[column], int | float | None) for row in rows) and bool(rows)
        for column in range(len(head))
    ]
    rule = ["---:" if right else "---" for right in is_number]
    lines = [head, rule, *([_markdown_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")


class Seconds(NamedTuple):
    """What a call took; CPU seconds are those of all threads."""

    cpu: float
    wall: float


def timed(call: Callable[[], Found]) -> tuple[Found, Seconds]:
    """Return what a call returns, and how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    return found, Seconds(time.process_time() - cpu, time.perf_counter() - wall)


def median(measured: Sequence[Seconds]) -> dict[str, float]:
    """Return the medians, for the JSON."""
    cpu, wall = (round(statistics.median(column), 4) for column in zip(*measured, strict=True))
    return {"cpu_s": cpu, "wall_s": wall}


def machine_description(peers: Sequence[str] = ()) -> dict[str, object]:
    """Return processor, commit, Python, date, and the versions of our dependencies and of the peers."""
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "revision": revision(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: package_version(name) for name in (*PACKAGES, *peers)},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def processor_name() -> str:
    """Return the processor's model as Linux names it, or what Python knows of it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def revision() -> str | None:
    """Return the commit that is checked out, None without git; the files may have changed since."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def package_version(name: str) -> str | None:
    """Return a package's version, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
