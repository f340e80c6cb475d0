"""The folder of sounds beside a page: its index says which files are ours, and only those are removed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from asr.errors import ConfigError, ExperimentError
from asr.files import read_json, write_json
from asr.reports.sounds import sounds_directory
from foundation.files import write_whole

INDEX = "asr-report.json"


class SoundsBeside:
    """The sounds of a page in ``FILE_audio/``, whose index is ``FILE_audio/asr-report.json``.

    A name is in the index before the file is there and until it is gone, so that a killed run leaves nothing
    that the next one does not know. A folder without an index is not ours, and stays as it is.

    Parameters
    ----------
    page : the page

    Attributes
    ----------
    directory : the folder, whether it is there or not
    """

    def __init__(self, page: Path) -> None:
        self.directory = sounds_directory(page)
        self._earlier = _indexed(self.directory)
        self._written: set[str] = set()

    @property
    def is_foreign(self) -> bool:
        """Whether somebody else made the folder."""
        return self._earlier is None and self.directory.exists()

    def check(self) -> None:
        """Raise an error if sounds cannot lie there, before time is spent on them."""
        if self.is_foreign:
            raise ConfigError(
                f"{self.directory}: not a folder that asr report made, expected none of this name or "
                f"one with {INDEX}; choose another name with --out, or --audio embed"
            )

    def begin(self, names: Collection[str]) -> None:
        """Make the folder, and note that files of these names are ours; others' files are not overwritten."""
        earlier = self._earlier or frozenset()
        for name in names:
            if name not in earlier and (self.directory / name).exists():
                raise ConfigError(
                    f"{self.directory / name}: not a file that asr report wrote, expected none; move it away"
                )
        self.directory.mkdir(exist_ok=True)
        self._earlier = earlier.union(names)
        self._write_index(self._earlier)

    def write(self, name: str, content: bytes) -> Path:
        """Return the path of a file that has been written; its name was noted before."""
        path = self.directory / name
        write_whole(path, content)
        self._written.add(name)
        return path

    def remove_earlier(self) -> None:
        """Remove what only an earlier page had here, and the folder if nothing is left in it."""
        if self._earlier is None:
            return
        for name in self._earlier - self._written:
            (self.directory / name).unlink(missing_ok=True)
        if any(path.name != INDEX for path in self.directory.iterdir()):
            self._write_index(self._written)
        else:
            (self.directory / INDEX).unlink()
            self.directory.rmdir()

    def _write_index(self, names: Collection[str]) -> None:
        write_json(self.directory / INDEX, {"files": sorted(names)})


def _indexed(directory: Path) -> frozenset[str] | None:
    """Return the names of the files that are ours; None where there is no index that we wrote."""
    try:
        record = read_json(directory / INDEX)
    except ExperimentError:
        return None
    names = record.get("files") if isinstance(record, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) and _is_sound(name) for name in names):
        return None
    return frozenset(names)


def _is_sound(name: str) -> bool:
    """Return whether a name is one of a sound in the folder itself."""
    return Path(name).name == name and name.endswith(".flac")
