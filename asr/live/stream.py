"""Words while they are spoken: samples in pieces of any size, partial and final words out.

The steps are those of `asr.transcribe`, block by block: frames, adaptation, scores, search, and for each
sentence judging and writing. Blocks are of a few frames and lie in the same places however the samples
arrive, and nothing is computed twice, so all sizes of pieces give the same words. A sentence ends where it is
silent for a while. What a sentence says is what the decoder finds in the scores of its frames at once; these
frames are normalised and adapted by what was heard before them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from acoustic.emissions.adaptation import Statistics, Transform, statistics_of, transform_of
from acoustic.model import AcousticModel
from asr.errors import ConfigError
from asr.transcribe import Parts, as_written, heard_states, transcribe
from decoder.decoder import Decoder, Hypothesis
from decoder.lexicon import Lexicon
from decoder.stream import DecoderStream, PartialHypothesis, PartialWord, joined
from features.recording import Recording
from features.stream import Resampler, RunningFrames
from foundation.arrays import Reals, Singles
from foundation.records import check_lowest
from foundation.threads import OneAtATime, single_threaded_libraries

# Of speech that the transform of a speaker follows; 15, 30 and 60 are level (docs/adr/0016-streams.md).
MEMORY_S = 60.0
_SHORT_PAUSE_S = 0.1  # ends a sentence that is too long; by feel
_TOO_LONG = 1.5  # of the greatest length, where a sentence ends even within a word; by feel
# When commands begin and end; by feel, as on the page where takes are recorded.
_STEP_S = 0.02
_BACKGROUND_S, _QUIET_PERCENT = 3.0, 10  # of whose levels the background is the lowest
_ABOVE_DB, _FAINTEST_DB, _LEAST_POWER = 9.0, -60.0, 1e-10
_AROUND_S, _LEAST_SPOKEN_S = 0.3, 0.1  # of quiet around a sentence; of sound in it
_IDLE_S = 5.0  # of silence without any word, after which the search begins anew; by feel


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


class Stream:
    """Recognises one speaker's speech while it is spoken; made by `asr.Recognizer.stream`.

    Streams share nothing that changes: one process may run many, each in one thread at a time. A thread that
    calls a stream while another one does gets a `ConfigError`, and the stream goes on.

    Parameters
    ----------
    parts : what it transcribes with
    sample_rate : samples per second of what `accept` is given; None is the model's own
    config : when sentences end
    """

    def __init__(
        self, parts: Parts, sample_rate: int | None = None, config: StreamConfig | None = None
    ) -> None:
        model_rate = parts.model.front_end.config.mfcc.sample_rate
        self.sample_rate = model_rate if sample_rate is None else sample_rate
        self.config = config or StreamConfig()
        self._parts = parts
        self._adapts = self.config.adapts and parts.first_pass is not None
        self._shift_s = parts.model.front_end.frame_shift_s
        self._resampler = Resampler(self.sample_rate, model_rate)
        self._frames = RunningFrames(parts.model.front_end)
        self._use = OneAtATime("stream", ConfigError)
        self.reset()

    def reset(self) -> None:
        """Forget the speaker and the recording under way."""
        with self._use:
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
        with self._use, single_threaded_libraries():
            for block in self._frames.accept(self._resampler.accept(samples)):
                self._move_on(block)
            finished, self._finished = tuple(self._finished), []
            return Partial(self._open_words(), finished, self._sentence.stop * self._shift_s)

    def finish(self) -> Hypothesis:
        """Return the words of the recording that no earlier result has finished, and end the recording.

        What is known of the speaker stays; the next samples begin a new recording. Without end-pointing
        (``pause_s=None``) these are all words of the recording.
        """
        with self._use, single_threaded_libraries():
            rest = [*self._frames.accept(self._resampler.finish()), *self._frames.finish()]
            for block in rest:
                self._move_on(block)
            sentences = [*self._finished, self._end_sentence()]
            self._begin_recording()
        return joined(sentences, [0] * len(sentences), self._shift_s)

    def _move_on(self, frames: Singles) -> None:
        """Take in a block of frames (T, D): adapt, score, search; a sentence may end, or an update be due."""
        adapted = self._speaker.adapted(frames)
        self._sentence.take(frames, self._parts.model.scores(adapted))
        self._open = self._sentence.partial()
        if self._is_over():
            found = self._end_sentence()
            self._finished += [found] if found.words or found.rejected else []
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
            found = self._parts.judge.spoken(heard, np.concatenate(sentence.scores))
        if self._adapts and found.words and not found.rejected:  # other sounds say nothing of the speaker
            self._speaker.update(sentence.frames, sentence.scores, found.text, is_over=True)
        self._begin_sentence(sentence.stop)
        return as_written(joined([found], [sentence.start], self._shift_s), self._parts.spelling)

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


class CommandStream:
    """Recognises commands: one a sentence, which is heard by itself once it is over, as takes are.

    As of `Stream`, there may be many, each in one thread at a time.

    A sentence begins and ends by its loudness above the background, whatever is said in it, and nothing that
    was heard before changes it: what somebody else has said spoils no command that follows.

    Parameters
    ----------
    parts : what it transcribes with
    sample_rate : samples per second of what `accept` is given; None is the model's own
    config : when sentences end
    """

    def __init__(
        self, parts: Parts, sample_rate: int | None = None, config: StreamConfig | None = None
    ) -> None:
        self._rate = parts.model.front_end.config.mfcc.sample_rate
        self.sample_rate = self._rate if sample_rate is None else sample_rate
        self.config = config or StreamConfig()
        self._parts = parts
        self._resampler = Resampler(self.sample_rate, self._rate)
        self._use = OneAtATime("stream", ConfigError)
        self.reset()

    def reset(self) -> None:
        """Forget the recording under way."""
        with self._use:
            self._resampler.clear()
            self._begin_recording()

    def _begin_recording(self) -> None:
        self._samples = np.empty(0, np.float32)  # of the sentence, or what may be its beginning
        self._start = self._n_judged = 0  # of these samples in the recording; of them that are judged
        self._levels: deque[float] = deque(maxlen=round(_BACKGROUND_S / _STEP_S))
        self._begin_sentence()

    def _begin_sentence(self) -> None:
        self._spoken_s = self._quiet_s = 0.0

    def accept(self, samples: Reals) -> Partial:
        """Return what was heard up to the end of (n_samples,) more samples, floats in [-1, 1)."""
        with self._use:
            finished = self._heard(self._resampler.accept(samples))
            return Partial((), tuple(finished), (self._start + len(self._samples)) / self._rate)

    def finish(self) -> Hypothesis:
        """Return the words of the recording that no earlier result has finished, and end the recording."""
        with self._use:
            finished = self._heard(self._resampler.finish())
            if self._spoken_s >= _LEAST_SPOKEN_S:
                finished.append(self._outcome())
            self._begin_recording()
        return joined(finished or [Hypothesis((), 0.0, True)], [0] * max(len(finished), 1), 1.0)

    def _heard(self, samples: Singles) -> list[Hypothesis]:
        """Return the sentences that end with some more samples (n,)."""
        self._samples = np.concatenate([self._samples, samples])
        step, found = round(_STEP_S * self._rate), list[Hypothesis]()
        while len(self._samples) - self._n_judged >= step:
            piece = self._samples[self._n_judged : self._n_judged + step]
            self._n_judged += step
            if self._is_over(piece):
                found.append(self._outcome())
                self._forget(self._n_judged - round(_AROUND_S * self._rate))
        return [one for one in found if one.words or one.rejected]

    def _is_over(self, piece: Singles) -> bool:
        """Return whether a sentence ends with a piece of some hundredths of a second."""
        level_db = 10 * float(np.log10(np.var(piece, dtype=np.float64) + _LEAST_POWER))
        self._levels.append(level_db)
        background_db = float(np.percentile(self._levels, _QUIET_PERCENT))
        if level_db > max(background_db + _ABOVE_DB, _FAINTEST_DB):
            self._spoken_s, self._quiet_s = self._spoken_s + _STEP_S, 0.0
        elif self._spoken_s:
            self._quiet_s += _STEP_S
        around = round(_AROUND_S * self._rate)
        if not self._spoken_s or (self._spoken_s < _LEAST_SPOKEN_S and self._quiet_s >= _AROUND_S):
            self._forget(self._n_judged - around)  # silence, or a click
            return False
        if self.config.pause_s is None:
            return False
        return self._quiet_s >= self.config.pause_s or self._n_judged >= self.config.longest_s * self._rate

    def _forget(self, n: int) -> None:
        """Forget the first samples, which are of no sentence any more."""
        n = max(n, 0)
        self._samples, self._start, self._n_judged = self._samples[n:], self._start + n, self._n_judged - n
        self._begin_sentence()

    def _outcome(self) -> Hypothesis:
        """Return what is said in the sentence, at its time in the recording."""
        too_quiet = max(round((self._quiet_s - _AROUND_S) * self._rate), 0)
        samples = self._samples[: self._n_judged - too_quiet]
        recording = Recording.of(samples, self._parts.model.front_end.config.mfcc)
        with single_threaded_libraries():
            (found,) = transcribe([recording], [""], self._parts)
        shift_s = self._parts.model.front_end.frame_shift_s
        return joined([found], [round(self._start / self._rate / shift_s)], shift_s)


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


class SpeakerAdaptation:
    """The transform that brings a speaker's frames closer to those of training, kept up to date.

    It is estimated as in a second pass (`acoustic.emissions.adaptation`), from the frames and words heard so
    far, and holds for the frames that follow. An update takes some ten milliseconds of processor time, so it
    is made where it is due: the words do not depend on how busy the machine is.

    Parameters
    ----------
    model : its targets of adaptation; without any, frames stay as they are
    lexicon : pronunciations of the words
    """

    def __init__(self, model: AcousticModel, lexicon: Lexicon) -> None:
        self._model, self._lexicon = model, lexicon
        self._transform: Transform | None = None
        self._most = MEMORY_S / model.front_end.frame_shift_s
        self._settled: Statistics | None = None  # of sentences that are over

    def adapted(self, frames: Singles) -> Singles:
        """Return frames (T, D) as the transform maps them."""
        return frames if self._transform is None else self._transform.apply(frames)

    def update(
        self, frames: Sequence[Singles], scores: Sequence[Singles], words: Sequence[str], *, is_over: bool
    ) -> None:
        """Estimate the transform anew, with a sentence that is under way or over.

        Parameters
        ----------
        frames : blocks (T, D) of the sentence up to the end of the last word, not adapted
        scores : their emission scores (T, S)
        words : the words in them
        is_over : whether the sentence counts from now on; otherwise the next update brings it once more
        """
        targets = self._model.adaptation
        if targets is None or not words or not frames:
            return
        together = np.concatenate(frames)
        states = heard_states(np.concatenate(scores), words, self._lexicon, self._model)
        own = statistics_of([(together, states)], targets)
        every = own if self._settled is None else self._settled.plus(own)
        if every.n_frames:
            self._transform = transform_of(every, targets)
        if is_over:
            self._settled = every.at_most(self._most)


def _first(blocks: list[Singles], n_frames: int) -> list[Singles]:
    """Return the blocks of the first frames."""
    found, n = [], 0
    for block in blocks:
        if n >= n_frames:
            break
        found.append(block[: n_frames - n])
        n += len(block)
    return found
