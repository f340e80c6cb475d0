"""What a run says while it works: progress, messages and where they go, and colour.

At a terminal a bar shows the work under way and how long the rest will take: of a training one bar for the
`whole`, of other work one for each piece. Elsewhere, in a pipe or a file, a training writes a line for each
of its large steps, and `heartbeat` one now and then. All messages go to the experiment's ``log.txt``,
warnings and progress to the terminal. Colour is for terminals only, unless ``NO_COLOR`` or ``FORCE_COLOR``
ask for something else.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO, TypeVar

from tqdm import tqdm

from foundation.errors import shown

logger = logging.getLogger(__name__)

Item = TypeVar("Item")

INTERVAL_S = 30.0  # from one line of the heartbeat to the next, by feel
_BEATS_OF_WHOLE = 10  # the heartbeat is so much slower where a whole says its large steps; by feel
_REFRESHED_S = 0.5  # how often the bar of a whole is drawn; by feel
_LARGE = 0.03  # the share of a whole from which on a step is told of in a pipe; by feel

_under_way: list[Callable[[], str]] = []  # says how far each piece of work is, the innermost last
_counts: list[_Count] = []  # those of them that are counted where no bar is drawn
_wholes: list[Whole] = []  # the long work whose stages are under way, if there is any
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
    if _has_watcher() and not _wholes:
        bar: AbstractContextManager[Any] = tqdm(desc=shown(label), total=total, leave=False)
        return bar
    return _counted(_Count(label, total))


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Show that a stage is under way, as a piece of a whole or by itself."""
    started = time.monotonic()
    if _wholes and (piece := _wholes[-1].pieces.get(name)) is not None:
        with _wholes[-1].under_way(piece), _shown(_wholes[-1].status):
            yield
        return
    with _shown(lambda: f"{name}: {duration(time.monotonic() - started)} so far"):
        yield


@contextmanager
def heartbeat(interval_s: float = INTERVAL_S) -> Iterator[None]:
    """Log every half minute what is under way, where no bar is drawn."""

    def beat(stopped: threading.Event) -> None:
        n_beats = 0
        while not stopped.wait(interval_s):
            n_beats += 1
            if _under_way and (not _wholes or n_beats % _BEATS_OF_WHOLE == 0):
                say(status())

    with nullcontext() if _has_watcher() else _beside(beat):
        yield


@contextmanager
def _beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Do something in another thread, until what it is given is set."""
    stopped = threading.Event()
    thread = threading.Thread(target=work, args=(stopped,), daemon=True)
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


@contextmanager
def quietly() -> Iterator[None]:
    """Say nothing of a small training beside the one that was asked for: it would be misleading."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with silence(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other packages' classifiers
            yield
    finally:
        logging.disable(before)


def _has_watcher() -> bool:
    """Return whether a person sees what is drawn."""
    return sys.stderr is not None and sys.stderr.isatty() and not _silenced


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


def about(seconds: float) -> str:
    """Return a time that is an estimate.

    >>> about(4.2), about(34), about(100), about(3725)
    ('less than 10 s', 'about 30 s', 'about 2 min', 'about 1 h')
    """
    if seconds < 10:
        return "less than 10 s"
    minutes = round(seconds / 60)
    if seconds < 60:
        return f"about {round(seconds, -1):.0f} s"
    if minutes < 60:
        return f"about {minutes} min"
    quarters = round(minutes / 15)
    return f"about {quarters / 4:g} h" if minutes < 600 else f"about {round(minutes / 60)} h"


@dataclass(frozen=True)
class Piece:
    """A piece of a long work.

    Attributes
    ----------
    name : of its stage
    says : what a person is told meanwhile
    kind : what pieces have in common that take as long for as much work
    guess_s : seconds that it may take, right in proportion to those of other pieces at most
    is_counted : whether what it counts first is nearly all its work
    """

    name: str
    says: str
    kind: str
    guess_s: float
    is_counted: bool = False


@dataclass
class Whole:
    """A long work of many stages and how far it is; its pieces teach it how long the rest may take."""

    pieces: dict[str, Piece]
    tells: bool = True
    _left: dict[str, Piece] = field(init=False)
    _now: Piece | None = None
    _began_s: float = 0.0  # the piece under way
    began_s: float = field(default_factory=lambda: time.monotonic())
    _taken_s: float = 0.0
    _guessed_s: float = 0.0
    _of_kind: dict[str, float] = field(default_factory=dict)  # seconds taken over those guessed
    _told: str = ""
    _share: float = 0.0

    def __post_init__(self) -> None:
        self._left = dict(self.pieces)

    @contextmanager
    def under_way(self, piece: Piece) -> Iterator[None]:
        """Do a piece."""
        self._now, self._began_s = piece, time.monotonic()
        if self.tells and piece.says != self._told and self._is_large(piece.says):
            self._told = piece.says
            logger.info("%s", self.status(), extra={"for_pipes": True})
        yield
        taken = time.monotonic() - self._began_s
        self._left.pop(piece.name, None)
        self._taken_s, self._guessed_s = self._taken_s + taken, self._guessed_s + piece.guess_s
        self._of_kind[piece.kind] = taken / max(piece.guess_s, 1e-3)
        self._now = None

    def _is_large(self, says: str) -> bool:
        own = sum(p.guess_s for p in self.pieces.values() if p.says == says)
        return own >= _LARGE * sum(p.guess_s for p in self.pieces.values())

    def rest_s(self) -> float:
        """Return about how many seconds the rest will take."""
        # The first pieces, short ones, load and compile: they count with a tenth of the whole beside them.
        prior = 0.1 * sum(p.guess_s for p in self.pieces.values())
        usual = (self._taken_s + prior) / max(self._guessed_s + prior, 1e-3)
        piece, left, counts = self._now, list(self._left.values()), _counts[:1]  # as others change them
        expected = {p.name: p.guess_s * self._of_kind.get(p.kind, usual) for p in left}
        now = expected.pop(piece.name, 0.0) if piece else 0.0
        so_far = time.monotonic() - self._began_s if piece else 0.0
        if piece and piece.is_counted and counts and (done := counts[0].share()) > 0.02:
            now = so_far / done
        return sum(expected.values()) + max(now - so_far, 0.1 * now)

    def share(self) -> float:
        """Return which share of the time has passed; it never falls."""
        passed = time.monotonic() - self.began_s
        self._share = max(self._share, passed / max(passed + self.rest_s(), 1e-3))
        return min(self._share, 0.99)

    def status(self) -> str:
        """Return what is done now, and how long the rest will take."""
        return f"{self.says}; {about(self.rest_s())} to go"

    @property
    def says(self) -> str:
        """What is done now."""
        piece = self._now  # which another thread may change
        return piece.says if piece else self._told or "getting ready"


@contextmanager
def whole(pieces: Sequence[Piece], *, briefly: bool = False) -> Iterator[None]:
    """Show at a terminal one bar for all stages of some names, elsewhere a line for each large step.

    With ``briefly``, as of one of many trainings, there are no such lines.
    """
    if not pieces:
        yield
        return
    work = Whole({piece.name: piece for piece in pieces}, tells=not briefly)
    _wholes.append(work)
    try:
        if _has_watcher():
            with _drawn(work):
                yield
        else:
            yield
    finally:
        _wholes.remove(work)


@contextmanager
def _drawn(work: Whole) -> Iterator[None]:
    """Draw the bar of a whole, now and then, while it is under way."""
    form = "{percentage:3.0f} % |{bar:24}| {desc}"
    with tqdm(total=100, bar_format=form, leave=False, dynamic_ncols=True) as bar:

        def draw(stopped: threading.Event) -> None:
            while True:
                bar.n = 100 * work.share()
                # The end of the line is cut where a terminal is narrow.
                bar.set_description_str(f"{about(work.rest_s())} to go: {shown(work.says)}")
                if stopped.wait(_REFRESHED_S):
                    return

        with _beside(draw):
            yield


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

    def share(self) -> float:
        """Return which share of the steps is done."""
        return self.n_done / max(self.total, 1)

    def status(self) -> str:
        """Return how many steps are done and how long the rest will take."""
        text = f"{self.label}: {self.n_done:g} of {self.total}"
        if 0 < self.n_done < self.total:
            rest = (time.monotonic() - self.started) / self.n_done * (self.total - self.n_done)
            text += f", about {duration(rest)} to go"
        return f"{text} ({self.note})" if self.note else text


@contextmanager
def _counted(count: _Count) -> Iterator[_Count]:
    _counts.append(count)
    try:
        with _shown(count.status):
            yield count
    finally:
        _counts.remove(count)


@contextmanager
def _shown(describe: Callable[[], str]) -> Iterator[None]:
    _under_way.append(describe)
    try:
        yield
    finally:
        _under_way.remove(describe)


_PACKAGES = ("asr", "acoustic", "decoder", "features", "recipes")


class _TerminalHandler(logging.Handler):
    """Writes above a progress bar without breaking it, if somebody is there to read it: work goes on."""

    def emit(self, record: logging.LogRecord) -> None:
        if sys.stderr is None:  # of a program without a terminal that calls us
            return
        with suppress(OSError):  # the terminal is gone, or the disk of a file full
            tqdm.write(shown(self.format(record)), file=sys.stderr)


class _FileHandler(logging.FileHandler):
    """A log file that ignores a full disk, which the writers of results report in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a message as it may be shown: logs are read at terminals."""
        return shown(super().format(record))

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
        with _handled(_TerminalHandler(logging.ERROR), _PACKAGES, logging.INFO), silence():
            yield
        return
    handler = _TerminalHandler(logging.INFO)
    handler.setFormatter(logging.Formatter("%(message)s"))
    handler.addFilter(lambda m: not (getattr(m, "for_pipes", False) and _has_watcher()))
    if not verbose:
        handler.addFilter(lambda m: m.levelno >= logging.WARNING or m.name == logger.name)
    with _handled(handler, _PACKAGES, logging.INFO), heartbeat():
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
    with _filtered(lambda record: False), silence():
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


_TERMINALS = {"TERM", "TERM_PROGRAM", "WT_SESSION", "ANSICON", "ConEmuANSI"}


def wants_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether to colour what goes to a stream; ``NO_COLOR`` counts more than ``FORCE_COLOR``."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    # The old console of Windows shows codes of colours as they are; other terminals say who they are.
    is_old_console = os.name == "nt" and not _TERMINALS & environment.keys()
    return environment.get("TERM") != "dumb" and stream.isatty() and not is_old_console


def coloured(text: str, colour: str, stream: TextIO) -> str:
    """Return a text in a colour, plain where no colour is wanted."""
    return f"\033[{_CODES[colour]}m{text}\033[0m" if wants_colour(stream) else text


def with_severity(line: str, stream: TextIO) -> str:
    """Return a line ``error: …``, ``warning: …`` or ``ok: …`` with its first word coloured."""
    return _SEVERITY.sub(lambda m: coloured(m[1], _OF_SEVERITY[m[1]], stream), shown(line, stream))


def coloured_difference(line: str, low: float, high: float, stream: TextIO) -> str:
    """Return a line on a difference, green if its interval is above zero, red if it is below."""
    line = shown(line, stream)
    if low <= 0 <= high:
        return line
    return coloured(line, "green" if low > 0 else "red", stream)
