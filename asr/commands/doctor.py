"""What an installation lacks: packages, memory, disk, audio formats, compiled code; and a trial of the whole.

Whatever a check needs is imported inside it: that a package is missing or broken is a finding.
To add a check: a function that yields findings, and a row of `CHECKS`.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, Literal

from asr.errors import ExperimentError
from asr.files import said_size
from foundation.errors import AsrError
from foundation.files import temporary_folder
from foundation.version import DISTRIBUTION, how_to_install, package_version

Severity = Literal["ok", "note", "warning", "error"]

LITTLE_MEMORY, LITTLE_DISK = 1_000_000_000, 1_000_000_000  # bytes, by feel
_MODULES = {"scikit-learn": "sklearn", "pillow": "PIL"}  # where the module's name is not the package's
_FOR = {
    "demo": "asr demo",
    "english": "asr lexicon --english",
    "numerals": "--set text=en and other languages",
    "cluster": "--scheduler and --cluster",
    "report": "asr report",
    "serve": "asr serve",
    "listen": "asr listen with a microphone",
}
_REQUIREMENT = re.compile(r"([\w.-]+)\s*(?:>=\s*([\d.]+))?[^;]*(?:;\s*extra == ['\"](\w+)['\"])?")


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, what is there, and what to do if that is not enough."""

    severity: Severity
    what: str
    cure: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {self.what}{f'; {self.cure}' if self.cure else ''}"


def diagnosed(
    *, with_self_test: bool = True, tell: Callable[[str], object] = lambda what: None
) -> Iterator[Finding]:
    """Yield all findings; a check that fails itself is one, too.

    What the trial is doing is told while it is done.
    """
    trial: list[Callable[[], Iterator[Finding]]] = [partial(_self_test, tell)] if with_self_test else []
    for check in [*CHECKS, *trial]:
        yield from _carried_out(check)


def _carried_out(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except Exception as error:  # whatever is wrong with an installation must not end the diagnosis
        name = getattr(check, "__name__", "self-test").strip("_").replace("_", " ")
        said = str(error).partition("\n")[0]
        yield Finding("error", f"{name}: fails ({type(error).__name__}: {said})", _reinstall())


def _reinstall() -> str:
    return f"install again, with --force-reinstall: {how_to_install()}"


def findings_record(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the findings as JSON can hold them, and how many are errors and warnings."""
    counts = {f"{kind}s": sum(f.severity == kind for f in findings) for kind in ("error", "warning")}
    rows = [{"severity": f.severity, "what": f.what, "cure": f.cure or None} for f in findings]
    return {**counts, "findings": rows}


def _code() -> Iterator[Finding]:
    place = Path(__file__).resolve().parents[1]
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Finding("ok", f"asr {package_version()} in {place}, {system}")


def _environment() -> Iterator[Finding]:
    """Yield a warning if numba could not be imported with its variable, which is passed over from here on."""
    from foundation.threads import NUMBA_THREADS, drop_unusable_threads

    if (value := drop_unusable_threads()) is not None:
        what = f"{NUMBA_THREADS} is {value[:40]!r}, expected a whole number from 1 on; it is passed over"
        yield Finding("warning", what, "unset it")


def _packages() -> Iterator[Finding]:
    """Yield one finding for all packages that are there, one for each that is not, and one for each extra."""
    try:
        wanted = [m.groups() for line in requires(DISTRIBUTION) or () if (m := _REQUIREMENT.match(line))]
    except PackageNotFoundError:
        yield Finding("warning", f"{DISTRIBUTION}: a source tree that is not installed", "pip install -e .")
        return
    present, faults = [], []
    for name, least, extra in wanted:
        if extra is None:
            fault = _fault(name, least)
            if fault:
                faults.append(Finding("error", fault, f'pip install --upgrade "{name}>={least or 0}"'))
            else:
                present.append(f"{name} {version(name)}")
    yield Finding("ok", f"packages: {', '.join(present)}")
    yield from faults
    for extra, use in _FOR.items():
        names = [(name, least) for name, least, of in wanted if of == extra]
        missing = [fault for name, least in names if (fault := _fault(name, least))]
        if missing:
            what = f"extra {extra}, for {use}: {'; '.join(missing)}"
            yield Finding("note", what, f"if wanted: {how_to_install(extra)}")
        else:
            yield Finding("ok", f"extra {extra}, for {use}: installed")


def _fault(name: str, least: str | None) -> str:
    """Return what is wrong with a package, nothing if it is as it should be."""
    try:
        found = version(name)
        importlib.import_module(_MODULES.get(name, name.replace("-", "_")))
    except PackageNotFoundError:
        return f"{name} is not installed"
    except Exception as error:  # a broken library may raise anything
        return f"{name} cannot be imported ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
    if least is not None and _numbers(found) < _numbers(least):
        return f"{name} {found} is too old, expected {least}"
    return ""


def _numbers(text: str) -> list[int]:
    """Return the numbers that a version begins with.

    >>> _numbers("1.26.4rc1") < _numbers("2.0")
    True
    """
    return [int(part) for part in re.findall(r"\d+", text)[:3]]


def _cores() -> Iterator[Finding]:
    import numpy as np
    import scipy.linalg  # noqa: F401 (its BLAS counts, too)
    from threadpoolctl import threadpool_info

    from foundation.threads import default_workers

    np.ones((2, 2)) @ np.ones((2, 2))
    found = [each for each in threadpool_info() if each["user_api"] == "blas"]
    names = ", ".join(sorted({f"{each['internal_api']} {each['version']}" for each in found}))
    threads = max((each["num_threads"] for each in found), default=1)
    cores = f"{default_workers()} core(s) of {os.cpu_count()} to use, a thread on each"
    blas = f"BLAS ({names or 'unknown'}) has {threads} thread(s) by itself, 1 beside our threads"
    yield Finding("ok", f"{cores}; {blas}")


def _memory() -> Iterator[Finding]:
    free = free_memory()
    if free is None:
        yield Finding("ok", "memory: this system does not say how much is free")
    elif free < LITTLE_MEMORY:
        cure = "close other programs, or train on fewer cores: --workers 1"
        yield Finding("warning", f"memory: {said_size(free)} free", cure)
    else:
        yield Finding("ok", f"memory: {said_size(free)} free")


def free_memory() -> int | None:
    """Return the bytes that programs may still take, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None


def _disk() -> Iterator[Finding]:
    for what, place, cure in (
        ("here", Path.cwd(), "change to another directory, or give --out elsewhere"),
        ("for temporary files", Path(tempfile.gettempdir()), "set TMPDIR to a directory with space"),
    ):
        free = shutil.disk_usage(place).free
        said = f"disk {what}: {said_size(free)} free in {place}"
        if not os.access(place, os.W_OK):
            yield Finding("warning", f"{said}, but nothing can be written there", cure)
        else:
            yield Finding("warning" if free < LITTLE_DISK else "ok", said, cure if free < LITTLE_DISK else "")


def _audio() -> Iterator[Finding]:
    import soundfile

    from features.ffmpeg import FFMPEG_SUFFIXES, is_installed

    formats = soundfile.available_formats()
    common = [name for name in ("WAV", "FLAC", "OGG", "MP3", "AIFF", "AU", "NIST") if name in formats]
    reads = f"{', '.join(common)} and {len(formats) - len(common)} more"
    said = f"audio: libsndfile {soundfile.__libsndfile_version__} reads {reads}"
    if "MP3" in formats:
        yield Finding("ok", said)
    else:
        yield Finding("warning", f"{said}, but no MP3", "pip install --upgrade soundfile")
    others = ", ".join(sorted(suffix[1:] for suffix in FFMPEG_SUFFIXES))
    if is_installed():
        yield Finding("ok", f"ffmpeg: {shutil.which('ffmpeg')} reads {others}")
    else:
        yield Finding(
            "warning", f"no ffmpeg: {others} cannot be read", "install it (ffmpeg.org) if you have such"
        )


def _compiled_code() -> Iterator[Finding]:
    """Yield whether compiled functions can be kept on disk, and how many are there from this source."""
    state = compiled_code()
    for place in state.unwritable:
        yield Finding(
            "error" if state.n_current < state.n_functions else "warning",
            f"compiled code: {place} cannot be written, so that each run would compile again",
            "set NUMBA_CACHE_DIR to a directory of yours",
        )
    if not state.n_functions:
        yield Finding(
            "error",
            "compiled code: there is no directory that can be written, so that each run compiles again",
            "set NUMBA_CACHE_DIR to a directory of yours",
        )
        return
    rest = state.n_functions - state.n_current
    when = f"; {rest} will be compiled when they are first used, seconds each" if rest else ""
    said = f"compiled code: {state.n_current} of {state.n_functions} functions are up to date{when}"
    yield Finding("ok", f"{said}, in {', '.join(map(str, state.places))}")


def _self_test(tell: Callable[[str], object]) -> Iterator[Finding]:
    """Yield whether a small recogniser can be trained, and finds and aligns what was said."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    try:
        said = self_test(tell)
    except ExperimentError as error:
        yield Finding("error", f"self-test: fails ({error})", _reinstall())
        return
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    yield Finding("ok", f"self-test: passes in {wall_s:.1f} s ({cpu_s:.1f} CPU s): {said}")


_SETTINGS = (
    *("gmm.mixtures=1,2", "gmm.iterations=3,2", "grammars=loop", "retrain_with_dev=false"),
    *("tuning.word_penalties=0,-20", "tuning.silence_log_probs=0"),
)
_SAID = ("MAUI", "ASA", "SUS", "IMI")
_SILENCE_S = 0.2  # behind the last word, at most


def self_test(tell: Callable[[str], object] = lambda what: None) -> str:
    """Train a small model on synthetic tones, decode and align with it; return what was done.

    That anything came out wrong is an error.
    """
    import numpy as np
    import soundfile

    from asr.commands.models import train
    from asr.commands.recordings import decode
    from asr.corpora.tones import RATE, speak, write_tones
    from asr.progress import muted

    with temporary_folder("asr-doctor-") as folder:
        corpus, out, recording = (folder / name for name in ("corpus", "exp", "new.wav"))
        write_tones(corpus, n_speakers=5, n_each=4)
        soundfile.write(recording, speak(_SAID, 1.0, np.random.default_rng(1)), RATE)
        tell("self-test: training on a few tones; a minute or two where code is not compiled yet …")
        with muted():
            train("folder", corpus=corpus, out=out, models=["gmm2"], settings=_SETTINGS)
        tell("self-test: decoding …")
        with muted():
            (heard,) = decode(out, [recording])
        if isinstance(heard, AsrError):
            raise ExperimentError(str(heard))
        if heard.text != _SAID:
            raise ExperimentError(f'decoded "{" ".join(heard.text)}", expected "{" ".join(_SAID)}"')
        tell("self-test: aligning …")
        with muted():
            _check_times(out, recording)
    return "trained on synthetic tones, decoded and aligned a new recording"


def _check_times(out: Path, recording: Path) -> None:
    """Raise an error if the words are not aligned where they were said."""
    from asr.commands.recordings import align

    aligned = align(out, recording, _SAID)
    words = aligned.tiers["words"]
    found = [(word.label, round(word.start_s, 2), round(word.end_s, 2)) for word in words]
    starts = [word.start_s for word in words]
    ends_in_time = abs(words[-1].end_s - aligned.duration_s) < _SILENCE_S
    if tuple(word.label for word in words) != _SAID or starts != sorted(starts) or not ends_in_time:
        raise ExperimentError(f"aligned {found}, expected {', '.join(_SAID)} one after the other")


PACKAGES = ("foundation", "features", "acoustic", "decoder")


@dataclass(frozen=True)
class CompiledCode:
    """The state of all functions of our packages whose compiled code is kept.

    Attributes
    ----------
    n_functions : how many there are
    n_current : how many have code on disk that numba will take as it is
    places : directories where the code lies, without what is below another one
    unwritable : directories that cannot be written
    """

    n_functions: int
    n_current: int
    places: tuple[Path, ...]
    unwritable: tuple[Path, ...]


def compiled_code() -> CompiledCode:
    """Return the state of all functions whose compiled code is kept."""
    kernels = [kernel for name in modules_with_kernels() for kernel in kernels_of(name)]
    folders = sorted({Path(kernel.stats.cache_path) for kernel in kernels})
    return CompiledCode(
        len(kernels),
        sum(map(is_current, kernels)),
        tuple(sorted({_package_of(folder) for folder in folders})),
        tuple(folder for folder in folders if not _may_be_written(folder)),
    )


def modules_with_kernels() -> Iterator[str]:
    """Yield the modules of our packages in whose source a compiled function is kept."""
    for package in PACKAGES:
        root = Path(str(importlib.import_module(package).__file__)).parent
        for path in sorted(root.rglob("*.py")):
            if "cache=True" in path.read_text(encoding="utf-8"):
                yield ".".join([package, *path.relative_to(root).with_suffix("").parts])


def kernels_of(module: str) -> list[Any]:
    """Return the functions of a module whose compiled code is kept on disk."""
    from numba.core.dispatcher import Dispatcher

    found = vars(importlib.import_module(module)).values()
    own = (f for f in found if isinstance(f, Dispatcher) and f.py_func.__module__ == module)
    return [kernel for kernel in own if kernel.stats.cache_path is not None]


def is_current(kernel: Any) -> bool:
    """Return whether there is code on disk of this source and this version of numba."""
    # numba has no public question for this; its index is empty where source or version differ.
    return bool(kernel._cache._cache_file._load_index())


def _package_of(folder: Path) -> Path:
    """Return the directory above a package's many ``__pycache__``; others as they are."""
    for package in PACKAGES:
        root = Path(str(importlib.import_module(package).__file__)).resolve().parent
        if folder.resolve().is_relative_to(root):
            return root.parent
    return folder.parent


def _may_be_written(folder: Path) -> bool:
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    return os.access(existing, os.W_OK)


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _code,
    _environment,
    _packages,
    _cores,
    _memory,
    _disk,
    _audio,
    _compiled_code,
)
