"""Damaged files for every reader: how many end as they should, in a result or an error of one line.

    python tests/robustness/fuzz.py --inputs 1000000 --out fuzz.json

An input is a small valid file with one to four damages (`fuzz_mutations`); which ones follows from the seed,
the reader and the input's number: --only READER --first NUMBER --inputs 1 makes the same again. A worker
process with bounded memory reads; an `AsrError` counts as an error, any other exception as a crash, and more
than some seconds as a hang. Crashes and hangs are saved below --save, a few of each place.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType

from fuzz_targets import Target, targets

from benchmarks.report import argument_parser, print_table, write_report
from foundation.errors import AsrError

HEAD = ("reader", "inputs", "results", "errors", "crashes", "hangs", "seconds")
MEMORY = 4 << 30  # bytes of address space
_MOST_SAVED = 3  # inputs of one place
_AT_ONCE = 1000  # inputs between reports to the parent


class Hang(BaseException):
    """An input took too long; no handler of exceptions of ours may take it for one of them."""


@dataclass
class Tally:
    """What became of a reader's inputs."""

    inputs: int = 0
    results: int = 0
    errors: int = 0
    crashes: int = 0
    hangs: int = 0
    seconds: float = 0.0
    places: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add the counts of other inputs."""
        for name in HEAD[1:]:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.places.update(other.places)


def main() -> None:
    """Try the inputs, and print and write what became of them."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--inputs", type=int, default=100_000, help="number of inputs of all readers")
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=sorted(targets()), metavar="READER")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds that an input may take")
    parser.add_argument("--save", type=Path, default=Path("fuzz_inputs"), help="where crashing inputs go")
    options = parser.parse_args()
    chosen = {name: target for name, target in targets().items() if name in (options.only or targets())}
    total = sum(target.share for target in chosen.values())
    tallies = {}
    for name, target in chosen.items():
        n = max(round(options.inputs * target.share / total), 1)
        trial = Trial(name, options.seed, options.limit, options.save)
        tallies[name] = trial.run(range(options.first, options.first + n))
        print(said(name, tallies[name]), flush=True)
    whole = Tally()
    for tally in tallies.values():
        whole.add(tally)
    print_table(HEAD, [_row(name, tally) for name, tally in [*tallies.items(), ("all", whole)]])
    readers = {name: vars(tally) for name, tally in tallies.items()}
    write_report(options.out, {"seed": options.seed, "all": vars(whole), "readers": readers})


def _row(name: str, tally: Tally) -> list[object]:
    return [name, *(getattr(tally, head) for head in HEAD[1:-1]), f"{tally.seconds:.0f}"]


def said(name: str, tally: Tally) -> str:
    """Return the counts of a reader in a line, and below it where it crashed."""
    places = "".join(f"\n    {n} x {place}" for place, n in tally.places.most_common())
    return ", ".join(f"{head} {value}" for head, value in zip(HEAD, _row(name, tally), strict=True)) + places


@dataclass(frozen=True)
class Trial:
    """The inputs of one reader, tried in processes of their own that are replaced when they die."""

    name: str
    seed: int
    limit_s: float
    save: Path

    def run(self, numbers: range) -> Tally:
        """Return what became of the inputs with these numbers."""
        tally, context = Tally(), multiprocessing.get_context("fork")
        while numbers:
            place = context.Value("q", numbers.start, lock=False)
            receiver, sender = context.Pipe(duplex=False)
            worker = context.Process(target=self._work, args=(numbers, place, sender), daemon=True)
            worker.start()
            sender.close()
            numbers = self._watched(worker, receiver, place, numbers, tally)
        return tally

    def _watched(self, worker, receiver, place, numbers: range, tally: Tally) -> range:  # type: ignore[no-untyped-def]
        """Add what a worker reports; return the inputs that are left when it ends, or is ended."""
        last, since = place.value, time.monotonic()
        while True:
            if receiver.poll(0.5):
                try:
                    part = receiver.recv()
                except EOFError:
                    break
                tally.add(part)
                numbers = numbers[part.inputs :]
            if place.value != last:
                last, since = place.value, time.monotonic()
            elif time.monotonic() - since > 3 * self.limit_s:
                worker.kill()
                break
        worker.join()
        return self._after_death(worker.exitcode, place.value, numbers, tally) if numbers else numbers

    def _after_death(self, exit_code: int, culprit: int, numbers: range, tally: Tally) -> range:
        """Count the input that ended a worker; return those that are left.

        What was done since the worker's last report is done again: it is the same, up to that input.
        """
        is_hang = exit_code == -signal.SIGKILL
        what = "killed: no end in compiled code" if is_hang else f"process died ({exit_code})"
        tally.add(self.run(range(numbers.start, culprit)))
        tally.add(Tally(1, crashes=int(not is_hang), hangs=int(is_hang), places=Counter([what])))
        with tempfile.TemporaryDirectory() as folder:
            self._keep(what, culprit, Inputs(self.name, self.seed, Path(folder)).content(culprit)[1])
        return numbers[culprit + 1 - numbers.start :]

    def _work(self, numbers: range, place, sender) -> None:  # type: ignore[no-untyped-def]
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.signal(signal.SIGALRM, _give_up)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what libraries say
        with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
            inputs = Inputs(self.name, self.seed, Path(folder))
            with suppress(Exception):  # code is compiled, or loaded, outside the first input's time
                inputs.target.run(inputs.folder)
            for start in range(0, len(numbers), _AT_ONCE):
                tally, begin = Tally(), time.monotonic()
                for number in numbers[start : start + _AT_ONCE]:
                    place.value = number
                    self._try(inputs, number, tally)
                tally.seconds = time.monotonic() - begin
                sender.send(tally)
        sender.close()

    def _try(self, inputs: Inputs, number: int, tally: Tally) -> None:
        tally.inputs += 1
        with inputs.laid_out(number) as content:
            signal.setitimer(signal.ITIMER_REAL, self.limit_s)
            try:
                inputs.target.run(inputs.folder)
                tally.results += 1
            except AsrError:
                tally.errors += 1
            except Hang as error:
                tally.hangs += 1
                self._note(f"hang: {_place_of(error)}", number, content, tally)
            except Exception as error:
                tally.crashes += 1
                self._note(f"{type(error).__name__}: {_place_of(error)}", number, content, tally)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)

    def _note(self, what: str, number: int, content: bytes, tally: Tally) -> None:
        tally.places[what] += 1
        self._keep(what, number, content)

    def _keep(self, what: str, number: int, content: bytes) -> None:
        """Save an input unless there are enough of its place."""
        name = "".join(c if c.isalnum() else "_" for c in f"{self.name}-{what}")
        self.save.mkdir(parents=True, exist_ok=True)
        if len(list(self.save.glob(f"{name}-*.bin"))) < _MOST_SAVED:
            (self.save / f"{name}-{self.seed}-{number}.bin").write_bytes(content)


@dataclass(frozen=True)
class Inputs:
    """The damaged files of a reader in a folder, beside the files that it needs."""

    name: str
    seed: int
    folder: Path

    def __post_init__(self) -> None:
        valid = {name: contents[0] for name, contents in self.target.seeds.items()}
        for name, content in {**self.target.beside, **valid}.items():
            (self.folder / name).write_bytes(content)

    @property
    def target(self) -> Target:
        """The reader."""
        return targets()[self.name]

    def content(self, number: int) -> tuple[str, bytes]:
        """Return name and content of the damaged file of an input."""
        return damaged_file(self.target, Random(f"{self.seed} {self.name} {number}"))

    @contextmanager
    def laid_out(self, number: int) -> Iterator[bytes]:
        """Write the damaged file for as long as the context lasts; yield its content."""
        name, content = self.content(number)
        (self.folder / name).write_bytes(content)
        try:
            yield content
        finally:
            (self.folder / name).write_bytes(self.target.seeds[name][0])


def damaged_file(target: Target, random: Random) -> tuple[str, bytes]:
    """Return name and content of one of a reader's files, damaged."""
    name = random.choice(sorted(target.seeds))
    return name, target.damage(random.choice(target.seeds[name]), random, target.seeds[name])


def _give_up(signum: int, frame: FrameType | None) -> None:
    raise Hang


def _place_of(error: BaseException) -> str:
    """Return where an exception was raised, below the readers."""
    frames = traceback.extract_tb(error.__traceback__)
    own = (f for f in reversed(frames) if "site-packages" not in f.filename and f.name != _give_up.__name__)
    frame = next(own, frames[-1])
    return f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"


def memory_folder() -> str | None:
    memory = "/dev/shm"  # noqa: S108  # names within it are drawn
    return memory if os.access(memory, os.W_OK) else None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
