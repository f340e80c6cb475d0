"""What a page is made of: tables, charts that are also texts and tables, numbers as people write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Cell = str | int | float


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    caption : what it shows
    head : names of the columns
    rows : cells as they are shown; the first is the head of its row
    n_texts : how many columns from the left hold text; the others hold numbers
    marked : numbers of the rows that the rest of the page is about
    n_words : how many columns from the left hold words, by which the utterances can be filtered
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    n_texts: int = 1
    n_words: int = 0
    marked: tuple[int, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A picture that a person can point at.

    Attributes
    ----------
    key : its name in the page
    caption : what it shows, and how to read it
    spoken : what there is to see, for who does not see it
    plot : ``data`` and ``layout`` of Plotly
    table : the numbers behind it
    height : in pixels
    """

    key: str
    caption: str
    spoken: str
    plot: Mapping[str, Any]
    table: Table
    height: int = 340


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading: text, perhaps a command to type, tables, charts."""

    key: str
    title: str
    intro: str
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    command: str = ""


def percent(value: float, decimals: int = 1) -> str:
    """Return a percentage without its sign.

    >>> percent(93.456), percent(-0.04)
    ('93.5', '0.0')
    """
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def interval(bounds: tuple[float, float], decimals: int = 1) -> str:
    """Return an interval.

    >>> interval((90.0, 95.25)), interval((-1.0, 2.0))
    ('90.0–95.2', '−1.0 to 2.0')
    """
    low, high = (percent(bound, decimals).replace("-", "−") for bound in bounds)
    return f"{low} to {high}" if min(bounds) < 0 else f"{low}–{high}"


def p_value(p: float) -> str:
    """Return a p value.

    >>> p_value(0.00012), p_value(0.0312)
    ('< 0.001', '0.031')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def seconds(value: float) -> str:
    """Return a duration.

    >>> seconds(0.42), seconds(75.0), seconds(7300.0)
    ('0.4 s', '1 min 15 s', '2 h 1 min')
    """
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
