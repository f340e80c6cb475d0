"""Words while one speaks, as clients see them."""

from __future__ import annotations

from typing import Any

from asr.formats.outputs import json_words
from asr.live.stream import Partial, Stream
from asr.recognizer import Recognizer
from decoder.decoder import Hypothesis


def open_stream(recognizer: Recognizer, sample_rate: int) -> Stream:
    """Return a stream of a recogniser, for one client and sound of any rate."""
    return recognizer.stream(sample_rate)


def words_of(partial: Partial) -> list[dict[str, Any]]:
    """Return the words of the sentence under way as JSON holds them."""
    return [
        {"word": w.word, "start_s": round(w.start_s, 3), "end_s": round(w.end_s, 3)} for w in partial.words
    ]


def sentence_of(hypothesis: Hypothesis) -> dict[str, Any]:
    """Return a finished sentence as JSON holds it."""
    found = json_words(hypothesis)
    return {"text": found["text"], "words": found["words"]}
