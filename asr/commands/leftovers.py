"""``asr clean``: what an experiment directory holds that neither its results nor the same command need.

These are stages that no file of results was made from (`asr.store`), models that the results have no row of
any more, and what killed runs have left: ``.partial`` outputs, and ``.blocks`` of stages that were not
finished. Only what bears the mark of a stage (``NAME-KEY`` with a ``stage.json`` that names it), of a model
or of such a leftover is removed; links are never followed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from asr.errors import ExperimentError
from asr.experiment import CONFIG
from asr.files import read_json, read_object, said_size, storage_errors
from asr.formats.model_directories import DECODING, DEFAULT_MODEL, MODELS, POINTS, SPARSITY, SWEEP
from asr.scoring.results import RESULTS, read_results
from asr.store import RECORD, STAGES, USED, Used, lock, name_of, read_used
from asr.training.fit import SUSPICIOUS
from foundation.errors import listed
from foundation.files import put_in_place

_HIDDEN_STAGE = re.compile(r"\.[^.].*-[0-9a-f]{12}\.(?:(?P<partial>partial)|(?P<blocks>blocks))")
_FILES = (CONFIG, DEFAULT_MODEL, RESULTS, SPARSITY, SUSPICIOUS, SWEEP, USED)
_WHY = {
    "partial": "output of a run that was killed or is under way",
    "blocks": "unfinished work, lost if removed",
}


@dataclass(frozen=True)
class Leftover:
    """A directory or file that is not needed.

    Attributes
    ----------
    path : where it is
    n_bytes : sum of its files
    why : why it is not needed
    """

    path: Path
    n_bytes: int
    why: str


@dataclass(frozen=True)
class Leftovers:
    """What is not needed.

    Attributes
    ----------
    found : the largest first
    foreign : what else lies among the stages and is left alone, since it does not look as if we had made it
    removed : whether what was found has been removed
    """

    found: tuple[Leftover, ...]
    foreign: tuple[Path, ...]
    removed: bool

    @property
    def n_bytes(self) -> int:
        """Sum of all that was found."""
        return sum(leftover.n_bytes for leftover in self.found)


def clean(experiment: str | Path, *, yes: bool = False) -> Leftovers:
    """Return what an experiment directory holds that its results do not need; with ``yes`` it is removed.

    Parameters
    ----------
    experiment : directory that ``asr train`` or ``asr sweep`` wrote; all points of a sweep count
    yes : remove it; that another run uses the directory is then an error
    """
    root = Path(experiment)
    _check(root)
    if not yes:
        return _leftovers(root)
    with lock(root), storage_errors(root):
        leftovers = _leftovers(root)
        for leftover in leftovers.found:
            _remove(leftover.path)
    return Leftovers(leftovers.found, leftovers.foreign, removed=True)


def format_leftovers(leftovers: Leftovers, experiment: Path) -> str:
    """Return a line for each thing that is not needed, with the sum and what to do at the end."""
    lines = [
        f"{said_size(each.n_bytes):>8}  {each.path.relative_to(experiment).as_posix()}: {each.why}"
        for each in leftovers.found
    ]
    if leftovers.foreign:
        names = listed([path.relative_to(experiment).as_posix() for path in leftovers.foreign])
        lines.append(f"left alone, for asr did not write it: {names}")
    if not leftovers.found:
        return "\n".join([*lines, f"{experiment}: nothing to remove"])
    total = f"{experiment}: {len(leftovers.found)} thing(s), {said_size(leftovers.n_bytes)}"
    done = "removed" if leftovers.removed else "not removed; run it again with --yes to remove them"
    return "\n".join([*lines, f"{total}: {done}"])


def _check(root: Path) -> None:
    """Raise an error if this is no experiment directory with stages of its own."""
    stages = root / STAGES
    if root.parent.name == POINTS and not stages.exists() and (root.parent.parent / STAGES).is_dir():
        raise ExperimentError(
            f"{root}: a point of a sweep, expected the directory of the whole sweep, which has the stages; "
            f"run asr clean {root.parent.parent}"
        )
    if not root.is_dir() or not any((root / name).exists() for name in (CONFIG, SWEEP, USED, STAGES)):
        what = "no experiment" if root.is_dir() else "no such directory"
        raise ExperimentError(
            f"{root}: {what}; expected a directory that asr train or asr sweep wrote; check the path"
        )
    if stages.is_symlink():
        raise ExperimentError(
            f"{stages}: a link, expected a directory of this experiment alone; others may use what it leads "
            "to: remove by hand what nobody needs"
        )


def _leftovers(root: Path) -> Leftovers:
    needed, entries = _needed(root), sorted(_entries(root / STAGES))
    stages = {path: record for path in entries if (record := _stage_record(path)) is not None}
    codes = {_maker(record) for path, record in stages.items() if path.name in needed}
    unused = [(p, _why(record, codes)) for p, record in stages.items() if p.name not in needed]
    kinds = {path: kind for path in entries if (kind := _hidden_kind(path))}
    # Blocks of a stage that the same command needs are where it goes on.
    hidden = [(p, _WHY[kind]) for p, kind in kinds.items() if p.name[1 : -len(".blocks")] not in needed]
    partial = [(path, _WHY["partial"]) for path in _partials(root)]
    models = [(path, "no row of the results is of this model") for path in _models_without_rows(root)]
    found = [Leftover(path, _n_bytes(path), why) for path, why in [*unused, *hidden, *partial, *models]]
    ours = {*stages, *kinds}
    return Leftovers(
        tuple(sorted(found, key=lambda leftover: (-leftover.n_bytes, leftover.path))),
        tuple(path for path in entries if path not in ours),
        removed=False,
    )


def _needed(root: Path) -> frozenset[str]:
    """Return the stages that the results need; that this cannot be told is an error."""
    used = read_used(root) if (root / USED).is_file() else {}
    untold = [name for name in _results(root) if not _is_told(root, name, used.get(name))]
    if untold:
        raise ExperimentError(
            f"{root / untold[0]}: nothing says which stages it was made from, expected it in {root / USED}, "
            "which this version writes; nothing can be removed yet: run the command that made it once more "
            "(stages of the same code are kept), then clean"
        )
    if not used and any((root / STAGES).glob(f"*/{RECORD}")):
        raise ExperimentError(
            f"{root / USED}: not found, expected the list of the stages that are needed; nothing can be "
            "removed yet: run asr train once more (stages of the same code are kept), then clean"
        )
    parts = (_still_needed(root / name, entry) for name, entry in used.items())
    return frozenset(stage for part in parts for stage in part)


def _results(root: Path) -> list[str]:
    """Return the files of results that there are, or that a run has begun, below an experiment directory."""
    begun = [path.parent.relative_to(root) / RESULTS for path in root.glob(f"{POINTS}/*/{CONFIG}")]
    own = [Path(RESULTS)] if (root / CONFIG).exists() or (root / RESULTS).exists() else []
    sizes = [Path(SPARSITY)] if (root / SPARSITY).exists() else []
    return [name.as_posix() for name in [*own, *sizes, *sorted(begun)]]


def _is_told(root: Path, name: str, entry: Used | None) -> bool:
    """Return whether the stages of a file of results are known, those of a finished one if it is there."""
    return entry is not None and (entry.finished is not None or not (root / name).exists())


def _still_needed(result: Path, entry: Used) -> frozenset[str]:
    """Return the stages of a file of results; none of a point whose directory is gone."""
    return entry.stages if result.parent.is_dir() else frozenset()


def _entries(stages: Path) -> Iterator[Path]:
    return (Path(entry.path) for entry in os.scandir(stages)) if stages.is_dir() else iter(())


def _stage_record(path: Path) -> dict[str, object] | None:
    """Return the record of a stage's directory; None if this is no such directory."""
    name, record = name_of(path.name), path / RECORD
    if name is None or not _is_directory(path) or record.is_symlink() or not record.is_file():
        return None
    try:
        content = read_json(record)
    except ExperimentError:
        return None
    return content if isinstance(content, dict) and content.get("stage") == name else None


def _hidden_kind(path: Path) -> str | None:
    """Return whether a directory among the stages is a killed run's output or blocks; None if neither."""
    match = _HIDDEN_STAGE.fullmatch(path.name)
    return match.lastgroup if match is not None and _is_directory(path) else None


def _partials(root: Path) -> Iterator[Path]:
    """Yield what killed runs have left outside the stages: copies of models, and files that were written."""
    for home in _homes(root):
        if _is_directory(home / MODELS):
            yield from filter(_is_directory, sorted((home / MODELS).glob(".?*.partial")))
        files = (home / f".{name}.partial" for name in _FILES)
        yield from (file for file in files if file.is_file() and not file.is_symlink())


def _homes(root: Path) -> list[Path]:
    """Return the directories that have results: the experiment's own, and the points of a sweep."""
    points = root / POINTS
    return [root, *filter(_is_directory, sorted(points.glob("*")) if _is_directory(points) else [])]


def _models_without_rows(root: Path) -> Iterator[Path]:
    """Yield the models that neither the results nor the last run know, where there are results."""
    for home in _homes(root):
        with suppress(ExperimentError):  # what cannot be read says nothing of models
            rows = read_results(home)
            known = {row.model for row in rows} | set(map(str, read_object(home / CONFIG).get("models", [])))
            if rows and _is_directory(home / MODELS):
                models = (path for path in sorted((home / MODELS).glob("[!.]*")) if path.name not in known)
                yield from (path for path in models if _is_directory(path) and (path / DECODING).is_file())


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _maker(record: dict[str, object]) -> object:
    code = record.get("code")
    return code[0] if isinstance(code, list) and code else None


def _why(record: dict[str, object], codes: Iterable[object]) -> str:
    """Return why a stage is not needed, given which code has made those that are."""
    maker, known = str(_maker(record) or "unknown"), set(map(str, codes))
    # The code of a step is named after the module of its function, which none that is needed may have.
    is_elsewhere = maker.startswith("asr.") and maker.split()[0] not in {code.split()[0] for code in known}
    if maker in known or is_elsewhere:
        return "of other settings, models or data than the results"
    return f"made by other code than the results ({maker})"


def _n_bytes(path: Path) -> int:
    """Return the sum of the sizes of a file, or of all files in a directory; links count as themselves."""
    if not _is_directory(path):
        return _file_size(path)
    return sum(_file_size(Path(parent, name)) for parent, _, names in os.walk(path) for name in names)


def _file_size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:  # of a run that is under way
        return 0


def _remove(path: Path) -> None:
    """Remove a file, or a directory such that one that is removed by half is known for that."""
    if not _is_directory(path):
        path.unlink(missing_ok=True)
        return
    partial = path if path.name.startswith(".") else path.with_name(f".{path.name}.partial")
    if partial != path:
        shutil.rmtree(partial, ignore_errors=True)  # of a killed run; it is listed, too
        put_in_place(path, partial)
    shutil.rmtree(partial)
