"""Text files of a corpus: tables "id value" as Kaldi has them, and transcripts."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from asr.errors import Problem
from foundation.regular_files import content_of


@dataclass(frozen=True)
class Table:
    """The lines of a Kaldi file: id -> (line number, what follows the id)."""

    name: str
    rows: Mapping[str, tuple[int, str]]

    def where(self, key: str) -> str:
        """Return the file and line of an id."""
        return f"{self.name}:{self.rows[key][0]}"


def read_text(path: Path, where: str, expected: str) -> tuple[str | None, list[Problem]]:
    """Return the text of a file, or None and why it cannot be had."""
    try:
        return decoded(content_of(path)), []
    except OSError as error:
        what = f"cannot be read ({error.strerror}), expected {expected}; write the file"
    except UnicodeDecodeError as error:
        where = f"{where}:{1 + error.object[: error.start].count(bytes([10]))}"
        what = f"not UTF-8, expected {expected} in UTF-8; convert it with iconv"
    return None, [Problem(where, what)]


def decoded(content: bytes, errors: str = "strict") -> str:
    """Return a text in UTF-8, or in UTF-16 if its byte order mark says so; without the mark."""
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf16 else "utf-8-sig", errors)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that ends them in any of the usual ways; other separators are characters."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_table(path: Path, expected: str, *, may_be_bare: bool = False) -> tuple[Table | None, list[Problem]]:
    """Return the table in a file (None if it cannot be read) and the problems of its lines."""
    text, problems = read_text(path, path.name, f'lines "{expected}"')
    if text is None:
        return None, problems
    rows: dict[str, tuple[int, str]] = {}
    for number, content in enumerate(text.split("\n"), start=1):
        fields = content.split(maxsplit=1)
        where = f"{path.name}:{number}"
        if not fields:
            continue
        if len(fields) == 1 and not may_be_bare:
            problems.append(
                Problem(where, f'"{fields[0]}" stands alone, expected "{expected}"; complete the line')
            )
        elif fields[0] in rows:
            first = rows[fields[0]][0]
            what = f'duplicate id "{fields[0]}" (first in line {first}), expected distinct ids; rename one'
            problems.append(Problem(where, what))
        else:
            rows[fields[0]] = (number, fields[1].strip() if len(fields) > 1 else "")
    return Table(path.name, rows), problems


def read_speakers(path: Path) -> tuple[Table | None, list[Problem]]:
    """Return the table of speakers in a file (None if it cannot be read) and the problems of its lines."""
    table, problems = read_table(path, "utterance-id speaker")
    for key, (_, speaker) in table.rows.items() if table else ():
        if len(speaker.split()) > 1:
            what = f'speaker "{speaker}" has white space, expected one name; join it with "_"'
            problems.append(Problem(table.where(key) if table else "", what))
    return table, problems


def words_of(transcript: str) -> tuple[str, ...]:
    """Return the words of a transcript: split at white space, in Unicode normal form C, nothing else."""
    return tuple(unicodedata.normalize("NFC", transcript).split())
