"""Notices when the files of a corpus change, before a run or while it reads them, by size and time.

Reading every recording of a large corpus to check that nothing changed would take more time than it saves: of
recordings, size and time of change count, of small text files the content.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from asr.corpora.layouts.recordings import is_file
from asr.corpora.utterances import Corpus
from asr.errors import CorpusError
from asr.files import file_digest, text_digest
from foundation.errors import in_a_line, listed

TEXT_SUFFIXES = (
    *(
        ".txt",
        ".dic",
        ".lm",
        ".arpa",
        ".jsgf",
        ".slf",
        ".csv",
        ".tsv",
        ".jsonl",
        ".fileids",
        ".transcription",
    ),
    *(".textgrid", ".eaf", ".stm", ".ctm", ".srt", ".vtt"),
)
MISSING = "missing"
_LARGE = 1 << 24  # bytes; by feel

Marks = Mapping[str, str]  # by the file's name or path


def file_mark(path: Path) -> str:
    """Return size and time of change of a file, or that it is missing."""
    try:
        stat = path.stat()
    except OSError:
        return MISSING
    return f"{stat.st_size} {stat.st_mtime_ns}"


def recording_marks(corpus: Corpus, task_dir: Path) -> dict[str, str]:
    """Return the marks of all recordings outside the task directory, whose digest covers those inside."""
    paths = {u.audio_path for u in corpus if not u.audio_path.is_relative_to(task_dir.absolute())}
    return {str(path): file_mark(path) for path in sorted(paths)}


def source_marks(source: Path) -> dict[str, str]:
    """Return the marks of a user's raw corpus, by names in its directory.

    Of a corpus that is given by a table, what is beside the table counts, but nothing below.
    """
    directory = source if source.is_dir() else source.parent
    files = directory.rglob("*") if source.is_dir() else directory.iterdir()
    return {
        path.relative_to(directory).as_posix(): _source_mark(path)
        for path in sorted(files, key=lambda p: p.as_posix())
        if not path.name.startswith(".") and is_file(path)
    }


def _source_mark(path: Path) -> str:
    try:
        if path.suffix.lower() in (*TEXT_SUFFIXES, "") and path.stat().st_size < _LARGE:
            return file_digest(path)
    except OSError:  # it has just gone, or cannot be read: whoever reads the corpus says so
        return MISSING
    return file_mark(path)


def source_digest(source: Path) -> str:
    """Return a hash of a user's raw corpus, by its marks."""
    return digest_of(source_marks(source))


def digest_of(marks: Marks) -> str:
    """Return a hash of marks."""
    return text_digest("\n".join(f"{name} {mark}" for name, mark in marks.items()))


def differences(before: Marks, now: Marks) -> list[str]:
    """Return the names whose marks differ, with those that are new or gone.

    >>> differences({"a": "1", "b": "1"}, {"b": "2", "c": "1"})
    ['a', 'b', 'c']
    """
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def check_unchanged(before: Marks, now: Marks) -> None:
    """Raise an error that names the files that changed while a corpus was read."""
    if changed := differences(before, now):
        raise CorpusError(
            f"{in_a_line(listed(changed, 5))}: changed while the corpus was read, expected it to stay as it "
            "is until its features are computed, or text and sound of different times were mixed; let the "
            "changes be finished, and run the same command again"
        )
