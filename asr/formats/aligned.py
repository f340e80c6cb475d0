"""An alignment as a person reads it: intervals in seconds on three tiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from acoustic.alignment import Alignment, Segment
from acoustic.hmm.topology import Topology, base_phone, state_name
from acoustic.model import AcousticModel
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
    recording : the recording it is a stretch of, None if that is not known
    origin_s : where in the recording the time 0 of the tiers lies
    """

    utterance_id: str
    tiers: Mapping[str, tuple[Interval, ...]]
    duration_s: float
    log_likelihood: float
    confidences: tuple[float, ...] | None = None
    recording: Path | None = None
    origin_s: float = 0.0


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
            "states": tuple(
                Interval(_seconds(s.start, shift_s), _seconds(s.end, shift_s), name)
                for s, name in _named_states(alignment, topology)
            ),
        },
        _seconds(n_frames, shift_s),
        alignment.log_likelihood / n_frames,
        confidences,
    )


def _named_states(alignment: Alignment, topology: Topology) -> Iterator[tuple[Segment, str]]:
    """Yield the runs of one state within a phone, with the names that they have in this phone."""
    for phone in alignment.phones:
        states = alignment.states[phone.start : phone.end]
        cuts = phone.start + 1 + np.flatnonzero(np.diff(states))
        places = topology.phone_states[phone.index]
        position = 0
        for start, end in pairwise([phone.start, *cuts.tolist(), phone.end]):
            state = int(alignment.states[start])
            position = places.index(state, position)
            yield Segment(start, end, state), state_name(topology.phones[phone.index], position)


def _seconds(frame: int, shift_s: float) -> float:
    return round(frame * shift_s, 6)  # 0.1 s, not 0.1000000001
