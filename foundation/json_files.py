"""Texts of JSON that somebody may have damaged: what is wrong with one is an error of one kind."""

from __future__ import annotations

import json
from typing import Any

# What code raises that takes the content of a file for what it should be.
CONTENT_ERRORS = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)


def parsed_json(text: str) -> Any:
    """Return the content of a JSON text.

    Raises
    ------
    ValueError : it is no JSON, or lists and objects are in each other too deep to be read
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("lists or objects are too deep in each other") from None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's words, or its kind if it has none.

    >>> first_line(ValueError("so\\nand so")), first_line(MemoryError())
    ('so', 'MemoryError')
    """
    return (str(error).splitlines() or [""])[0] or type(error).__name__
