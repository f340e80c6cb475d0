"""Steps and their store: a step's output appears whole or not at all, and only where it is not there yet.

The output of a step lies in ``EXP/stages/NAME-KEY``. KEY is a hash of all that decides it: the code of the
step's function and of what that imports of ours (`foundation.version.code_behind`), its configuration, and
the content of the outputs it is made from. Where files lie, when they were made and how many workers made
them does not count. So a changed option or function makes anew just what depends on it, and if a step makes
the same bytes as before, what follows it stays. An output whose bytes have changed since it was written is
made again. ``stage.json`` in it says what it was made from, its hash, and the seconds that making it took.

A killed run leaves two directories whose names begin with a dot: the unfinished output, which the next run,
holding the lock, throws away, and the blocks that were done (`foundation.blocks`), which it uses.

``EXP/used.json`` says which steps' outputs the results need. For each file of results, by its path below EXP,
there are two lists of directories below ``EXP/stages``: ``finished`` are those of the last run that came to
its end, with those of the models of earlier runs whose results still stand, ``unfinished`` those that a run
under way, killed or failed has asked for besides. Together they are all that the same command needs to go on;
`asr.commands.leftovers` removes the others.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from asr.errors import ExperimentError
from asr.files import (
    as_plain,
    as_train_wrote,
    directory_digest,
    read_json,
    storage_errors,
    text_digest,
    write_json,
)
from asr.progress import stage
from foundation.blocks import checkpoints, cpu_elsewhere
from foundation.errors import listed
from foundation.files import put_in_place
from foundation.version import code_behind

RECORD, STAGES, USED = "stage.json", "stages", "used.json"
MADE_FROM = "made_from"  # in a record: the directory of each input, as two steps may make the same bytes

_RESULTS = "results.json"
_KEY_LENGTH = 12
_DIRECTORY = re.compile(rf"(?P<name>[^.].*)-[0-9a-f]{{{_KEY_LENGTH}}}")
_LONGEST_HOLDER = 200  # bytes
_MOST_NAMED, _LONGEST_VALUES = 5, 60  # of what a line says of a change

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a training.

    Attributes
    ----------
    name : what its directory and its messages are called
    make : ``make(directory, **inputs, **arguments)`` writes the output into a directory, and no more
    inputs : the steps it is made from, by the parameter that gets their directories; several may share one
        parameter, which then gets a mapping of directories by these names
    arguments : what else ``make`` gets
    says : what it does, for people
    decided_by : what of the arguments decides the output, if not all of them do; who adds an argument that
        decides adds it here, too, or old outputs pass for new ones
    other_code : code that decides the output and that ``make`` does not import, such as a plugin's
    """

    name: str
    make: Callable[..., None]
    inputs: Mapping[str, Step | Mapping[str, Step]] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""
    decided_by: Any = None
    other_code: tuple[str, ...] = ()

    @property
    def made_from(self) -> dict[str, Step]:
        """The steps it is made from, each by its own name among the inputs."""
        found: dict[str, Step] = {}
        for label, given in self.inputs.items():
            found |= {label: given} if isinstance(given, Step) else given
        return found

    def __call__(self, directory: Path, outputs: Mapping[Step, Path]) -> None:
        """Make the output in a directory from those of the inputs."""
        paths = {
            label: outputs[given] if isinstance(given, Step) else {n: outputs[s] for n, s in given.items()}
            for label, given in self.inputs.items()
        }
        self.make(directory, **paths, **self.arguments)

    def decisive(self, digests: Mapping[str, str], other_code: Iterable[str]) -> dict[str, Any]:
        """Return all that decides the output.

        Parameters
        ----------
        digests : hash of the content of each input
        other_code : code besides ours that made the inputs or makes this
        """
        return {
            "stage": self.name,
            "code": [code_behind(self.make.__module__), *other_code],
            "config": as_plain(self.arguments if self.decided_by is None else self.decided_by),
            "inputs": dict(digests),
        }


@dataclass(frozen=True)
class StageOutput:
    """A finished step.

    Attributes
    ----------
    path : its directory
    digest : hash of the files in it
    other_code : code besides ours that made the output, and hence affects whatever is made from it
    """

    path: Path
    digest: str
    other_code: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outlook:
    """Whether a step is done already.

    Attributes
    ----------
    step : the step
    path : where its output is; None if it is to be made
    why : why it is to be made; of one that was never made only that
    is_again : whether an output of that name was made before, from something else
    """

    step: Step
    path: Path | None
    why: str = ""
    is_again: bool = False


def key(decisive: Mapping[str, Any]) -> str:
    """Return the key of all that decides an output; the order of its entries makes no difference."""
    text = json.dumps(as_plain(decisive), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return text_digest(text)[:_KEY_LENGTH]


def name_of(directory: str) -> str | None:
    """Return the name of the step whose output has a directory of this name; None if no output is called so.

    >>> name_of("gmm-none-8-dev-0123456789ab"), name_of(".fit-8-0123456789ab.partial")
    ('gmm-none-8-dev', None)
    """
    match = _DIRECTORY.fullmatch(directory)
    return None if match is None else match["name"]


@dataclass(frozen=True)
class Used:
    """The stages of one file of results, as names of directories.

    Attributes
    ----------
    finished : of the last run that came to its end; None if none has
    unfinished : of a later run that has not, without those
    """

    finished: frozenset[str] | None = None
    unfinished: frozenset[str] = frozenset()

    @property
    def stages(self) -> frozenset[str]:
        """All of them."""
        return (self.finished or frozenset()) | self.unfinished

    def as_json(self) -> dict[str, list[str]]:
        """Return the entry in the file."""
        finished = {} if self.finished is None else {"finished": sorted(self.finished)}
        return {**finished, **({"unfinished": sorted(self.unfinished)} if self.unfinished else {})}


def read_used(root: Path) -> dict[str, Used]:
    """Return the stages of each file of results in an experiment directory, by its path below that."""
    path = root / USED
    record = read_json(path)
    with as_train_wrote(path):
        return {str(name): _entry(entry) for name, entry in dict(record).items()}


def _entry(entry: object) -> Used:
    lists = {str(key): list(names) for key, names in dict(entry).items()}  # type: ignore[call-overload]
    if not all(isinstance(name, str) for names in lists.values() for name in names):
        raise TypeError("expected names of stages")
    finished, unfinished = lists.get("finished"), lists.get("unfinished", [])
    return Used(None if finished is None else frozenset(finished), frozenset(unfinished))


class UsedStages:
    """Keeps ``used.json`` while stages run; whoever writes holds the lock of the experiment directory.

    Parameters
    ----------
    root : the experiment directory

    Attributes
    ----------
    asked_for : names of the stages that the results under way, or the last that were, have asked for
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._result: str | None = None  # the results under way
        self._entries: dict[str, Used] = {}
        self._before: dict[str, Used] | None = None  # the entries when the results were begun
        self.asked_for: set[str] = set()
        self._kept: set[str] = set()

    @property
    def of_before(self) -> frozenset[str]:
        """Names of the stages that the results under way had before."""
        return (self._before or {}).get(self._result or _RESULTS, Used()).stages

    def keep(self, stages: Iterable[str]) -> None:
        """Count stages of earlier runs as still needed by the results under way."""
        self._kept.update(stages)

    def may_be_of_before(self, stage: str) -> bool:
        """Return whether an output is one that these results had before; any, where nothing says which."""
        if self._before is None:
            self._before = self._read()
        entry = self._before.get(self._result or _RESULTS)
        return not self._before or (entry is not None and stage in entry.stages)

    @contextmanager
    def counted_for(self, result: Path) -> Iterator[None]:
        """Count the stages that are asked for meanwhile as those of a file of results below the root."""
        self._result = result.relative_to(self.root).as_posix()
        self.asked_for, self._kept = set(), set()
        self._entries = self._read()
        self._before = dict(self._entries)
        try:
            yield
            self._write(Used(finished=frozenset(self.asked_for | self._kept)))
        finally:
            self._result = None

    def add(self, stage: str) -> None:
        """Count a stage, if any results are under way; a kill one moment later does not forget it."""
        if self._result is not None:
            self.asked_for.add(stage)
            known = self._entries.get(self._result, Used())
            if stage not in known.stages:
                self._write(Used(known.finished, known.unfinished | {stage}))

    def _read(self) -> dict[str, Used]:
        if not (self.root / USED).is_file():
            return {}
        try:
            return read_used(self.root)
        except ExperimentError as error:
            logger.warning("%s; a new one is begun", error)
            return {}

    def _write(self, entry: Used) -> None:
        """Write the entry of the results under way if it differs from what the file says."""
        if self._result is not None and self._entries.get(self._result) != entry:
            self._entries[self._result] = entry
            content = {name: used.as_json() for name, used in self._entries.items()}
            write_json(self.root / USED, content)


class StageStore:
    """The outputs of the steps of one experiment directory.

    Parameters
    ----------
    root : the experiment directory; made if it is not there
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.directory = root / STAGES
        self.used = UsedStages(root)
        self._is_locked = False
        self._finished: dict[Path, StageOutput] = {}  # seen in this run: not read again
        self._of_step: WeakKeyDictionary[Step, StageOutput] = WeakKeyDictionary()

    def run(self, steps: Iterable[Step]) -> None:
        """Make the outputs that are not there yet, in order."""
        for step in steps:
            self.output(step)

    def output(self, step: Step) -> StageOutput:
        """Return a step's output; it is made if it is not there yet, after what it is made from."""
        if step not in self._of_step:
            self._of_step[step] = self._kept_or_made(step)
        found = self._of_step[step]
        self.used.add(found.path.name)
        return found

    def _kept_or_made(self, step: Step) -> StageOutput:
        inputs = {label: self.output(given) for label, given in step.made_from.items()}
        others = _other_code(step, (given.other_code for given in inputs.values()))
        decisive = step.decisive({label: given.digest for label, given in inputs.items()}, others)
        path = self.directory / f"{step.name}-{key(decisive)}"
        self.used.add(path.name)
        if path not in self._finished:
            digest = self._kept(path, step.name)
            if digest is None:
                if why := self._change(step, decisive):
                    logger.info("%s: made again: %s", step.name, why)
                outputs = {given: inputs[label].path for label, given in step.made_from.items()}
                record = {**decisive, MADE_FROM: {label: given.path.name for label, given in inputs.items()}}
                digest = self._made(path, step.name, lambda directory: step(directory, outputs), record)
            self._finished[path] = StageOutput(path, digest, others)
        return self._finished[path]

    def outlook(self, steps: Iterable[Step]) -> list[Outlook]:
        """Return for each step of a list whether it is done; nothing is made, and no output is read through.

        A step after one that is to be made counts as to be made, though it may turn out that the bytes it is
        made from are the same as before.
        """
        found: list[Outlook] = []
        done: dict[Step, str] = {}  # the digest of its output
        others: dict[Step, tuple[str, ...]] = {}
        for step in steps:
            inputs = step.made_from
            others[step] = _other_code(step, (others[given] for given in inputs.values()))
            digests = {label: done[given] for label, given in inputs.items() if given in done}
            decisive = step.decisive(digests, others[step])
            waits_for = [given.name for given in inputs.values() if given not in done]
            path = self.directory / f"{step.name}-{key(decisive)}"
            if not waits_for and (digest := _record(path).get("digest")) is not None:
                done[step] = str(digest)
                found.append(Outlook(step, path))
            else:
                why = self._change(step, decisive, waits_for)
                found.append(Outlook(step, None, why or "not made yet", is_again=bool(why)))
        return found

    def _change(self, step: Step, decisive: Mapping[str, Any], waits_for: Iterable[str] = ()) -> str:
        """Return what has changed since a step of that name was made for these results; empty if none was."""
        before = [
            path
            for path in self.directory.glob(f"{step.name}-*")
            if name_of(path.name) == step.name and self.used.may_be_of_before(path.name)
        ]
        if not before:
            return ""
        return _difference(_record(max(before, key=_when_made)), as_plain(decisive), list(waits_for))

    def _kept(self, path: Path, name: str) -> str | None:
        """Return the digest of an earlier run's output if its files are still those that were written."""
        if not path.exists():
            return None
        with storage_errors(path):
            digest = _record(path).get("digest")
            if digest is not None and digest == directory_digest(path, without=RECORD):
                logger.info("%s: unchanged, kept", name)
                return str(digest)
            logger.warning("%s: files were changed or are damaged, made again (%s)", name, path)
            shutil.rmtree(path)
        return None

    def _made(
        self, path: Path, name: str, function: Callable[[Path], None], record: Mapping[str, Any]
    ) -> str:
        """Run a stage in a temporary directory, rename it, say how long it took, and return its digest."""
        logger.info("%s: started", name)
        partial, unfinished = (path.with_name(f".{path.name}.{what}") for what in ("partial", "blocks"))
        try:
            with storage_errors(path):
                shutil.rmtree(partial, ignore_errors=True)
                partial.mkdir(parents=True)
                started = time.perf_counter(), _processor_seconds()
                with stage(name), checkpoints(unfinished):
                    function(partial)
                wall, cpu = time.perf_counter() - started[0], _processor_seconds() - started[1]
                digest = directory_digest(partial, without=RECORD)
                seconds = {"cpu": round(cpu, 3), "wall": round(wall, 3)}
                write_json(partial / RECORD, {**record, "digest": digest, "seconds": seconds})
                put_in_place(partial, path)
                shutil.rmtree(unfinished, ignore_errors=True)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        logger.info("%s: done in %.1f s (%.1f CPU s)", name, wall, cpu)
        return digest

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the experiment directory for one run, and remove unfinished outputs of a killed run.

        A part of the run may ask for the lock again.
        """
        if self._is_locked:
            yield
            return
        with storage_errors(self.root):
            self.directory.mkdir(parents=True, exist_ok=True)
        with lock(self.root):
            done = (b for b in self.directory.glob(".*.blocks") if (self.directory / b.stem[1:]).exists())
            for stale in (*self.directory.glob(".*.partial"), *done):
                shutil.rmtree(stale, ignore_errors=True)
            self._is_locked = True
            try:
                yield
            finally:
                self._is_locked = False


@contextmanager
def lock(root: Path) -> Iterator[None]:
    """Hold the lock of an experiment directory; raise an error if another process holds it.

    The system lets go of it when its process ends, however that ends. The file says who held it last.
    """
    path = root / ".lock"
    with storage_errors(root):
        handle = open(path, "a+b")  # noqa: SIM115 (it is the lock)
    with handle:
        handle.seek(0)  # Windows locks the byte that comes next
        try:
            is_ours = _try_lock(handle.fileno())
        except OSError as error:
            raise ExperimentError(
                f"{path}: cannot be locked ({error.strerror or error}), expected a disk with locks, so that "
                "two runs do not meet; choose another --out"
            ) from error
        if not is_ours:
            raise ExperimentError(
                f"{root}: another run is using this experiment directory{_holder(path)}; "
                "expected one at a time; wait for it or choose another --out"
            )
        with suppress(OSError):  # of a full disk: it is for people alone
            handle.truncate(0)
            handle.write(f"process {os.getpid()} on {platform.node()}\n".encode(errors="replace"))
            handle.flush()
        yield


def _holder(path: Path) -> str:
    """Return who holds a lock, as its file says; empty where it does not."""
    with suppress(OSError, UnicodeDecodeError):
        said = path.read_bytes()[:_LONGEST_HOLDER].decode().strip()
        return f" ({said})" if said.isprintable() and said else ""
    return ""


def outputs_behind(outputs: Iterable[Path], names: Collection[str]) -> set[Path]:
    """Return those of some outputs that steps of these names have made, and what they were made from."""
    records = {path: _record(path) for path in outputs}
    of_digest: dict[object, list[Path]] = {}
    for path, record in records.items():
        of_digest.setdefault(record.get("digest"), []).append(path)
    found: set[Path] = set()
    waiting = [path for path in records if name_of(path.name) in names]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            inputs, named = (records[path].get(entry) for entry in ("inputs", MADE_FROM))
            for label, digest in inputs.items() if isinstance(inputs, dict) else ():
                name = named.get(label) if isinstance(named, dict) else None
                waiting += _called(name, of_digest.get(digest, ()))
    return found


def _called(name: object, alike: Sequence[Path]) -> Sequence[Path]:
    """Return the output of a name among some of the same bytes, else those of its step, else all.

    Another one of its step stands for it after a run whose inputs differed while their bytes did not. Records
    of earlier versions do not say the name.
    """
    same = [path for path in alike if path.name == name]
    of_step = [path for path in alike if isinstance(name, str) and name_of(path.name) == name_of(name)]
    return same or of_step or alike


def stage_cpu_s(path: Path) -> float:
    """Return the CPU seconds that a stage's output took when it was made; 0 where no record says so."""
    seconds = _record(path).get("seconds")
    cpu = seconds.get("cpu") if isinstance(seconds, dict) else None
    return float(cpu) if isinstance(cpu, int | float) else 0.0


def _processor_seconds() -> float:
    """Return what this process has used, and others for it."""
    return time.process_time() + cpu_elsewhere()


def _other_code(step: Step, inputs: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the other code of a step and that of its inputs, each once."""
    return tuple(dict.fromkeys(code for codes in (step.other_code, *inputs) for code in codes))


def _when_made(path: Path) -> float:
    try:
        return (path / RECORD).stat().st_mtime_ns
    except OSError:
        return 0


def _record(path: Path) -> dict[str, Any]:
    """Return the record of an output; nothing of one that cannot be read."""
    try:
        record = read_json(path / RECORD)
    except ExperimentError:
        return {}
    return record if isinstance(record, dict) else {}


def _difference(before: Mapping[str, Any], now: Mapping[str, Any], waits_for: list[str]) -> str:
    """Return what differs of what an output was made from, and is made from now."""
    code = before.get("code")
    said = ["code changed"] if code != now["code"] else []
    if not isinstance(code, list) or _module(code) != _module(now["code"]):
        return "code changed"  # of an earlier version, whose records say other things
    if changed := _differing(before.get("config"), now["config"]):
        said.append(f"configuration changed: {', '.join(changed)}")
    old, new = before.get("inputs"), now["inputs"]
    if isinstance(old, dict):
        inputs = [label for label in new if new[label] != old.get(label)]
        # A step that is still to be made has no digest yet: its label is in the old record alone.
        gone = [] if waits_for else sorted(old.keys() - new.keys())
        if changed := [*inputs, *gone]:
            said.append(f"input changed: {listed(changed, _MOST_NAMED)}")
    if waits_for and not said:
        return f"made from {listed(waits_for, _MOST_NAMED)}, to be made first"
    return "; ".join(said) or "its files are missing or damaged"


def _module(code: list[Any]) -> str:
    """Return the module of the function that made an output, from its record."""
    return str(code[0]).partition(" ")[0] if code else ""


def _differing(before: object, now: object, name: str = "") -> list[str]:
    """Return the names of the options that differ, with both values where these are short."""
    if isinstance(before, dict) and isinstance(now, dict):
        names = {key: f"{name}.{key}".strip(".") for key in (*before, *now)}
        return [
            line
            for key, own in names.items()
            for line in (_differing(before[key], now[key], own) if key in before and key in now else [own])
        ]
    if before == now:
        return []
    values = f"{json.dumps(before)} → {json.dumps(now)}"
    return [f"{name} {values}".strip() if len(values) <= _LONGEST_VALUES else name or "all"]


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK):
                raise
            return False
        return True
