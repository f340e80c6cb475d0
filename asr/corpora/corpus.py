"""Corpora on disk: Kaldi data directories, and plain folders of recordings with their texts.

Utterances are always sorted by code point of their ids (Kaldi's ``LC_ALL=C``), whatever the locale or the
file system. Transcripts are split at white space and brought to Unicode normal form C, nothing else.
"""

from __future__ import annotations

import math
import os
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from asr.corpora.utterances import Corpus, Problem, Utterance
from asr.errors import CorpusError

__all__ = [
    "AUDIO_SUFFIXES",
    "SPLITS",
    "Corpus",
    "Problem",
    "Utterance",
    "is_kaldi_directory",
    "problem_report",
    "read_corpus",
    "scan_corpus",
    "write_corpus",
]

AUDIO_SUFFIXES = frozenset({".wav", ".flac", ".mp3", ".ogg", ".sph"})
SPLITS = ("train", "dev", "test")
_MAX_LISTED = 50
# Texts a user keeps beside the recordings that are no transcripts.
_OTHER_TEXTS = frozenset({"lexicon.txt", "word_pairs.txt", "speakers.txt", "readme.txt", "license.txt"})


def read_corpus(directory: str | Path) -> Corpus:
    """Return the corpus in a Kaldi data directory or a plain folder.

    A *Kaldi directory* has ``wav.scp``, ``text``, ``utt2spk`` and optionally ``segments`` (an end of -1 is
    the end of the recording). Relative audio paths are taken from that directory, else from the current one.

    A *plain folder* has ``name.wav`` (or flac, mp3, ogg, sph) beside ``name.txt``, in subfolders or not. The
    id of ``anna/day1/x.wav`` is ``anna-day1-x`` (white space becomes ``_``), its speaker the topmost
    subfolder, ``anna``. A recording at the top is taken for a speaker of its own. A file ``utt2spk`` or
    ``speakers.txt`` at the top, with lines "id speaker", overrules both. Hidden files are left aside.

    An empty transcript is read as no words; whether that is wanted is for `asr.corpora.validation` to ask.

    Raises
    ------
    CorpusError
        One error with every structural problem on a line of its own.
    """
    corpus, problems = scan_corpus(directory)
    if problems:
        raise CorpusError(problem_report(directory, problems))
    return corpus


def problem_report(directory: str | Path, problems: Iterable[Problem]) -> str:
    """Return one line for a single problem, else a summary line and one line per problem."""
    lines = [str(problem) for problem in problems]
    if len(lines) == 1:
        return f"{directory}: {lines[0]}"
    head = f"{directory}: {len(lines)} problems, expected none; correct them and run again"
    tail = (
        [f"and {len(lines) - _MAX_LISTED} more, see: asr validate {directory}"]
        if len(lines) > _MAX_LISTED
        else []
    )
    return "\n".join([head, *lines[:_MAX_LISTED], *tail])


def is_kaldi_directory(directory: str | Path) -> bool:
    """Return whether a directory has one of the files only a Kaldi data directory has."""
    return any((Path(directory) / name).is_file() for name in ("wav.scp", "text", "segments"))


def scan_corpus(directory: str | Path) -> tuple[Corpus, tuple[Problem, ...]]:
    """Return the utterances that can be used, and the structural problems of all others."""
    directory = Path(directory)
    if not directory.is_dir():
        raise CorpusError(f"{directory}: no such directory, expected a corpus; check the path")
    if is_kaldi_directory(directory):
        utterances, problems = _scan_kaldi(directory)
    elif (directory / "train").is_dir():
        raise CorpusError(
            f"{directory}: has a subdirectory train, expected one data directory or folder of recordings; "
            f"give {directory / 'train'}, or the whole to the recipe folder"
        )
    else:
        utterances, problems = _scan_folder(directory)
    if not utterances and not problems:
        suffixes = " ".join(sorted(AUDIO_SUFFIXES))
        what = (
            f"no utterances, expected wav.scp, text and utt2spk, or recordings ({suffixes}) each with a .txt"
        )
        problems = [Problem(".", f"{what}; check the path")]
    return Corpus(tuple(utterances)), tuple(problems)


def write_corpus(corpus: Corpus, directory: str | Path) -> None:
    """Write a Kaldi data directory; ``segments`` only if an utterance is less than its whole recording."""
    directory = Path(directory)
    files = {
        "text": [" ".join([u.utterance_id, *u.words]) for u in corpus],
        "utt2spk": [f"{u.utterance_id} {u.speaker}" for u in corpus],
    }
    if all(u.is_whole_file for u in corpus):
        files["wav.scp"] = [f"{u.utterance_id} {u.audio_path.as_posix()}" for u in corpus]
    else:
        # A recording is called after its first utterance: that is unique and survives equal file names.
        recordings = {u.audio_path: u.utterance_id for u in reversed(corpus.utterances)}
        files["segments"] = [
            f"{u.utterance_id} {recordings[u.audio_path]} {u.start_s} {-1 if u.end_s is None else u.end_s}"
            for u in corpus
        ]
        files["wav.scp"] = sorted(f"{recording} {path.as_posix()}" for path, recording in recordings.items())
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "segments").unlink(missing_ok=True)
        for name, lines in files.items():
            (directory / name).write_text(
                "".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n"
            )
    except OSError as error:
        raise CorpusError(
            f"{directory}: cannot write the corpus ({error.strerror}); "
            "make room or choose another place, then run again"
        ) from error


@dataclass(frozen=True)
class _Table:
    """The lines of a Kaldi file: id -> (line number, what follows the id)."""

    name: str
    rows: Mapping[str, tuple[int, str]]

    def where(self, key: str) -> str:
        return f"{self.name}:{self.rows[key][0]}"


def _read_text(path: Path, where: str, expected: str) -> tuple[str | None, list[Problem]]:
    """Return the text of a file, or None and why it cannot be had."""
    try:
        return path.read_bytes().decode("utf-8-sig"), []
    except OSError as error:
        what = f"cannot be read ({error.strerror}), expected {expected}; write the file"
    except UnicodeDecodeError as error:
        where = f"{where}:{1 + error.object[: error.start].count(bytes([10]))}"
        what = f"not UTF-8, expected {expected} in UTF-8; convert it with iconv"
    return None, [Problem(where, what)]


def _read_table(
    path: Path, expected: str, *, may_be_bare: bool = False
) -> tuple[_Table | None, list[Problem]]:
    """Return the table in a file (None if it cannot be read) and the problems of its lines."""
    text, problems = _read_text(path, path.name, f'lines "{expected}"')
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
    return _Table(path.name, rows), problems


def _not_in(keys: _Table, other: _Table | None, advice: str) -> list[Problem]:
    """Return a problem for each id of one table that another, if it could be read, does not have."""
    if other is None:
        return []
    return [
        Problem(keys.where(key), f'"{key}" is not in {other.name}, expected it there; {advice}')
        for key in keys.rows
        if key not in other.rows
    ]


def _scan_kaldi(directory: Path) -> tuple[list[Utterance], list[Problem]]:
    """Return the usable utterances of a Kaldi data directory and the problems of the others."""
    recordings, problems = _read_table(directory / "wav.scp", "recording-id path")
    text, more = _read_table(directory / "text", "utterance-id WORD WORD …", may_be_bare=True)
    problems += more
    speakers, more = _read_speakers(directory / "utt2spk")
    problems += more
    segments: _Table | None = None
    if (directory / "segments").exists():
        segments, more = _read_table(directory / "segments", "utterance-id recording-id start end")
        problems += more
    elif recordings is not None:
        segments = _Table(
            "wav.scp", {key: (number, f"{key} 0 -1") for key, (number, _) in recordings.rows.items()}
        )

    paths, more = _audio_paths(recordings, directory) if recordings else ({}, [])
    problems += more
    stretches, more = _stretches(segments, recordings) if segments else ({}, [])
    problems += more
    if segments:
        problems += _not_in(segments, text, "give it a transcript or remove it")
    if text:
        problems += _not_in(text, segments, "add its recording or remove the line")
        problems += _not_in(text, speakers, "name its speaker (the utterance id itself if unknown)")
    if speakers:
        problems += _not_in(speakers, text, "give it a transcript or remove the line")
    if not text or not speakers:
        return [], problems
    return [
        Utterance(key, paths[recording], _words(text.rows[key][1]), speakers.rows[key][1], start_s, end_s)
        for key, (recording, start_s, end_s) in stretches.items()
        if recording in paths and key in text.rows and key in speakers.rows
    ], problems


def _audio_paths(recordings: _Table, directory: Path) -> tuple[dict[str, Path], list[Problem]]:
    """Return the absolute path of each recording that exists, and the problems of the others."""
    paths: dict[str, Path] = {}
    problems = []
    for key, (_, value) in recordings.rows.items():
        if value.endswith("|"):
            what = (
                f'"{value}" is a command, expected an audio file; run it once and give the path of its output'
            )
            problems.append(Problem(recordings.where(key), what))
            continue
        candidates = [Path(os.path.abspath(base / value)) for base in (directory, Path.cwd())]
        found = next((path for path in candidates if path.is_file()), None)
        if found is None:
            what = f'audio file "{value}" does not exist, expected it in {directory} or the current directory'
            problems.append(Problem(recordings.where(key), f"{what}; correct the path or restore the file"))
        else:
            paths[key] = found
    return paths, problems


_Stretch = tuple[str, float, float | None]


def _stretches(segments: _Table, recordings: _Table | None) -> tuple[dict[str, _Stretch], list[Problem]]:
    """Return recording, start and end of each well-formed segment, and the problems of the others."""
    stretches: dict[str, _Stretch] = {}
    problems = []
    for key, (_, value) in segments.rows.items():
        fields = value.split()
        try:
            recording, start_s, end_s = fields[0], float(fields[1]), float(fields[2])
            well_formed = len(fields) == 3 and math.isfinite(start_s) and math.isfinite(end_s)
        except (IndexError, ValueError):
            well_formed = False
        if not well_formed:
            what = f'"{value}" is malformed, expected "recording-id start end" in seconds; correct the line'
        elif start_s < 0 or (end_s != -1 and end_s <= start_s):
            what = f"goes from {start_s:g} s to {end_s:g} s, expected 0 <= start < end; correct the times"
        elif recordings is not None and recording not in recordings.rows:
            what = f'recording "{recording}" is not in wav.scp, expected it there; add it or remove the line'
        else:
            stretches[key] = (recording, start_s, None if end_s == -1 else end_s)
            continue
        problems.append(Problem(segments.where(key), what))
    return stretches, problems


def _read_speakers(path: Path) -> tuple[_Table | None, list[Problem]]:
    table, problems = _read_table(path, "utterance-id speaker")
    for key, (_, speaker) in table.rows.items() if table else ():
        if len(speaker.split()) > 1:
            what = f'speaker "{speaker}" has white space, expected one name; join it with "_"'
            problems.append(Problem(table.where(key) if table else "", what))
    return table, problems


def _scan_folder(directory: Path) -> tuple[list[Utterance], list[Problem]]:
    """Return the usable utterances of a plain folder and the problems of its other files."""
    below = sorted(p.relative_to(directory) for p in directory.rglob("*"))
    below = [p for p in below if not any(part.startswith(".") for part in p.parts)]
    files = [p for p in below if (directory / p).is_file()]
    recordings = [p for p in files if p.suffix.lower() in AUDIO_SUFFIXES]
    texts = {p.with_suffix(""): p for p in files if _is_transcript(p)}
    speakers, problems = _folder_speakers(directory)
    what = "a link to a folder (not followed) or to nothing, expected what it stands for; move that here"
    problems += [
        Problem(str(p), what) for p in below if (directory / p).is_symlink() and not (directory / p).is_file()
    ]
    utterances: dict[str, Utterance] = {}
    for path in recordings:
        key = "-".join("_".join(part.split()) for part in path.with_suffix("").parts)
        stem = path.with_suffix("")
        if key in utterances:
            other = utterances[key].audio_path.name
            what = f'duplicate id "{key}" (that of {other} too), expected distinct ids; rename one'
        elif stem not in texts:
            what = f'no transcript, expected "{stem.name}.txt" beside it; write it or move the recording away'
        elif speakers and key not in speakers.rows:
            what = f'its id "{key}" is not in {speakers.name}, expected it there; name its speaker'
        else:
            text, unreadable = _read_text(directory / texts[stem], str(texts[stem]), "the words spoken")
            problems += unreadable
            speaker = speakers.rows[key][1] if speakers else _folder_speaker(path, key)
            if text is not None:
                audio = Path(os.path.abspath(directory / path))
                utterances[key] = Utterance(key, audio, _words(text), speaker)
            continue
        problems.append(Problem(str(path), what))
    stems = {p.with_suffix("") for p in recordings}
    what = "no recording, expected one of the same name beside it; add it or remove the text"
    problems += [Problem(str(path), what) for stem, path in texts.items() if stem not in stems]
    return list(utterances.values()), problems


def _is_transcript(path: Path) -> bool:
    return path.suffix.lower() == ".txt" and path.name.lower() not in _OTHER_TEXTS


def _folder_speakers(directory: Path) -> tuple[_Table | None, list[Problem]]:
    for name in ("utt2spk", "speakers.txt"):
        if (directory / name).is_file():
            return _read_speakers(directory / name)
    return None, []


def _folder_speaker(path: Path, key: str) -> str:
    """Return the topmost folder as speaker, the utterance's own id where there is none."""
    return "_".join(path.parts[0].split()) if len(path.parts) > 1 else key


def _words(transcript: str) -> tuple[str, ...]:
    return tuple(unicodedata.normalize("NFC", transcript).split())
