"""Common Voice as published: ``train.tsv``, ``dev.tsv``, ``test.tsv`` or ``validated.tsv``, and ``clips/``.

The other tables (``invalidated.tsv``, ``other.tsv``) are not read; the clips in them may lie in ``clips/``.
"""

from __future__ import annotations

from pathlib import Path

from asr.corpora.layouts.audio_files import absolute
from asr.corpora.layouts.metadata import (
    is_common_voice,
    read_entries,
    scan_tables,
    tables_by_split,
    utterances_of,
)
from asr.corpora.layouts.scan import WHOLE, Layout, Scan
from asr.formats.tables import is_table, read_rows

VALIDATED, CLIPS = "validated.tsv", "clips"


def sources(path: Path) -> list[Path]:
    """Return the directory (or the table itself) if it is Common Voice's."""
    if path.is_dir():
        return [path] if _tables(path) else []
    return [path] if is_table(path) and is_common_voice(path) else []


def scan(source: Path) -> Scan:
    """Return the utterances of the splits, of all validated clips if there are none, or of one table."""
    if source.is_dir():
        return scan_tables(_tables(source), source, _clips_of_all_tables(source))
    entries, problems = read_entries(source)
    utterances, more = utterances_of(entries, source.parent)
    return Scan({WHOLE: utterances}, [*problems, *more])


def _tables(directory: Path) -> dict[str, Path]:
    """Return the table of each split, or the one of all validated clips."""
    tables = [p for p in sorted(directory.glob("*.tsv")) if is_table(p) and is_common_voice(p)]
    by_split = tables_by_split(tables)
    if "train" in by_split:
        return by_split
    return {WHOLE: directory / VALIDATED} if directory / VALIDATED in tables else {}


def _clips_of_all_tables(directory: Path) -> set[Path]:
    """Return the clips that any table names, also those of clips that are not (yet) validated."""
    rows = (row for path in sorted(directory.glob("*.tsv")) if is_table(path) for row in read_rows(path)[0])
    return {absolute(directory / CLIPS / row.fields.get("path", "")) for row in rows}


COMMON_VOICE = Layout("Common Voice", sources, scan)
