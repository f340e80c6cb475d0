"""The parts of a report's page, and the page itself: one HTML file that loads nothing from elsewhere.

Tables, charts that are also texts and tables, sections; numbers as people write them. Template, style and
scripts lie in ``assets/``. Colours of charts are the page's: it knows whether it is day or night.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from foundation.errors import shown
from foundation.version import package_version

Cell = str | int | float
_ASSETS = Path(__file__).with_name("assets")
_SCRIPTS = ("theme.js", "charts.js", "player.js", "view.js", "utterances.js")


@dataclass(frozen=True)
class Page:
    """All that a page shows.

    Attributes
    ----------
    title : its heading
    verdict : how good the model is, in a sentence
    learned_from : what it has learned from, and what was left out
    facts : the first figures: name, value, remark
    sections : tables and charts
    lines : the utterances, in order (`asr.reports.views`)
    views : pictures of some of them, by their ids
    """

    title: str
    verdict: str
    learned_from: tuple[str, ...]
    facts: tuple[tuple[str, str, str], ...]
    sections: tuple[Section, ...]
    lines: tuple[Mapping[str, Any], ...]
    views: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading: text, perhaps a command to type, tables, charts."""

    key: str
    title: str
    intro: str
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    command: str = ""


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
    commands : for each row what can be typed about it, each with a button of its own; none for any if empty
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    n_texts: int = 1
    n_words: int = 0
    marked: tuple[int, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Chart:
    """A picture that a person can point at.

    Attributes
    ----------
    key : its name in the page
    caption : what it shows, and how to read it
    spoken : what there is to see, for who does not see it
    plot : its series and axes, which ``assets/charts.js`` draws
    table : the numbers behind it
    height : in pixels
    """

    key: str
    caption: str
    spoken: str
    plot: Mapping[str, Any]
    table: Table
    height: int = 340


def plot_of(traces: Sequence[Mapping[str, Any]], **layout: Any) -> Mapping[str, Any]:
    """Return the series and axes of a chart as plain data.

    Each of the traces has a ``type`` (scatter, bar or heatmap), ``x`` and ``y``, and in ``hover`` what is
    said of a point of it: ``{x}``, ``{y}``, ``{z}`` and ``{text}`` stand for its values. Points may have a
    ``label`` beside them.
    """
    return {"data": list(traces), "layout": layout}


def error_bars(found: Sequence[tuple[float, tuple[float, float]]]) -> dict[str, Any]:
    """Return the error bars of values with intervals."""
    return {
        "array": [round(high - value, 3) for value, (_, high) in found],
        "arrayminus": [round(value - low, 3) for value, (low, _) in found],
    }


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


def listed_words(words: Sequence[str]) -> str:
    """Return words one after the other.

    >>> listed_words(["train", "dev", "test"]), listed_words(["train"])
    ('train, dev and test', 'train')
    """
    return " and ".join([", ".join(words[:-1]), *words[-1:]] if len(words) > 1 else words)


def render(page: Page) -> str:
    """Return the page as HTML. All text is escaped; what scripts read is JSON without any ``<``.

    Marks in names and words that would turn the direction of what stands beside them are shown as escapes.
    """
    page = _as_shown(page)
    environment = Environment(
        loader=FileSystemLoader(_ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["is_number"] = lambda cell: not isinstance(cell, str)
    lines = [{**line, "view": line["id"] in page.views} for line in page.lines]
    places = {line["id"]: place for place, line in enumerate(lines)}
    return environment.get_template("page.html").render(
        page=page,
        version=package_version(),
        lines=lines,
        has_sound=any("audio" in entry for entry in (*page.views.values(), *page.lines)),
        views={places[name]: view for name, view in page.views.items()},
        speakers=sorted({str(line["speaker"]) for line in lines} - {""}),
        words=sorted(_words(page)),
        style=_asset("page.css"),
        scripts=[_asset(name) for name in _SCRIPTS],
    )


def _as_shown(value: Any) -> Any:
    """Return texts as people may see them, whatever holds them."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {_as_shown(key): _as_shown(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_as_shown, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _as_shown(getattr(value, each.name)) for each in fields(value)})
    return value


def _asset(name: str) -> Markup:
    """Return a style or script, which is ours and not escaped."""
    return Markup((_ASSETS / name).read_text(encoding="utf-8"))  # noqa: S704 (a file of this package)


def _words(page: Page) -> set[str]:
    """Return all words that were said or heard."""
    sides = (side for line in page.lines for pair in line["pairs"] for side in _sides(pair))
    return {word for word in sides if word}


def _sides(pair: str | list[str | None]) -> list[str | None]:
    return [pair] if isinstance(pair, str) else pair
