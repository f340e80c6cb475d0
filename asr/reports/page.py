"""The page itself: template, style and scripts of ``assets/`` in one file that asks for nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from asr.reports.parts import Section
from asr.version import package_version

_ASSETS = Path(__file__).with_name("assets")
_SCRIPTS = ("theme.js", "charts.js", "player.js", "view.js", "utterances.js")


@dataclass(frozen=True)
class Page:
    """All that a page shows.

    Attributes
    ----------
    title : its heading
    facts : the first figures: name, value, remark
    sections : tables and charts
    lines : the utterances, in order (`asr.reports.views`)
    views : pictures of some of them, by their ids
    """

    title: str
    facts: tuple[tuple[str, str, str], ...]
    sections: tuple[Section, ...]
    lines: tuple[Mapping[str, Any], ...]
    views: Mapping[str, Mapping[str, Any]]


def render(page: Page) -> str:
    """Return the page as HTML. All text is escaped; what scripts read is JSON without any ``<``."""
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
        views={places[name]: view for name, view in page.views.items()},
        speakers=sorted({str(line["speaker"]) for line in lines}),
        words=sorted(_words(page)),
        style=_asset("page.css"),
        scripts=[_asset(name) for name in _SCRIPTS],
        # The library's script, with nothing of a user in it.
        plotly=Markup(get_plotlyjs()) if any(s.charts for s in page.sections) else "",  # noqa: S704
    )


def _asset(name: str) -> Markup:
    """Return a style or script, which is ours and not escaped."""
    return Markup((_ASSETS / name).read_text(encoding="utf-8"))  # noqa: S704 (a file of this package)


def _words(page: Page) -> set[str]:
    """Return all words that were said or heard."""
    sides = (side for line in page.lines for pair in line["pairs"] for side in _sides(pair))
    return {word for word in sides if word}


def _sides(pair: str | list[str | None]) -> list[str | None]:
    return [pair] if isinstance(pair, str) else pair
