"""A sentence under way: its frames and scores, and the words found in them up to now."""

from __future__ import annotations

from decoder.decoder import Decoder, Hypothesis
from decoder.stream import DecoderStream, PartialHypothesis
from foundation.arrays import Singles


class Sentence:
    """The part of a stream from the end of one sentence to the end of the next.

    Attributes
    ----------
    start : its first frame, counted from the beginning of the recording
    n_frames : number of its frames so far
    frames : blocks (T, D) as the front end made them
    scores : blocks (T, S), whose words are searched
    """

    def __init__(self, decoder: Decoder, start: int) -> None:
        self.start = start
        self.n_frames = 0
        self.frames: list[Singles] = []
        self.scores: list[Singles] = []
        self._search = DecoderStream(decoder)

    @property
    def stop(self) -> int:
        """The frame behind the last one."""
        return self.start + self.n_frames

    def take(self, frames: Singles, scores: Singles) -> None:
        """Take in the next frames (T, D) and their scores (T, S)."""
        self.n_frames += len(frames)
        self.frames.append(frames)
        self.scores.append(scores)
        self._search.accept(scores)

    def partial(self) -> PartialHypothesis:
        """Return the words so far, in seconds from the start of the sentence."""
        return self._search.partial()

    def finish(self) -> Hypothesis:
        """Return the words, in seconds from the start of the sentence."""
        return self._search.finish()
