"""Files: written whole or not at all, known by their hash, and errors of a disk in one line."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from asr.errors import ConfigError, ExperimentError
from foundation.errors import AsrError
from foundation.files import is_replaced, reason_of, text_of, write_whole
from foundation.records import CONTENT_ERRORS, first_line, parsed_json


def as_plain(value: object) -> Any:
    """Return dataclasses, mappings, tuples and paths in a form that JSON can hold."""
    if is_dataclass(value) and not isinstance(value, type):
        return as_plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def write_json(path: Path, value: object) -> None:
    """Write a file whole or not at all, the same bytes for the same value."""
    write_text(path, json.dumps(as_plain(value), indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def check_target(path: Path, option: str) -> None:
    """Raise an error if no file can be written there, before time is spent on what is to be in it."""
    if path.is_dir():
        raise ConfigError(f"{option}: {path} is a directory, expected a file; choose another name")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{option}: {path.parent}: no such directory, expected one to write to; make it")
    if not is_replaced(path):  # a device, say
        return
    place = Path(os.path.realpath(path)).parent  # where a link leads to
    if not os.access(place, os.W_OK | os.X_OK):
        cure = "choose another place, or change its permissions"
        raise ConfigError(f"{option}: {place}: cannot be written to, expected that it can; {cure}")


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file whole or not at all, see `foundation.files.whole_file`."""
    write_whole(path, text.encode())


def read_json(path: Path, verb: str = "train") -> Any:
    """Return the content of a JSON file; a missing or broken file raises an error of one line.

    ``verb`` is the one that writes such files, for the error.
    """
    try:
        return parsed_json(text_of(path))
    except FileNotFoundError:
        raise ExperimentError(
            f"{path}: not found, expected a file that asr wrote; check the directory"
        ) from None
    except (OSError, ValueError) as error:
        raise ExperimentError(
            f"{path}: cannot be read ({error}); expected JSON that asr wrote; run asr {verb} again"
        ) from None


def read_object(path: Path, verb: str = "train") -> dict[str, Any]:
    """Return the object that a JSON file holds; anything else in it raises an error of one line."""
    content = read_json(path, verb)
    if not isinstance(content, dict):
        raise ExperimentError(
            f"{path}: holds a {type(content).__name__}, expected an object that asr wrote; "
            f"run asr {verb} again"
        )
    return content


@contextmanager
def as_train_wrote(path: Path, verb: str = "train") -> Iterator[None]:
    """Turn what is missing or wrong in the content of a file that was read into an error of one line.

    ``verb`` is the one that writes such files, if it is not ``train``.
    """
    try:
        yield
    except CONTENT_ERRORS as error:
        raise ExperimentError(
            f"{path}: not as asr {verb} writes it ({type(error).__name__}: {first_line(error)}); "
            f"run asr {verb} again"
        ) from error
    except AsrError as error:  # what a record says of the values that it cannot have
        raise error if str(path) in str(error) else type(error)(f"{path}: {error}") from error


@contextmanager
def as_stage_wrote(path: Path) -> Iterator[None]:
    """Turn what is missing or wrong in a file of a stage's output into an error of one line."""
    try:
        yield
    except (*CONTENT_ERRORS, EOFError, OSError, AsrError) as error:
        problem = first_line(error)
        own = problem.removeprefix(f"{path}: ").partition("; ")[0]  # without another cure
        problem = own if isinstance(error, AsrError) else f"{type(error).__name__}: {problem}"
        raise ExperimentError(
            f"{path}: damaged ({problem}), expected it as its stage wrote it; "
            f"delete {path.parent} and run the same training again"
        ) from error


def check_outside(out: str | Path, corpus: str | Path) -> None:
    """Raise an error if what is to be written would lie among a user's recordings."""
    if Path(out).resolve().is_relative_to(Path(corpus).resolve()):
        raise ConfigError(
            f"{out}: lies in the corpus {corpus}; expected a place outside, or what is written there would "
            "be taken for recordings, or take their place; choose another --out"
        )


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def directory_digest(directory: Path, *, without: str = "") -> str:
    """Return the SHA-256 over names and bytes of a directory's files, but for one, in order of names."""
    files = (p for p in directory.rglob("*") if p.is_file() and p != directory / without)
    names = sorted(p.relative_to(directory).as_posix() for p in files)
    return text_digest("\n".join(f"{name} {file_digest(directory / name)}" for name in names))


def file_stem(name: str) -> str:
    """Return the name of a file for an id: what no file name can have is written ``%2F``, ids differ still.

    The end of an id that is too long for a file name is replaced by its hash. A name that Windows keeps for a
    device is not left as it is on any system.

    >>> file_stem("anna-01"), file_stem("../a/b"), file_stem("50%"), file_stem("con")
    ('anna-01', '%2E.%2Fa%2Fb', '50%25', '%63on')
    >>> file_stem("a" * 1000)[-20:]
    'aaa%41edece42d63e8d9'
    """
    found = _NOT_IN_NAMES.sub(lambda match: f"%{ord(match[0]):02X}", name)
    if found.startswith(".") or _DEVICES.match(found):
        found = f"%{ord(found[0]):02X}{found[1:]}"
    as_bytes = found.encode(errors="surrogateescape")
    if len(as_bytes) <= _LONGEST_STEM:
        return found
    digest = hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()
    return f"{as_bytes[: _LONGEST_STEM - 17].decode(errors='ignore')}%{digest[:16]}"


_NOT_IN_NAMES = re.compile(r'[%/\\:*?"<>|\x00-\x1f]')
# With any suffix they stand for a device, in which what is written is lost.
_DEVICES = re.compile(r"(con|prn|aux|nul|(com|lpt)[1-9¹²³])[ ]*($|\.)", re.IGNORECASE)
_LONGEST_STEM = 220  # bytes: a suffix, and the name of a file that is not whole yet, fit behind it


class FilesOfIds:
    """The files of ids in a directory, each of which is written before the next one is asked for.

    Windows and macOS take names for the same that differ in capitals, or in how accents are written: there
    the later one of two such ids gets its hash, so that it does not take the other's place.

    Parameters
    ----------
    directory : where they lie
    suffix : of all of them
    """

    def __init__(self, directory: Path, suffix: str) -> None:
        self._directory, self._suffix = directory, suffix
        self._alike: dict[str, Path] = {}

    def path(self, name: str) -> Path:
        """Return the file of an id."""
        path = self._directory / f"{file_stem(name)}{self._suffix}"
        first = self._alike.setdefault(unicodedata.normalize("NFC", path.name).casefold(), path)
        if first is not path and path.exists() and path.samefile(first):
            return path.with_name(f"{file_stem(name)}%{text_digest(name)[:16]}{self._suffix}")
        return path


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text, which may have names that are not UTF-8."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def said_size(n_bytes: int) -> str:
    """Return a size as people say it.

    >>> said_size(512), said_size(1_500_000), said_size(2_300_000_000)
    ('0.5 kB', '1.5 MB', '2.3 GB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    return f"{n_bytes / 1e3:.1f} kB"


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn errors of a disk that is full, read-only or gone into one line; ``path`` is being written."""
    try:
        yield
    except OSError as error:
        name = Path(error.filename or path)
        # numpy gives no number, only "1000 requested and 10 written".
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or (
            not error.errno and "written" in str(error)
        ):
            free = shutil.disk_usage(_existing_parent(path)).free
            raise ExperimentError(
                f"{name}: no space left on the disk ({free / 1e6:.1f} MB free); finished stages are kept; "
                "free some space and run the same command again"
            ) from error
        raise ExperimentError(
            f"{name}: {reason_of(error)}; expected to read and write there; "
            "check the path, its permissions and --out"
        ) from error


def _existing_parent(path: Path) -> Path:
    return next(p for p in (path, *path.resolve().parents) if p.exists())
