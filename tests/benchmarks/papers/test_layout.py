"""Markdown tables read by a plain parser."""

from pathlib import Path

import numpy as np
import pytest

from asr.errors import ConfigError
from benchmarks.papers.layout import absent, spread, table, write_section


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


def test_sections_of_a_page_are_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n", encoding="utf-8")
    write_section(page, "sinc", "first σ")
    write_section(page, "boston", "houses")
    page.write_text(page.read_text(encoding="utf-8") + "\nThe end.\n", encoding="utf-8")
    write_section(page, "sinc", "second")
    expected = [
        "# Title",
        "",
        "<!-- begin sinc -->",
        "second",
        "<!-- end sinc -->",
        "",
        "<!-- begin boston -->",
        "houses",
        "<!-- end boston -->",
        "",
        "The end.",
    ]
    assert page.read_text(encoding="utf-8").splitlines() == expected


def test_section_without_its_end_is_an_error_and_the_page_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- begin sinc -->\nmuch text\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r'page\.md: "<!-- begin sinc -->" has no "<!-- end sinc -->"'):
        write_section(page, "sinc", "new")
    assert "much text" in page.read_text(encoding="utf-8")
