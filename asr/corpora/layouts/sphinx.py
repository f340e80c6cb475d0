"""CMU Sphinx's form, as AN4 is published: ``etc/NAME_train.fileids``, ``…transcription``, and ``wav/``.

A line of the fileids is a recording's path below ``wav/`` without suffix; a line of the transcription is
``<s> WORDS </s> (id)``, where the id is that path or its last part. The folder is the speaker.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from asr.corpora.layouts.audio_files import find_audio, id_of, name_without_spaces
from asr.corpora.layouts.scan import Layout, Scan
from asr.corpora.tables import Table, lines_of, read_text, words_of
from asr.corpora.utterances import Utterance
from asr.errors import Problem

_SPLITS = ("train", "dev", "test")
_MARKS = ("<s>", "</s>")
_LINE = re.compile(r"(.*)\(([^()]+)\)\s*")


def sources(path: Path) -> list[Path]:
    """Return the lists of training recordings below a directory (or the list itself), one for each corpus."""
    if path.is_dir():
        return sorted((path / "etc").glob("*_train.fileids"))
    return [path] if path.name.endswith("_train.fileids") else []


def scan(source: Path) -> Scan:
    """Return the utterances of train, and of dev and test where they are listed."""
    name = source.name.removesuffix("_train.fileids")
    parts: dict[str, list[Utterance]] = {}
    problems: list[Problem] = []
    for split in _SPLITS:
        fileids = source.with_name(f"{name}_{split}.fileids")
        if fileids.is_file():
            parts[split], more = _scan_split(fileids)
            problems += more
    return Scan(parts, problems)


def _scan_split(fileids: Path) -> tuple[list[Utterance], list[Problem]]:
    """Return the utterances of a list of recordings, and the problems of it and of its transcripts."""
    transcripts, problems = _transcripts(fileids.with_suffix(".transcription"))
    text, more = read_text(fileids, fileids.name, "a recording's path in each line")
    problems += more
    lines = [(f"{fileids.name}:{n}", line.strip()) for n, line in enumerate(lines_of(text or ""), 1)]
    listed = [(where, Path(line)) for where, line in lines if line]
    times = Counter(path.name for _, path in listed)
    folders = [fileids.parent.parent / "wav", fileids.parent.parent]
    utterances: dict[str, Utterance] = {}
    for where, path in listed:
        key = id_of(path) if times[path.name] > 1 else name_without_spaces(path.name)
        audio = find_audio(path.as_posix(), folders)
        transcript = next((k for k in (path.as_posix(), path.name) if k in transcripts.rows), None)
        if audio is None:
            what = f'no recording "{path}", expected it in wav/; correct the path or remove the line'
        elif transcript is None:
            what = f'"{path.name}" has no line in {transcripts.name}, expected one; write it or remove this'
        elif key in utterances:
            what = f'"{key}" again, expected each recording once; remove the line'
        else:
            speaker = name_without_spaces(path.parent.name) or key
            utterances[key] = Utterance(key, audio, words_of(transcripts.rows[transcript][1]), speaker)
            continue
        problems.append(Problem(where, what))
    known = {name for _, path in listed for name in (path.as_posix(), path.name)}
    what = f"is not in {fileids.name}, expected it there; add it or remove the line"
    problems += [Problem(transcripts.where(k), f'"{k}" {what}') for k in transcripts.rows if k not in known]
    return list(utterances.values()), problems


def _transcripts(path: Path) -> tuple[Table, list[Problem]]:
    """Return the words of each recording, without the marks of a sentence's ends."""
    text, problems = read_text(path, path.name, 'lines "<s> WORDS </s> (id)"')
    rows: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines_of(text or ""), 1):
        match = _LINE.fullmatch(line)
        where = f"{path.name}:{number}"
        if match is None:
            if line.strip():
                what = f'"{line[:50]}" has no id at its end, expected "<s> WORDS </s> (id)"; add it'
                problems.append(Problem(where, what))
        elif match[2] in rows:
            what = f'"{match[2]}" again (first in line {rows[match[2]][0]}), expected each once; remove one'
            problems.append(Problem(where, what))
        else:
            words = [word for word in match[1].split() if word.lower() not in _MARKS]
            rows[match[2]] = number, " ".join(words)
    return Table(path.name, rows), problems


SPHINX = Layout("Sphinx", sources, scan)
