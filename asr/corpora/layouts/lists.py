"""Lists of transcripts: text files of lines ``NAME words``, where NAME is a recording's file name.

VoxForge has ``etc/PROMPTS`` in the folder of each speaker, and many small corpora have a ``text.txt`` or
``transcripts.txt`` at the top. A second column that holds nothing but the speaker's sex, or the name of the
recording's folder, is not spoken.

LibriSpeech has ``SPEAKER/CHAPTER/SPEAKER-CHAPTER.trans.txt`` with a recording ``ID.flac`` beside for each
line ``ID WORDS``. The speaker is what an id has before its first hyphen. The topmost folders may be splits:
``train-…``, ``dev-…`` and ``test-…``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from unicodedata import normalize

from asr.corpora.layouts.layout import WHOLE, Layout, Scan
from asr.corpora.layouts.metadata import Entry, unnamed, utterances_of
from asr.corpora.layouts.recordings import (
    find_audio,
    is_audio,
    name_without_spaces,
    recordings,
    visible_files,
)
from asr.corpora.utterances import Utterance
from asr.errors import Problem
from asr.formats.tables import head_of, lines_of, read_table, read_text, words_of
from asr.text.plain import plain
from foundation.errors import listed

_NAMES = frozenset({"transcript", "transcripts", "transcription", "transcriptions", "prompts"})
_NOT_LISTS = frozenset({"lexicon.txt", "word_pairs.txt", "commands.txt", "speakers.txt"})
_SEXES = frozenset({"m", "f", "male", "female", "man", "woman", "f/m", "m/f"})
_N_HEAD = 20  # by feel
_N_NAMED = 3  # by feel
# Of the lines of a list's head, the share that must name recordings; by feel.
_MOST = 0.5
LIBRISPEECH_SUFFIX = ".trans.txt"
_SPLITS = ("train", "dev", "test")  # as LibriSpeech's folders begin


@dataclass(frozen=True)
class _Line:
    """A line of a list: where it is, the recording it names, and what follows."""

    where: str
    name: str
    text: str


def _sources(path: Path) -> list[Path]:
    """Return the directory if there are lists of its recordings in it, or the list itself."""
    if not path.is_dir():
        return [path] if _is_list(path, _stems(path.parent)) else []
    stems = _stems(path)
    return [path] if stems and any(_is_list(path / file, stems) for file in visible_files(path)) else []


def _scan(source: Path) -> Scan:
    """Return the utterances of all lists below a directory, or of one list."""
    directory = source if source.is_dir() else source.parent
    stems = _stems(directory)
    files = [directory / file for file in visible_files(directory)] if source.is_dir() else [source]
    lines: dict[str, _Line] = {}
    problems: list[Problem] = []
    marked: list[str] = []
    lists = [file for file in files if _is_list(file, stems)]
    # Those further up first: what they say of a recording, one further down may repeat.
    for file in sorted(lists, key=lambda f: (len(f.parts), f)):
        name = str(file.relative_to(directory))
        text, more = read_text(file, name, 'lines "NAME words"')
        problems += more
        some = _lines(text or "", name)
        spoken = _without_marks(some, stems)
        marked += [name] if spoken != some else []
        problems += _add(spoken, lines)
    entries = [
        Entry(line.where, str(stems.get(line.name, line.name)), line.text, "") for line in lines.values()
    ]
    utterances, more = utterances_of(entries, directory)
    parts = {WHOLE: utterances}
    what = "the second column is the speaker's sex or folder, and not taken for spoken"
    notes = [Problem(listed(marked, _N_NAMED), what, "note")] if marked else []
    names = listed([str(file.relative_to(directory)) for file in lists], _N_NAMED)
    left = unnamed(directory, parts, names)
    return Scan(parts, [*problems, *more, *notes, *left])


def _stems(directory: Path) -> dict[str, Path]:
    """Return recordings by file name without suffix, in NFC, but for names that several have."""
    found: dict[str, Path] = {}
    several: set[str] = set()
    for path in recordings(directory):
        stem = normalize("NFC", path.stem)
        if stem in found:
            several.add(stem)
        found[stem] = path
    return {stem: path for stem, path in found.items() if stem not in several}


def _is_list(path: Path, stems: dict[str, Path]) -> bool:
    """Return whether a file is called like a list, and most lines of its head name recordings."""
    name = path.name.casefold()
    if name in _NOT_LISTS or not (path.suffix.lower() == ".txt" or path.stem.casefold() in _NAMES):
        return False
    lines = _lines(head_of(path), path.name)[:_N_HEAD] if path.is_file() else []
    n_spoken = sum(line.name in stems and bool(line.text) for line in lines)
    return n_spoken > _MOST * len(lines)


def _lines(text: str, where: str) -> list[_Line]:
    found = []
    for number, line in enumerate(lines_of(text), 1):
        name, *rest = line.split(maxsplit=1)[:2] or [""]
        last = PurePosixPath(name.replace("\\", "/")).name
        if last:
            stem = PurePosixPath(last).stem if is_audio(Path(last)) else last
            found.append(_Line(f"{where}:{number}", normalize("NFC", stem), "".join(rest).strip()))
    return found


def _without_marks(lines: Sequence[_Line], stems: dict[str, Path]) -> list[_Line]:
    """Return lines without a second column that is not spoken, if all lines have it."""
    known = [line for line in lines if line.name in stems]
    seconds = [line.text.split(maxsplit=1)[:1] for line in known]
    folders = [[stems[line.name].parent.name] for line in known]
    is_mark = bool(known) and (
        seconds == folders or all(second and second[0].casefold() in _SEXES for second in seconds)
    )
    if not is_mark:
        return list(lines)
    return [replace(line, text="".join(line.text.split(maxsplit=1)[1:])) for line in lines]


def _add(lines: Sequence[_Line], known: dict[str, _Line]) -> list[Problem]:
    """Add the lines of one list to those known; a problem for each that contradicts these."""
    problems = []
    for line in lines:
        first = known.setdefault(line.name, line)
        if _words(first) != _words(line):
            what = (
                f'"{line.name}" again with other words (first in {first.where}), expected one transcript of '
            )
            problems.append(Problem(line.where, f"{what}each recording; remove one line"))
    return problems


def _words(line: _Line) -> list[str]:
    return [form for word in line.text.split() if (form := plain(word))]


def _sources_of_librispeech(path: Path) -> list[Path]:
    """Return the directory if there are transcripts of this form in or below it."""
    return [path] if path.is_dir() and next(path.rglob(f"*{LIBRISPEECH_SUFFIX}"), None) else []


def _scan_librispeech(directory: Path) -> Scan:
    """Return the utterances of each split, or as a whole if the topmost folders are no splits."""
    files = sorted(directory.rglob(f"*{LIBRISPEECH_SUFFIX}"))
    split_of = {file: _split_of_folder(file.relative_to(directory)) for file in files}
    if WHOLE in split_of.values() or "train" not in split_of.values():
        split_of = dict.fromkeys(files, WHOLE)
    parts: dict[str, list[Utterance]] = {}
    problems: list[Problem] = []
    first: dict[str, str] = {}
    for file in files:
        found, more = _chapter(file, directory, first)
        parts.setdefault(split_of[file], []).extend(found)
        problems += more
    return Scan(parts, [*problems, *unnamed(directory, parts, f"*{LIBRISPEECH_SUFFIX}")])


def _split_of_folder(path: Path) -> str:
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


LISTS = Layout("lists of transcripts", _sources, _scan)
LIBRISPEECH = Layout("LibriSpeech", _sources_of_librispeech, _scan_librispeech)
