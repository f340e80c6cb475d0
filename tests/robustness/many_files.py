"""Time and memory of the verbs that read a folder of very many recordings, for each file of it.

    python tests/robustness/many_files.py --files 25000 50000 100000

The folder has recordings of 0.4 s with their texts, all in one place (links to twenty of each); in ``faulty``
every text is empty. Measured are the processor seconds and the largest memory of a process of its own, so
that other work on the machine counts little: ``validate``; ``begin``, a training until it has its task and
its list of steps; ``marks``, how a corpus is told from a changed one; and how many lines a terminal gets of
problems. A verb whose time or memory for a file grows with their number is at fault.
"""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile

from benchmarks.report import argument_parser, print_table, write_report

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
HEAD = ("verb", "files", "cpu_s", "peak_mb", "n_lines")
N_DIFFERENT, RATE, SECONDS = 20, 16000, 0.4
_BEGIN = """
import sys
from pathlib import Path
from asr.experiment import experiment_of
from asr.recipe import load_recipe
corpus, out = map(Path, sys.argv[1:])
experiment = experiment_of(load_recipe("folder"), corpus, out, ["gmm", "pools"], "best", ["speakers=one"])
with experiment.store.locked():
    print(len(experiment.outlook(experiment.systems(["gmm", "pools"]))))
"""
_MARKS = """
import sys
from pathlib import Path
from asr.corpora.marks import source_digest
print(source_digest(Path(sys.argv[1])))
"""


class Cost(NamedTuple):
    """What a process has used, and the lines that it wrote."""

    cpu_s: float
    peak_mb: float
    n_lines: int
    code: int


def write_folder(directory: Path, n: int, *, are_faulty: bool = False) -> Path:
    """Write a folder of n recordings with their texts and return it."""
    directory.mkdir(parents=True)
    rng = np.random.default_rng(0)
    sources = directory.parent / "sources"
    sources.mkdir(exist_ok=True)
    swell = np.hanning(round(RATE * SECONDS))
    for k in range(N_DIFFERENT):
        tone = 0.3 * np.sin(2 * np.pi * (200 + 60 * (k % 10)) * np.arange(len(swell)) / RATE) * swell
        soundfile.write(sources / f"{k}.wav", tone + 1e-3 * rng.normal(size=len(swell)), RATE)
        (sources / f"{k}.txt").write_text("" if are_faulty else WORDS[k % 10])
    for i in range(n):
        for suffix in ("wav", "txt"):  # a file system may allow few links to a file: 20 of them are enough
            os.link(sources / f"{i % N_DIFFERENT}.{suffix}", directory / f"u{i:07d}.{suffix}")
    shutil.rmtree(sources)
    return directory


def cost_of(*command: str | Path, at_terminal: bool = False) -> Cost:
    """Run a command and return what it has used; its standard output is a terminal or a pipe."""
    reads, writes = pty.openpty() if at_terminal else os.pipe()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([*command], stdin=subprocess.DEVNULL, stdout=writes, stderr=said)
        os.close(writes)
        n_lines = 0
        while block := _read(reads):
            n_lines += block.count(b"\n")
        os.close(reads)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 2):
            said.seek(0)
            raise RuntimeError(said.read().decode()[-2000:])
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, n_lines, process.returncode)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # of a terminal that nobody writes to any more
        return b""


def measured(n: int, directory: Path) -> list[dict[str, Any]]:
    """Return what each verb has used on a folder of n recordings, a row for each."""
    corpus = write_folder(directory / "corpus", n)
    asr = (sys.executable, "-m", "asr.cli")
    rows = {
        "validate": cost_of(*asr, "validate", corpus, "--speakers", "one"),
        "begin": cost_of(sys.executable, "-c", _BEGIN, corpus, directory / "exp"),
        "marks": cost_of(sys.executable, "-c", _MARKS, corpus),
    }
    shutil.rmtree(corpus)
    faulty = write_folder(directory / "faulty", n, are_faulty=True)
    rows["validate, all faulty, at a terminal"] = cost_of(*asr, "validate", faulty, at_terminal=True)
    rows["train, all faulty"] = cost_of(*asr, "train", "folder", "--corpus", faulty, "--out", directory / "x")
    shutil.rmtree(faulty)
    return [{"verb": verb, "files": n, **cost._asdict()} for verb, cost in rows.items()]


def grown(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return for each verb what a further file costs: the slope from the fewest files to the most."""
    found = {}
    for verb in dict.fromkeys(row["verb"] for row in rows):
        own = sorted((row for row in rows if row["verb"] == verb), key=lambda row: int(row["files"]))
        first, last = own[0], own[-1]
        more = max(last["files"] - first["files"], 1)
        found[verb] = {
            "ms_a_file": round(1000 * (last["cpu_s"] - first["cpu_s"]) / more, 3),
            "kb_a_file": round(1024 * (last["peak_mb"] - first["peak_mb"]) / more, 2),
        }
    return found


def main() -> None:
    """Measure, print a table, write the figures."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--files", type=int, nargs="+", default=[25_000, 50_000, 100_000])
    parser.add_argument("--directory", type=Path, help="where the folders are made (a temporary directory)")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for n in options.files:
        with tempfile.TemporaryDirectory(dir=options.directory) as directory:
            rows += measured(n, Path(directory))
    print_table(HEAD, [[row[key] for key in HEAD] for row in rows])
    write_report(options.out, {"rows": rows, "slopes": grown(rows)})


if __name__ == "__main__":
    main()
