"""How a run of the command line ends: its exit code, and one line for each way that is not the usual one.

This module is imported before all others, for a run may be stopped while these are imported: it imports
nothing slow.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

BAD_INPUT = 2
_SAME_REQUEST_S = 1.0  # by feel
# What is said of what ends a run, as a terminal, a scheduler or a closed connection asks for it. Windows
# lacks SIGHUP, and has SIGBREAK for Ctrl-Break and for a window that is closed.
_SAID = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up", "SIGBREAK": "interrupted"}
SIGNALS = tuple(getattr(signal, name) for name in _SAID if hasattr(signal, name))

Handler = Callable[[int, FrameType | None], Any]


class StoppedBySignal(KeyboardInterrupt):
    """Somebody asks the run to end; what is half done is cleaned up on the way out.

    Parameters
    ----------
    number : of the signal
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def code_of(number: int) -> int:
    """Return the exit code of a run that a signal ended, as shells count.

    >>> code_of(signal.SIGINT), code_of(signal.SIGTERM)
    (130, 143)
    """
    return 128 + number


def hold_standard_streams() -> None:
    """Open the standard input, output and error that are closed, as those of a daemon may be, on nothing.

    Otherwise the next file to be opened, such as a model's, would get the number of one of them, and what
    libraries print would be written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)  # workers and ffmpeg need them, too
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # until the end


def complain(text: str) -> None:
    """Write a line on standard error, with the program's name before it, if somebody is there to read it."""
    from foundation.errors import in_a_line, shown

    for word in sys.argv[1:]:  # an argument with a line break shall not make two lines
        text = text.replace(word, in_a_line(word)) if "\n" in word else text
    with suppress(OSError):  # the terminal of a run that is hung up is gone
        print(f"asr: {shown(text)}", file=sys.stderr, flush=True)


def line_of(number: int) -> str:
    """Return what is said of a run that a signal ended."""
    what = _SAID.get(signal.Signals(number).name, signal.Signals(number).name)
    return f"{what}; run the same command again, training goes on where it was"


@contextmanager
def stopped_at_once() -> Iterator[None]:
    """Let signals end the process on the spot: while modules are imported there is nothing to clean up.

    An exception would not do, for extension modules turn one that comes while they are imported into errors
    of their own.
    """

    with _handled(lambda number, frame: _end_at_once(number)):
        yield


def _end_at_once(number: int) -> NoReturn:
    os.write(2, f"asr: {line_of(number)}\n".encode())
    os._exit(code_of(number))


@contextmanager
def stopped_by_exception() -> Iterator[None]:
    """Let the first signal raise `StoppedBySignal`; a later one ends the process without cleaning up.

    So does the first where a module is imported, as in `stopped_at_once`: verbs import work as they run.
    """

    def stop(number: int) -> None:
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
                _end_at_once(number)
            frame = frame.f_back
        raise StoppedBySignal(number)

    def leave(number: int) -> None:
        os._exit(code_of(number))

    with asked_to_stop(stop, leave):
        yield


@contextmanager
def asked_to_stop(first: Callable[[int], None], later: Callable[[int], None]) -> Iterator[None]:
    """Call one function with the number of the first signal, another one with those of later signals.

    What comes at the same time is the same request: ``timeout`` and some schedulers send a signal twice.
    """
    asked_s: list[float] = []

    def handle(number: int, frame: FrameType | None) -> None:
        asked_s.append(time.monotonic())
        if len(asked_s) == 1:
            first(number)
        elif asked_s[-1] - asked_s[0] > _SAME_REQUEST_S:
            later(number)

    with _handled(handle):
        yield


@contextmanager
def _handled(handler: Handler) -> Iterator[None]:
    """Handle the signals that are not ignored, as by ``nohup``; only the main thread may say who does."""
    before = {}
    try:
        for number in SIGNALS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    except ValueError:  # not in the main thread
        before = {}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def exit_code_of(run: Callable[[], int]) -> int:
    """Return the exit code of a run; what goes wrong is said in a line."""
    from foundation.errors import AsrError

    try:
        return run()
    except AsrError as error:
        complain(str(error))
    except StoppedBySignal as stopped:
        complain(line_of(stopped.number))
        return code_of(stopped.number)
    except KeyboardInterrupt:
        complain(line_of(signal.SIGINT))
        return code_of(signal.SIGINT)
    except OSError as error:
        is_closed_pipe = _is_closed_pipe(error)
        if not error.filename:  # perhaps of the standard output, to which nothing more is written then
            _drop_output()
        if is_closed_pipe:  # the reader, such as head, has seen enough
            return 0
        if error.errno == errno.ENOENT and not error.filename and not _has_folder():
            complain("the current folder was removed, expected one that is there; cd to another")
            return BAD_INPUT
        name = f"{error.filename}: " if error.filename else ""
        cure = "check the path and the space on the disk"
        if isinstance(error, PermissionError):
            cure = "change its permissions, or take another place"
        complain(f"{name}{_reason_of(error)}; {cure}")
    except MemoryError:
        complain("not enough memory; use fewer or shorter recordings at once")
    except UnicodeEncodeError as error:
        complain(_not_utf8(error))
    return BAD_INPUT


def _is_closed_pipe(error: OSError) -> bool:
    """Return whether nobody reads any more what is printed; Windows says so as of an invalid argument.

    The pipe to a worker may break as well: that is an error.
    """
    import select

    if not isinstance(error, BrokenPipeError):
        return os.name == "nt" and error.errno == errno.EINVAL and not error.filename
    if not hasattr(select, "poll"):
        return True
    asked = select.poll()
    with suppress(OSError, ValueError):  # a stream that is no file of the system's
        asked.register(sys.stdout.fileno())
    return any(event & select.POLLERR for _, event in asked.poll(0))


def _reason_of(error: OSError) -> str:
    from foundation.files import reason_of

    return reason_of(error)


def _has_folder() -> bool:
    """Return whether the current folder is still there."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _drop_output() -> None:
    """Let the standard output lead nowhere, so that what it still holds makes no other error at the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _not_utf8(error: UnicodeEncodeError) -> str:
    """Return the line on bytes of a file name or an argument that are no UTF-8."""
    line_start = error.object.rfind("\n", 0, error.start) + 1
    line = error.object[line_start:].partition("\n")[0]
    return (
        f'"{line}" is not UTF-8, expected names and words in UTF-8; rename it, or set PYTHONUTF8=1 '
        "where the locale is not UTF-8"
    )
