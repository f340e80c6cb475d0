"""The recordings below a directory: their ids, their speakers, and how tables name them.

A table that was written on another machine, or for another folder, has paths at which nothing lies: what it
means is then found by the ends of its paths.
"""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath

from asr.errors import Problem
from features.ffmpeg import FFMPEG_SUFFIXES

# What libsndfile reads.
SOUND_SUFFIXES = (
    *(".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".sph"),
    *(".aiff", ".aif", ".aifc", ".au", ".snd", ".w64", ".rf64"),
)
AUDIO_SUFFIXES = FFMPEG_SUFFIXES.union(SOUND_SUFFIXES)
# In this order a name without suffix is looked for.
_LOWER = (*SOUND_SUFFIXES, *sorted(FFMPEG_SUFFIXES))
_SUFFIXES = (*_LOWER, *map(str.upper, _LOWER))
# A folder of one of these names says nothing of the speaker.
CONTAINERS = ("audio", "clips", "data", "recordings", "wav", "wavs")
_N_ABOVE = 3  # how many folders above that of a table its paths may begin in; by feel
_Parts = tuple[str, ...]


def visible_files(directory: Path) -> list[Path]:
    """Return what is below a directory, sorted and relative to it, but for hidden files."""
    found: list[tuple[str, ...]] = []
    for folder, folders, files in os.walk(directory):
        # Folders that are changed here in place are those that are walked into.
        folders[:] = [name for name in folders if not name.startswith(".")]
        parts = Path(folder).relative_to(directory).parts
        found += [(*parts, name) for name in (*folders, *files) if not name.startswith(".")]
    return [Path(*parts) for parts in sorted(found)]


def recordings(directory: Path) -> list[Path]:
    """Return the recordings below a directory, sorted and relative to it.

    A video or the like beside its sound (``x.mp4`` and ``x.wav``) is left aside.
    """
    files = [p for p in visible_files(directory) if is_audio(p) and (directory / p).is_file()]
    sounds = {p.with_suffix("") for p in files if not _needs_ffmpeg(p)}
    return [p for p in files if not _needs_ffmpeg(p) or p.with_suffix("") not in sounds]


def _needs_ffmpeg(path: Path) -> bool:
    return path.suffix.lower() in FFMPEG_SUFFIXES


def is_audio(path: Path) -> bool:
    """Return whether a file is called like a recording."""
    return path.suffix.lower() in AUDIO_SUFFIXES


def name_without_spaces(name: str) -> str:
    """Return a name in which white space is ``_``: ids and speakers have none."""
    return "_".join(name.split())


def id_of(path: Path) -> str:
    """Return the id of a recording by its relative path without suffix: its parts joined by ``-``."""
    parts = [name_without_spaces(part) for part in path.parts if part not in ("..", ".", path.anchor)]
    return "-".join(parts)


def folder_speaker(path: Path, key: str) -> str:
    """Return the topmost folder of a relative path as speaker, the recording's id where there is none.

    Folders that are called after what is in them (``wavs``) are passed over.
    """
    folders = [part for part in path.parts[:-1] if part.casefold() not in CONTAINERS]
    return name_without_spaces(folders[0]) if folders else key


def absolute(path: Path) -> Path:
    """Return an absolute path, links as they are."""
    return Path(os.path.abspath(path))


def find_audio(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the file that a name, with or without suffix, means in the first folder that has it."""
    if not name or "\0" in name:
        return None
    suffixes = ("",) if is_audio(Path(name)) else _SUFFIXES
    ways = written_ways(name)
    candidates = (folder / f"{way}{suffix}" for suffix in suffixes for folder in folders for way in ways)
    found = next((path for path in candidates if is_file(path)), None)
    if found is None and "\\" in name:
        return find_audio(name.replace("\\", "/"), folders)
    return absolute(found) if found else None


def written_ways(name: str) -> tuple[str, ...]:
    """Return a name as it is, and with its accents as one letter or apart: old disks of Macs hold them apart.

    >>> [len(way) for way in written_ways("\u00e9")], written_ways("e")
    ([1, 2], ('e',))
    """
    return tuple(dict.fromkeys([name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))]))


def is_file(path: Path) -> bool:
    """Return whether there is a file of this name; False for a name that no file can have."""
    try:
        return path.is_file()
    except OSError:  # a name that is too long, for one
        return False


def found_by_ends(missing: Collection[str], all_names: Collection[str], directory: Path) -> dict[str, Path]:
    """Return the recordings that paths of another machine mean, by their ends, where there is no doubt.

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
    """Return a note for people on recordings that were found by the ends of their paths."""
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
