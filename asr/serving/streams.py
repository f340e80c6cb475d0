"""Words while one speaks: what a stream of a recogniser gives, as messages for clients see it."""

from __future__ import annotations

from typing import Any, Protocol

from asr.formats.hypotheses import json_words
from asr.recognizer import Recognizer
from asr.serving.buffered import BufferedStream
from decoder.decoder import Hypothesis, HypothesisWord
from foundation.arrays import Singles


class Partial(Protocol):
    """What is known after some more sound."""

    @property
    def words(self) -> tuple[HypothesisWord, ...]:
        """The words of the sentence under way."""

    @property
    def finished(self) -> tuple[Hypothesis, ...]:
        """The sentences that have ended with this sound."""

    @property
    def heard_s(self) -> float:
        """Seconds of sound since the stream began."""


class Stream(Protocol):
    """Sound in, words out, for one speaker; times are seconds from the stream's beginning."""

    def accept(self, samples: Singles) -> Partial:
        """Return what is known after more samples (n,)."""

    def finish(self) -> Hypothesis:
        """Return the rest; what comes next is a new recording of the same speaker."""

    def reset(self) -> None:
        """Forget the speaker."""


def open_stream(recognizer: Recognizer, sample_rate: int) -> Stream:
    """Return a stream of a recogniser for sound of any rate."""
    return BufferedStream(recognizer, sample_rate)


def words_of(partial: Partial) -> list[dict[str, Any]]:
    """Return the words of the sentence under way as JSON holds them."""
    return [
        {"word": w.word, "start_s": round(w.start_s, 3), "end_s": round(w.end_s, 3)} for w in partial.words
    ]


def sentence_of(hypothesis: Hypothesis) -> dict[str, Any]:
    """Return a finished sentence as JSON holds it."""
    found = json_words(hypothesis)
    return {"text": found["text"], "words": found["words"]}
