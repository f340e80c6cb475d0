"""Servers of ``asr serve`` that are killed, or whose disk fails, at every change to a folder of takes.

    nice python tests/robustness/faults_serving.py --out tests/robustness/measured/faults_serving.json

What the page does (choose commands, record, record again, delete, train) is done by requests to a server that
meets a fault at one call of the file system after the other, each fsync, rename, removal and opening in turn.
Then another server begins in the same folder, may itself be killed at each of its calls, and what is left of
the requests is done. Counted are faults after which (1) each take was there whole or not at all, to the next
server and to a training, which stopped at nothing, (2) the state was that before a request or after it, and
after it if the request was answered so, (3) nothing was left in the folder or among temporary files, (4) the
same files came out in the end as without a fault, (5) answers and endings were as they should be: one line
with the right status, or the exit code of the signal.

Two servers at once record and delete in one folder, one of which is killed again and again.
"""

from __future__ import annotations

import os

# The threads of libraries do not survive a fork; they are told before they are loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

import argparse
import hashlib
import io
import json
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from urllib.parse import quote

import numpy as np
import soundfile
from fault_injection import Child, Ending, Fault

import asr.serving.app  # noqa: F401  # children inherit what is imported
from asr.corpora.corpus import read_corpus
from asr.corpora.tones import RATE, speak
from asr.errors import CorpusError
from asr.language.grammars import read_commands
from asr.serving.studio import write_task
from asr.serving.takes import PROMPTS, Takes
from benchmarks.report import argument_parser, print_table, write_report
from decoder.lexicon import Lexicon

REFUSALS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EDQUOT")
SIZES = (0, 2, 100, 20_000)  # bytes that no file exceeds
N_SYNCS = 3
LEAST_ERROR, OK = 400, (200, 202, 204)
NAMES = ("faults", "reached", "whole", "before_or_after", "nothing_left", "same_files", "clean_answers")
PATIENCE_S = 30.0

State = tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]
Request = tuple[str, str, bytes]


def spoken(n: int) -> bytes:
    """Return the recording of a word, another one for each number."""
    file = io.BytesIO()
    soundfile.write(file, speak(("ASA",), 1.0, np.random.default_rng(n)), RATE, format="WAV")
    return file.getvalue()


def recorded(prompt: str, n: int) -> Request:
    """Return the request that keeps a recording of a prompt."""
    return "POST", f"/api/takes?prompt={quote(prompt)}", spoken(n)


def chosen(*prompts: str) -> Request:
    """Return the request that chooses commands."""
    return "PUT", "/api/prompts", json.dumps({"prompts": prompts}).encode()


def with_takes(folder: Path, prompts: Sequence[str] = ("light on", "off"), n_each: int = 2) -> None:
    """Write a folder of takes."""
    takes = Takes(folder, 99)
    takes.set_prompts(prompts)
    for n in range(n_each * len(prompts)):
        takes.add(prompts[n % len(prompts)], speak(("ASA",), 1.0, np.random.default_rng(99 + n)), RATE)


def with_training(folder: Path) -> None:
    """Write a folder of takes that was trained with another list of commands."""
    with_takes(folder, ("light on", "off", "up"), 5)
    write_task(folder, ("down", "off"), ("light on",))


@dataclass(frozen=True)
class Deed:
    """What somebody does on the page.

    Attributes
    ----------
    name : of it, for the table
    prepare : writes the folder before it
    requests : what the page asks for, in order
    """

    name: str
    prepare: Callable[[Path], None]
    requests: Sequence[Request]


DEEDS = (
    Deed("commands chosen", lambda folder: None, (chosen("light on", "off"),)),
    Deed("commands changed", with_takes, (chosen("light on", "off", "up"),)),
    Deed("first take", lambda folder: None, (recorded("light on", 1),)),
    Deed("take", with_takes, (recorded("light on", 1),)),
    Deed("take again", with_takes, (recorded("off", 1), ("DELETE", "/api/takes/off-001", b""))),
    Deed("take deleted", with_takes, (("DELETE", "/api/takes/light_on-002", b""),)),
    Deed("training", with_training, (("POST", "/api/training", b""), ("DELETE", "/api/training", b""))),
)


@dataclass
class Counts:
    """What came of the faults of one kind."""

    faults: int = 0
    reached: int = 0
    whole: int = 0
    before_or_after: int = 0
    nothing_left: int = 0
    same_files: int = 0
    clean_answers: int = 0
    deeds: Counter[str] = field(default_factory=Counter)

    def add(self, deed: str, wrong: Mapping[str, str], *, reached: bool) -> None:
        """Count a fault, and what was not as it should be."""
        self.faults += 1
        self.reached += reached
        for name in NAMES[2:]:
            setattr(self, name, getattr(self, name) + (name not in wrong))
        self.deeds[deed] += 1

    def row(self) -> dict[str, object]:
        """Return the counts for the JSON."""
        return {**{name: getattr(self, name) for name in NAMES}, "deeds": dict(self.deeds)}


@dataclass
class Home:
    """A place in which servers run: the folder of takes, the experiment, temporary files."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "takes"

    @property
    def temporary(self) -> Path:
        return self.root / "temporary"

    def copied(self, other: Path) -> Home:
        """Return a copy elsewhere, with links and times."""
        shutil.rmtree(other, ignore_errors=True)
        return Home(Path(shutil.copytree(self.root, other, symlinks=True)))

    def state(self) -> State:
        """Return prompts and takes as the next reader finds them."""
        path = self.folder / PROMPTS
        prompts = tuple(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else ()
        takes = [
            (text.stem, text.read_text(encoding="utf-8"), _digest(text.with_suffix(".wav")))
            for text in sorted(self.folder.glob("*-*.txt"))
        ]
        return prompts, tuple(takes)

    def files(self) -> dict[str, str]:
        """Return the hash of each file of the takes, and the names of temporary ones."""
        found = {path.name: _digest(path) for path in sorted(self.folder.glob("*"))}
        return found | {path.name: "temporary" for path in self.temporary.iterdir()}

    def fault_for_a_training(self) -> str:
        """Return why a training would stop at the folder, or would not find words of its commands."""
        state = self.state()
        try:
            corpus = read_corpus(self.folder, "one") if state[1] else ()
        except CorpusError as error:
            return str(error)
        said = tuple((u.utterance_id, " ".join(u.words)) for u in corpus)
        if said != tuple((name, text.strip()) for name, text, _ in state[1]):
            return f"a training reads {said}"
        if (self.folder / "commands.txt").exists():
            words = {word for command in read_commands(self.folder) for word in command}
            if lacking := words - set(Lexicon.read(self.folder / "lexicon.txt").words):
                return f"not in the lexicon: {lacking}"
        return ""


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"


class Serving:
    """A server in a child."""

    def __init__(self, home: Home, fault: Fault | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        places = ["--folder", str(home.folder), "--port", str(self.port)]
        tempfile.tempdir = str(home.temporary)
        self.home = home
        self.child = Child(
            ["serve", str(home.root / "exp"), *places],
            home.root,
            fault,
            label=lambda event, path: f"{event} {path.name}",
            counts_fsync=True,
        )
        tempfile.tempdir = None
        self.ending: Ending | None = None

    def is_ready(self) -> bool:
        """Wait until the server answers, its folder tidied; return False if it has ended before."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if self.ask(("GET", "/api/training", b""))[0] in OK:
                return True
            if os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                self.ending, _ = self.child.ended()
                return False
            time.sleep(0.005)
        raise SystemExit("the server does not listen")

    def ask(self, request: Request) -> tuple[int, bytes]:
        """Return status and body of an answer, 0 if there is none."""
        method, path, body = request
        kind = "application/json" if path == "/api/prompts" else "application/octet-stream"
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body=body or None, headers={"content-type": kind})
            found = connection.getresponse()
            return found.status, found.read()
        except (OSError, HTTPException):
            return 0, b""
        finally:
            connection.close()

    def end(self, number: signal.Signals = signal.SIGTERM) -> Ending:
        """End the server, if it has not ended."""
        if self.ending is None:
            with suppress(ProcessLookupError):
                os.kill(self.child.pid, number)
            self.ending, _ = self.child.ended()
        return self.ending


@contextmanager
def served(home: Home) -> Iterator[Serving]:
    """Run a server without a fault."""
    serving = Serving(home)
    try:
        if not serving.is_ready():
            raise SystemExit(f"the server has ended: {serving.ending}")
        yield serving
    finally:
        serving.end()


@dataclass
class Trial:
    """A deed, what it does without a fault, and at how many calls."""

    deed: Deed
    home: Home
    states: list[State]
    files: dict[str, str]
    labels: list[str]
    n_before: int  # calls until the server listens

    @property
    def name(self) -> str:
        return self.deed.name


def trial_of(deed: Deed, root: Path) -> Trial:
    """Return a trial, tried without a fault."""
    home = Home(root / "before")
    home.temporary.mkdir(parents=True)
    deed.prepare(home.folder)
    tried = home.copied(root / "now")
    states = [tried.state()]
    with served(tried) as serving:
        n_before = len(serving.child.moments())
        for request in deed.requests:
            status, body = serving.ask(request)
            if status not in OK:
                raise SystemExit(f"{deed.name}: {status} {body!r}")
            states.append(tried.state())
        labels = [moment.stage for moment in serving.child.moments()]
    return Trial(deed, home, states, tried.files(), labels, n_before)


def meet(trial: Trial, fault: Fault, *, is_killed_again: bool = False) -> tuple[dict[str, str], bool]:
    """Let the deed meet a fault; return what is wrong then, and whether the fault took effect."""
    home = trial.home.copied(trial.home.root.with_name("now"))
    serving, n_done, wrong = Serving(home, fault), 0, dict[str, str]()
    answers = list[tuple[int, bytes]]()
    if serving.is_ready():
        for request in trial.deed.requests:
            answers.append(serving.ask(request))
            if answers[-1][0] not in OK:
                break
            n_done += 1
    if fault.kind == "kill":
        reached = not answers or answers[-1][0] == 0 or fault.what != "SIGKILL"
        least = n_done
    else:
        reached = any(status >= LEAST_ERROR for status, _ in answers)
        least = n_done
        check_alive(serving, home, wrong)
    ending = serving.end()
    check_ending(fault, ending, answers, home, wrong)
    if is_killed_again:
        check_killed_again(trial, home, least, wrong)
    check_left(trial, home, least, wrong)
    return wrong, reached


def check_alive(serving: Serving, home: Home, wrong: dict[str, str]) -> None:
    """Note if a server whose disk failed does not go on, or lists other takes than a reader finds."""
    status, body = serving.ask(("GET", "/api/takes", b""))
    listed = [take["name"] for take in json.loads(body)["takes"]] if status in OK else [f"status {status}"]
    if listed != [name for name, _, _ in home.state()[1]]:
        wrong["whole"] = f"the server lists {listed}"


def check_ending(
    fault: Fault, ending: Ending, answers: Sequence[tuple[int, bytes]], home: Home, wrong: dict[str, str]
) -> None:
    """Note answers and endings that are not as they should be."""
    expected = (-9,) if fault.kind == "kill" and fault.what == "SIGKILL" else (0,)
    if ending.code not in (*expected, 0) or "Traceback" in ending.errors:
        wrong["clean_answers"] = f"ends with {ending.code}: {ending.errors[-300:]}"
    for status, body in answers:
        if status >= LEAST_ERROR:
            line = str(json.loads(body).get("error", ""))
            if not line or len(line.splitlines()) != 1 or str(home.root) in line:
                wrong["clean_answers"] = f"{status}: {body!r}"


def check_left(trial: Trial, home: Home, n_done: int, wrong: dict[str, str]) -> None:
    """Note what is wrong with what a server has left, then with what the next one makes of it."""
    if fault := home.fault_for_a_training():
        wrong["whole"] = fault
    with served(home) as serving:
        status, body = serving.ask(("GET", "/api/takes", b""))
        state, found = home.state(), json.loads(body)
        if status not in OK or found["aside"] or (fault := home.fault_for_a_training()):
            wrong["whole"] = f"{status} {found.get('aside')} {fault}"
        if [take["name"] for take in found["takes"]] != [name for name, _, _ in state[1]]:
            wrong["whole"] = f"listed are {found['takes']}"
        if left := [path.name for path in hidden(home)]:
            wrong["nothing_left"] = ", ".join(left)
        if state not in trial.states[n_done:]:
            wrong["before_or_after"] = f"{state[0]}, {[take[:2] for take in state[1]]}"
            return
        reached = max(place for place, each in enumerate(trial.states) if each == state)
        is_training = trial.deed.requests[0][1] == "/api/training"
        for request in trial.deed.requests[0 if is_training else reached :]:
            status, body = serving.ask(request)
            if status not in OK:
                wrong["same_files"] = f"{status} {body!r}"
    if (now := home.files()) != trial.files:
        wrong["same_files"] = str(sorted(now.items() ^ trial.files.items()))


def hidden(home: Home) -> list[Path]:
    """Return what servers have left: hidden files of the folder but for the prompts, and temporary files."""
    return [path for path in home.folder.glob(".*") if path.name != PROMPTS] + list(home.temporary.iterdir())


def check_killed_again(trial: Trial, home: Home, n_done: int, wrong: dict[str, str]) -> None:
    """Kill the next server at each of its calls, and check what that leaves."""
    for n in count():
        again = home.copied(home.root.with_name("again"))
        serving = Serving(again, Fault("kill", n, "again", "SIGKILL"))
        is_done = serving.is_ready()
        serving.end()
        if is_done:
            return
        found = dict[str, str]()
        check_left(trial, again, n_done, found)
        wrong |= {name: f"killed again at {n}: {what}" for name, what in found.items()}


def kills(trial: Trial) -> Iterator[Fault]:
    """Yield kills: at every call, by SIGKILL and by SIGTERM."""
    for place, label in enumerate(trial.labels):
        yield Fault("kill", place, label, "SIGKILL")
    for place, label in enumerate(trial.labels[trial.n_before :], trial.n_before):
        yield Fault("kill", place, label, "SIGTERM")


def failures(trial: Trial) -> Iterator[Fault]:
    """Yield failures: every call refused, files that get no longer than some bytes, fsyncs that fail."""
    for place, label in enumerate(trial.labels[trial.n_before :], trial.n_before):
        if label != "fsync":
            label_of = f"{trial.name}: {label}"
            yield Fault("refuse", place, label_of, REFUSALS[place % len(REFUSALS)])
    yield from (Fault("short", size, "any") for size in SIZES)
    yield from (Fault("sync", n, "any", "EIO") for n in range(N_SYNCS))


KINDS: dict[str, Callable[[Trial], Iterator[Fault]]] = {"kills": kills, "failures": failures}


def together(root: Path, n_rounds: int) -> list[str]:
    """Let two servers record and delete in one folder, one of them killed again and again; return faults."""
    home = Home(root / "together")
    home.temporary.mkdir(parents=True)
    kept, n_kept = dict[str, int](), 0  # what answers say is there: the number of the sound
    wrong, lock, ending = list[str](), threading.Lock(), threading.Event()

    def record(serving: Serving, first: int, n_takes: int) -> None:
        nonlocal n_kept
        for n in range(first, first + n_takes):
            status, body = serving.ask(recorded("on", n))
            if status == 0:
                return
            name = str(json.loads(body).get("name"))
            with lock:
                if status not in OK or name in kept:
                    wrong.append(f"{status}: {body!r}")
                    continue
                kept[name], n_kept = n, n_kept + 1
            if n % 3 == 0:
                with lock:
                    del kept[name]
                status, body = serving.ask(("DELETE", f"/api/takes/{name}", b""))
                if status not in (0, *OK):
                    wrong.append(f"{status}: {body!r}")

    def be_killed() -> None:
        for number in count(1):
            serving = Serving(home)
            serving.is_ready()
            work = threading.Thread(target=record, args=(serving, 1000 * number, 100))
            work.start()
            time.sleep(0.2 + 0.07 * (number % 7))
            serving.end(signal.SIGKILL)
            work.join()
            if ending.is_set():
                return

    with served(home) as serving:
        killed = threading.Thread(target=be_killed)
        killed.start()
        record(serving, 0, n_rounds)
        ending.set()
        killed.join()
    wrong += [
        line
        for line in (serving.ending or Ending(0, "")).errors.splitlines()
        if "stop" not in line and "no model" not in line
    ]
    with served(home):
        names = [name for name, _, _ in home.state()[1]]
        wrong += [f"lost: {name}" for name in kept if name not in names]
        wrong += [f"left: {path.name}" for path in hidden(home)]
        sounds = {name: _samples(home.folder / f"{name}.wav") for name in names}
        for name, n in kept.items():
            if sounds.get(name) != _samples(io.BytesIO(spoken(n))):
                wrong.append(f"{name}: the sound of another take")
        if names and (fault := home.fault_for_a_training()):
            wrong.append(fault)
    print(f"two servers: {n_kept} takes, {len(names)} in the end, {wrong or 'as it should be'}")
    return [f"two servers: {line}" for line in wrong]


def _samples(file: Path | io.BytesIO) -> bytes:
    return bytes(soundfile.read(file, dtype="int16")[0].tobytes())


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--deeds", nargs="+", default=[deed.name for deed in DEEDS], metavar="DEED")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each n-th fault alone")
    parser.add_argument("--rounds", type=int, default=100, help="takes that two servers record at once")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all faults, write the counts, and return 1 if anything went wrong."""
    options, started = parse(arguments), time.perf_counter()
    counts = {kind: Counts() for kind in KINDS}
    wrong, n_calls = list[str](), 0
    with tempfile.TemporaryDirectory(prefix="asr-faults-") as directory:
        for deed in DEEDS:
            if deed.name not in options.deeds:
                continue
            trial = trial_of(deed, Path(directory, deed.name))
            n_calls += len(trial.labels)
            for kind, faults_of in KINDS.items():
                for fault in list(faults_of(trial))[:: options.every]:
                    is_kill = fault.what == "SIGKILL"
                    found, reached = meet(trial, fault, is_killed_again=is_kill)
                    counts[kind].add(deed.name, found, reached=reached)
                    said = "; ".join(f"{name}: {what}" for name, what in found.items())
                    wrong += [f"{deed.name}: {fault}: {said}"] if said else []
                    print(f"{deed.name}: {fault}: {said or 'as it should be'}", flush=True)
        wrong += together(Path(directory), options.rounds)
    rows = {kind: found.row() for kind, found in counts.items()}
    print_table(("faults", *NAMES), [(kind, *(row[name] for name in NAMES)) for kind, row in rows.items()])
    report = {"deeds": options.deeds, "calls": n_calls, "rounds": options.rounds, **rows, "wrong": wrong}
    write_report(options.out, {**report, "seconds": round(time.perf_counter() - started, 1)})
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
