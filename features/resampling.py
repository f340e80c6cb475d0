"""Another sampling rate for audio that arrives piece by piece."""

from __future__ import annotations

import numpy as np
import soxr

from features.errors import FeatureError
from features.limits import HIGHEST_RATE_HZ, LOWEST_RATE_HZ, is_usual_rate
from foundation.arrays import Reals, Singles


class Resampler:
    """Turns samples of one rate into samples of another; all sizes of pieces give the same samples.

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
        self._stream = None
        if from_rate != to_rate:
            self._stream = soxr.ResampleStream(from_rate, to_rate, 1, dtype="float32", quality="HQ")

    def accept(self, samples: Reals) -> Singles:
        """Return the samples ready after (n_samples,) more."""
        return self._resampled(samples, is_last=False)

    def finish(self) -> Singles:
        """Return the samples that waited for what follows; the next ones begin a new recording."""
        rest = self._resampled(np.empty(0, dtype=np.float32), is_last=True)
        self.clear()
        return rest

    def clear(self) -> None:
        """Forget the samples that wait."""
        if self._stream is not None:
            self._stream.clear()

    def _resampled(self, samples: Reals, is_last: bool) -> Singles:
        singles = np.ascontiguousarray(samples, dtype=np.float32)
        if self._stream is None:
            return singles
        return np.asarray(self._stream.resample_chunk(singles, last=is_last), dtype=np.float32)
