"""Stages: functions whose output directory appears whole or not at all, and only when it is not there yet.

The output of a stage lies in ``EXP/stages/NAME-KEY``; KEY is a hash of what it is made from
(`asr.stages.keys`). The same inputs find the same directory and skip the work; a changed option changes the
keys of just what depends on it. If a stage makes the same bytes
from changed inputs, later stages are not run again, because their keys depend on its content. An output whose
bytes have changed since it was written is made again. Outputs made by other versions of the code stay there
unused.

``stage.json`` beside the output says what it was made from, its hash, and the seconds that making it took.

A killed run leaves two directories whose names begin with a dot: the unfinished output, which the next run,
holding the lock, throws away, and the blocks and steps that were done (`foundation.blocks`), which it uses.
``EXP/used.json`` says which stages the results need (`asr.stages.used`); `asr.leftovers` removes the others.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asr.errors import ExperimentError
from asr.files import directory_digest, read_json, storage_errors, write_json
from asr.progress import stage
from asr.stages.keys import key, made_from
from asr.stages.used import UsedStages
from asr.version import own_code
from foundation.blocks import checkpoints, cpu_elsewhere

RECORD = "stage.json"
STAGES = "stages"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StageOutput:
    """A finished stage.

    Attributes
    ----------
    path : its directory
    digest : hash of the files in it
    other_code : code besides this package's that made the output, and hence affects whatever is made from it
    """

    path: Path
    digest: str
    other_code: tuple[str, ...] = ()


class StageStore:
    """The stages of one experiment directory.

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

    def run(
        self,
        name: str,
        function: Callable[[Path], None],
        *,
        inputs: Mapping[str, str | StageOutput] | None = None,
        config: object = None,
        other_code: Sequence[str] = (),
    ) -> StageOutput:
        """Return the stage's output, made by ``function(directory)`` if it is not there yet.

        Parameters
        ----------
        name : name of the stage, part of the directory's name
        function : writes the output files into the directory it is given, and does nothing else
        inputs : name, and digest or stage, of each thing the output is made from; the other code of these
            stages counts for this one, too
        config : dataclass, mapping or plain value that decides the output
        other_code : code besides this package's that makes the output, as `asr.version.code_of` describes it
        """
        given = dict(inputs or {})
        others = _with_inherited(other_code, given.values())
        digests = {label: i.digest if isinstance(i, StageOutput) else i for label, i in given.items()}
        decisive = made_from(name, config, digests, others)
        path = self.directory / f"{name}-{key(decisive)}"
        self.used.add(path.name)
        if path not in self._finished:
            digest = self._kept(path, name) or self._made(path, name, function, decisive)
            self._finished[path] = StageOutput(path, digest, others)
        return self._finished[path]

    def _kept(self, path: Path, name: str) -> str | None:
        """Return the digest of an earlier run's output if its files are still those that were written."""
        if not path.exists():
            return None
        with storage_errors(path):
            digest = _recorded(path, "digest")
            if digest is not None and digest == directory_digest(path, without=RECORD):
                logger.info("%s: unchanged, kept", name)
                return str(digest)
            logger.warning("%s: files were changed or are damaged, made again (%s)", name, path)
            shutil.rmtree(path)
        return None

    def _made(
        self, path: Path, name: str, function: Callable[[Path], None], decisive: Mapping[str, Any]
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
                write_json(partial / RECORD, {**decisive, "digest": digest, "seconds": seconds})
                os.replace(partial, path)
                shutil.rmtree(unfinished, ignore_errors=True)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        logger.info("%s: done in %.1f s (%.1f CPU s)", name, wall, cpu)
        return digest

    def tell_of_other_code(self) -> None:
        """Log how many stages other code has made; a warning if no stage was made by this code."""
        makers = [_recorded(path.parent, "code") for path in self.directory.glob(f"[!.]*/{RECORD}")]
        n_others = sum(not isinstance(maker, list) or maker[:1] != [own_code()] for maker in makers)
        if n_others:
            logger.log(
                logging.WARNING if n_others == len(makers) else logging.INFO,
                "%s: %d stages were made by other code than this (%s) and are not used; "
                "asr clean %s removes what is not needed once this run is done",
                self.directory,
                n_others,
                own_code(),
                self.root,
            )

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
    """Hold an experiment directory; that another process holds it is an error."""
    with storage_errors(root):
        handle = open(root / ".lock", "a+b")  # noqa: SIM115 (it is the lock)
    with handle:
        if not _try_lock(handle.fileno()):
            raise ExperimentError(
                f"{root}: another run is using this experiment directory; "
                "expected one at a time; wait for it or choose another --out"
            )
        yield


def stage_cpu_s(path: Path) -> float:
    """Return the CPU seconds that a stage's output took when it was made; 0 where no record says so."""
    seconds = _recorded(path, "seconds")
    cpu = seconds.get("cpu") if isinstance(seconds, dict) else None
    return float(cpu) if isinstance(cpu, int | float) else 0.0


def _processor_seconds() -> float:
    """Return what this process has used, and others for it."""
    return time.process_time() + cpu_elsewhere()


def _with_inherited(other_code: Iterable[str], inputs: Iterable[str | StageOutput]) -> tuple[str, ...]:
    """Return the given other code and that of the input stages, each once."""
    inherited = (code for stage in inputs if isinstance(stage, StageOutput) for code in stage.other_code)
    return tuple(dict.fromkeys([*other_code, *inherited]))


def _recorded(path: Path, name: str) -> Any:
    """Return the entry of this name in a stage's record, None if there is no such entry or record."""
    try:
        return read_json(path / RECORD)[name]
    except (ExperimentError, KeyError, TypeError):
        return None


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
        except OSError:
            return False
        return True
