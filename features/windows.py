"""Samples that arrive piece by piece, cut into the windows of frames."""

from __future__ import annotations

import numpy as np

from features.mfcc import MfccPlan, check_samples, n_frames, static_frames
from foundation.arrays import Reals, Singles


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
        """Stand before the first sample of a recording."""
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
        """How many whole windows wait."""
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
