"""Patterns in the navigation: ``adr/*.md`` is all pages there, ``report.md?`` one that may be missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Return the site's configuration with the navigation's patterns replaced by pages."""
    config.nav = _resolved(config.nav, Path(config.docs_dir))
    return config


def _resolved(entries: list[Any], root: Path) -> list[Any]:
    found: list[Any] = []
    for entry in entries:
        title, target = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(target, list):
            found.append({title: _resolved(target, root)})
        elif "*" in target:
            found += sorted(path.relative_to(root).as_posix() for path in root.glob(target))
        elif not target.endswith("?") or (root / target[:-1]).is_file():
            page = target.removesuffix("?")
            found.append(page if title is None else {title: page})
    return found
