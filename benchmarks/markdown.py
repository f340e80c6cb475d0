"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table, the first column to the left, numbers to the right; None is a dash."""
    is_number = [
        all(isinstance(row[column], int | float | None) for row in rows) and bool(rows)
        for column in range(len(head))
    ]
    rule = ["---:" if right else "---" for right in is_number]
    lines = [head, rule, *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")
