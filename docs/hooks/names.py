"""The public names of a package, those of its ``__init__.pyi``, in place of ``<!-- names of PACKAGE -->``."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_MARK = re.compile(r"^<!-- names of ([\w.]+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with the names described."""
    return _MARK.sub(lambda found: described(found[1]), markdown)


def described(package: str) -> str:
    """Return what lets mkdocstrings describe each name of a package."""
    stub = (ROOT / package.replace(".", "/") / "__init__.pyi").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    module_of = {name.name: str(node.module) for node in imports for name in node.names}
    # The site's reader takes a name that a module has, too, for the module.
    paths = {n: f"{package}.{n}.{n}" if module_of[n] == n else f"{package}.{n}" for n in module_of}
    return "\n\n".join(f"::: {paths[name]}" for name in sorted(paths))
