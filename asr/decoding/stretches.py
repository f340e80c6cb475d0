"""Recordings of any length in bounded memory: decoded stretch by stretch, normalised and adapted as a whole.

A long recording is cut where it is quiet (`features.recording`). Its stretches count as recordings of one
speaker, whose frames and scores are computed when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from acoustic.model import AcousticModel
from asr.decoding.passes import ScoredSpeech, emission_scores
from decoder.decoder import Hypothesis
from decoder.joining import joined
from features.recording import Recording
from foundation.arrays import Singles
from foundation.computed import Computed


@dataclass(frozen=True)
class Stretch:
    """Frames [start, stop) of a recording, given by its place among all recordings."""

    recording: int
    start: int
    stop: int


@dataclass(frozen=True)
class SpeechInStretches:
    """Stretches of recordings, ready to be decoded as if each were a recording."""

    stretches: Sequence[Stretch]
    scored: ScoredSpeech

    def joined(self, decoded: Sequence[Hypothesis], frame_shift_s: float, n_best: int) -> list[Hypothesis]:
        """Return the hypothesis of each recording from those of its stretches."""
        pairs = zip(self.stretches, decoded, strict=True)
        found = []
        for _, group in groupby(pairs, key=lambda pair: pair[0].recording):
            stretches, hypotheses = zip(*group, strict=True)
            found.append(joined(hypotheses, [s.start for s in stretches], frame_shift_s, n_best))
        return found


def speech_in_stretches(
    recordings: Sequence[Recording], speakers: Sequence[str], model: AcousticModel
) -> SpeechInStretches:
    """Return the stretches of recordings by some speakers, with frames and scores to be computed."""
    front_end = model.front_end
    stretches = [Stretch(n, *bounds) for n, r in enumerate(recordings) for bounds in r.stretches()]
    groups = front_end.groups(len(recordings), speakers)
    scales = front_end.scales(_cepstra(recordings, groups, stretches))

    def frames_of(n: int) -> Singles:
        place, start, stop = stretches[n].recording, stretches[n].start, stretches[n].stop
        return front_end.frames(recordings[place], scales[groups[place]], start, stop)

    frames = Computed(frames_of, len(stretches))
    speech = ScoredSpeech(frames, [speakers[s.recording] for s in stretches], emission_scores(frames, model))
    return SpeechInStretches(stretches, speech)


def _cepstra(
    recordings: Sequence[Recording], groups: Sequence[str], stretches: Sequence[Stretch]
) -> Iterator[tuple[str, Singles]]:
    """Yield the cepstra of each stretch with the group it is normalised with."""
    for s in stretches:
        yield groups[s.recording], recordings[s.recording].cepstra(s.start, s.stop)
