"""What pages point to: tests, files, and sections of pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def is_test_there(pointer: str) -> bool:
    """Say whether ``path::name``, below ``tests/``, names a test function (or a class of tests)."""
    path, _, name = pointer.partition("::")
    file = ROOT / "tests" / path
    if not file.is_file():
        return False
    text = file.read_text(encoding="utf-8")
    return all(re.search(rf"^ *(?:def|class) {part}\b", text, re.MULTILINE) for part in name.split("::"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page: those that GitHub gives to its headings, and those it sets itself."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([\w-]+)"></a>', text))


def is_link_there(page: Path, link: str) -> bool:
    """Say whether a relative link of a page, ``file`` or ``file#section``, leads somewhere."""
    path, _, anchor = link.partition("#")
    target = page if not path else (page.parent / path).resolve()
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.fixture
def dead_links():
    """Return a function from a page to its relative links that lead nowhere."""

    def find(page: Path) -> list[str]:
        links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
        return [link for link in links if "://" not in link and not is_link_there(page, link)]

    return find


@pytest.fixture
def missing_tests():
    """Return a function from a page to the tests in it, written `` `path::name` ``, that do not exist."""

    def find(page: Path) -> list[str]:
        pointers = re.findall(r"`([\w/]+\.py::[\w:]+)`", page.read_text(encoding="utf-8"))
        return [pointer for pointer in pointers if not is_test_there(pointer)]

    return find
