"""Recordings that do not lie where a table says: it was written on another machine, or for another folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath

from asr.corpora.layouts.audio_files import absolute, is_audio, is_file, recordings
from asr.errors import Problem

# How many folders above that of the table its paths may begin in.
_N_ABOVE = 3
_Parts = tuple[str, ...]


def found_by_ends(missing: Collection[str], all_names: Collection[str], directory: Path) -> dict[str, Path]:
    """Return the recordings that paths mean by their ends, as far as there is no doubt.

    That is the recording below the directory that has the longest end in common with the path. If none has
    its name, an end that contains a folder may begin in one of the folders above. An end that other paths of
    the table have, too, says nothing: ``anna/01.wav`` is not ``ben/01.wav``.
    """
    if not missing:
        return {}
    directory = absolute(directory)
    uses = Counter(end for name in set(all_names) for end in _ends(_parts(name)))
    below = _by_ends([directory / file for file in recordings(directory)], uses)
    found: dict[str, Path] = {}
    for name in missing:
        parts = _parts(name)
        end = next((end for end in _ends(parts) if end in below), None)
        path, n_common = _above(parts, directory) if end is None else (below[end], len(end))
        if path is not None and uses[parts[len(parts) - n_common :]] == 1:
            found[name] = path
    return found


def _by_ends(files: Sequence[Path], wanted: Collection[_Parts]) -> dict[_Parts, Path | None]:
    """Return recordings by those ends of their paths that are wanted, None for an end that several have."""
    found: dict[_Parts, Path | None] = {}
    for file in files:
        for name in {file.name, file.stem}:
            for end in _ends((*file.parts[:-1], name)):
                if end in wanted:
                    found[end] = None if end in found else file
    return found


def moved_note(found: Mapping[str, Path], where: str) -> list[Problem]:
    """Return what a person should know of recordings found by the ends of their paths."""
    if not found:
        return []
    name, path = next(iter(found.items()))
    what = f'{len(found)} recording(s) are not where "{name}" says, and were found by the ends of their paths'
    return [Problem(where, f"{what}, as {path}", "note")]


def _parts(name: str) -> _Parts:
    """Return the folders and the file name of a path, whatever system it was written on."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return tuple(part for part in parts if part not in ("/", ".."))


def _ends(parts: _Parts) -> list[_Parts]:
    """Return the ends of a path, the longest first."""
    return [parts[first:] for first in range(len(parts))]


def _above(parts: _Parts, directory: Path) -> tuple[Path | None, int]:
    """Return the file above a directory that has the longest end with a folder in it, and its length."""
    if not parts or not is_audio(Path(parts[-1])):
        return None, 0
    for end in _ends(parts)[:-1]:
        for folder in tuple(directory.parents)[:_N_ABOVE]:
            if is_file(folder.joinpath(*end)):
                return folder.joinpath(*end), len(end)
    return None, 0
