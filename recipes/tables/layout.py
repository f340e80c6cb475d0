"""Tables as Markdown that reads well in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a titled Markdown table with aligned columns.

    Examples
    --------
    >>> print(table("Errors", ("set", "ours"), [("usps", "4.4")]))
    ### Errors
    <BLANKLINE>
    | set  | ours |
    |------|------|
    | usps | 4.4  |
    """
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    lines = [_line(header, widths), "|" + "|".join("-" * (w + 2) for w in widths) + "|"]
    return "\n".join([f"### {title}", "", *lines, *(_line(row, widths) for row in rows)])


def absent(name: str, n_columns: int) -> tuple[str, ...]:
    """Return the row of data that is not in the folder."""
    return (name, "not in the folder", *[""] * (n_columns - 2))


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Return mean ± standard deviation; the mean alone of one value."""
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values):.{digits}f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(w) for cell, w in zip(cells, widths, strict=True)) + " |"
