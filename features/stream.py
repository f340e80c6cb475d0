"""The front end for audio that arrives piece by piece, normalised by what has been heard so far.

A whole recording is normalised by its own loudest frame, mean and variance, which a stream does not know yet.
It starts from those of the training speakers and follows its speaker: mean and variance are smoothed with the
prior as those of a short recording are, and the loudness of speech is guessed from that of the background
until some has been heard. What was loud once, such as a door, is forgotten within seconds. Long pauses count
for nothing, or after a minute without speech the mean would be that of the background.

Frames are computed in blocks that begin at the same frames however the samples arrive, so that all pieces
give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import soxr

from features.errors import FeatureError
from features.frontend import FrontEnd
from features.mfcc import (
    ENERGY_FLOOR,
    MfccConfig,
    MfccPlan,
    add_derivatives,
    check_samples,
    mfcc_plan,
    n_frames,
    normalized_energy,
    static_frames,
)
from features.normalization import Moments, Scale
from features.recording import Recording
from features.samples import HIGHEST_RATE_HZ, LOWEST_RATE_HZ, is_usual_rate
from foundation.arrays import Flags, Reals, Singles
from foundation.threads import OneAtATime

# How many of the training frames' deviations the background is less loud than their mean; by feel.
_BACKGROUND = 1.5
_ENERGY_PER_NAT = 0.1  # of the normalised energy
_NATS_PER_DB = float(np.log(10.0)) / 10.0
_PAUSE_BELOW_DB = 30.0  # the loudest; frames that are softer may be of a pause; docs/adr/0016-streams.md
DIGITAL_SILENCE = float(np.log(ENERGY_FLOOR)) + 1e-3  # log energies up to this are of samples that are all 0


class Windows:
    """Keeps samples until the windows that they lie in are asked for.

    Parameters
    ----------
    plan : how frames are cut and computed
    """

    def __init__(self, plan: MfccPlan) -> None:
        self._plan = plan
        self.begin()

    def begin(self) -> None:
        """Forget all samples: the next one is the first of a recording."""
        self._samples: Singles = np.empty(0, dtype=np.float32)
        # Samples yet to come that lie between two windows, where the shift is the longer one.
        self._n_to_skip = 0

    def push(self, samples: Reals) -> None:
        """Take in ``(n_samples,)`` more samples."""
        check_samples(samples)
        joined = np.concatenate([self._samples, samples.astype(np.float32, copy=False)])
        n_skipped = min(self._n_to_skip, joined.size)
        self._samples = joined[n_skipped:]
        self._n_to_skip -= n_skipped

    @property
    def n_frames(self) -> int:
        """Number of whole windows whose frames have not been asked for yet."""
        return n_frames(self._samples.size, self._plan.config)

    def static(self, n: int) -> Singles:
        """Return the static features of the next frames, ``(n, n_static)`` float32; they no longer wait."""
        config = self._plan.config
        n_heard = (n - 1) * config.shift_samples + config.window_samples if n else 0
        static = static_frames(self._samples[:n_heard], self._plan)
        n_used = n * config.shift_samples
        self._n_to_skip += max(n_used - self._samples.size, 0)
        self._samples = self._samples[n_used:]
        return static


class MfccStream:
    """Computes what `mfcc` computes, a frame as soon as its samples and its look-ahead are there.

    A frame comes ``derivatives * delta_window`` frames after its own samples, for its derivatives need them.
    One thread at a time may use it.

    Parameters
    ----------
    config : MfccConfig
        ``energy_normalize`` must be False: it needs the loudest frame of the whole utterance.

    Examples
    --------
    >>> stream = MfccStream(MfccConfig(energy_normalize=False))
    >>> second = np.sin(np.arange(16000, dtype=np.float32))
    >>> stream.push(second).shape, stream.flush().shape
    ((94, 39), (4, 39))
    """

    def __init__(self, config: MfccConfig) -> None:
        if config.energy and config.energy_normalize:
            raise FeatureError(
                "energy_normalize: expected False for a stream, got True, which needs the whole utterance; "
                "pass MfccConfig(energy_normalize=False) and train with it too"
            )
        self.config = config
        self._windows = Windows(mfcc_plan(config))
        self._look_ahead = config.derivatives * config.delta_window
        self._use = OneAtATime("MFCC stream", FeatureError)
        self._static: Singles
        self._reset()

    def push(self, samples: Reals) -> Singles:
        """Return the frames ready after ``(n_samples,)`` more samples, ``(n, config.n_features)`` float32."""
        with self._use:
            self._windows.push(samples)
            self._static = np.concatenate([self._static, self._windows.static(self._windows.n_frames)])
            return self._emit(self._static.shape[0] - self._look_ahead)

    def flush(self) -> Singles:
        """Return the frames that waited for their look-ahead, ``(n, config.n_features)``, and start anew.

        Samples short of a whole window are dropped, as `mfcc` drops them.
        """
        with self._use:
            rest = self._emit(self._static.shape[0])
            self._reset()
        return rest

    def _reset(self) -> None:
        self._windows.begin()
        # Static frames from _look_ahead before the next one to emit; at the start there are none before it.
        self._static = np.empty((0, self.config.n_static), dtype=np.float32)
        self._n_before = 0

    def _emit(self, stop: int) -> Singles:
        """Return the frames of ``_static`` not yet given out up to ``stop``; forget what none will need."""
        if stop <= self._n_before:
            return np.empty((0, self.config.n_features), dtype=np.float32)
        features = add_derivatives(self._static, self.config.delta_window, self.config.derivatives)
        ready = features[self._n_before : stop]
        n_forgotten = max(stop - self._look_ahead, 0)
        self._static = self._static[n_forgotten:]
        self._n_before = stop - n_forgotten
        return ready


# Frames normalised as a model's front end does


@dataclass(frozen=True)
class RunningConfig:
    """How a stream is cut and normalised.

    Attributes
    ----------
    block_frames : frames computed at once
    memory_s : how much of the past mean and variance follow
    fall_db : by how many dB a second the loudest frame is forgotten while none is louder
    pause_s : so much of a pause counts for mean and variance
    """

    block_frames: int = 5
    memory_s: float = 60.0
    fall_db: float = 10.0
    pause_s: float = 0.5


class RunningFrames:
    """Turns samples that arrive piece by piece into the input frames of a model, in one thread at a time.

    Parameters
    ----------
    front_end : front end of the model
    config : how the stream is cut and normalised

    Examples
    --------
    >>> from features.frontend import FrontEndConfig
    >>> running = RunningFrames(FrontEnd(FrontEndConfig(normalize="none")))
    >>> noise = np.random.default_rng(0).normal(size=16000).astype(np.float32)
    >>> sum(len(block) for block in running.accept(noise)), sum(len(block) for block in running.finish())
    (91, 7)
    """

    def __init__(self, front_end: FrontEnd, config: RunningConfig = RunningConfig()) -> None:
        self._mfcc = mfcc = front_end.config.mfcc
        if front_end.standardizer is None and front_end.config.normalize != "none":
            raise FeatureError(
                "normalize: expected the statistics of training speakers to begin a stream with, got "
                f'"{front_end.config.normalize}" without any; train with --set normalize=speaker'
            )
        self.front_end, self.config = front_end, config
        self._use = OneAtATime("running frames", FeatureError)
        self._windows = Windows(mfcc_plan(mfcc))
        derived = mfcc.delta_window * mfcc.derivatives
        spliced = 0 if front_end.projection is None else front_end.projection.context
        self._look_ahead = max(derived, spliced)
        self._margin = derived + spliced
        self.forget()

    def _begin(self) -> None:
        """Forget all samples: the next one is the first of a recording."""
        self._windows.begin()
        self._static = np.empty((0, self._mfcc.n_static), dtype=np.float32)  # the last ones
        self._n_given = 0  # of the frames in `_static`

    @property
    def look_ahead_s(self) -> float:
        """How much later than its last sample a frame can be given out, in seconds."""
        return (self._look_ahead + self.config.block_frames - 1) * self.front_end.frame_shift_s

    def accept(self, samples: Reals) -> list[Singles]:
        """Return the blocks of frames (T, D) float32 that are ready after (n_samples,) more samples."""
        with self._use:
            self._windows.push(samples)
            blocks = []
            while self._windows.n_frames >= self.config.block_frames:
                self._take(self._windows.static(self.config.block_frames))
                blocks.append(self._given_out(len(self._static) - self._look_ahead))
        return [block for block in blocks if len(block)]

    def finish(self) -> list[Singles]:
        """Return the blocks of frames that waited for what follows; the next samples begin a new recording.

        What is known of the speaker stays.
        """
        with self._use:
            if n := self._windows.n_frames:
                self._take(self._windows.static(n))
            block = self._given_out(len(self._static))
            self._begin()
        return [block] if len(block) else []

    def forget(self) -> None:
        """Forget the speaker, and the recording under way."""
        with self._use:
            self._loudness = Loudness(self.front_end, self.config.fall_db)
            self._pauses = Pauses(round(self.config.pause_s / self.front_end.frame_shift_s))
            self._moments = RunningMoments(self.front_end, self.config.memory_s)
            self._begin()

    def _take(self, static: Singles) -> None:
        self._static = np.concatenate([self._static, static])
        if self._knows_loudness:
            self._moments.shift_energy(self._loudness.hear(static[self._sounds(static), -1]))

    @property
    def _knows_loudness(self) -> bool:
        return self._mfcc.energy and self._mfcc.energy_normalize

    def _counts(self, static: Singles) -> Flags:
        """Return which static frames count for mean and variance."""
        found = self._sounds(static)
        if self._knows_loudness:
            found[found] = ~self._pauses.hear(static[found, -1], self._loudness.level)
        return found

    def _sounds(self, static: Singles) -> Flags:
        """Return which static frames are no digital silence, which tells nothing of speaker or room."""
        if not self._mfcc.energy:
            return np.ones(len(static), dtype=bool)
        return np.asarray(static[:, -1] > DIGITAL_SILENCE)

    def _given_out(self, stop: int) -> Singles:
        """Return the frames not yet given out up to one of `_static`; forget what none will need."""
        start = self._n_given
        if stop <= start:
            return np.empty((0, 0), dtype=np.float32)
        heard = Recording(self._mfcc, self._loudness.normalized(self._static), np.empty(0, np.float32))
        cepstra = self.front_end.used(heard.cepstra(start, stop))
        self._moments.add(cepstra[self._counts(self._static[start:stop])])
        frames = self.front_end.frames(heard, self._moments.scale, start, stop)
        n_forgotten = max(stop - self._margin, 0)
        self._static, self._n_given = self._static[n_forgotten:], stop - n_forgotten
        return frames


class Loudness:
    """The log energy of the loudest frame of a speaker, guessed from the background until there is speech.

    In training, the loudest frame of a recording has the normalised energy 1. The prior of the front end
    tells how far below that its background is, as a rule.

    Parameters
    ----------
    front_end : front end of the model
    fall_db : by how many dB a second the loudest frame is forgotten while none is louder
    """

    def __init__(self, front_end: FrontEnd, fall_db: float) -> None:
        self._config = front_end.config.mfcc
        self._fall = fall_db * _NATS_PER_DB * front_end.frame_shift_s  # of a frame
        self._loudest, self._quietest = -np.inf, np.inf
        self._range = _speech_above_background(front_end)

    @property
    def level(self) -> float:
        """The log energy that counts as the loudest."""
        if self._loudest == -np.inf:
            return DIGITAL_SILENCE + self._range
        return max(self._loudest, self._quietest + self._range)

    def hear(self, log_energy: Singles) -> float:
        """Take in the log energies (T,) of further frames; return by how much the level has risen.

        It has fallen, and the number is below 0, where something louder is being forgotten.
        """
        if not log_energy.size:
            return 0.0
        before = self.level if self._loudest > -np.inf else None
        self._loudest = max(self._loudest - self._fall * log_energy.size, float(log_energy.max()))
        self._quietest = min(self._quietest, float(log_energy.min()))
        return 0.0 if before is None else self.level - before

    def normalized(self, static: Singles) -> Singles:
        """Return static features (T, n_static) with the energy normalised, if the configuration says so."""
        if not (self._config.energy and self._config.energy_normalize):
            return static
        found = static.copy()
        found[:, -1] = normalized_energy(static[:, -1], self.level)
        return found


def _speech_above_background(front_end: FrontEnd) -> float:
    """Return by how many nats the loudest speech is louder than the background, in training."""
    prior, place = front_end.standardizer, front_end.config.mfcc.n_static - 1
    if prior is None:
        return 0.0
    background = prior.mean_[place] - _BACKGROUND * prior.scale_[place]
    return max(float(1.0 - background) / _ENERGY_PER_NAT, 0.0)


class Pauses:
    """Tells frames of long pauses, which say nothing of how a speaker speaks, from all others.

    Parameters
    ----------
    n_frames : so many frames of a pause count as of speech

    Examples
    --------
    >>> Pauses(2).hear(np.array([0, -9, -9, -9, 0, -9], dtype=np.float32), level=0.0).tolist()
    [False, False, False, True, False, False]
    """

    def __init__(self, n_frames: int) -> None:
        self._n_frames, self._n_soft = n_frames, 0

    def hear(self, log_energy: Singles, level: float) -> Flags:
        """Return which of further frames are of a long pause.

        Parameters
        ----------
        log_energy : (T,) float32 their log energies
        level : the log energy that counts as the loudest
        """
        found = np.zeros(len(log_energy), dtype=bool)
        for n, is_soft in enumerate(log_energy < level - _PAUSE_BELOW_DB * _NATS_PER_DB):
            self._n_soft = self._n_soft + 1 if is_soft else 0
            found[n] = self._n_soft > self._n_frames
        return found


class RunningMoments:
    """Mean and variance of the frames heard so far, smoothed with the training speakers'."""

    def __init__(self, front_end: FrontEnd, memory_s: float) -> None:
        config = front_end.config
        self._config, self._prior = config, front_end.standardizer
        self._most = max(round(memory_s / front_end.frame_shift_s), 1)
        self._heard = Moments()

    def add(self, frames: Singles) -> None:
        """Take in frames (T, D)."""
        self._heard.add(frames)
        self._heard.fade(self._most)

    def shift_energy(self, rise: float) -> None:
        """Lower the energy of all frames so far, because the level of speech has risen by so many nats."""
        if self._heard.count and rise:
            self._heard.mean[self._config.mfcc.n_static - 1] -= _ENERGY_PER_NAT * rise

    @property
    def scale(self) -> Scale | None:
        """How the next frames are normalised; None for not at all."""
        if self._prior is None:
            return None
        if self._config.normalize == "global":
            return Scale(self._prior.mean_, self._prior.scale_)
        # Of the first frames alone there is no deviation to divide by.
        mean, deviation = self._heard.smoothed(self._prior, max(self._config.prior_frames, 1.0))
        return Scale(mean, deviation if self._config.normalize_variance else np.ones_like(deviation))


# Another sampling rate


class Resampler:
    """Turns samples of one rate into samples of another; all sizes of pieces give the same samples.

    One thread at a time may use it.

    Parameters
    ----------
    from_rate, to_rate : samples per second

    Examples
    --------
    >>> resampler = Resampler(48000, 16000)
    >>> second = np.zeros(48000, dtype=np.float32)
    >>> len(resampler.accept(second)) + len(resampler.finish())
    16000
    """

    def __init__(self, from_rate: int, to_rate: int) -> None:
        for rate in (from_rate, to_rate):
            if not is_usual_rate(rate):
                raise FeatureError(
                    f"sample_rate: expected {LOWEST_RATE_HZ} to {HIGHEST_RATE_HZ} Hz, got {rate}; "
                    "pass the rate of the recording"
                )
        self._use = OneAtATime("resampler", FeatureError)
        self._stream = None
        if from_rate != to_rate:
            self._stream = soxr.ResampleStream(from_rate, to_rate, 1, dtype="float32", quality="HQ")

    def accept(self, samples: Reals) -> Singles:
        """Return the samples ready after (n_samples,) more, floats in [-1, 1)."""
        check_samples(samples)
        with self._use:
            return self._resampled(samples, is_last=False)

    def finish(self) -> Singles:
        """Return the samples that waited for what follows; the next ones begin a new recording."""
        with self._use:
            rest = self._resampled(np.empty(0, dtype=np.float32), is_last=True)
            self._clear()
        return rest

    def clear(self) -> None:
        """Forget the samples that wait."""
        with self._use:
            self._clear()

    def _clear(self) -> None:
        if self._stream is not None:
            self._stream.clear()

    def _resampled(self, samples: Reals, is_last: bool) -> Singles:
        singles = np.ascontiguousarray(samples, dtype=np.float32)
        if self._stream is None:
            return singles
        return np.asarray(self._stream.resample_chunk(singles, last=is_last), dtype=np.float32)
