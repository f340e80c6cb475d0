"""docs/papers.md: every erratum that can be computed names tests, and these exist."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.md"


def test_tests_and_links_are_there(missing_tests, dead_links):
    assert missing_tests(PAGE) == []
    assert dead_links(PAGE) == []


def test_every_erratum_names_its_tests_or_that_there_is_nothing_to_compute():
    section = PAGE.read_text(encoding="utf-8").split("## Errata")[1]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if line.startswith("|")]
    assert {len(row) for row in rows} == {4}
    cells = [row[3].strip() for row in rows[2:]]
    assert [cell for cell in cells if cell != "–" and "::test_" not in cell] == []
    assert sum("::test_" in cell for cell in cells) > 15


def test_a_test_that_is_not_there_is_found(missing_tests, dead_links, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One\n`docs/test_errata.py::test_of_nothing`"
        " `docs/test_papers_page.py::test_tests_and_links_are_there`"
        " [here](#one) [there](#two) [file](page.md) [none](none.md)"
    )
    assert missing_tests(page) == ["docs/test_errata.py::test_of_nothing"]
    assert dead_links(page) == ["#two", "none.md"]
