"""The front end of `features.mfcc` for audio that arrives piece by piece."""

from __future__ import annotations

import numpy as np

from features.derivatives import add_derivatives
from features.errors import FeatureError
from features.mfcc import MfccConfig, mfcc_plan
from features.windows import Windows
from foundation.arrays import Reals, Singles


class MfccStream:
    """Computes what `mfcc` computes, a frame as soon as its samples and its look-ahead are there.

    A frame comes ``derivatives * delta_window`` frames after its own samples, for its derivatives need them.

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
        self._static: Singles
        self._reset()

    def push(self, samples: Reals) -> Singles:
        """Return the frames ready after ``(n_samples,)`` more samples, ``(n, config.n_features)`` float32."""
        self._windows.push(samples)
        self._static = np.concatenate([self._static, self._windows.static(self._windows.n_frames)])
        return self._emit(self._static.shape[0] - self._look_ahead)

    def flush(self) -> Singles:
        """Return the frames that waited for their look-ahead, ``(n, config.n_features)``, and start anew.

        Samples short of a whole window are dropped, as `mfcc` drops them.
        """
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
