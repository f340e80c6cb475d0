"""Manifests of lhotse: ``…recordings….jsonl.gz`` and ``…supervisions….jsonl.gz``, an object a line.

Pairs whose names end in a split, as ``libri_recordings_train-clean-5.jsonl.gz``, are the splits. Each
supervision is an utterance.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asr.corpora.layouts.layout import SPLIT_NAMES, WHOLE, Layout, Scan
from asr.corpora.layouts.recordings import (
    NOBODY_SAYS,
    find_audio,
    found_by_ends,
    moved_note,
    name_without_spaces,
)
from asr.corpora.utterances import Utterance
from asr.errors import Problem
from asr.formats.nist import several_channels
from asr.formats.tables import words_of
from foundation.errors import listed
from foundation.files import pieces_of

_NAME = re.compile(r"(.*?)(recordings|supervisions)((?:[_.-].*)?)\.jsonl(\.gz)?")
_N_NAMED = 5  # by feel
_LONGEST_LINE = 1 << 24
_WHOLE_S = 0.002  # a supervision that ends so near the recording's end lasts as long as that; by feel


@dataclass(frozen=True)
class Manifests:
    """The two files of a part of a corpus."""

    recordings: Path
    supervisions: Path
    split: str


def manifests(path: Path) -> list[Manifests]:
    """Return the pairs of manifests in a directory, or the one that a file belongs to."""
    directory = path if path.is_dir() else path.parent
    found: dict[tuple[str, str], dict[str, Path]] = defaultdict(dict)
    for file in sorted(directory.iterdir() if directory.is_dir() else ()):
        match = _NAME.fullmatch(file.name)
        if match and not file.name.startswith(".") and file.is_file():
            found[match[1], match[3]].setdefault(match[2], file)
    return [
        Manifests(pair["recordings"], pair["supervisions"], _split_of(rest))
        for (_, rest), pair in found.items()
        if len(pair) == 2 and (path == directory or path in pair.values())
    ]


def _split_of(rest: str) -> str:
    """Return the split that the end of a name tells, as ``_train-clean-5``."""
    word = re.split(r"[^a-z]", rest.casefold().strip("_.-"))[0]
    return SPLIT_NAMES.get(word, WHOLE)


def sources(path: Path) -> list[Path]:
    """Return the directory with manifests, or the manifest itself."""
    return [path] if manifests(path) else []


def scan(source: Path) -> Scan:
    """Return the utterances of all pairs of manifests by split; those of a single pair as a whole."""
    pairs = manifests(source)
    names = [pair.split for pair in pairs]
    if len(pairs) == 1:
        names = [WHOLE]
    elif "train" not in names or WHOLE in names:
        named = listed([pair.supervisions.name for pair in pairs], _N_NAMED)
        what = f"{named}, expected one, or names that end in train, dev and test"
        return Scan({}, [Problem(".", f"{what}; give the path of the one that is meant")])
    parts: dict[str, list[Utterance]] = {}
    problems: list[Problem] = []
    for name, pair in zip(names, pairs, strict=True):
        found, more = _scan_pair(pair)
        parts.setdefault(name, []).extend(found)
        problems += more
    return Scan(parts, [*problems, *_repeated(parts)])


def _repeated(parts: dict[str, list[Utterance]]) -> list[Problem]:
    """Return a problem for each utterance id that a split has again, and leave that utterance out."""
    problems = []
    for name, part in parts.items():
        kept: dict[str, Utterance] = {}
        for utterance in part:
            if kept.setdefault(utterance.utterance_id, utterance) is not utterance:
                what = f'"{utterance.utterance_id}" again, expected distinct ids; rename one'
                problems.append(Problem(name or "supervisions", what))
        parts[name] = list(kept.values())
    return problems


def _scan_pair(pair: Manifests) -> tuple[list[Utterance], list[Problem]]:
    """Return the utterances of one pair of manifests."""
    recordings, problems = _recordings(pair.recordings)
    utterances: list[Utterance] = []
    channels: list[tuple[str, str]] = []
    for where, record in _records(pair.supervisions):
        if isinstance(record, Problem):
            problems.append(record)
            continue
        found = _utterance(where, record, recordings)
        if isinstance(found, Problem):
            problems.append(found)
            continue
        channels.append((str(record["recording_id"]), json.dumps(record.get("channel", 0))))
        utterances.append(found)
    return utterances, problems + several_channels(channels, pair.supervisions.name)


@dataclass(frozen=True)
class _Recording:
    """Where a recording is and how long; the path is None if it was named as a problem already."""

    path: Path | None
    duration_s: float


def _recordings(manifest: Path) -> tuple[dict[str, _Recording], list[Problem]]:
    """Return the recordings by id, and the problems of those that cannot be read."""
    named: dict[str, tuple[str, str, float]] = {}
    found: dict[str, _Recording] = {}
    problems: list[Problem] = []
    for where, record in _records(manifest):
        if isinstance(record, Problem):
            problems.append(record)
            continue
        key, duration_s = record.get("id"), _seconds(record.get("duration"))
        source = _source(record)
        if not isinstance(key, str) or not key.strip() or duration_s is None:
            what = 'no id or no duration, expected "id": a name and "duration": seconds; correct the line'
            problems.append(Problem(where, what))
        elif key in named or key in found:
            problems.append(Problem(where, f'recording "{key}" again, expected each once; remove the line'))
        elif source is None:
            what = f'recording "{key}": expected one source of type file, without transforms'
            problems.append(Problem(where, f"{what}; save the sound to a file, and name that"))
            found[key] = _Recording(None, duration_s)
        else:
            named[key] = where, source, duration_s
    paths, more = _paths({source for _, source, _ in named.values()}, manifest)
    for key, (where, source, duration_s) in named.items():
        found[key] = _Recording(paths.get(source), duration_s)
        if source not in paths:
            what = f'audio file "{source}" does not exist, expected it in {manifest.parent} or the current'
            problems.append(Problem(where, f"{what} directory; correct the path or restore the file"))
    return found, problems + more


def _source(record: Mapping[str, Any]) -> str | None:
    """Return the path of a recording's only file, None if it has another form."""
    given = record.get("sources")
    if not isinstance(given, list) or len(given) != 1 or not isinstance(given[0], dict):
        return None
    path = given[0].get("source")
    is_file = given[0].get("type") == "file" and isinstance(path, str) and path.strip()
    return str(path) if is_file and not record.get("transforms") else None


def _paths(names: set[str], manifest: Path) -> tuple[dict[str, Path], list[Problem]]:
    """Return the file that each name means, as far as there is one."""
    folders = (manifest.parent, Path.cwd())
    found = {name: path for name in sorted(names) if (path := find_audio(name, folders))}
    moved = found_by_ends(sorted(names - found.keys()), names, manifest.parent)
    return found | moved, moved_note(moved, manifest.name)


def _utterance(
    where: str, record: Mapping[str, Any], recordings: Mapping[str, _Recording]
) -> Utterance | Problem:
    """Return the utterance of a supervision, or what is wrong with it."""
    key, name, text = (record.get(field) for field in ("id", "recording_id", "text"))
    if not all(isinstance(value, str) and value.strip() for value in (key, name)):
        return Problem(where, 'no "id" or no "recording_id", expected names; correct the line')
    key = name_without_spaces(str(key))
    if not isinstance(text, str):
        return Problem(where, f'"{key}": no "text", expected the words spoken; write them or remove the line')
    start_s, duration_s = (_seconds(record.get(field)) for field in ("start", "duration"))
    if start_s is None or not duration_s:
        what = f'"{key}": no "start" or no "duration", expected seconds from 0 on; correct the times'
        return Problem(where, what)
    recording = recordings.get(str(name))
    if recording is None or recording.path is None:
        what = f'"{key}": recording "{name}" is not there, expected it in the manifest of recordings'
        return Problem(where, f"{what}; add it or remove the line")
    is_to_end = start_s + duration_s >= recording.duration_s - _WHOLE_S
    end_s = None if is_to_end else round(start_s + duration_s, 6)
    speaker = record.get("speaker")
    named = name_without_spaces(speaker) if isinstance(speaker, str) else ""
    return Utterance(key, recording.path, words_of(text), named or NOBODY_SAYS, start_s, end_s)


def _seconds(value: object) -> float | None:
    """Return a time from 0 on, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e9 and math.isfinite(value) else None


def _records(manifest: Path) -> Iterator[tuple[str, dict[str, Any] | Problem]]:
    """Yield place and content of each line; a file that is damaged ends in a problem."""
    number = 0
    try:
        with (gzip.open if manifest.suffix == ".gz" else open)(manifest, "rb") as file:
            lines = pieces_of(file, manifest.stat().st_size, _LONGEST_LINE)
            for number, line in enumerate(lines, 1):
                where = f"{manifest.name}:{number}"
                if line.strip():
                    yield where, _record(where, line)
                if len(line) == _LONGEST_LINE:
                    return
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        what = f"cannot be read ({reason}), expected lines of JSON, whole; save the manifest anew"
        yield manifest.name, Problem(f"{manifest.name}:{number + 1}", what)


def _record(where: str, line: bytes) -> dict[str, Any] | Problem:
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        record = None
    if isinstance(record, dict):
        return record
    return Problem(where, "no JSON object in UTF-8, expected one a line; correct the line")


LHOTSE = Layout("lhotse", sources, scan)
