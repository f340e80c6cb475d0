"""Docstrings as the API pages show them: ours give types in the signature alone, ``name : what it is``."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
_ENTRY = re.compile(r"^(\w[\w, ]*) : (.*)$")


class NoTypes(Extension):
    """Lets griffe take the types of parameters and attributes from the code."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = numpydoc(obj.docstring.value)


def numpydoc(text: str) -> str:
    """Return a docstring whose entries have their description on the line below, and results as a sentence.

    >>> print(numpydoc("Parameters\\n----------\\nx : a number\\n    of some size"))
    Parameters
    ----------
    x
        a number
        of some size
    """
    head, *rest = _SECTION.split(text)
    parts = [head]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        if title in ("Parameters", "Attributes"):
            parts.append(
                f"{title}\n{'-' * len(title)}\n" + "\n".join(map(_entry, body.strip("\n").splitlines()))
            )
        elif title == "Returns":
            parts[0] = f"{parts[0].rstrip()}\n\nWhat comes back: {body.strip()}"
        else:
            parts.append(f"{title}\n{'-' * len(title)}{body}")
    return "\n".join(part.strip("\n") + "\n" for part in parts).strip("\n")


def _entry(line: str) -> str:
    found = _ENTRY.match(line)
    return f"{found[1]}\n    {found[2]}" if found else line
