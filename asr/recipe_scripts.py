"""The recipes that come with the package, found without importing them."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

BUILT_IN_PACKAGE = "recipes"


def built_in_recipes() -> tuple[str, ...]:
    """Return the names of the recipes that come with the package, sorted."""
    package = importlib.import_module(BUILT_IN_PACKAGE)
    names = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(name for name in names if _defines_recipe(built_in_script(name))))


def built_in_script(name: str) -> Path:
    """Return ``recipes/NAME.py``, or ``recipes/NAME/NAME.py`` of a recipe with modules of its own."""
    package = importlib.import_module(BUILT_IN_PACKAGE)
    folder = Path(str(package.__path__[0]))
    return (folder / name if (folder / name).is_dir() else folder) / f"{name}.py"


def _defines_recipe(path: Path) -> bool:
    """Return whether a script has a line ``RECIPE = …``, without importing it."""
    return path.is_file() and any(
        line.startswith("RECIPE") for line in path.read_text(encoding="utf-8").splitlines()
    )
