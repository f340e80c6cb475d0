"""Functions that numba compiles, and whose machine code is kept on disk where that is possible.

The files lie in the user's directory for such things (`cache_directory`), in a folder for each source, of a
module and of what goes into its code, and each version of numba and Python: installations that share these
share the folder, others never meet in one. A folder that nobody has used for a month goes when something new
is compiled. Nothing is written beside the modules, unless there is no such directory for this user.
``NUMBA_CACHE_DIR`` names another place, as for all of numba.

What lies there never keeps a program from running. Each file has a checksum, and says of which source it is:
that of the function's module, and of the modules with compiled functions which that one imports, for these
may go into its machine code. What is damaged, of other source or of another numba is compiled again. Where
nothing can be written, every run compiles what it needs, and one line says so. As with the bytecode of
modules, whoever can write these files can run code as who runs this program: a directory of another user is
not taken.

numba itself reads what is there without a look at whether it is whole, and refuses to decorate a function
whose code it cannot keep.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache as kept
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from foundation.threads import NUMBA_THREADS, drop_unusable_threads

logger = logging.getLogger(__name__)
if (_unusable := drop_unusable_threads()) is not None:  # before numba reads it
    logger.warning(
        "%s is %.40r, expected a whole number from 1 on; unset it: it is passed over",
        NUMBA_THREADS,
        _unusable,
    )

import numba  # noqa: E402
from numba.core.caching import (  # noqa: E402
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    NullCache,
)
from numba.core.dispatcher import Dispatcher  # noqa: E402

_DIGEST_BYTES = 32
_DAY_S = 86400.0
_UNUSED_S = 30 * _DAY_S  # after which a folder goes; by feel
_SUFFIX = "-checked"  # in names of files: numba takes none of them for its own
_IMPORTED = re.compile(r"^(?:from ([\w.]+) import (\([^)]*\)|[^\n]*)|import ([\w.]+))", re.MULTILINE)


def njit(
    *,
    cache: bool = False,
    nogil: bool = False,
    fastmath: bool | set[str] = False,
    inline: Literal["never", "always"] = "never",
    forceinline: bool = False,
) -> Any:
    """Return numba's ``njit`` decorator with these options; this module keeps its machine code on disk.

    >>> @njit(nogil=True)
    ... def twice(x):
    ...     return 2 * x
    >>> twice(3)
    6
    """
    compiled = numba.njit(nogil=nogil, fastmath=fastmath, inline=inline, forceinline=forceinline)

    def decorated(function: Callable[..., Any]) -> Any:
        kernel: Any = compiled(function)
        if cache and isinstance(kernel, Dispatcher):  # NUMBA_DISABLE_JIT leaves functions as they are
            kernel._cache = _code_of(function)  # type: ignore[attr-defined]  # its own enable_caching
        return kernel

    return decorated


def _code_of(function: Callable[..., Any]) -> Any:
    """Return the place of a function's code."""
    try:
        return _KeptCode(function)
    except (RuntimeError, OSError):  # numba knows no place
        return _NoPlace()


class _CodeFiles(IndexDataCacheFile):
    """The files of one function's code, each with a checksum before it.

    The code of a signature has a name of its own: of two processes that compile at the same time neither
    takes the other's code for that of another signature.
    """

    def save(self, key: object, data: object) -> None:
        """Write the code of a signature; what was there before goes."""
        name = self._data_name(hashlib.sha256(repr(key).encode()).hexdigest()[:16])
        self._save_data(name, data)
        overloads = self._load_index()
        if overloads.get(key) != name:
            self._save_index({**overloads, key: name})

    def _data_name(self, number: object) -> str:
        return f"{self._index_name.removesuffix('.nbi')}.{number}.nbc"

    def _load_index(self) -> dict[Any, str]:
        """Return the names of the files by signature; none where the index is damaged or of other source."""
        try:
            version, stamp, overloads = pickle.loads(_checked(Path(self._index_path)))  # noqa: S301
            if (version, stamp) != (self._version, self._source_stamp):
                return {}
            found: dict[Any, str] = pickle.loads(overloads)  # noqa: S301
        except FileNotFoundError:
            return {}
        except Exception as error:  # whatever pickle makes of classes that are gone
            logger.debug("%s: compiled again (%s)", self._index_path, error)
            return {}
        return found

    def _save_index(self, overloads: dict[Any, str]) -> None:
        content = self._version, self._source_stamp, self._dump(overloads)
        self._write(self._index_path, pickle.dumps(content))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(_checked(Path(self._data_path(name))))  # noqa: S301

    def _save_data(self, name: str, data: object) -> None:
        self._write(self._data_path(name), self._dump(data))

    def _write(self, path: str, content: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(content).digest() + content)


def cache_directory() -> Path | None:
    """Return where this user's programs keep what can be made again, by the custom of the system.

    None where that is not known, or belongs to somebody else.
    """
    try:
        home = Path.home()
    except RuntimeError:  # nobody knows
        return None
    if sys.platform == "win32":
        place = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        place = home / "Library" / "Caches"
    else:
        given = os.environ.get("XDG_CACHE_HOME", "")
        place = Path(given) if os.path.isabs(given) else home / ".cache"
    return place / "asr-sparse-kernel"


@kept
def _may_keep(root: Path) -> bool:
    """Return whether files can be written below a directory of this user's, which is made."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            return not hasattr(os, "geteuid") or root.stat().st_uid == os.geteuid()
    except OSError:
        return False


class _UsersFolder:
    """What numba calls a locator: the folder of a module's code in the user's directory."""

    def __init__(self, function: Callable[..., Any], path: Path, root: Path) -> None:
        self._root, self._line = root, function.__code__.co_firstlineno
        self._stamp = _source_stamp(path, None)
        version = f"{self._stamp} numba {numba.__version__} {sys.implementation.cache_tag}"
        self._folder = root / f"{path.stem}-{hashlib.sha256(version.encode()).hexdigest()[:16]}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _UsersFolder | None:
        """Return the folder of a function's file; None where there is no such file, or no place."""
        place = cache_directory()
        if place is None or not Path(file).is_file() or not _may_keep(place / "compiled"):
            return None
        found = cls(function, Path(file), place / "compiled")
        found.mark_used()
        return found

    def mark_used(self) -> None:
        """Note that the folder is in use, if it is there, once a day."""
        with contextlib.suppress(OSError):
            if time.time() - self._folder.stat().st_mtime > _DAY_S:
                os.utime(self._folder)

    def ensure_cache_path(self) -> None:
        """Make the folder; when it is new, others that nobody has used for long go."""
        if not self._folder.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                for other in self._root.iterdir():
                    if other.is_dir() and time.time() - other.stat().st_mtime > _UNUSED_S:
                        shutil.rmtree(other, ignore_errors=True)

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return what tells the source from others."""
        return self._stamp

    def get_disambiguator(self) -> str:
        """Return what tells the function from others of its name."""
        return str(self._line)


class _Compiled(CompileResultCacheImpl):
    """numba's own, with the user's directory behind ``NUMBA_CACHE_DIR`` and before any other place."""

    _locator_classes = [  # noqa: RUF012 (as numba has it)
        *CompileResultCacheImpl._locator_classes[:1],
        _UsersFolder,  # type: ignore[list-item]  # numba says it wants any class
        *CompileResultCacheImpl._locator_classes[1:],
    ]


class _KeptCode(FunctionCache):
    """A function's code on disk, of which nothing is trusted that is not whole."""

    _impl_class = _Compiled

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = _source_stamp(Path(function.__code__.co_filename), self._impl.locator)
        self._cache_file = _CodeFiles(self._cache_path, f"{self._impl.filename_base}{_SUFFIX}", stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code of a signature; None where there is none that can be used."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # whatever pickle, numba and LLVM make of it
            logger.debug("%s: compiled again (%s)", self._cache_path, error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the code of a signature, if the disk allows it."""
        with _told_of(self._cache_path):
            super().save_overload(sig, data)


class _NoPlace(NullCache):
    """No place for a function's code; the first function that is compiled says so."""

    def save_overload(self, sig: Any, data: Any) -> None:
        """Say that nothing is kept."""
        _tell("no directory for it can be written")


@contextlib.contextmanager
def _told_of(place: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # a disk that is full, a directory that is gone: the code runs all the same
        _tell(f"{place}: {getattr(error, 'strerror', None) or error}")


def _tell(why: str) -> None:
    """Say, once a process, that code is not kept."""
    if not _told:
        _told.append(why)
        logger.warning(
            "compiled code cannot be kept (%s): every run will compile for some twenty seconds; "
            "set NUMBA_CACHE_DIR to a directory that can be written",
            why,
        )


_told: list[str] = []


def _checked(path: Path) -> bytes:
    """Return the content of a file behind its checksum.

    Raises
    ------
    OSError : it cannot be read, or is not as it was written
    """
    content = path.read_bytes()
    if hashlib.sha256(content[_DIGEST_BYTES:]).digest() != content[:_DIGEST_BYTES]:
        raise OSError(f"{path} is not as it was written")
    return content[_DIGEST_BYTES:]


def _source_stamp(path: Path, locator: Any) -> str:
    """Return what tells the source of a module's compiled functions from others, whatever its files' times.

    numba's own stamp stands for it only where there is no such file, as in an archive: of older versions it
    is a time and a size, which change where the source does not, and may stay where it does.
    """
    if not path.is_file():
        return str(locator.get_source_stamp())
    return "".join(_source(file).digest for file in files_of_kernels(path))


def files_of_kernels(path: Path) -> tuple[Path, ...]:
    """Return the files whose compiled functions, constants and records may go into a module's machine code.

    They are the module's own, and those of the modules with compiled functions which it imports, and so on.
    """
    stat = path.stat()
    return _found_files(path, stat.st_mtime_ns, stat.st_size)


@kept
def _found_files(path: Path, mtime_ns: int, n_bytes: int) -> tuple[Path, ...]:
    """Return the files of the kernels of a module, found once for all of its functions."""
    found, waiting = [path], [path]
    while waiting:
        for name in _source(waiting.pop()).imported:
            module = sys.modules.get(name)
            if module is not None and vars(module).get("njit") is njit:
                file = Path(module.__file__ or "")
                if file not in found and file.is_file():
                    found.append(file)
                    waiting.append(file)
    return (path, *sorted(found[1:]))


class _Source(NamedTuple):
    """The hash of a source, and the names of what may be modules that it imports."""

    digest: str
    imported: tuple[str, ...]


def _source(path: Path) -> _Source:
    stat = path.stat()
    return _read_source(path, stat.st_mtime_ns, stat.st_size)


@kept
def _read_source(path: Path, mtime_ns: int, n_bytes: int) -> _Source:
    """Return what a file holds, read once for all functions of a file that does not change meanwhile."""
    content = path.read_bytes()
    names: list[str] = []
    for origin, imported, module in _IMPORTED.findall(content.decode()):
        names += [module or origin, *(f"{origin}.{name}" for name in re.findall(r"\w+", imported))]
    return _Source(hashlib.sha256(content).hexdigest(), tuple(dict.fromkeys(names)))


_LOG2_E = np.float32(1.44269504)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_EXPONENT_BIAS, _MANTISSA_BITS = np.int32(127), np.int32(23)
_HALF, _ONE = np.float32(0.5), np.float32(1)
_OVER_6, _OVER_24, _OVER_120 = np.float32(1 / 6), np.float32(1 / 24), np.float32(1 / 120)
_OVER_720, _OVER_5040 = np.float32(1 / 720), np.float32(1 / 5040)


@njit(nogil=True, cache=True, inline="always")
def single_exp(v):  # type: ignore[no-untyped-def]  # inlined: numba types it where it stands
    """Return e^v of a number within ±80 in single precision by Taylor's series, without a branch.

    Its operations are such as processors vectorise, which those of ``np.exp`` in a kernel are not.
    """
    n = np.floor(v * _LOG2_E + _HALF)
    g = v - n * _LN2_HIGH - n * _LN2_LOW
    p = (((_OVER_5040 * g + _OVER_720) * g + _OVER_120) * g + _OVER_24) * g + _OVER_6
    power = np.int32((np.int32(n) + _EXPONENT_BIAS) << _MANTISSA_BITS).view(np.float32)
    return ((p * g + _HALF) * g * g + g + _ONE) * power
