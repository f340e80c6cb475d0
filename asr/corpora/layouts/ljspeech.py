"""LJSpeech's form: ``metadata.csv`` with lines ``ID|text|normalised text`` and ``wavs/ID.wav``."""

from __future__ import annotations

from pathlib import Path

from asr.corpora.layouts.audio_files import find_audio
from asr.corpora.layouts.metadata import Entry, audio_folders, columns_of, unnamed, utterances_of
from asr.corpora.layouts.scan import WHOLE, Layout, Scan
from asr.errors import Problem
from asr.formats.tables import bare_fields, head_of, lines_of, read_text

NAME = "metadata.csv"
_N_HEAD = 20


def sources(path: Path) -> list[Path]:
    """Return the table in a directory (or the file itself) if it has LJSpeech's form."""
    table = path / NAME if path.is_dir() else path
    return [table] if table.suffix.lower() in (".csv", ".txt") and _is_of_this_form(table) else []


def scan(source: Path) -> Scan:
    """Return the utterances of a table; the normalised text is taken where there is one."""
    text, problems = read_text(source, source.name, 'lines "ID|text"')
    entries, more = _entries(text or "", source.name)
    problems += more
    utterances, more = utterances_of(entries, source.parent)
    parts = {WHOLE: utterances}
    return Scan(parts, [*problems, *more, *unnamed(source.parent, parts, source.name)])


def _is_of_this_form(table: Path) -> bool:
    """Return whether lines begin with the name of a recording and a bar, and there is no header."""
    entries, _ = _entries(head_of(table), table.name)
    folders = audio_folders(table.parent)
    exist = any(find_audio(entry.name, folders) for entry in entries[:_N_HEAD])
    return (exist or (table.name == NAME and bool(entries))) and columns_of(table) is None


def _entries(text: str, table: str) -> tuple[list[Entry], list[Problem]]:
    """Return the entries of lines, and the problems of the other lines."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines_of(text), 1):
        where = f"{table}:{number}"
        name, *texts = bare_fields(line, "|")
        if name and texts:
            entries.append(Entry(where, name, next((t for t in reversed(texts[:2]) if t), ""), ""))
        elif line.strip():
            what = f'"{line[:50]}" has no bar, expected "ID|text|normalised text"; correct the line'
            problems.append(Problem(where, what))
    return entries, problems


LJSPEECH = Layout("LJSpeech", sources, scan)
