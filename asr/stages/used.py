"""Which stages the results of an experiment directory were made from: ``EXP/used.json``.

For each file of results, by its path below EXP, there are two lists of directories below ``EXP/stages``:
``finished`` are the stages of the last run that came to its end, ``unfinished`` those that a run under way,
killed or failed has asked for besides. Together they are all that the same command needs to go on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from asr.errors import ExperimentError
from asr.files import as_train_wrote, read_json, write_json

USED = "used.json"

logger = logging.getLogger(__name__)


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
        self.asked_for: set[str] = set()

    @contextmanager
    def counted_for(self, result: Path) -> Iterator[None]:
        """Count the stages that are asked for meanwhile as those of a file of results below the root."""
        self._result, self.asked_for = result.relative_to(self.root).as_posix(), set()
        self._entries = self._read()
        try:
            yield
            self._write(Used(finished=frozenset(self.asked_for)))
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
