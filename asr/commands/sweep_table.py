"""The table of a sweep: in one piece where the terminal is wide enough, otherwise in two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TypeAlias

from asr.scoring.points import SweepRow

Column: TypeAlias = tuple[str, Callable[[SweepRow], str], str]  # head, cell of a row, side

_NONE = "-"
_NOTES_WIDTH = 100


def format_sweep(
    rows: Sequence[SweepRow], against: str, place: Path, *, width: int, synthetic: bool = False
) -> str:
    """Return the table, what is best on dev, what its columns are, and what failed.

    Parameters
    ----------
    rows : all rows
    against : name of the point that the others are compared with
    place : file that holds the same for programs
    width : columns of the terminal
    synthetic : whether the recordings are not of people
    """
    number = {point: str(n) for n, point in enumerate(dict.fromkeys(row.point for row in rows), 1)}
    blocks = _blocks(rows, number, _Columns(rows, number, against), width)
    notes = [*_best(rows, number), *_explained(rows, number, number[against])]
    if synthetic:
        notes.append("SYNTHETIC speech, not recordings of people: not comparable with any other figure.")
    notes = [line for note in notes for line in wrap(note, min(width, _NOTES_WIDTH), subsequent_indent="  ")]
    blocks += [[*_failed(rows, number), *notes], [str(place)]]
    return "\n\n".join("\n".join(lines) for lines in blocks)


def _blocks(
    rows: Sequence[SweepRow], number: dict[str, str], columns: _Columns, width: int
) -> list[list[str]]:
    """Return the table; where it is too wide, differences, then also settings, are put apart from it."""
    reached = [*columns.kind, *columns.reached]
    whole = _table(rows, [columns.number, *columns.settings, *reached, *columns.over])
    if _width(whole) <= width:
        return [whole]
    compared = [row for row in rows if row.difference]
    over = [_table(compared, [columns.number, *columns.kind, *columns.over])] if compared else []
    without = _table(rows, [columns.number, *columns.settings, *reached])
    if _width(without) <= width:
        return [without, *over]
    return [_legend(rows, number), _table(rows, [columns.number, *reached]), *over]


class _Columns:
    """The columns, in groups."""

    def __init__(self, rows: Sequence[SweepRow], number: dict[str, str], against: str) -> None:
        firsts = {id(row) for n, row in enumerate(rows) if not n or rows[n - 1].point != row.point}
        split = "test" if any(row.test is not None for row in rows) else "dev"

        def of_point(cpu_s: Callable[[SweepRow], float]) -> Callable[[SweepRow], str]:
            return lambda row: f"{cpu_s(row):.1f}" if id(row) in firsts else ""

        self.number: Column = ("", lambda row: number[row.point] + "*" * row.best_on_dev, "<")
        self.settings: list[Column] = [
            (key, lambda row, key=key: row.settings[key], "<")  # type: ignore[misc]
            for key in rows[0].settings
        ]
        self.kind: list[Column] = [
            ("model", lambda row: "failed" if row.error else row.model or _NONE, "<"),
            ("grammar", lambda row: row.grammar or _NONE, "<"),
        ]
        dev: Column = ("dev %", lambda row: _accuracy(row.dev), ">")
        if split == "test":
            scores = [dev, ("test % [95 %]", lambda row: _sure(row.test, row.test_interval), ">")]
        else:
            scores = [("dev % [95 %]", lambda row: _sure(row.dev, row.dev_interval), ">")]
        self.reached: list[Column] = [
            *scores,
            ("CPU s", of_point(lambda row: row.cpu_s), ">"),
            ("in all", of_point(lambda row: row.cpu_s_in_all), ">"),
        ]
        over: list[Column] = [
            (f"{split} over {number[against]} [95 %]", _difference, ">"),
            ("p", lambda row: f"{row.difference.p_value:.2g}" if row.difference else "", ">"),
        ]
        self.over = over if any(row.difference for row in rows) else []


def _accuracy(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"


def _sure(value: float | None, interval: tuple[float, float] | None) -> str:
    return _NONE if interval is None else f"{value:.2f} [{interval[0]:.1f}, {interval[1]:.1f}]"


def _difference(row: SweepRow) -> str:
    if row.difference is None:
        return ""
    low, high = row.difference.interval
    return f"{row.difference.points:+.2f} [{low:+.1f}, {high:+.1f}]"


def _table(rows: Sequence[SweepRow], columns: Sequence[Column]) -> list[str]:
    cells = [[head for head, _, _ in columns]] + [[cell(row) for _, cell, _ in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    forms = [f"{{:{side}{width}}}" for (_, _, side), width in zip(columns, widths, strict=True)]
    return ["  ".join(map(str.format, forms, row)).rstrip() for row in cells]


def _width(lines: Sequence[str]) -> int:
    return max(map(len, lines))


def _legend(rows: Sequence[SweepRow], number: dict[str, str]) -> list[str]:
    """Return the settings of each point on a line of its own."""
    settings = {row.point: row.settings for row in rows}
    said = {point: " ".join(f"{k}={v}" for k, v in found.items()) for point, found in settings.items()}
    return [f"{number[point]:>3}  {text}" for point, text in said.items()]


def _best(rows: Sequence[SweepRow], number: dict[str, str]) -> list[str]:
    """Return what is best on dev, and why nothing is to be chosen on test."""
    best = [row for row in rows if row.best_on_dev]
    has_test = any(row.test is not None for row in rows)
    too_good = f"the best of {len(number)} points on test is too good by chance"
    if not best:
        return [f"no dev set: there is nothing to choose by; {too_good}"] if has_test else []
    several = len({row.grammar for row in rows if row.grammar}) > 1
    named = [f"{number[row.point]}, {row.model}" + f" with {row.grammar}" * several for row in best]
    why = f"; choose by dev, test is there to report what dev has chosen: {too_good}" if has_test else ""
    return [f"* best on dev: {'; '.join(named)}{why}"]


def _explained(rows: Sequence[SweepRow], number: dict[str, str], reference: str) -> list[str]:
    """Return what the columns of costs and differences are, and why there are no differences."""
    lines = ["CPU s: of stages that no earlier point has; in all: of all stages of the point"]
    if any(row.difference for row in rows):
        lines.append(
            f"over {reference}: accuracy minus that of point {reference}, its 95 % interval, and p by the "
            "paired bootstrap over utterances; of twenty points that are alike one has p < 0.05"
        )
    elif any(row.error is None and number[row.point] != reference for row in rows):
        lines.append(
            f"no differences to point {reference}: it failed, or has other words, models or grammars"
        )
    return lines


def _failed(rows: Sequence[SweepRow], number: dict[str, str]) -> list[str]:
    return [f"{number[row.point]} failed: {row.error}" for row in rows if row.error]
