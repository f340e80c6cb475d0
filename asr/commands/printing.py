"""What comes back from a verb, printed: for programs or for people, with what went wrong beside it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from asr.commands import records
from asr.endings import say
from foundation.errors import AsrError

Command: TypeAlias = Callable[[argparse.Namespace], int]  # returns the exit code
Name = TypeVar("Name")
Found = TypeVar("Found")


def print_result(options: argparse.Namespace, record: Callable[[], object], text: Callable[[], str]) -> None:
    """Print a result: for programs with ``--json``, otherwise for people."""
    print(records.to_json(record()) if options.json else text())


def print_found(
    names: Sequence[Name],
    results: Sequence[Found | AsrError],
    write: Callable[[list[tuple[Name, Found]]], str],
    *,
    is_json: bool,
) -> int:
    """Write what was found, name on standard error what was not, and return the exit code."""
    good = [
        (name, result)
        for name, result in zip(names, results, strict=True)
        if not isinstance(result, AsrError)
    ]
    if good or is_json:
        print(write(good), end="")
    return tell_of_failed(results)


def tell_of_failed(results: Iterable[object]) -> int:
    """Name on standard error what was not found, and return the exit code."""
    failed = [result for result in results if isinstance(result, AsrError)]
    for error in failed:
        say(str(error))
    return 2 if failed else 0
