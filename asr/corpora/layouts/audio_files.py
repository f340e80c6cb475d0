"""The recordings below a directory: their ids, their speakers, and how tables name them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

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
    candidates = (folder / f"{name}{suffix}" for suffix in suffixes for folder in folders)
    found = next((path for path in candidates if is_file(path)), None)
    if found is None and "\\" in name:
        return find_audio(name.replace("\\", "/"), folders)
    return absolute(found) if found else None


def is_file(path: Path) -> bool:
    """Return whether there is such a file; a name that cannot be one is none."""
    try:
        return path.is_file()
    except OSError:  # a name that is too long, for one
        return False
