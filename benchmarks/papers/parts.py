"""What a part of the page of tables is, and what is asked of it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from asr.files import write_text
from benchmarks.papers.width_search import Search


class Timed(NamedTuple):
    """A result, and the seconds of processor time it took when it was computed."""

    result: Any
    seconds: float


@dataclass
class Kept:
    """Results kept in a folder as JSON, so that a part that was interrupted goes on where it stopped.

    Attributes
    ----------
    folder : where the results lie; None keeps nothing
    seconds : how long the results that were taken from the folder took when they were computed
    """

    folder: Path | None = None
    seconds: float = 0.0

    def result(self, settings: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """Return the result of these settings, computed only if the folder does not have it.

        ``settings`` and the result must be what JSON can hold. The code is not among the settings: delete the
        folder when it changes.
        """
        return self.timed(settings, compute).result

    def timed(self, settings: dict[str, Any], compute: Callable[[], Any]) -> Timed:
        """Return the result of these settings as `result` does, and how long it took."""
        path = None if self.folder is None else self.folder / f"{_key(settings)}.json"
        if path is not None and path.is_file():
            record = json.loads(path.read_text(encoding="utf-8"))
            self.seconds += record["seconds"]
            return Timed(record["result"], record["seconds"])
        start = time.process_time()
        found = Timed(compute(), time.process_time() - start)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            record = {"settings": settings, "result": found.result, "seconds": found.seconds}
            write_text(path, json.dumps(record, indent=1))
        return found


def _key(settings: dict[str, Any]) -> str:
    return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Request:
    """What is asked of a part.

    Attributes
    ----------
    folder : of the data sets
    search : how hyper-parameters are searched
    n_partitions : of each data set that is split into many
    is_quick : whether to see only that all works, with a few points
    data : the only data sets asked for; None for all
    figures : where figures are drawn; None draws none
    page : the page the part is written into; None if it is only printed
    kept : results of earlier runs
    """

    folder: Path
    search: Search = field(default_factory=Search)
    n_partitions: int = 100
    is_quick: bool = False
    data: frozenset[str] | None = None
    figures: Path | None = None
    page: Path | None = None
    kept: Kept = field(default_factory=Kept)

    def chosen(self, names: Sequence[str]) -> list[str]:
        """Return those of some data sets that are asked for."""
        return [name for name in names if self.data is None or name in self.data]

    def picture(self, name: str, caption: str) -> str:
        """Return the Markdown line that shows a figure; empty if none are drawn."""
        if self.figures is None:
            return ""
        start = self.figures.parent if self.page is None else self.page.parent
        return f"![{caption}]({Path(os.path.relpath(self.figures / name, start)).as_posix()})"


@dataclass(frozen=True)
class Part:
    """A part of the page: one section of it, made by one function.

    Attributes
    ----------
    title : heading of the section
    protocol : how the numbers were made, in a sentence or two
    make : returns the tables and what else is to be said of them, as Markdown
    data : names of the data sets of the part that ``--data`` may choose from
    draws : whether the part draws figures if it is given a folder for them
    """

    title: str
    protocol: str
    make: Callable[[Request], str]
    data: tuple[str, ...] = ()
    draws: bool = False
