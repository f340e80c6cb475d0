"""Colour where a person looks: at terminals, or as ``NO_COLOR`` and ``FORCE_COLOR`` ask."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TextIO

_CODES = {"red": "31", "green": "32", "yellow": "33"}
_OF_SEVERITY = {"error": "red", "warning": "yellow", "ok": "green"}
_SEVERITY = re.compile(r"^(error|warning|ok)(?=:)")


def is_wanted(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether to colour what goes to a stream; ``NO_COLOR`` counts more than ``FORCE_COLOR``."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return environment.get("TERM") != "dumb" and stream.isatty()


def coloured(text: str, colour: str, stream: TextIO) -> str:
    """Return a text in a colour, plain where no colour is wanted."""
    return f"\033[{_CODES[colour]}m{text}\033[0m" if is_wanted(stream) else text


def with_severity(line: str, stream: TextIO) -> str:
    """Return a line ``error: …``, ``warning: …`` or ``ok: …`` with its first word coloured."""
    return _SEVERITY.sub(lambda m: coloured(m[1], _OF_SEVERITY[m[1]], stream), line)


def difference(line: str, low: float, high: float, stream: TextIO) -> str:
    """Return a line on a difference, green if its interval is above zero, red if it is below."""
    if low <= 0 <= high:
        return line
    return coloured(line, "green" if low > 0 else "red", stream)
