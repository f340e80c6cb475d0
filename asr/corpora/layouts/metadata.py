"""Tables that name recordings, one a row, with what is said in each.

With a header, one column names audio files and one holds the text: Hugging Face's audio folders
(``metadata.csv`` or ``metadata.jsonl`` with ``file_name``) are the best known; NeMo's and DeepSpeech's lists
of recordings have this form, too.

Common Voice as published has ``train.tsv``, ``dev.tsv``, ``test.tsv`` or ``validated.tsv``, and ``clips/``.
The other tables (``invalidated.tsv``, ``other.tsv``) are not read; the clips in them may lie in ``clips/``.

LJSpeech has no header: ``metadata.csv`` with lines ``ID|text|normalised text`` and ``wavs/ID.wav``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asr.corpora.layouts.layout import SPLIT_NAMES, WHOLE, Layout, Scan
from asr.corpora.layouts.recordings import (
    CONTAINERS,
    NOBODY_SAYS,
    absolute,
    find_audio,
    folder_speaker,
    found_by_ends,
    id_of,
    is_audio,
    moved_note,
    name_without_spaces,
    recordings,
)
from asr.corpora.utterances import Utterance
from asr.errors import Problem, Severity
from asr.formats.tables import (
    Row,
    bare_fields,
    first_rows,
    head_of,
    is_table,
    lines_of,
    read_rows,
    read_text,
    words_of,
)
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
# Share of rows that may be without a recording; by feel.
_FEW = 0.1
VALIDATED, CLIPS = "validated.tsv", "clips"  # Common Voice's
LJSPEECH_TABLE = "metadata.csv"
_N_HEAD = 20  # lines by which LJSpeech's form is told


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


def _columns_of(table: Path) -> Columns | None:
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
    folders = _audio_folders(table.parent)
    named = Counter(
        column for row in rows for column, value in row.fields.items() if find_audio(value, folders)
    )
    return named.most_common(1)[0][0] if named else None


def _audio_folders(directory: Path) -> list[Path]:
    """Return the folders from which a table's names are understood."""
    return [directory, *(directory / name for name in AUDIO_FOLDERS if (directory / name).is_dir())]


def _sources(path: Path) -> list[Path]:
    """Return the tables of recordings in a directory, or the directory if they are its splits."""
    if not path.is_dir():
        return [path] if _is_own(path) else []
    tables = [p for p in sorted(path.iterdir()) if _is_own(p)]
    by_split = _tables_by_split(tables)
    return [path] if "train" in by_split and len(by_split) == len(tables) else tables


def _is_own(path: Path) -> bool:
    if not is_table(path) or _columns_of(path) is None:
        return False
    return not _is_common_voice(path) and not _is_of_lhotse(path)


def _is_of_lhotse(table: Path) -> bool:
    """Return whether a table has the columns of lhotse's supervisions, which have rules of their own."""
    rows = first_rows(table)
    return bool(rows) and {"recording_id", "start", "duration"} <= rows[0].fields.keys()


def _is_common_voice(table: Path) -> bool:
    """Return whether a table has the columns of Common Voice, which has rules of its own."""
    rows = first_rows(table)
    return bool(rows) and {"client_id", "path", "sentence"} <= rows[0].fields.keys()


def _tables_by_split(tables: Iterable[Path]) -> dict[str, Path]:
    """Return the tables that are called after a split."""
    found = {SPLIT_NAMES[p.stem.casefold()]: p for p in tables if p.stem.casefold() in SPLIT_NAMES}
    return {split: found[split] for split in SPLIT_NAMES if split in found}


def _scan(source: Path) -> Scan:
    """Return the utterances of a table, or of the tables of a directory's splits."""
    if source.is_dir():
        tables = _tables_by_split(p for p in sorted(source.iterdir()) if _is_own(p))
        return _scan_tables(tables, source)
    entries, problems = _read_entries(source)
    parts, more = _utterances_by_split(_entries_by_folder(entries), source.parent)
    return Scan(parts, [*problems, *more, *unnamed(source.parent, parts, source.name)])


def _scan_tables(tables: Mapping[str, Path], all_in: Path, known: Collection[Path] = ()) -> Scan:
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
        entries[split], more = _read_entries(table)
        problems += more
    parts, more = _utterances_by_split(entries, all_in)
    names = " or ".join(table.name for table in tables.values())
    return Scan(parts, [*problems, *more, *unnamed(all_in, parts, names, known)])


def _read_entries(table: Path) -> tuple[list[Entry], list[Problem]]:
    """Return what a table with a header says of recordings, and the problems of its rows."""
    columns = _columns_of(table)
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


def _entries_by_folder(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return entries by split where all lie in folders that are called after splits, else as a whole."""
    parts: dict[str, list[Entry]] = {}
    for entry in entries:
        folders = Path(entry.name.replace("\\", "/")).parts[:1]  # none of the name "."
        split = SPLIT_NAMES.get("".join(folders).casefold(), WHOLE)
        parts.setdefault(split, []).append(entry)
    return parts if "train" in parts and WHOLE not in parts else {WHOLE: list(entries)}


def _utterances_by_split(
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
    parts, problems = _utterances_by_split({WHOLE: entries}, directory)
    return parts[WHOLE], problems


@dataclass(frozen=True)
class _Found:
    """A recording, and the name relative to the directory that tells its id and speaker."""

    path: Path
    name: Path


def _located(entries: Sequence[Entry], directory: Path) -> tuple[dict[str, _Found], list[Problem]]:
    """Return the recordings of entries by the entries' names, and the problems of names without any."""
    folders = _audio_folders(directory)
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
        speaker = folder_speaker(found.name) if has_speaker_folders else NOBODY_SAYS
        speaker = name_without_spaces(entry.speaker) or speaker
        said[key] = entry, Utterance(key, found.path, words_of(entry.text), speaker)
    return [utterance for _, utterance in said.values()], problems


def _relative(name: str, directory: Path) -> Path:
    """Return a recording's name relative to the directory, but for the folder that all recordings are in."""
    path = directory / name.replace("\\", "/")
    try:
        path = Path(os.path.relpath(path, directory))
    except ValueError:  # on another drive (Windows)
        path = path.relative_to(path.anchor)
    parts = [part for part in path.parts if part != ".."]
    return Path(*parts[1:] if len(parts) > 1 and parts[0].casefold() in CONTAINERS else parts)


def unnamed(
    directory: Path, parts: Mapping[str, Sequence[Utterance]], tables: str, known: Collection[Path] = ()
) -> list[Problem]:
    """Return a warning that names recordings below a directory without any utterance, but for known ones."""
    named = {utterance.audio_path for part in parts.values() for utterance in part}.union(known)
    left = [str(path) for path in recordings(directory) if absolute(directory / path) not in named]
    if not left:
        return []
    what = f"{len(left)} recording(s) without a usable row, expected one each; they are left out: "
    what += listed(left)
    return [Problem(tables, what, "warning")]


def _sources_of_common_voice(path: Path) -> list[Path]:
    """Return the directory (or the table itself) if it is Common Voice's."""
    if path.is_dir():
        return [path] if _tables_of_common_voice(path) else []
    return [path] if is_table(path) and _is_common_voice(path) else []


def _scan_common_voice(source: Path) -> Scan:
    """Return the utterances of the splits, of all validated clips if there are none, or of one table."""
    if source.is_dir():
        return _scan_tables(_tables_of_common_voice(source), source, _clips_of_all_tables(source))
    entries, problems = _read_entries(source)
    utterances, more = utterances_of(entries, source.parent)
    return Scan({WHOLE: utterances}, [*problems, *more])


def _tables_of_common_voice(directory: Path) -> dict[str, Path]:
    """Return the table of each split, or the one of all validated clips."""
    tables = [p for p in sorted(directory.glob("*.tsv")) if is_table(p) and _is_common_voice(p)]
    by_split = _tables_by_split(tables)
    if "train" in by_split:
        return by_split
    return {WHOLE: directory / VALIDATED} if directory / VALIDATED in tables else {}


def _clips_of_all_tables(directory: Path) -> set[Path]:
    """Return the clips that any table names, also those of clips that are not (yet) validated."""
    rows = (row for path in sorted(directory.glob("*.tsv")) if is_table(path) for row in read_rows(path)[0])
    return {absolute(directory / CLIPS / row.fields.get("path", "")) for row in rows}


def _sources_of_ljspeech(path: Path) -> list[Path]:
    """Return the table in a directory (or the file itself) if it has LJSpeech's form."""
    table = path / LJSPEECH_TABLE if path.is_dir() else path
    return [table] if table.suffix.lower() in (".csv", ".txt") and _is_ljspeech(table) else []


def _scan_ljspeech(source: Path) -> Scan:
    """Return the utterances of a table; the normalised text is taken where there is one."""
    text, problems = read_text(source, source.name, 'lines "ID|text"')
    entries, more = _entries_of_ljspeech(text or "", source.name)
    problems += more
    utterances, more = utterances_of(entries, source.parent)
    parts = {WHOLE: utterances}
    return Scan(parts, [*problems, *more, *unnamed(source.parent, parts, source.name)])


def _is_ljspeech(table: Path) -> bool:
    """Return whether lines begin with the name of a recording and a bar, and there is no header."""
    entries, _ = _entries_of_ljspeech(head_of(table), table.name)
    folders = _audio_folders(table.parent)
    exist = any(find_audio(entry.name, folders) for entry in entries[:_N_HEAD])
    return (exist or (table.name == LJSPEECH_TABLE and bool(entries))) and _columns_of(table) is None


def _entries_of_ljspeech(text: str, table: str) -> tuple[list[Entry], list[Problem]]:
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


METADATA = Layout("a table of recordings", _sources, _scan)
COMMON_VOICE = Layout("Common Voice", _sources_of_common_voice, _scan_common_voice)
LJSPEECH = Layout("LJSpeech", _sources_of_ljspeech, _scan_ljspeech)
