"""docs/formats.md names every format that a verb has, and its links lead somewhere."""

import re
from pathlib import Path

from asr.formats.outputs import ALIGN_FORMATS, DECODE_FORMATS, EXPORTS, MLF_ROWS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_format_is_named() -> None:
    named = set(re.findall(r"\w+", TEXT))
    assert {*ALIGN_FORMATS, *DECODE_FORMATS, *MLF_ROWS} - named == {"json", "text"} - named


def test_what_is_exported_and_its_formats() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([\w, ]+) \|$", TEXT, re.MULTILINE)
    assert {what: tuple(formats.split(", ")) for what, formats in rows} == dict(EXPORTS)


def test_links(dead_links) -> None:
    assert dead_links(PAGE) == []
