"""LibriSpeech's form: ``SPEAKER/CHAPTER/SPEAKER-CHAPTER.trans.txt`` with lines ``ID WORDS``.

A recording ``ID.flac`` lies beside. The speaker is what an id has before its first hyphen. The topmost
folders may be splits: ``train-…``, ``dev-…`` and ``test-…``.
"""

from __future__ import annotations

from pathlib import Path

from asr.corpora.layouts.audio_files import find_audio, name_without_spaces
from asr.corpora.layouts.metadata import unnamed
from asr.corpora.layouts.scan import WHOLE, Layout, Scan
from asr.corpora.utterances import Utterance
from asr.errors import Problem
from asr.formats.tables import read_table, words_of

SUFFIX = ".trans.txt"
_SPLITS = ("train", "dev", "test")


def sources(path: Path) -> list[Path]:
    """Return the directory if there are transcripts of this form in or below it."""
    return [path] if path.is_dir() and next(path.rglob(f"*{SUFFIX}"), None) else []


def scan(directory: Path) -> Scan:
    """Return the utterances of each split, or as a whole if the topmost folders are no splits."""
    files = sorted(directory.rglob(f"*{SUFFIX}"))
    split_of = {file: _split(file.relative_to(directory)) for file in files}
    if WHOLE in split_of.values() or "train" not in split_of.values():
        split_of = dict.fromkeys(files, WHOLE)
    parts: dict[str, list[Utterance]] = {}
    problems: list[Problem] = []
    first: dict[str, str] = {}
    for file in files:
        found, more = _chapter(file, directory, first)
        parts.setdefault(split_of[file], []).extend(found)
        problems += more
    return Scan(parts, [*problems, *unnamed(directory, parts, f"*{SUFFIX}")])


def _split(path: Path) -> str:
    """Return the split that a file's topmost folder is called after."""
    return next((s for s in _SPLITS if path.parts[0] == s or path.parts[0].startswith(f"{s}-")), WHOLE)


def _chapter(file: Path, directory: Path, first: dict[str, str]) -> tuple[list[Utterance], list[Problem]]:
    """Return the utterances of one table, and the problems of its lines; ``first`` is where ids have been."""
    table, problems = read_table(file, "id WORD WORD …", may_be_bare=True)
    folder = file.relative_to(directory).parent
    problems = [Problem(f"{folder / p.where}", p.what) for p in problems]
    utterances = []
    for key, (number, text) in table.rows.items() if table else ():
        where = f"{folder / file.name}:{number}"
        audio = find_audio(key, [file.parent])
        if audio is None:
            what = f'no recording "{key}", expected it beside this file; add it or remove the line'
        elif key in first:
            what = f'"{key}" again (first in {first[key]}), expected distinct ids; rename one'
        else:
            first[key] = where
            speaker = key.split("-")[0] if "-" in key else file.parent.name
            utterances.append(Utterance(key, audio, words_of(text), name_without_spaces(speaker)))
            continue
        problems.append(Problem(where, what))
    return utterances, problems


LIBRISPEECH = Layout("LibriSpeech", sources, scan)
