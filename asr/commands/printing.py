"""What verbs have in common when they print: JSON for programs or text for people, errors beside it.

Times are in seconds and accuracies in percent; a number that is not finite is null.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from asr.errors import ConfigError
from asr.files import as_plain
from foundation.endings import complain
from foundation.errors import AsrError, shown

Name = TypeVar("Name")
Found = TypeVar("Found")

WORD_KEYS = "`word`, `start_s`, `end_s`, `confidence` (null if unknown)"


def to_json(record: object) -> str:
    """Return a record of plain values, dataclasses and paths as JSON.

    >>> to_json({"beam": float("inf"), "words": ("a", "ä")})
    '{\\n "beam": null,\\n "words": [\\n  "a",\\n  "ä"\\n ]\\n}'
    """
    return json.dumps(_finite(as_plain(record)), indent=1, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def put(text: str, end: str = "\n") -> None:
    """Print a result; a terminal shows what it would obey in words and names."""
    print(shown(text, sys.stdout), end=end, flush=True)


def print_result(
    options: argparse.Namespace,
    record: Callable[[], object],
    text: Callable[[], str],
    *,
    is_shown: bool = False,
) -> None:
    """Print a result: for programs with ``--json``, otherwise for people.

    The text may be made for a terminal already (``is_shown``), with colours.
    """
    if options.json or not is_shown:
        put(to_json(record()) if options.json else text())
    else:
        print(text())


def format_or_json(options: argparse.Namespace, default: str) -> str:
    """Return the format of the output; ``--json`` stands for ``--format json``."""
    if options.json and options.format not in (default, "json"):
        raise ConfigError(f"{options.verb}: got --json and --format {options.format}; expected one of them")
    if options.json and options.out is not None:
        raise ConfigError(f"{options.verb}: --json prints what is found; expected no --out with it")
    return "json" if options.json else str(options.format)


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
        put(write(good), end="")
    return tell_of_failed(results)


def tell_of_failed(results: Iterable[object]) -> int:
    """Name on standard error what was not found, and return the exit code."""
    failed = [result for result in results if isinstance(result, AsrError)]
    for error in failed:
        complain(str(error))
    return 2 if failed else 0
