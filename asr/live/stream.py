"""Words while they are spoken: samples in pieces of any size, partial and final words out.

Everything moves on by blocks of a few frames that lie in the same places however the samples arrive, and
nothing is computed twice, so all sizes of pieces give the same words. A sentence ends where it is silent for
a while. What a sentence says is what the decoder finds in the scores of its frames at once; these frames are
normalised and adapted by what was heard before them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from acoustic.model import AcousticModel
from asr.errors import ConfigError
from asr.live.sentence import Sentence
from asr.live.speaker import MEMORY_S, SpeakerAdaptation
from decoder.decoder import Decoder, Hypothesis
from decoder.joining import joined
from decoder.lexicon import Lexicon
from decoder.stream import PartialHypothesis, PartialWord
from features.mfcc import check_samples
from features.stream import Resampler, RunningFrames
from foundation.arrays import Reals, Singles
from foundation.checks import check_lowest
from foundation.threads import single_threaded_libraries

_SHORT_PAUSE_S = 0.1  # ends a sentence that is too long
_TOO_LONG = 1.5  # of the greatest length, where a sentence ends even within a word
_IDLE_S = 5.0  # of silence without any word, after which the search begins anew


@dataclass(frozen=True)
class StreamConfig:
    """When sentences end, and when the speaker's transform is brought up to date.

    Attributes
    ----------
    pause_s : so long a silence ends a sentence; None: only `Stream.finish` does, for recordings of a minute
        or so: memory, and the time of a partial result, grow until then
    longest_s : a sentence that is longer ends at the next short pause, or soon after
    update_s : seconds between two updates of the adaptation within the first minute of a sentence
    adapts : whether frames are adapted to the speaker, if the model does that
    """

    pause_s: float | None = 0.6
    longest_s: float = 30.0
    update_s: float = 3.0
    adapts: bool = True

    def __post_init__(self) -> None:
        lowest = {"longest_s": 1.0, "update_s": 0.1} | ({} if self.pause_s is None else {"pause_s": 0.05})
        check_lowest(self, lowest, ConfigError)


@dataclass(frozen=True)
class Partial:
    """What a stream has heard up to now.

    Attributes
    ----------
    words : words of the sentence under way, which may still change; seconds from the start of the recording
    finished : sentences that ended since the last piece; they do not change any more
    heard_s : seconds of the recording that have been searched
    """

    words: tuple[PartialWord, ...]
    finished: tuple[Hypothesis, ...]
    heard_s: float


@dataclass(frozen=True)
class StreamParts:
    """What a stream takes of a recogniser.

    Attributes
    ----------
    model, lexicon, decoder : as in `asr.Recognizer`
    adapts : whether frames are adapted to the speaker
    judged : function (hypothesis, its scores (T, S)) -> the hypothesis without words that were not spoken
    written : function from a lexicon's word to the word as people write it
    """

    model: AcousticModel
    lexicon: Lexicon
    decoder: Decoder
    adapts: bool
    judged: Callable[[Hypothesis, Singles], Hypothesis]
    written: Callable[[str], str]


class Stream:
    """Recognises one speaker's speech while it is spoken; made by `asr.Recognizer.stream`.

    Streams share nothing that changes: one process may run many, each in one thread at a time.

    Parameters
    ----------
    parts : of the recogniser
    sample_rate : samples per second of what `accept` is given; None is the model's own
    config : when sentences end
    """

    def __init__(
        self, parts: StreamParts, sample_rate: int | None = None, config: StreamConfig | None = None
    ) -> None:
        model_rate = parts.model.front_end.config.mfcc.sample_rate
        self.sample_rate = model_rate if sample_rate is None else sample_rate
        self.config = config or StreamConfig()
        self._parts = parts
        self._adapts = self.config.adapts and parts.adapts
        self._shift_s = parts.model.front_end.frame_shift_s
        self._resampler = Resampler(self.sample_rate, model_rate)
        self._frames = RunningFrames(parts.model.front_end)
        self.reset()

    def reset(self) -> None:
        """Forget the speaker and the recording under way."""
        self._resampler.clear()
        self._frames.forget()
        self._speaker = SpeakerAdaptation(self._parts.model, self._parts.lexicon)
        self._begin_recording()

    def _begin_recording(self) -> None:
        self._begin_sentence(0)
        self._finished: list[Hypothesis] = []

    def _begin_sentence(self, start: int) -> None:
        self._sentence = Sentence(self._parts.decoder, start)
        self._open = PartialHypothesis((), 0.0, False)
        self._updated = 0  # frame of the sentence at which the adaptation was brought up to date

    def accept(self, samples: Reals) -> Partial:
        """Return what was heard up to the end of (n_samples,) more samples, floats in [-1, 1)."""
        check_samples(samples)
        with single_threaded_libraries():
            for block in self._frames.accept(self._resampler.accept(samples)):
                self._hear(block)
        finished, self._finished = tuple(self._finished), []
        return Partial(self._open_words(), finished, self._sentence.stop * self._shift_s)

    def finish(self) -> Hypothesis:
        """Return the words of the recording that no earlier result has finished, and end the recording.

        What is known of the speaker stays; the next samples begin a new recording. Without end-pointing
        (``pause_s=None``) these are all words of the recording.
        """
        with single_threaded_libraries():
            rest = [*self._frames.accept(self._resampler.finish()), *self._frames.finish()]
            for block in rest:
                self._hear(block)
            sentences = [*self._finished, self._end_sentence()]
        found = joined(sentences, [0] * len(sentences), self._shift_s)
        self._begin_recording()
        return found

    def _hear(self, frames: Singles) -> None:
        """Move on by a block of frames (T, D)."""
        adapted = self._speaker.adapted(frames)
        self._sentence.take(frames, self._parts.model.scores(adapted))
        self._open = self._sentence.partial()
        if self._is_over():
            found = self._end_sentence()
            self._finished += [found] if found.words else []
        elif self.config.pause_s is not None and not self._open.words and self._open.pause_s >= _IDLE_S:
            self._begin_sentence(self._sentence.stop)
        elif self._is_update_due():
            self._adapt_to_ended_words()

    def _is_over(self) -> bool:
        """Return whether the sentence ends here."""
        if self.config.pause_s is None:
            return False
        length_s, pause_s = self._sentence.n_frames * self._shift_s, self._open.pause_s
        if length_s >= _TOO_LONG * self.config.longest_s or self._open.is_dead:
            return True
        longest = length_s >= self.config.longest_s and pause_s >= _SHORT_PAUSE_S
        return bool(self._open.words) and (longest or pause_s >= self.config.pause_s)

    def _is_update_due(self) -> bool:
        """Return whether the words so far shall adapt what follows; each update aligns the whole sentence."""
        since_s = (self._sentence.n_frames - self._updated) * self._shift_s
        return since_s >= self.config.update_s and self._sentence.n_frames * self._shift_s <= MEMORY_S

    def _end_sentence(self) -> Hypothesis:
        """Return the outcome of the sentence and begin the next one."""
        sentence = self._sentence
        heard = found = sentence.finish()
        if sentence.scores:
            found = self._parts.judged(heard, np.concatenate(sentence.scores))
        if self._adapts and found.text == heard.text:  # other sounds say nothing of the speaker
            self._speaker.update(sentence.frames, sentence.scores, found.text, is_over=True)
        self._begin_sentence(sentence.stop)
        return self._as_written(joined([found], [sentence.start], self._shift_s))

    def _adapt_to_ended_words(self) -> None:
        """Bring the adaptation up to date with the words of the sentence that have ended."""
        sentence = self._sentence
        self._updated = sentence.n_frames
        ended = [word for word in self._open.words if not word.is_open]
        if not self._adapts or not ended:
            return
        stop = round(ended[-1].end_s / self._shift_s)
        frames, scores = (_first(blocks, stop) for blocks in (sentence.frames, sentence.scores))
        self._speaker.update(frames, scores, [word.word for word in ended], is_over=False)

    def _open_words(self) -> tuple[PartialWord, ...]:
        """Return the words of the sentence under way as they are written, in time of the recording."""
        start_s = self._sentence.start * self._shift_s
        return tuple(
            replace(
                word,
                word=self._parts.written(word.word),
                start_s=word.start_s + start_s,
                end_s=word.end_s + start_s,
            )
            for word in self._open.words
            if word.word in self._parts.lexicon  # what is not is a filler among keywords
        )

    def _as_written(self, found: Hypothesis) -> Hypothesis:
        words = tuple(replace(word, word=self._parts.written(word.word)) for word in found.words)
        return replace(found, words=words)


def _first(blocks: list[Singles], n_frames: int) -> list[Singles]:
    """Return the blocks of the first frames."""
    found, n = [], 0
    for block in blocks:
        if n >= n_frames:
            break
        found.append(block[: n_frames - n])
        n += len(block)
    return found
