"""A table with a header beside the recordings: one column names audio files, one holds the text.

Hugging Face's audio folders (``metadata.csv`` or ``metadata.jsonl`` with ``file_name``) are the best known;
NeMo's and DeepSpeech's lists of recordings have this form, too.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asr.corpora.layouts.audio_files import (
    CONTAINERS,
    absolute,
    find_audio,
    folder_speaker,
    id_of,
    is_audio,
    name_without_spaces,
    recordings,
)
from asr.corpora.layouts.moved import found_by_ends, moved_note
from asr.corpora.layouts.scan import SPLIT_NAMES, WHOLE, Layout, Scan
from asr.corpora.utterances import Utterance
from asr.errors import Problem, Severity
from asr.formats.tables import Row, first_rows, is_table, read_rows, words_of
from foundation.errors import listed

TEXT_COLUMNS = ("text", "sentence", "transcript", "transcription")
# What the columns of smaller tables are called; they are read if none of the above is there.
LABEL_COLUMNS = ("label", "words", "word", "utterance", "phrase", "prompt")
NORMALISED_COLUMNS = tuple(f"normali{letter}ed_{name}" for name in TEXT_COLUMNS for letter in "zs")
AUDIO_COLUMNS = (
    *("file_name", "filename", "file", "file_path", "filepath", "path"),
    *("audio", "audio_path", "audio_file", "audio_filepath"),
    *("wav", "wav_path", "wav_file", "wav_filename", "recording", "clip"),
)
SPEAKER_COLUMNS = ("speaker", "speaker_id", "client_id")
# Folders beside a table in which its recordings may lie, if they are not beside it.
AUDIO_FOLDERS = ("clips", "wavs", "wav", "audio")
# Share of rows that may be without a recording.
_FEW = 0.1


@dataclass(frozen=True)
class Columns:
    """The columns of a table that are read; ``texts`` is more than one if the table leaves a choice."""

    audio: str
    texts: tuple[str, ...]
    speaker: str | None


@dataclass(frozen=True)
class Entry:
    """What a table says of one recording: its name in the table, the words, perhaps the speaker."""

    where: str
    name: str
    text: str
    speaker: str


def columns_of(table: Path) -> Columns | None:
    """Return which columns hold what, None if the file is no table of recordings."""
    rows = first_rows(table)
    names = list(dict.fromkeys(name for row in rows for name in row.fields))
    texts = [name for name in NORMALISED_COLUMNS if name in names][:1]
    texts = texts or [name for name in TEXT_COLUMNS if name in names]
    texts = texts or [name for name in LABEL_COLUMNS if name in names]
    audio = next((name for name in AUDIO_COLUMNS if name in names), None) or _column_of_files(table, rows)
    if not texts or audio is None:
        return None
    return Columns(audio, tuple(texts), next((name for name in SPEAKER_COLUMNS if name in names), None))


def _column_of_files(table: Path, rows: Iterable[Row]) -> str | None:
    """Return the column with most names of recordings that exist."""
    folders = audio_folders(table.parent)
    named = Counter(
        column for row in rows for column, value in row.fields.items() if find_audio(value, folders)
    )
    return named.most_common(1)[0][0] if named else None


def audio_folders(directory: Path) -> list[Path]:
    """Return the folders from which a table's names are understood."""
    return [directory, *(directory / name for name in AUDIO_FOLDERS if (directory / name).is_dir())]


def sources(path: Path) -> list[Path]:
    """Return the tables of recordings in a directory, or the directory if they are its splits."""
    if not path.is_dir():
        return [path] if _is_own(path) else []
    tables = [p for p in sorted(path.iterdir()) if _is_own(p)]
    by_split = tables_by_split(tables)
    return [path] if "train" in by_split and len(by_split) == len(tables) else tables


def _is_own(path: Path) -> bool:
    if not is_table(path) or columns_of(path) is None:
        return False
    return not is_common_voice(path) and not is_of_lhotse(path)


def is_of_lhotse(table: Path) -> bool:
    """Return whether a table has the columns of lhotse's supervisions, which have rules of their own."""
    rows = first_rows(table)
    return bool(rows) and {"recording_id", "start", "duration"} <= rows[0].fields.keys()


def is_common_voice(table: Path) -> bool:
    """Return whether a table has the columns of Common Voice, which has rules of its own."""
    rows = first_rows(table)
    return bool(rows) and {"client_id", "path", "sentence"} <= rows[0].fields.keys()


def tables_by_split(tables: Iterable[Path]) -> dict[str, Path]:
    """Return the tables that are called after a split."""
    found = {SPLIT_NAMES[p.stem.casefold()]: p for p in tables if p.stem.casefold() in SPLIT_NAMES}
    return {split: found[split] for split in SPLIT_NAMES if split in found}


def scan(source: Path) -> Scan:
    """Return the utterances of a table, or of the tables of a directory's splits."""
    if source.is_dir():
        tables = tables_by_split(p for p in sorted(source.iterdir()) if _is_own(p))
        return scan_tables(tables, source)
    entries, problems = read_entries(source)
    parts, more = utterances_by_split(entries_by_folder(entries), source.parent)
    return Scan(parts, [*problems, *more, *unnamed(source.parent, parts, source.name)])


def scan_tables(tables: Mapping[str, Path], all_in: Path, known: Collection[Path] = ()) -> Scan:
    """Return the utterances of tables by split.

    Parameters
    ----------
    tables : the table of each split
    all_in : folder whose recordings should all be in the tables
    known : recordings that need not be
    """
    entries: dict[str, list[Entry]] = {}
    problems: list[Problem] = []
    for split, table in tables.items():
        entries[split], more = read_entries(table)
        problems += more
    parts, more = utterances_by_split(entries, all_in)
    names = " or ".join(table.name for table in tables.values())
    return Scan(parts, [*problems, *more, *unnamed(all_in, parts, names, known)])


def read_entries(table: Path) -> tuple[list[Entry], list[Problem]]:
    """Return what a table with a header says of recordings, and the problems of its rows."""
    columns = columns_of(table)
    if columns is None:
        what = f"no column of recordings or none of text, expected one of {', '.join(TEXT_COLUMNS)}"
        return [], [Problem(table.name, f"{what} and one of paths; name the columns in the first line")]
    if len(columns.texts) > 1:
        what = f"the columns {' and '.join(columns.texts)} may all be the text, expected one of them"
        return [], [Problem(table.name, f"{what}; rename the others")]
    (text,), audio, speaker = columns.texts, columns.audio, columns.speaker
    rows, problems = read_rows(table)
    complete = [row for row in rows if row.fields.get(audio) and text in row.fields]
    what = f"no {audio} or no {text}, expected both in each row; complete the row"
    lines = {row.where for row in complete}
    problems += [Problem(row.where, what) for row in rows if row.where not in lines]
    return [
        Entry(row.where, row.fields[audio], row.fields[text], row.fields.get(speaker, "") if speaker else "")
        for row in complete
    ], problems


def entries_by_folder(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return entries by split where all lie in folders that are called after splits, else as a whole."""
    parts: dict[str, list[Entry]] = {}
    for entry in entries:
        folders = Path(entry.name.replace("\\", "/")).parts[:1]  # none of the name "."
        split = SPLIT_NAMES.get("".join(folders).casefold(), WHOLE)
        parts.setdefault(split, []).append(entry)
    return parts if "train" in parts and WHOLE not in parts else {WHOLE: list(entries)}


def utterances_by_split(
    entries: Mapping[str, Sequence[Entry]], directory: Path
) -> tuple[dict[str, list[Utterance]], list[Problem]]:
    """Return the utterances of each split, and the problems of entries without a recording."""
    found, absent = _located([entry for some in entries.values() for entry in some], directory)
    parts: dict[str, list[Utterance]] = {}
    problems: list[Problem] = []
    for split, some in entries.items():
        parts[split], more = _utterances(some, found)
        problems += more
    return parts, problems + absent


def utterances_of(entries: Sequence[Entry], directory: Path) -> tuple[list[Utterance], list[Problem]]:
    """Return an utterance for each entry whose recording exists, and the problems of the others."""
    parts, problems = utterances_by_split({WHOLE: entries}, directory)
    return parts[WHOLE], problems


@dataclass(frozen=True)
class _Found:
    """A recording, and the name relative to the directory that tells its id and speaker."""

    path: Path
    name: Path


def _located(entries: Sequence[Entry], directory: Path) -> tuple[dict[str, _Found], list[Problem]]:
    """Return the recordings of entries by the entries' names, and the problems of names without any."""
    folders = audio_folders(directory)
    paths = {entry.name: find_audio(entry.name, folders) for entry in entries}
    found = {name: _Found(path, _relative(name, directory)) for name, path in paths.items() if path}
    moved = found_by_ends([name for name in paths if name not in found], paths, directory)
    found |= {name: _Found(path, _relative(str(path), directory)) for name, path in moved.items()}
    absent = [entry for entry in entries if entry.name not in found]
    return found, _absent_problems(absent, len(entries), found, directory) + moved_note(moved, "paths")


def _absent_problems(
    absent: Sequence[Entry], n_entries: int, found: Mapping[str, _Found], directory: Path
) -> list[Problem]:
    """Return the problems of entries without a recording.

    They are left out if they are few, or if each recording that is there has its entry, so that none is lost.
    """
    known = {f.path for f in found.values()}
    are_few = len(absent) <= _FEW * n_entries
    left_out = bool(absent and found) and (
        are_few or all(absolute(directory / path) in known for path in recordings(directory))
    )
    what = f"does not exist, expected it in {directory} or a folder of it ({', '.join(AUDIO_FOLDERS)}); "
    what += "the row is left out" if left_out else "correct the name or remove the row"
    severity: Severity = "warning" if left_out else "error"
    return [Problem(entry.where, f'recording "{entry.name}" {what}', severity) for entry in absent]


def _utterances(
    entries: Sequence[Entry], located: Mapping[str, _Found]
) -> tuple[list[Utterance], list[Problem]]:
    """Return an utterance for each entry whose recording is known, and the problems of repeated ones."""
    there = [(entry, located[entry.name]) for entry in entries if entry.name in located]
    has_speaker_folders = len({found.name.parts[:-1][:1] for _, found in there}) > 1
    said: dict[str, tuple[Entry, Utterance]] = {}
    problems = []
    for entry, found in there:
        key = id_of(found.name.with_suffix("") if is_audio(found.name) else found.name)
        if key in said:
            first = said[key][0].where
            what = f'"{key}" again (first in {first}), expected each recording once; remove one row'
            problems.append(Problem(entry.where, what))
            continue
        speaker = folder_speaker(found.name, key) if has_speaker_folders else key
        speaker = name_without_spaces(entry.speaker) or speaker
        said[key] = entry, Utterance(key, found.path, words_of(entry.text), speaker)
    return [utterance for _, utterance in said.values()], problems


def _relative(name: str, directory: Path) -> Path:
    """Return a recording's name relative to the directory, but for the folder that all recordings are in."""
    path = Path(os.path.relpath(directory / name.replace("\\", "/"), directory))
    parts = [part for part in path.parts if part != ".."]
    return Path(*parts[1:] if len(parts) > 1 and parts[0].casefold() in CONTAINERS else parts)


def unnamed(
    directory: Path, parts: Mapping[str, Sequence[Utterance]], tables: str, known: Collection[Path] = ()
) -> list[Problem]:
    """Return a warning of the recordings below a directory that no utterance is of, but for known ones."""
    named = {utterance.audio_path for part in parts.values() for utterance in part}.union(known)
    left = [str(path) for path in recordings(directory) if absolute(directory / path) not in named]
    if not left:
        return []
    what = f"{len(left)} recording(s) without a usable row, expected one each; they are left out: "
    what += listed(left)
    return [Problem(tables, what, "warning")]


METADATA = Layout("a table of recordings", sources, scan)
