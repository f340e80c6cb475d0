"""Trainings that are killed, or whose disk fails, at moments of every stage; and whether they end the same.

    nice python tests/robustness/faults.py --out tests/robustness/measured/faults.json

For each fault a training of a tiny corpus of tones begins in an empty directory, meets the fault, and is
given again as the same command until it ends. Counted are faults after which (1) all files have the bytes of
a run without faults, (2) no finished stage was made again, (3) nothing that could be read as finished was
half-written, (4) the command ended with the exit code and the one line that belong to the fault.

Signals are SIGKILL, SIGTERM and SIGINT in turn; every fifth kill is followed by a clock that jumps to 1970 or
to 2242. Failures are calls that are refused, files that get no longer than some bytes, an fsync that fails,
and calls that are slow. Changes are edits of the corpus while it is read: either the command names the file
and stops, or what it had read before comes out, and never a mixture.
"""

from __future__ import annotations

import os

# The threads of libraries do not survive a fork; they are told before they are loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fault_injection import (
    SIGNALS,
    Ending,
    Fault,
    Moment,
    digests,
    finished_stages,
    half_written,
    moments,
    run,
)

from asr.cli import main as main_of_asr
from asr.corpora.tones import write_tones
from benchmarks.report import argument_parser, print_table, write_report
from foundation.endings import code_of

MODELS = ("gmm", "pools")
SETTINGS = (
    "gmm.mixtures=1,8",
    "gmm.iterations=2,1",
    "tuning.word_penalties=0",
    "tuning.lm_scales=5,10",
)
REFUSALS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EDQUOT")
READING = ("task", "words", "features")  # the stages while which the corpus is read
TIMES_S = (0, 2**33)
N_SPEAKERS, N_EACH = 6, 3
NAMES = ("faults", "reached", "same_bytes", "finished_kept", "nothing_half", "clean_endings")


@dataclass
class Trial:
    """Trainings of one model: the command, and what it writes without faults."""

    model: str
    corpus: Path
    out: Path
    expected: dict[str, str]
    moments: list[Moment]

    @property
    def arguments(self) -> list[str]:
        return command(self.model, self.corpus, self.out)


@dataclass
class Counts:
    """What came of the faults of one kind."""

    faults: int = 0
    reached: int = 0
    same_bytes: int = 0
    finished_kept: int = 0
    nothing_half: int = 0
    clean_endings: int = 0
    stages: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        fault: Fault,
        ending: Ending,
        *,
        clean: bool,
        half: Sequence[str],
        lost: Sequence[str],
        other: Sequence[str],
    ) -> None:
        """Count a fault, how the command ended, and which files and stages are not as they should be."""
        self.faults += 1
        self.reached += bool(ending.code) or fault.kind in ("slow", "change")
        self.clean_endings += clean
        self.nothing_half += not half
        self.finished_kept += not lost
        self.same_bytes += not other
        self.stages[fault.stage] += 1

    def row(self) -> dict[str, object]:
        """Return the counts for the JSON."""
        return {**{name: getattr(self, name) for name in NAMES}, "stages": dict(sorted(self.stages.items()))}


def command(model: str, corpus: Path, out: Path) -> list[str]:
    """Return the command line of a training."""
    options = [word for setting in SETTINGS for word in ("--set", setting)]
    return ["train", "folder", "--corpus", str(corpus), "--out", str(out), "--model", model, *options]


def trial_of(model: str, corpus: Path, directory: Path) -> Trial:
    """Return a trial: one run in a process of its own says what is expected, another when what happens."""
    alone, out = directory / f"{model}-alone", directory / model
    subprocess.run([sys.executable, "-m", "asr", *command(model, corpus, alone), "--quiet"], check=True)
    main_of_asr([*command(model, corpus, out), "--quiet"])  # children inherit the compiled code
    shutil.rmtree(out)
    trial = Trial(model, corpus, out, digests(alone), moments(command(model, corpus, out), out))
    if digests(out) != trial.expected:
        raise SystemExit(f"{model}: a forked run writes other bytes than a command of its own")
    return trial


def spread(trial: Trial, n: int, rng: random.Random, stages: Sequence[str] = ()) -> Iterator[tuple[int, str]]:
    """Yield places among the moments of a run, the stages in turn, each at a random moment of it."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, moment in enumerate(trial.moments):
        if not stages or moment.stage.startswith(tuple(stages)):
            places[moment.stage].append(place)
    names = list(places)
    rng.shuffle(names)
    for number in range(n):
        name = names[number % len(names)]
        yield rng.choice(places[name]), name


def kills(trial: Trial, n: int, rng: random.Random) -> Iterator[Fault]:
    """Yield kills: half of them at a call, half between a call and the next."""
    for number, (place, stage) in enumerate(spread(trial, n, rng)):
        after = trial.moments[place + 1 : place + 2] or [trial.moments[place]]
        gap_s = after[0].seconds - trial.moments[place].seconds
        delay_s = rng.uniform(0, gap_s) if number % 2 else 0.0
        yield Fault("kill", place, stage, SIGNALS[number % len(SIGNALS)], delay_s)


def failures(trial: Trial, n: int, rng: random.Random) -> Iterator[Fault]:
    """Yield failures: of ten, six calls that are refused, two files cut short, one fsync, and a slow disk."""
    sizes = [path.stat().st_size for path in trial.out.rglob("*") if path.is_file()]
    for number, (place, stage) in enumerate(spread(trial, n, rng)):
        if number % 10 in (2, 5):
            yield Fault("short", max(rng.choice(sizes) - 1, 0), "any")
        elif number % 10 == 7:
            yield Fault("sync", rng.randrange(10), "any", "EIO")
        elif number % 10 == 9:
            yield Fault("slow", 0, "any")
        else:
            yield Fault("refuse", place, stage, REFUSALS[number % len(REFUSALS)])


def changes(trial: Trial, n: int, rng: random.Random) -> Iterator[Fault]:
    """Yield changes of the corpus: a transcript edited, a recording replaced or gone."""
    for number, (place, stage) in enumerate(spread(trial, n, rng, READING)):
        speaker = trial.corpus / f"speaker {number % N_SPEAKERS}"
        actions: tuple[tuple[str, Callable[[], None]], ...] = (
            ("edited", lambda speaker=speaker: (speaker / "1.txt").write_text("SUS IMI SUS\n")),
            ("replaced", lambda speaker=speaker: shutil.copy(speaker / "2.wav", speaker / "1.wav")),
            ("gone", lambda speaker=speaker: (speaker / "1.wav").unlink()),
        )
        what, action = actions[number % len(actions)]
        yield Fault("change", place, stage, what, action=action)


def ends_well(fault: Fault, ending: Ending, out: Path) -> bool:
    """Return whether a command says what happened in a line of its own, with the exit code of it."""
    lines = ending.errors.splitlines()
    if fault.kind == "kill" and fault.what == "SIGKILL":
        return ending.code == -9
    if "Traceback" in ending.errors:
        return False
    if ending.code == 0:
        is_said = any("changed after the corpus was read" in line for line in lines)
        return is_said or fault.kind != "change"
    is_tidy = not list((out / "stages").glob(".*.partial"))
    if fault.kind == "kill":
        return (
            ending.code == code_of(getattr(signal, fault.what)) and is_tidy and lines[-1].startswith("asr: ")
        )
    if fault.kind == "change":
        # What is gone before the corpus is listed is missing, not changed.
        said = ("changed while the corpus was read", "no recording, expected one of the same name")
        return ending.code == 2 and any(line in lines[-1] for line in said)
    return ending.code == 2 and lines[-1].startswith("asr: ")


def meet(trial: Trial, fault: Fault, counts: Counts, between: Callable[[], object]) -> list[str]:
    """Let a training meet a fault, and end after ``between``; return what went wrong."""
    shutil.rmtree(trial.out, ignore_errors=True)
    ending = run(trial.arguments, trial.out, fault)
    is_clean, half = ends_well(fault, ending, trial.out), half_written(trial.out, trial.expected)
    between()
    finished = finished_stages(trial.out)
    again = run(trial.arguments, trial.out)
    now, found = finished_stages(trial.out), digests(trial.out)
    lost = sorted(name for name, place in finished.items() if now.get(name) != place)
    other = sorted(n for n in {*found, *trial.expected} if found.get(n) != trial.expected.get(n))
    counts.add(fault, ending, clean=is_clean, half=half, lost=lost, other=other)
    named = {"half-written": half, "made again": lost, "other bytes": other}
    wrong = [f"{what}: {', '.join(names[:3])}" for what, names in named.items() if names]
    wrong += [] if is_clean else [f"ends with {ending.code}: {ending.errors[-500:]}"]
    return wrong + ([f"given again, ends with {again.code}: {again.errors[-500:]}"] if again.code else [])


def nothing() -> None:
    """Do nothing between a fault and the next run."""


def jump(out: Path, time_s: int) -> None:
    """Give all files of an experiment a time, as a clock that jumps would."""
    for path in out.rglob("*"):
        os.utime(path, (time_s, time_s))


def meet_all(trial: Trial, kind: str, faults: Iterable[Fault], counts: Counts) -> list[str]:
    """Let trainings meet faults; return what went wrong, with the fault."""
    wrong, pristine = [], trial.corpus.with_name("pristine")
    for number, fault in enumerate(faults):
        between: Callable[[], object] = nothing
        if kind == "kills" and number % 5 == 4:
            between = partial(jump, trial.out, TIMES_S[number % 2])
        elif kind == "changes":
            between = partial(shutil.copytree, pristine, trial.corpus, dirs_exist_ok=True)  # with times
        said = meet(trial, fault, counts, between)
        wrong += [f"{trial.model}: {fault}: {what}" for what in said]
        print(
            f"{trial.model} {kind} {number + 1}: {fault}: {'; '.join(said) or 'as it should be'}", flush=True
        )
    return wrong


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="of both models together")
    parser.add_argument("--failures", type=int, default=30, metavar="N", help="of writes, likewise")
    parser.add_argument("--changes", type=int, default=10, metavar="N", help="of the corpus, likewise")
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all faults, write the counts, and return 1 if anything went wrong."""
    options, started = parse(arguments), time.perf_counter()
    counts = {kind: Counts() for kind in KINDS}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="asr-faults-") as directory:
        corpus = write_tones(Path(directory, "corpus"), n_speakers=N_SPEAKERS, n_each=N_EACH)
        shutil.copytree(corpus, corpus.with_name("pristine"))
        for place, model in enumerate(options.models):
            trial, rng = trial_of(model, corpus, Path(directory)), random.Random(options.seed + place)
            for kind, faults_of in KINDS.items():
                share = len(range(place, getattr(options, kind), len(options.models)))
                wrong += meet_all(trial, kind, list(faults_of(trial, share, rng)), counts[kind])
    rows = {kind: found.row() for kind, found in counts.items()}
    print_table(("faults", *NAMES), [(kind, *(row[name] for name in NAMES)) for kind, row in rows.items()])
    report = {"models": list(options.models), "seed": options.seed, **rows, "wrong": wrong}
    write_report(options.out, {**report, "seconds": round(time.perf_counter() - started, 1)})
    return 1 if wrong else 0


KINDS: dict[str, Callable[[Trial, int, random.Random], Iterator[Fault]]] = {
    "kills": kills,
    "failures": failures,
    "changes": changes,
}

if __name__ == "__main__":
    sys.exit(main())
