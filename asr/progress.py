"""Progress on standard error: a bar with the remaining time where a person watches, otherwise nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")


def progress_bar(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield items and show how many are done and how long the rest will take."""
    yield from tqdm(items, desc=label, total=total, leave=False, disable=not sys.stderr.isatty())


def step_bar(label: str, total: int) -> tqdm[Any]:
    """Return a bar that is moved by hand: ``bar.update()``, ``bar.set_postfix_str(…)``."""
    return tqdm(desc=label, total=total, leave=False, disable=not sys.stderr.isatty())
