"""Thesis table 5.2 on blobs that no method should get wrong."""

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.papers import characters as characters_part
from benchmarks.papers.characters import characters
from benchmarks.papers.cross_validation import Choice, Method
from benchmarks.papers.parts import Request
from benchmarks.papers.width_search import Search

Rows = Callable[[str], list[list[str]]]


def test_characters_beside_the_paper(quick: Request, monkeypatch: pytest.MonkeyPatch, rows_of: Rows) -> None:
    seen: list[int] = []
    choose = characters_part.choose

    def counting(method: Method, sets: list[tuple[np.ndarray, np.ndarray]], search: Search) -> Choice:
        seen.extend(len(x) for x, _ in sets)
        return choose(method, sets, search)

    monkeypatch.setattr(characters_part, "choose", counting)
    monkeypatch.setattr(characters_part, "MOST_TUNED", 60)
    request = Request(quick.folder, quick.search, 2, True, frozenset({"optdigits", "usps"}))
    header, absent, *rows = rows_of(characters(request))
    assert absent[:2] == ["usps", "not in the folder"]
    assert seen == [60, 60, 60]  # of 90 points
    cells = {row[1]: dict(zip(header, row, strict=True)) for row in rows}
    assert [row["paper"] for row in cells.values()] == ["2.73 (12.1)", "1.11 (10.2)", "1.2 (10.4)"]
    for row in cells.values():
        assert float(row["ours"]) < 10.0
    for name in ("OROLS", "NPD"):
        n_centers, n_distinct = float(cells[name]["centres %"]), float(cells[name]["distinct %"])
        assert n_centers == pytest.approx(10.2, abs=1.0)
        assert n_centers <= n_distinct <= 3 * n_centers + 0.1
