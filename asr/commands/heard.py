"""What is heard while one speaks, line by line: for a terminal, a pipe, or programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decoder.decoder import HypothesisWord
    from decoder.stream import PartialWord

    Words = Sequence[HypothesisWord] | Sequence[PartialWord]

_CLEAR = "\r\x1b[K"


def heard_json(kind: str, words: Words, heard_s: float) -> str:
    """Return one line of JSON."""
    rows = [
        {
            "word": w.word,
            "start_s": round(w.start_s, 3),
            "end_s": round(w.end_s, 3),
            "confidence": _rounded(getattr(w, "confidence", None)),
        }
        for w in words
    ]
    text = " ".join(w.word for w in words)
    return (
        json.dumps(
            {"type": kind, "text": text, "words": rows, "heard_s": round(heard_s, 3)}, ensure_ascii=False
        )
        + "\n"
    )


def _rounded(confidence: float | None) -> float | None:
    return None if confidence is None else round(confidence, 4)


def heard_text(kind: str, words: Words, width: int | None) -> str:
    """Return what is written to a terminal so many characters wide, or to a file (None): final lines alone.

    A partial sentence stands on a line of its own that the next one replaces; its end is shown if it is long.
    """
    text = " ".join(w.word for w in words)
    if width is None:
        return f"{text}\n" if kind == "final" else ""
    if kind == "final":
        return f"{_CLEAR}{text}\n"
    room = max(width - 1, 2)
    return _CLEAR + (text if len(text) < room else f"…{text[-(room - 2) :]}")
