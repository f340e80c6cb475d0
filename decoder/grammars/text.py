"""The text of a grammar's file, or an error of one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from decoder.errors import GrammarError
from foundation.files import content_of


def grammar_text(path: Path) -> str:
    """Return the text of a file in UTF-8, line ends as ``\\n``, without a byte order mark."""
    try:
        content = content_of(path)
    except OSError as error:
        raise GrammarError(
            f"{path}: cannot be read ({error.strerror}), expected a grammar; check the path"
        ) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + content[: error.start].count(b"\n")
        raise GrammarError(f"{path}:{line}: not UTF-8, expected UTF-8 text; convert it with iconv") from error
    if "\0" in text:
        raise GrammarError(f"{path}: zero bytes in it, expected UTF-8 text; convert it with iconv")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def grammar_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and content of the lines that are neither empty nor comments (``#``)."""
    for number, line in enumerate(grammar_text(path).split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()
