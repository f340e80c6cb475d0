"""Markdown tables read by a plain parser."""

import numpy as np

from recipes.tables.layout import absent, spread, table


def test_cells_come_back_and_columns_are_aligned() -> None:
    header, rows = ("set", "ours"), [("usps", "4.4"), absent("letter", 2), ("σ", "")]
    title, empty, *lines = table("Errors", header, rows).splitlines()
    assert (title, empty) == ("### Errors", "")
    assert len({len(line) for line in lines}) == 1
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    assert [cells[0], *cells[2:]] == [header, ("usps", "4.4"), ("letter", "not in the folder"), ("σ", "")]
    assert set(lines[1]) == {"|", "-"}


def test_absent_fills_the_row() -> None:
    assert absent("letter", 5) == ("letter", "not in the folder", "", "", "")


def test_spread_is_mean_and_deviation() -> None:
    values = np.random.default_rng(0).normal(5.0, 2.0, 30)
    assert spread(list(values)) == f"{values.mean():.1f} ± {values.std():.1f}"
    assert spread([1.0, 2.0], 2) == "1.50 ± 0.50"
    assert spread([3.14159], 3) == "3.142"
