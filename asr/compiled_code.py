"""Functions that numba compiles and keeps on disk: where, and whether what lies there is of this source."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
