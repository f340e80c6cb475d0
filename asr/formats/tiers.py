"""An alignment as a person reads it: intervals in seconds on three tiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from acoustic.emissions.model_files import AcousticModel
from acoustic.hmm.alignment import Alignment, Segment
from acoustic.hmm.contexts import base_phone
from asr.formats.intervals import Interval


@dataclass(frozen=True)
class AlignedUtterance:
    """One utterance with the tiers ``words``, ``phones`` and ``states``.

    Attributes
    ----------
    utterance_id : name for the output formats
    tiers : intervals of each tier in order of time
    duration_s : end of the last frame
    log_likelihood : log-likelihood of the best path, per frame
    confidences : probability of each word that it was spoken there, None where that cannot be told
    """

    utterance_id: str
    tiers: Mapping[str, tuple[Interval, ...]]
    duration_s: float
    log_likelihood: float
    confidences: tuple[float, ...] | None = None


def aligned_utterance(
    utterance_id: str,
    model: AcousticModel,
    words: Sequence[str],
    alignment: Alignment,
    confidences: tuple[float, ...] | None = None,
) -> AlignedUtterance:
    """Return an alignment with names, times and confidences of the words."""
    topology, shift_s = model.topology, model.front_end.frame_shift_s
    n_frames = len(alignment.states)

    def intervals(segments: Sequence[Segment], names: Sequence[str]) -> tuple[Interval, ...]:
        return tuple(
            Interval(_seconds(s.start, shift_s), _seconds(s.end, shift_s), names[s.index]) for s in segments
        )

    return AlignedUtterance(
        utterance_id,
        {
            "words": intervals(alignment.words, words),
            "phones": intervals(alignment.phones, [base_phone(p) for p in topology.phones]),
            "states": intervals(_state_segments(alignment), topology.state_names()),
        },
        _seconds(n_frames, shift_s),
        alignment.log_likelihood / n_frames,
        confidences,
    )


def _state_segments(alignment: Alignment) -> list[Segment]:
    """Return the runs of one state; a phone's end always ends a run."""
    starts = {s.start for s in alignment.phones}
    starts |= set((np.flatnonzero(np.diff(alignment.states)) + 1).tolist())
    bounds = [*sorted(starts), len(alignment.states)]
    return [Segment(a, b, int(alignment.states[a])) for a, b in pairwise(bounds)]


def _seconds(frame: int, shift_s: float) -> float:
    return round(frame * shift_s, 6)  # 0.1 s, not 0.1000000001
