"""Progress on standard error, and in the log.

At a terminal a bar shows the work under way and how long the rest will take, and each finished stage leaves a
line. Elsewhere, in a pipe or a file, `heartbeat` writes a line every half minute.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

INTERVAL_S = 30.0  # from one line of the heartbeat to the next

logger = logging.getLogger(__name__)

_under_way: list[Callable[[], str]] = []  # says how far each piece of work is, the innermost last
_silenced: list[None] = []  # one entry for each `silence` that is held


class Steps(Protocol):
    """Work that is counted by hand."""

    def update(self, n: float = 1) -> object:
        """Count steps that are done."""

    def set_postfix_str(self, s: str) -> object:
        """Say something about the last step."""


def progress_bar(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield items and show how many are done and how long the rest will take."""
    with step_bar(label, total) as bar:
        for item in items:
            yield item
            bar.update()


def step_bar(label: str, total: int) -> AbstractContextManager[Steps]:
    """Return a bar that is moved by hand: ``bar.update()``, ``bar.set_postfix_str(…)``."""
    if _has_watcher():
        bar: AbstractContextManager[Any] = tqdm(desc=label, total=total, leave=False)
        return bar
    return _counted(_Count(label, total))


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Show that a stage is under way, and at a terminal how long it took."""
    started = time.monotonic()
    with _shown(lambda: f"{name}: {duration(time.monotonic() - started)} so far"):
        yield
    if _has_watcher():
        say(f"{name}: {duration(time.monotonic() - started)}")


@contextmanager
def heartbeat(interval_s: float = INTERVAL_S) -> Iterator[None]:
    """Log every half minute what is under way, where no bar is drawn."""
    stopped = threading.Event()

    def beat() -> None:
        while not stopped.wait(interval_s):
            if _under_way:
                say(status())

    if _has_watcher():
        yield
        return
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


@contextmanager
def silence() -> Iterator[None]:
    """Draw no bars."""
    _silenced.append(None)
    try:
        yield
    finally:
        _silenced.pop()


def _has_watcher() -> bool:
    """Return whether a person sees what is drawn."""
    return sys.stderr.isatty() and not _silenced


def say(text: str) -> None:
    """Tell the person at the terminal, and the log, what is done."""
    logger.info("%s", text)


def status() -> str:
    """Return what is under way: the outermost work, usually a stage, and how far its innermost part is."""
    parts = list(_under_way)
    return "; ".join(describe() for describe in dict.fromkeys([*parts[:1], *parts[-1:]]))


def duration(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> duration(4.21), duration(94), duration(3725)
    ('4.2 s', '1 min 34 s', '1 h 2 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class _Count:
    """Steps that are counted where no bar is drawn."""

    def __init__(self, label: str, total: int) -> None:
        self.label, self.total, self.n_done, self.note = label, total, 0.0, ""
        self.started = time.monotonic()

    def update(self, n: float = 1) -> None:
        """Count steps that are done."""
        self.n_done += n

    def set_postfix_str(self, s: str) -> None:
        """Say something about the last step."""
        self.note = s

    def status(self) -> str:
        """Return how many steps are done and how long the rest will take."""
        text = f"{self.label}: {self.n_done:g} of {self.total}"
        if 0 < self.n_done < self.total:
            rest = (time.monotonic() - self.started) / self.n_done * (self.total - self.n_done)
            text += f", about {duration(rest)} to go"
        return f"{text} ({self.note})" if self.note else text


@contextmanager
def _counted(count: _Count) -> Iterator[_Count]:
    with _shown(count.status):
        yield count


@contextmanager
def _shown(describe: Callable[[], str]) -> Iterator[None]:
    _under_way.append(describe)
    try:
        yield
    finally:
        _under_way.remove(describe)
