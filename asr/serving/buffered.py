"""A stream that decodes what it has heard of a sentence again and again, until it falls silent."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import soxr

from asr.recognizer import Recognizer
from decoder.decoder import Hypothesis, HypothesisWord
from foundation.arrays import Singles
from foundation.errors import AsrError

STEP_S = 0.4  # of new sound before it is decoded again
PAUSE_S = 0.6  # of quiet that ends a sentence
LONGEST_S = 20.0
QUIETER_DB = 25.0  # than the loudest of the sentence
FAINT = 1e-3  # root mean square below which nothing is said


@dataclass(frozen=True)
class BufferedPartial:
    """See `asr.serving.streams.Partial`."""

    words: tuple[HypothesisWord, ...]
    finished: tuple[Hypothesis, ...]
    heard_s: float


class BufferedStream:
    """See `asr.serving.streams.Stream`."""

    def __init__(self, recognizer: Recognizer, sample_rate: int) -> None:
        self._recognizer = recognizer.with_options(confidence=True)
        self._rate = recognizer.model.front_end.config.mfcc.sample_rate
        self._from_rate = sample_rate
        self._begin()

    def _begin(self) -> None:
        self._resampler = soxr.ResampleStream(self._from_rate, self._rate, 1, dtype="float32")
        self._samples: Singles = np.empty(0, np.float32)
        self._n_before, self._n_decoded = 0, 0
        self._words: tuple[HypothesisWord, ...] = ()

    def accept(self, samples: Singles) -> BufferedPartial:
        """Return what is known after more samples (n,)."""
        new = self._resampler.resample_chunk(samples) if self._from_rate != self._rate else samples
        self._samples = np.concatenate([self._samples, new])
        finished: tuple[Hypothesis, ...] = ()
        if self._has_ended():
            finished = (self._decoded(),)
            self._forget()
        elif self._samples.size - self._n_decoded > STEP_S * self._rate:
            self._n_decoded = self._samples.size
            self._words = self._decoded().words
        heard_s = (self._n_before + self._samples.size) / self._rate
        return BufferedPartial(self._words, tuple(h for h in finished if h.words), heard_s)

    def finish(self) -> Hypothesis:
        """Return the rest; what comes next is a new recording."""
        found = self._decoded()
        self._begin()
        return found

    def reset(self) -> None:
        """Begin anew."""
        self._begin()

    def _has_ended(self) -> bool:
        pause = round(PAUSE_S * self._rate)
        if self._samples.size > LONGEST_S * self._rate:
            return True
        if self._samples.size < 2 * pause:
            return False
        step = self._rate // 50
        n = self._samples.size // step
        levels = np.sqrt(np.mean(np.square(self._samples[-n * step :].reshape(n, step)), axis=1))
        loudest, last = float(levels.max()), float(levels[-(pause // step) :].max())
        return loudest > FAINT and last < loudest * 10 ** (-QUIETER_DB / 20)

    def _forget(self) -> None:
        self._n_before += self._samples.size
        self._samples, self._n_decoded, self._words = np.empty(0, np.float32), 0, ()

    def _decoded(self) -> Hypothesis:
        """Return the words of the sentence so far, at times from the stream's beginning."""
        start_s = self._n_before / self._rate
        try:
            found = self._recognizer.transcribe(self._samples)
        except AsrError:  # too short, or digital silence
            return Hypothesis((), 0.0, True)
        words = (replace(w, start_s=w.start_s + start_s, end_s=w.end_s + start_s) for w in found.words)
        return replace(found, words=tuple(words))
