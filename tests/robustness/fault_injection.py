"""A command in a child process whose file system or life ends at a chosen moment, and what it leaves behind.

The child is forked from a process that has imported and compiled everything, so that a fault costs a training
of a tiny corpus and no start. It sees its own calls of the file system by an audit hook (`sys.addaudithook`):
the product knows nothing of it. The moments are counted in these calls, in order.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from asr.cli import main
from asr.store import STAGES, name_of

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")
Label = Callable[[str, Path], str]
SLOW_S = 0.003  # a delay at every call
_CHANGING = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")
_FAILED_TO_END = 70


class Moment(NamedTuple):
    """A call that changes the experiment directory.

    Attributes
    ----------
    stage : what is being made
    seconds : since the command began
    """

    stage: str
    seconds: float


@dataclass(frozen=True)
class Fault:
    """What happens, and when.

    Attributes
    ----------
    kind : ``kill`` (by the signal ``what``), ``refuse`` (the call fails with the error ``what``), ``sync``
        (the n-th fsync fails with it), ``short`` (no file gets longer than ``at`` bytes), ``slow`` (every
        call takes longer), ``change`` (``action`` is done to the corpus)
    at : number of the call, from 0 on; of bytes
    stage : in which stage that is, in a run without faults
    what : name of the signal or the error
    after_s : how long after the call the signal comes
    """

    kind: str
    at: int
    stage: str
    what: str = ""
    after_s: float = 0.0
    action: Callable[[], None] | None = None

    def __str__(self) -> str:
        """Return what is said of it."""
        return f"{self.kind} {self.what} at {self.at} ({self.stage}) after {self.after_s:.3f} s"


class Ending(NamedTuple):
    """How a command ended: exit code (negative: killed by that signal) and lines on standard error."""

    code: int
    errors: str


def run(arguments: Sequence[str], out: Path, fault: Fault | None = None) -> Ending:
    """Return how ``asr ARGUMENTS`` ends under a fault."""
    ending, _ = Child(arguments, out, fault).ended()
    return ending


def moments(arguments: Sequence[str], out: Path) -> list[Moment]:
    """Return the moments of a run without faults."""
    ending, found = Child(arguments, out).ended()
    if ending.code:
        raise SystemExit(f"the run without faults failed: {ending.errors}")
    return found


class Child:
    """A forked child that runs ``asr ARGUMENTS`` under a fault.

    Parameters
    ----------
    arguments : of ``asr``
    out : directory whose changes are counted
    fault : what happens to it
    label : the name of the stage of a call and its path; by default of a stage of a training
    counts_fsync : whether each fsync is a moment, too
    """

    def __init__(
        self,
        arguments: Sequence[str],
        out: Path,
        fault: Fault | None = None,
        *,
        label: Label | None = None,
        counts_fsync: bool = False,
    ) -> None:
        reader, errors = os.pipe()  # a file would be cut short, too
        self._seen = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the child has ended
        hook = _Hook(out, fault, self._seen.fileno(), label or (lambda _, path: stage_of(path, out)))
        self.pid = os.fork()
        if not self.pid:
            _live(arguments, fault, errors, hook, counts_fsync=counts_fsync)
        os.close(errors)
        self._said = open(reader, errors="replace")  # noqa: SIM115  # likewise

    def ended(self) -> tuple[Ending, list[Moment]]:
        """Wait for the end of the child; return how it ends, and the moments of a run without faults."""
        with self._seen, self._said:
            lines = self._said.read()
            _, status = os.waitpid(self.pid, 0)
            return Ending(os.waitstatus_to_exitcode(status), lines), self.moments()

    def moments(self) -> list[Moment]:
        """Return the moments that were noted until now."""
        self._seen.seek(0)
        return [Moment(*json.loads(line)) for line in self._seen]


def is_killed(action: Callable[[], object], out: Path, at: int) -> bool:
    """Do something in a forked child that is killed at a call that changes a directory, fsync among them.

    Returns
    -------
    whether there was such a call: False, once the number is that of all of them
    """
    with tempfile.TemporaryFile() as seen:
        hook = _Hook(out, Fault("kill", at, "any", "SIGKILL"), seen.fileno(), lambda event, path: event)
        child = os.fork()
        if not child:
            try:
                os.fsync = _Fsync(None, hook)
                sys.addaudithook(hook)
                action()
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status)


def _live(
    arguments: Sequence[str], fault: Fault | None, errors: int, hook: _Hook, *, counts_fsync: bool
) -> None:
    """Run the command in the child, and end it."""
    code = _FAILED_TO_END
    try:
        os.dup2(errors, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
        for name in ("SIGTERM", "SIGHUP"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if fault is not None and fault.kind == "short":
            resource.setrlimit(resource.RLIMIT_FSIZE, (fault.at, resource.RLIM_INFINITY))
        if counts_fsync or (fault is not None and fault.kind == "sync"):
            os.fsync = _Fsync(fault, hook if counts_fsync else None)
        sys.addaudithook(hook)
        code = main(list(arguments))
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


class _Fsync:
    """`os.fsync` of a disk that may fail once, and each call of which may be a moment."""

    def __init__(self, fault: Fault | None, hook: _Hook | None) -> None:
        self.fault, self.hook, self.n, self.fsync = fault, hook, 0, os.fsync

    def __call__(self, descriptor: int) -> None:
        self.n += 1
        if self.hook is not None:
            self.hook.moment("fsync", Path(self.hook.out))
        if self.fault is not None and self.fault.kind == "sync" and self.n == self.fault.at + 1:
            raise _error(self.fault)
        self.fsync(descriptor)


class _Hook:
    """Counts the calls that change the directory, notes them where there is no fault, else lets it happen."""

    def __init__(self, out: Path, fault: Fault | None, seen: int, label: Label) -> None:
        self.out, self.fault, self.seen, self.label = str(out), fault, seen, label
        self.n, self.started, self.lock = 0, time.perf_counter(), threading.Lock()

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        is_change = _writes(arguments) if event == "open" else event in _CHANGING
        path = arguments[0] if is_change else None
        if isinstance(path, str | Path) and str(path).startswith(self.out):
            self.moment(event, Path(path))

    def moment(self, event: str, path: Path) -> None:
        """Count a call with a path, and let happen what is to happen at it."""
        with self.lock:
            n, self.n = self.n, self.n + 1
        if self.fault is None:
            note = (self.label(event, path), time.perf_counter() - self.started)
            os.write(self.seen, f"{json.dumps(note)}\n".encode())
        else:
            self._happens(n)

    def _happens(self, n: int) -> None:
        fault = self.fault
        if fault is None:
            return
        if fault.kind == "slow":
            time.sleep(SLOW_S)
        elif n == fault.at and fault.kind == "kill":
            _kill(fault)
        elif n == fault.at and fault.kind == "refuse":
            raise _error(fault)
        elif n == fault.at and fault.action is not None:
            fault.action()


def _writes(arguments: tuple[Any, ...]) -> bool:
    """Return whether the audited call of `open` is one that writes."""
    _, mode, flags = arguments
    if isinstance(mode, str):
        return any(letter in mode for letter in "wxa+")
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _kill(fault: Fault) -> None:
    number = getattr(signal, fault.what)
    if not fault.after_s:
        os.kill(os.getpid(), number)
        return

    def later() -> None:
        time.sleep(fault.after_s)
        os.kill(os.getpid(), number)

    threading.Thread(target=later, daemon=True).start()


def _error(fault: Fault) -> OSError:
    number = getattr(errno, fault.what)
    return OSError(number, os.strerror(number))


def stage_of(path: Path, out: Path) -> str:
    """Return the name of the stage whose output a file is part of, ``models`` or ``results``.

    >>> stage_of(Path("exp/stages/.fit-8-0123456789ab.partial/a"), Path("exp"))
    'fit-8'
    """
    parts = path.relative_to(out).parts
    if len(parts) > 1 and parts[0] == STAGES:
        whole = parts[1].removeprefix(".").removesuffix(".partial").removesuffix(".blocks")
        return name_of(whole) or whole
    return "models" if parts[:1] == ("models",) else "results"


def digests(directory: Path) -> dict[str, str]:
    """Return the hash of every file below a directory but for logs, locks and how long stages took."""
    return {
        path.relative_to(directory).as_posix(): hashlib.sha256(_lasting(path)).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in ("log.txt", ".lock")
    }


def _lasting(path: Path) -> bytes:
    if path.name != "stage.json":
        return path.read_bytes()
    record = json.loads(path.read_text(encoding="utf-8"))
    del record["seconds"]
    return json.dumps(record).encode()


def finished_stages(out: Path) -> dict[str, int]:
    """Return the finished stages of an experiment, and which file on the disk the record of each is."""
    return {path.parent.name: path.stat().st_ino for path in (out / STAGES).glob("[!.]*/stage.json")}


def half_written(out: Path, expected: dict[str, str]) -> list[str]:
    """Return the files of finished stages and models that are not as a run without faults writes them."""
    if not out.is_dir():
        return []
    found = digests(out)
    visible = {n: d for n, d in found.items() if not any(part.startswith(".") for part in Path(n).parts)}
    lasting = {n: d for n, d in visible.items() if n.startswith((f"{STAGES}/", "models/"))}
    stages = {Path(n).parts[1] for n in lasting if n.startswith(f"{STAGES}/")}
    lacking = [n for n in expected if Path(n).parts[0] == STAGES and Path(n).parts[1] in stages]
    wrong = {n for n, digest in lasting.items() if expected.get(n) != digest}
    return sorted(wrong | {n for n in lacking if n not in lasting} | _no_json(out, visible))


def _no_json(out: Path, names: dict[str, str]) -> set[str]:
    """Return the JSON files directly in an experiment directory that cannot be read."""
    wrong = set()
    for name in names:
        if "/" not in name and name.endswith(".json"):
            try:
                json.loads((out / name).read_bytes())
            except ValueError:
                wrong.add(name)
    return wrong
