"""Text files of lines: Kaldi's "id value", csv and tsv with a header, and jsonl with an object a line.

A file is UTF-8, or UTF-16 with a byte order mark, and its lines end in any of the usual ways. In csv a field
may be in double quotes. In tsv quotes are characters like others, but for a field that is in quotes as a
whole and has all inner ones doubled: both habits are found in the same published tables.
"""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from pathlib import Path

from asr.errors import Problem
from foundation.files import check_regular, composed, content_of


@dataclass(frozen=True)
class IdTable:
    """The lines of a file such as Kaldi's: id -> (line number, what follows the id)."""

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


def read_table(
    path: Path, expected: str, *, may_be_bare: bool = False
) -> tuple[IdTable | None, list[Problem]]:
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
    return IdTable(path.name, rows), problems


def read_speakers(path: Path) -> tuple[IdTable | None, list[Problem]]:
    """Return the table of speakers in a file (None if it cannot be read) and the problems of its lines.

    A name with white space is a problem, and joined with "_", so that what is read can be written.
    """
    table, problems = read_table(path, "utterance-id speaker")
    if table is None:
        return None, problems
    for key, (_, speaker) in table.rows.items():
        if len(speaker.split()) > 1:
            what = f'speaker "{speaker}" has white space, expected one name; join it with "_"'
            problems.append(Problem(table.where(key), what))
    joined = {key: (number, "_".join(speaker.split())) for key, (number, speaker) in table.rows.items()}
    return IdTable(table.name, joined), problems


def words_of(transcript: str) -> tuple[str, ...]:
    """Return the words of a transcript: split at white space, in Unicode normal form C, nothing else."""
    return tuple(composed(transcript).split())


TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl")
_DELIMITERS = (",", ";", "\t", "|")
_HEAD_BYTES, _HEAD_ROWS = 1 << 16, 20
_HUGE_FIELD = 1 << 20


@dataclass(frozen=True)
class Row:
    """One row of a table: its place in the file, and its fields by column name in lower case."""

    where: str
    fields: Mapping[str, str]


def is_table(path: Path) -> bool:
    """Return whether a file is called like a table."""
    return path.suffix.lower() in TABLE_SUFFIXES and not path.name.startswith(".") and path.is_file()


def read_rows(path: Path) -> tuple[list[Row], list[Problem]]:
    """Return the rows of a table, and the problems of its other lines."""
    text, problems = read_text(path, path.name, "a table")
    if text is None:
        return [], problems
    found = list(_rows_of(text, path))
    return [row for row in found if isinstance(row, Row)], [p for p in found if isinstance(p, Problem)]


def first_rows(path: Path) -> list[Row]:
    """Return some rows from a table's head, as far as they can be read: enough to tell what it is."""
    return [row for row in islice(_rows_of(head_of(path), path), _HEAD_ROWS) if isinstance(row, Row)]


def head_of(path: Path) -> str:
    """Return whole lines from a file's head, with a mark in place of what is not UTF-8; "" if it has none."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return ""
    text = decoded(head, errors="replace")
    return text if len(head) < _HEAD_BYTES else text[: text.rfind("\n") + 1]


def bare_fields(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line in which quotes are characters like others.

    >>> bare_fields('a|"so" he said|"all ""quoted"" here"', "|")
    ['a', '"so" he said', 'all "quoted" here']
    """
    return [_unquoted(field.strip()) for field in line.split(delimiter)]


def _unquoted(field: str) -> str:
    inner = field[1:-1]
    if len(field) < 2 or field[0] != '"' or field[-1] != '"' or '"' in inner.replace('""', ""):
        return field
    return inner.replace('""', '"')


def _rows_of(text: str, path: Path) -> Iterator[Row | Problem]:
    text = "\n".join(lines_of(text))
    if path.suffix.lower() == ".jsonl":
        return _json_rows(text, path.name)
    header = text.partition("\n")[0]
    delimiter = "\t" if path.suffix.lower() == ".tsv" else max(_DELIMITERS, key=header.count)
    if delimiter == "\t":
        numbered = enumerate(text.split("\n"), 1)
        return _named(((n, bare_fields(line, "\t")) for n, line in numbered if line.strip()), path.name)
    return _named(_quoted_lines(text, delimiter, path.name), path.name)


def _quoted_lines(text: str, delimiter: str, name: str) -> Iterator[tuple[int, list[str]] | Problem]:
    reader = csv.reader(StringIO(text), delimiter=delimiter, strict=True)
    start = 1
    csv.field_size_limit(_HUGE_FIELD)
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield start, [field.strip() for field in fields]
            start = reader.line_num + 1
    except csv.Error as error:
        what = f"the row that starts here cannot be read ({error}), expected fields or whole fields in quotes"
        yield Problem(f"{name}:{start}", f"{what}; double the quotes within it; the rest is not read")


def _named(lines: Iterator[tuple[int, list[str]] | Problem], name: str) -> Iterator[Row | Problem]:
    """Yield rows by the names in the first one."""
    header: list[str] | None = None
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        number, fields = line
        if header is None:
            header = [field.casefold() for field in fields]
        elif len(fields) > len(header):
            what = f"{len(fields)} fields, expected {len(header)} as in the header; put the text in quotes"
            yield Problem(f"{name}:{number}", what)
        else:
            yield Row(f"{name}:{number}", dict(zip(header, fields, strict=False)))


def _json_rows(text: str, name: str) -> Iterator[Row | Problem]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            record = error
        if isinstance(record, dict):
            # Lists, objects and NaN (which is not equal to itself) cannot stand for text.
            texts = {k: v for k, v in record.items() if not isinstance(v, list | dict) and v == v}
            fields = {key.casefold(): "" if v is None else str(v).strip() for key, v in texts.items()}
            yield Row(f"{name}:{number}", fields)
        else:
            yield Problem(f"{name}:{number}", "no JSON object, expected one a line; correct the line")
