"""Kaldi data directories, read and written: ``wav.scp``, ``text``, ``utt2spk``, optionally ``segments``."""

from __future__ import annotations

import math
import os
from pathlib import Path

from asr.corpora.layouts.layout import SPLIT_NAMES, WHOLE, Layout, Scan
from asr.corpora.layouts.recordings import found_by_ends, is_file, moved_note, written_ways
from asr.corpora.utterances import Corpus, Utterance, name_fault
from asr.errors import CorpusError, Problem
from asr.formats.tables import IdTable, read_speakers, read_table, words_of
from foundation.errors import in_a_line, listed
from foundation.files import write_together

_N_NAMED = 5  # by feel
_Segment = tuple[str, float, float | None]


def is_kaldi_directory(directory: str | Path) -> bool:
    """Return whether a directory has one of the files only a Kaldi data directory has."""
    directory = Path(directory)
    return any((directory / name).is_file() for name in ("wav.scp", "text", "segments")) or bool(
        _prefixes(directory)
    )


def _prefixes(directory: Path) -> list[str]:
    """Return what the names of the files begin with: "" or, where they are ``train_wav.scp`` or so, that."""
    if (directory / "wav.scp").is_file() or not directory.is_dir():
        return [""] if directory.is_dir() else []
    found = [path.name.removesuffix("wav.scp") for path in sorted(directory.glob("*wav.scp"))]
    return [prefix for prefix in found if (directory / f"{prefix}text").is_file()]


def _sources(path: Path) -> list[Path]:
    """Return the directory if it is a Kaldi data directory; its ``wav.scp`` stands for it, too."""
    directory = path.parent if path.name == "wav.scp" and path.is_file() else path
    return [directory] if is_kaldi_directory(directory) else []


def _scan(directory: Path) -> Scan:
    """Return what is in the files, by splits if there are several sets of them called after splits."""
    prefixes = _prefixes(directory) or [""]
    names = [SPLIT_NAMES.get(prefix.rstrip("_-.").casefold(), "") for prefix in prefixes]
    if len(prefixes) == 1:
        names = [WHOLE]
    elif "train" not in names or not all(names):
        named = listed([f"{prefix}wav.scp" for prefix in prefixes], _N_NAMED)
        return Scan({}, [Problem(".", f"{named}, expected one wav.scp; move the others to other folders")])
    parts, problems = {}, []
    for name, prefix in zip(names, prefixes, strict=True):
        parts[name], more = scan_kaldi(directory, prefix)
        problems += more
    return Scan(parts, problems)


def scan_kaldi(directory: Path, prefix: str = "") -> tuple[list[Utterance], list[Problem]]:
    """Return the usable utterances of a Kaldi data directory and the problems of the others."""
    recordings, problems = read_table(directory / f"{prefix}wav.scp", "recording-id path")
    text, more = read_table(directory / f"{prefix}text", "utterance-id WORD WORD …", may_be_bare=True)
    problems += more
    speakers, more = read_speakers(directory / f"{prefix}utt2spk")
    problems += more
    segments: IdTable | None = None
    if (directory / f"{prefix}segments").exists():
        segments, more = read_table(directory / f"{prefix}segments", "utterance-id recording-id start end")
        problems += more
    elif recordings is not None:
        segments = IdTable(
            recordings.name, {key: (number, f"{key} 0 -1") for key, (number, _) in recordings.rows.items()}
        )

    paths, more = _audio_paths(recordings, directory) if recordings else ({}, [])
    problems += more
    times, more = _segments(segments, recordings) if segments else ({}, [])
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
        Utterance(key, paths[recording], words_of(text.rows[key][1]), speakers.rows[key][1], start_s, end_s)
        for key, (recording, start_s, end_s) in times.items()
        if recording in paths and key in text.rows and key in speakers.rows
    ], problems


def _audio_paths(recordings: IdTable, directory: Path) -> tuple[dict[str, Path], list[Problem]]:
    """Return the absolute path of each recording that exists, and the problems of the others."""
    names = {key: value for key, (_, value) in recordings.rows.items()}
    files = {key: value for key, value in names.items() if not value.endswith("|")}
    found = {key: _existing(value, directory) for key, value in files.items()}
    missing = [files[key] for key, path in found.items() if path is None]
    moved = found_by_ends(missing, files.values(), directory)
    paths = {key: path for key, value in files.items() if (path := found[key] or moved.get(value))}
    problems = []
    for key, value in names.items():
        if key not in files:
            what = (
                f'"{value}" is a command, expected an audio file; run it once and give the path of its output'
            )
            problems.append(Problem(recordings.where(key), what))
        elif key not in paths:
            what = f'audio file "{value}" does not exist, expected it in {directory} or the current directory'
            problems.append(Problem(recordings.where(key), f"{what}; correct the path or restore the file"))
    return paths, problems + moved_note(moved, recordings.name)


def _existing(name: str, directory: Path) -> Path | None:
    places = (base / way for base in (directory, Path.cwd()) for way in written_ways(name))
    candidates = [Path(os.path.abspath(place)) for place in places]
    return next((path for path in candidates if is_file(path)), None)


def _segments(segments: IdTable, recordings: IdTable | None) -> tuple[dict[str, _Segment], list[Problem]]:
    """Return recording, start and end of each well-formed segment, and the problems of the others."""
    times: dict[str, _Segment] = {}
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
            times[key] = (recording, start_s, None if end_s == -1 else end_s)
            continue
        problems.append(Problem(segments.where(key), what))
    return times, problems


def _not_in(keys: IdTable, other: IdTable | None, advice: str) -> list[Problem]:
    """Return a problem for each id of one table that another, if it could be read, does not have."""
    if other is None:
        return []
    return [
        Problem(keys.where(key), f'"{key}" is not in {other.name}, expected it there; {advice}')
        for key in keys.rows
        if key not in other.rows
    ]


def write_kaldi(corpus: Corpus, directory: str | Path) -> None:
    """Write a Kaldi data directory; ``segments`` only if an utterance is less than its whole recording.

    CorpusError if a name or a word would be read as something else.
    """
    for u in corpus:
        if (fault := name_fault(u)) is not None:
            raise CorpusError(f"{in_a_line(str(directory))}: {fault}")
        if broken := [word for word in u.words if word.split() != [word]]:
            raise CorpusError(
                f'{u.utterance_id}: the word "{in_a_line(broken[0])}" is empty or has white space, expected '
                "single words; split it"
            )
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
        in_order = {name: files[name] for name in sorted(files, reverse=True)}  # wav.scp first
        write_together(
            {directory / n: "".join(f"{line}\n" for line in lines).encode() for n, lines in in_order.items()},
            gone=[directory / "segments"] if "segments" not in files else [],
        )
    except OSError as error:
        raise CorpusError(
            f"{directory}: cannot write the corpus ({error.strerror}); "
            "make room or choose another place, then run again"
        ) from error


KALDI = Layout("Kaldi data directory", _sources, _scan)
