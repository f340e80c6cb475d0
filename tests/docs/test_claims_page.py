"""docs/claims.md: every row has a place, a claim, a finding and a verdict, and what it points to exists."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "claims.md"
VERDICTS = ("reproduced", "in part", "not found here", "not run")


def tables(text):
    """Return the tables of a page, each a list of rows of cells; the first is the head."""
    found, rows = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif rows:
            found.append([rows[0], *rows[2:]])
            rows = []
    return found


def claims(text):
    """Return the rows (place, claim, ours, sparsity, verdict) of all tables of claims."""
    return [row for table in tables(text) if table[0][-1] == "verdict" for row in table[1:]]


def empty_cells(text):
    """Return the rows of any table that have an empty cell, or another number of cells than their head."""
    return [row for table in tables(text) for row in table if not all(row) or len(row) != len(table[0])]


def test_no_cell_is_empty():
    assert empty_cells(PAGE.read_text(encoding="utf-8")) == []


def test_every_source_has_claims_and_every_claim_a_verdict():
    text = PAGE.read_text(encoding="utf-8")
    assert {row[4].split(":")[0] for row in claims(text)} == set(VERDICTS)
    listed = next(table for table in tables(text) if table[0][0] == "verdict")
    assert [row[0] for row in listed[1:]] == list(VERDICTS)
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    counts = {section.split("\n")[0]: len(claims(section)) for section in sections}
    for name in ("chapter 3", "chapter 4", "chapter 5", "chapter 6", "OROLS", "slides", "lecture"):
        assert max(count for title, count in counts.items() if name in title) >= 5, name


def test_every_verdict_says_what_differs_from_the_source():
    rows = claims(PAGE.read_text(encoding="utf-8"))
    assert [row[4] for row in rows if not re.match(r"[a-z ]+: \S", row[4])] == []


def test_figures_of_a_method_stand_beside_its_centres_and_the_sources():
    rows = claims(PAGE.read_text(encoding="utf-8"))
    of_methods = [
        row for row in rows if re.match(r"table 5\.|figure 5\.[1-4]|table [234]$|.*Data Set", row[0])
    ]
    assert len(of_methods) > 25
    assert [row[:2] for row in of_methods if " / " not in row[3] and row[3] != "as above"] == []


def test_tests_and_links_are_there(missing_tests, dead_links):
    assert missing_tests(PAGE) == []
    assert dead_links(PAGE) == []


def test_files_are_there():
    paths = re.findall(r"`([\w/]+/[\w.]*)`", PAGE.read_text(encoding="utf-8"))
    root = DOCS.parent
    assert [p for p in paths if not (root / p).exists() and not (root / "tests" / p).exists()] == []
    assert "recipes/rm1" in paths


@pytest.mark.parametrize("page", ["docs/papers.md", "README.md"])
def test_the_page_is_linked(page):
    assert "claims.md)" in (DOCS.parent / page).read_text(encoding="utf-8")


def test_an_empty_cell_is_found():
    page = "| place | claim | ours | verdict |\n|---|---|---|---|\n| a | b | | not run |\n"
    page += "| a | b\\|c | d | not run |\n"
    assert empty_cells(page) == [["a", "b", "", "not run"]]
    assert claims(page)[1] == ["a", "b\\|c", "d", "not run"]
