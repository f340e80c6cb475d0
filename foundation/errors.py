"""The one base class of the errors we raise on a user's data; each package has its own below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class AsrError(Exception):
    """An error in what the user gave; its one line says what is wrong, what was expected and what to do."""


def did_you_mean(names: Iterable[str]) -> str:
    """Return the hint an error puts behind an unknown name, or nothing if there is no name like it.

    >>> did_you_mean(["ONE", "NINE"])
    ' (did you mean "ONE" or "NINE"?)'
    """
    listed = " or ".join(f'"{name}"' for name in names)
    return f" (did you mean {listed}?)" if listed else ""


def listed(names: Sequence[str], n: int = 10) -> str:
    """Return the first names, and how many more there are.

    >>> listed(["ONE", "TWO", "NINE"], 2)
    'ONE, TWO and 1 more'
    """
    return ", ".join(names[:n]) + (f" and {len(names) - n} more" if len(names) > n else "")
