"""The emission scores of a recording, and the best path through any phones: whatever was spoken in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from acoustic.alignment import along, loop_path
from acoustic.hmm.graph import loop_graph
from acoustic.model import AcousticModel
from foundation.arrays import Flags, Ints, Reals


@dataclass(frozen=True)
class ScoredSound:
    """A recording, or a part of one, as its words are judged; what is asked for is computed once.

    Attributes
    ----------
    scores : (T, S) log-likelihoods
    model : topology and seconds from one frame to the next
    """

    scores: Reals
    model: AcousticModel

    @cached_property
    def any_phones(self) -> Ints:
        """States (T,) on the best path through any phones; none of fewer frames than a phone has states."""
        topology = self.model.topology
        return loop_path(self.scores, loop_graph(topology), topology)

    @cached_property
    def is_speech(self) -> Flags:
        """Which frames (T,) are no silence on that path."""
        if not len(self.any_phones):
            return np.zeros(len(self.scores), dtype=bool)
        return np.asarray(self.model.topology.is_speech()[self.any_phones])

    @cached_property
    def best(self) -> Reals:
        """Score (T,) of the best state of each frame."""
        return np.asarray(self.scores.max(axis=1))

    @cached_property
    def of_any_phones(self) -> Reals:
        """Score (T,) of each frame on the best path through any phones."""
        return along(self.scores, self.any_phones) if len(self.any_phones) else self.best

    def contrast(self, rank: int) -> Reals:
        """Return by how much the best state of each frame (T,) scores more than the one of a rank."""
        rank = min(rank, self.scores.shape[1])
        return np.asarray(self.best - np.partition(self.scores, -rank, axis=1)[:, -rank])
