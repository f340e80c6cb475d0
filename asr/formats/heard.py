"""What is heard while one speaks, line by line: for a terminal, a pipe, or programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decoder.decoder import HypothesisWord

_CLEAR = "\r\x1b[K"


def heard_json(kind: str, words: Sequence[HypothesisWord], heard_s: float) -> str:
    """Return one line of JSON."""
    rows = [
        {
            "word": w.word,
            "start_s": round(w.start_s, 3),
            "end_s": round(w.end_s, 3),
            "confidence": None if w.confidence is None else round(w.confidence, 4),
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


def heard_text(kind: str, words: Sequence[HypothesisWord], width: int | None) -> str:
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
