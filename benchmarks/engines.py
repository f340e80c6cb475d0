"""The same training by threads, by processes and by a cluster's workers: bytes, wall time and CPU seconds.

    python benchmarks/engines.py an4 --corpus ../shared/data/an4 --model pools --page docs/results/engines.md
    python benchmarks/engines.py an4 --corpus ../shared/data/an4 --model pools --engines threads:1 \
        --before ../base --repeats 3

``threads:N`` is ``asr train --workers N``, ``dask:N`` a scheduler and N worker processes of one thread each
on this machine, started as docs/cluster.md says, and ``--scheduler``. ``--before DIR`` trains with the code
of another checkout as well, with as many threads as it takes by itself. Engines take turns, ``--repeats``
times; medians are reported. First each checkout trains once for the compiler, which does not count, unless
``--compiled`` says that it has.

CPU seconds are those of all stages, of the command and its workers together, as the experiments record them;
wall seconds are those of the stages. The wall time means something only if nothing else runs. The digest is
that of all models and results.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from report import argument_parser, print_table, write_report

from benchmarks.papers.layout import table, write_section

HERE = Path(__file__).resolve().parents[1]
HEAD = ("engine", "CPU s", "wall s", "CPU of the first", "wall of the first", "models and results")
_START_S = 60.0


@dataclass(frozen=True)
class Engine:
    """What computes: code, kind and number of workers; of other code, threads by its own choice."""

    kind: str
    n_workers: int
    checkout: Path = HERE

    @classmethod
    def of(cls, text: str) -> Engine:
        kind, _, number = text.partition(":")
        if kind not in ("threads", "dask") or not number.isdigit() or int(number) < 1:
            raise SystemExit(f'--engines: expected threads:N or dask:N, got "{text}"')
        return cls(kind, int(number))

    @property
    def name(self) -> str:
        return "threads, before" if self.checkout != HERE else f"{self.kind}, {self.n_workers}"

    @property
    def environment(self) -> dict[str, str]:
        own = {"PYTHONPATH": str(self.checkout), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return {**os.environ, **own}


@contextmanager
def options_of(engine: Engine, folder: Path) -> Iterator[list[str]]:
    """Start what an engine needs and yield the options of ``asr train``."""
    if engine.checkout != HERE:
        yield []
    elif engine.kind == "threads":
        yield ["--workers", str(engine.n_workers)]
    else:
        processes = []
        try:
            log = folder / "scheduler.log"
            processes.append(started(engine, log, "scheduler", "--host", "127.0.0.1", "--port", "0"))
            address = address_in(log)
            workers = ("worker", address, "--nworkers", str(engine.n_workers), "--nthreads", "1")
            processes.append(started(engine, folder / "workers.log", *workers, "--memory-limit", "0"))
            yield ["--scheduler", address]
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()


def started(engine: Engine, log: Path, program: str, *arguments: str) -> subprocess.Popen[bytes]:
    with open(log, "wb") as file:
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *arguments]
        return subprocess.Popen(command, stdout=file, stderr=file, env=engine.environment)


def address_in(log: Path) -> str:
    """Return the address that a scheduler prints when it is ready."""
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        found = re.search(r"Scheduler at:\s+(tcp://\S+)", log.read_text())
        if found:
            return found[1]
        time.sleep(0.1)
    raise SystemExit(f"no scheduler started: {log.read_text()}")


def train(engine: Engine, arguments: Sequence[str]) -> dict[str, object]:
    """Train once and return CPU and wall seconds of the stages, and the digest of what came out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with options_of(engine, folder) as options:
            command = [sys.executable, "-m", "asr.cli", "train", *arguments, "--out", str(folder / "exp")]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(
                [*command, *options], check=True, env=engine.environment, cwd=engine.checkout, **quiet
            )  # type: ignore[call-overload]
        seconds = [json.loads(p.read_text())["seconds"] for p in folder.glob("exp/stages/*/stage.json")]
        return {
            "cpu_s": sum(each["cpu"] for each in seconds),
            "wall_s": sum(each["wall"] for each in seconds),
            "digest": digest(folder / "exp"),
        }


def digest(experiment: Path) -> str:
    """Return a hash of the names and bytes of all models and results, without times."""
    paths = [*(experiment / "models").rglob("*"), experiment / "results.json"]
    found = hashlib.sha256()
    for path in sorted(p for p in paths if p.is_file() and p.name != "stage.json"):
        found.update(
            f"{path.relative_to(experiment)} {hashlib.sha256(path.read_bytes()).hexdigest()}".encode()
        )
    return found.hexdigest()[:12]


def rows_of(found: dict[str, list[dict[str, object]]]) -> list[tuple[object, ...]]:
    """Return name, medians, their ratios to the first engine's, and the digest of each engine."""
    rows: list[tuple[object, ...]] = []
    first: tuple[float, float] | None = None
    for name, runs in found.items():
        cpu, wall = (statistics.median(float(str(run[key])) for run in runs) for key in ("cpu_s", "wall_s"))
        first = first or (cpu, wall)
        digests = " / ".join(sorted({str(run["digest"]) for run in runs}))
        rows.append(
            (
                name,
                round(cpu, 1),
                round(wall, 1),
                round(cpu / first[0], 3),
                round(wall / first[1], 3),
                digests,
            )
        )
    return rows


def main() -> None:
    """Train by each engine in turn, and report."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("recipe")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    parser.add_argument("--engines", nargs="+", default=["threads:1", "threads:2", "dask:1", "dask:2"])
    parser.add_argument("--before", type=Path, help="checkout of other code")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--compiled", action="store_true", help="each checkout has trained before")
    parser.add_argument("--page", type=Path, help="page whose section is written")
    parser.add_argument("--section", default="engines", help="name of the page's section")
    options = parser.parse_args()
    arguments = [options.recipe]
    for flag, values in (("--model", options.model), ("--set", options.settings)):
        arguments += [part for value in values for part in (flag, value)]
    if options.corpus is not None:
        arguments += ["--corpus", str(options.corpus.resolve())]
    engines = [Engine.of(text) for text in options.engines]
    if options.before is not None:
        engines.insert(0, Engine("threads", 0, options.before.resolve()))
    for checkout in dict.fromkeys(engine.checkout for engine in engines if not options.compiled):
        train(Engine("threads", 1, checkout), arguments)
    found: dict[str, list[dict[str, object]]] = {engine.name: [] for engine in engines}
    for n in range(options.repeats):
        for engine in engines:
            found[engine.name].append(train(engine, arguments))
            print(f"{n + 1}: {engine.name}: {found[engine.name][-1]}", flush=True)
    rows = rows_of(found)
    print_table(HEAD, rows)
    write_report(options.out, {"arguments": arguments, "runs": found})
    if options.page:
        title = " ".join(["asr train", options.recipe, *(f"--model {m}" for m in options.model)])
        text = table(f"`{title}`", HEAD, [[str(cell) for cell in row] for row in rows])
        write_section(options.page, options.section, text)


if __name__ == "__main__":
    main()
