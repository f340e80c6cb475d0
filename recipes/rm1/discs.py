"""Finding files on copies of the discs, whatever the case in which the file system shows their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from asr.errors import CorpusError

_SUFFIXES = (".sph", ".wav")
_MOST_LISTED = 20


class Discs:
    """The directory that holds a copy of each disc.

    Parameters
    ----------
    root : the directory
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._listings: dict[Path, dict[str, Path]] = {}

    def find(self, name: str) -> Path | None:
        """Return the file or directory of a relative name, None if there is none."""
        place = self.root
        for part in PurePosixPath(name.strip("/")).parts:
            inside = self._inside(place).get(part.lower())
            if inside is None:
                return None
            place = inside
        return place

    def all_of(self, parts: Mapping[str, Sequence[str]]) -> dict[str, Path]:
        """Return where each part lies, given the names it may have; one error names all that are missing."""
        found = {part: next(filter(None, map(self.find, names)), None) for part, names in parts.items()}
        raise_all(
            [
                f"{self.root / ' or '.join(parts[part])}: not there, expected {part} as on the discs of "
                "LDC93S3A; copy it, or give the directory that holds all discs"
                for part, place in found.items()
                if place is None
            ]
        )
        return {part: place for part, place in found.items() if place is not None}

    def recordings(self, directory: Path) -> list[Path]:
        """Return the recordings in the subdirectories of a directory, sorted."""
        folders = self._inside(directory).values()
        files = (file for folder in folders for file in self._inside(folder).values())
        return sorted(file for file in files if file.suffix.lower() in _SUFFIXES)

    def listed(self, disc: str, names: Iterable[str]) -> list[Path]:
        """Return the recordings of an index, whose names may lack their suffix or have another."""
        found = {name: self._recording(f"{disc}/{name.strip('/')}") for name in names}
        raise_all(
            [
                f"{self.root / disc / name.strip('/')}: no such recording, expected .sph or .wav; copy it"
                for name, place in found.items()
                if place is None
            ]
        )
        return sorted(place for place in found.values() if place is not None)

    def _recording(self, name: str) -> Path | None:
        stem = name[: -len(".sph")] if name.lower().endswith(_SUFFIXES) else name
        return next((p for suffix in _SUFFIXES if (p := self.find(stem + suffix))), None)

    def _inside(self, directory: Path) -> dict[str, Path]:
        """Return what lies in a directory by its name in small letters; nothing in a file."""
        if directory not in self._listings:
            inside = sorted(directory.iterdir()) if directory.is_dir() else []
            self._listings[directory] = {place.name.lower(): place for place in inside}
        return self._listings[directory]


def raise_all(problems: Sequence[str]) -> None:
    """Raise one error that names the problems, one a line; a long list is cut and counted."""
    if problems:
        more = len(problems) - _MOST_LISTED
        rest = [f"and {more} more like these"] if more > 0 else []
        raise CorpusError("\n".join([*problems[:_MOST_LISTED], *rest]))
