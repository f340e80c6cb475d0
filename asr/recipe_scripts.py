"""The recipes that come with the package or with others, found without importing them.

A package adds its own under the entry point group ``asr.recipes``: the name of the entry point is the name
for ``asr train``, its object an `asr.Recipe`.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

BUILT_IN_PACKAGE = "recipes"
GROUP = "asr.recipes"


def built_in_recipes() -> tuple[str, ...]:
    """Return the names of the recipes that come with the package, sorted."""
    package = importlib.import_module(BUILT_IN_PACKAGE)
    names = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(name for name in names if _defines_recipe(built_in_script(name))))


def installed_recipes() -> dict[str, EntryPoint]:
    """Return the recipes that other packages add, by name, those of the package's own names left out."""
    own = built_in_recipes()
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return {entry.name: entry for entry in found if entry.name not in own}


def built_in_script(name: str) -> Path:
    """Return the path of ``recipes/NAME.py``."""
    package = importlib.import_module(BUILT_IN_PACKAGE)
    return Path(str(package.__path__[0])) / f"{name}.py"


def _defines_recipe(path: Path) -> bool:
    """Return whether a script has a line ``RECIPE = …``, without importing it."""
    return path.is_file() and any(
        line.startswith("RECIPE") for line in path.read_text(encoding="utf-8").splitlines()
    )
