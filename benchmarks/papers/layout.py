"""Tables as Markdown that reads well in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asr.errors import ConfigError
from asr.files import write_text


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


def write_section(page: Path, name: str, text: str) -> None:
    """Put text between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` of a page, which keeps all else.

    A page without these marks gets them at its end, so that sections can be made one by one, in any order.
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    head, found, rest = old.partition(begin)
    if not found:
        head, rest = f"{old.rstrip()}\n\n" if old.strip() else "", end + "\n"
    _, closed, tail = rest.partition(end)
    if not closed:
        raise ConfigError(f'{page}: "{begin}" has no "{end}" behind it; write it where the section ends')
    write_text(page, f"{head}{begin}\n{text.strip()}\n{end}{tail}")


def absent(name: str, n_columns: int) -> tuple[str, ...]:
    """Return the row of data that is not in the folder."""
    return (name, "not in the folder", *[""] * (n_columns - 2))


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Return mean ± standard deviation; the mean alone of one value."""
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values):.{digits}f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(w) for cell, w in zip(cells, widths, strict=True)) + " |"
