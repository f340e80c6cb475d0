"""Where messages go: all to the experiment's ``log.txt``, warnings and progress to the terminal.

Colour is for terminals only, unless ``NO_COLOR`` or ``FORCE_COLOR`` ask for something else.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from asr import progress

_PACKAGES = ("asr", "acoustic", "decoder", "features", "recipes")


class _TerminalHandler(logging.Handler):
    """Writes above a progress bar without breaking it."""

    def emit(self, record: logging.LogRecord) -> None:
        tqdm.write(self.format(record), file=sys.stderr)


class _FileHandler(logging.FileHandler):
    """A log file that ignores a full disk, which the writers of results report in one line."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Do nothing."""


@contextmanager
def log_file(path: Path) -> Iterator[None]:
    """Append the messages of our packages to a file."""
    handler = _FileHandler(path, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    with _handled(handler, _PACKAGES, logging.INFO):
        yield


@contextmanager
def terminal_messages(*, verbose: bool = False, quiet: bool = False) -> Iterator[None]:
    """Show warnings and progress on standard error, with ``verbose`` all that is done, or nothing."""
    if quiet:
        with _handled(_TerminalHandler(logging.ERROR), _PACKAGES, logging.INFO), progress.silence():
            yield
        return
    handler = _TerminalHandler(logging.INFO)
    handler.setFormatter(logging.Formatter("%(message)s"))
    if not verbose:
        handler.addFilter(lambda m: m.levelno >= logging.WARNING or m.name == progress.logger.name)
    with _handled(handler, _PACKAGES, logging.INFO), progress.heartbeat():
        yield


@contextmanager
def warnings_once() -> Iterator[None]:
    """Show each warning at the terminal once, however often it comes; files get all of them."""
    said: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if record.levelno < logging.WARNING or text not in said:
            said.add(text)
            return True
        return False

    with _filtered(is_new):
        yield


@contextmanager
def muted() -> Iterator[None]:
    """Show no messages and no progress at the terminal; files get them."""
    with _filtered(lambda record: False), progress.silence():
        yield


@contextmanager
def _filtered(passes: Callable[[logging.LogRecord], bool]) -> Iterator[None]:
    """Show only some messages at the terminal."""
    handlers = {h for name in _PACKAGES for h in logging.getLogger(name).handlers}
    terminals = [handler for handler in handlers if isinstance(handler, _TerminalHandler)]
    for handler in terminals:
        handler.addFilter(passes)
    try:
        yield
    finally:
        for handler in terminals:
            handler.removeFilter(passes)


@contextmanager
def _handled(handler: logging.Handler, names: Sequence[str], level: int) -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in names]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(level)
        each.addHandler(handler)
    try:
        yield
    finally:
        for each, before in zip(loggers, levels, strict=True):
            each.removeHandler(handler)
            each.setLevel(before)
        handler.close()


_CODES = {"red": "31", "green": "32", "yellow": "33"}
_OF_SEVERITY = {"error": "red", "warning": "yellow", "ok": "green"}
_SEVERITY = re.compile(r"^(error|warning|ok)(?=:)")


def wants_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether to colour what goes to a stream; ``NO_COLOR`` counts more than ``FORCE_COLOR``."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return environment.get("TERM") != "dumb" and stream.isatty()


def coloured(text: str, colour: str, stream: TextIO) -> str:
    """Return a text in a colour, plain where no colour is wanted."""
    return f"\033[{_CODES[colour]}m{text}\033[0m" if wants_colour(stream) else text


def with_severity(line: str, stream: TextIO) -> str:
    """Return a line ``error: …``, ``warning: …`` or ``ok: …`` with its first word coloured."""
    return _SEVERITY.sub(lambda m: coloured(m[1], _OF_SEVERITY[m[1]], stream), line)


def coloured_difference(line: str, low: float, high: float, stream: TextIO) -> str:
    """Return a line on a difference, green if its interval is above zero, red if it is below."""
    if low <= 0 <= high:
        return line
    return coloured(line, "green" if low > 0 else "red", stream)
