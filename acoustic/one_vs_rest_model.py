"""Emission scores from one discriminant for each state against all others (KRLS in the thesis)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from acoustic.discriminants.calibration import quadratics
from acoustic.discriminants.pooled_machines import ScaledKernel
from acoustic.state_priors import StatePriors

Floats = NDArray[np.float64]

_FRAMES_AT_ONCE = 256


@dataclass(frozen=True)
class OneVsRestModel:
    """Outputs of K discriminants, calibrated, P(k | x) in proportion to 1/(1 + e^{−d_k}).

    Attributes
    ----------
    sigma : kernel width
    centers : (N, D) float32
    weights : (N, K) float32
    biases : (K,)
    curves : (K, 3) from outputs to log odds
    states : the emission states that the classes stand for
    """

    sigma: float
    centers: NDArray[np.float32]
    weights: NDArray[np.float32]
    biases: Floats
    curves: Floats
    states: StatePriors

    @property
    def n_states(self) -> int:
        """Number S of emission states."""
        return len(self.states.class_of_state)

    @cached_property
    def _right(self) -> NDArray[np.float32]:
        """The centres as `ScaledKernel.values` wants them."""
        return ScaledKernel(self.sigma).right(self.centers)

    def outputs(self, frames: NDArray[np.float32]) -> Floats:
        """Return the outputs of all discriminants, (T, D) -> (T, K)."""
        kernel, right = ScaledKernel(self.sigma), self._right
        left = kernel.left(frames)
        outputs = np.empty((len(frames), len(self.biases)))
        for start in range(0, len(frames), _FRAMES_AT_ONCE):
            rows = slice(start, start + _FRAMES_AT_ONCE)
            outputs[rows] = kernel.values(left[rows], right) @ self.weights + self.biases
        return outputs

    def log_posteriors(self, frames: NDArray[np.float32]) -> Floats:
        """Return log P(class | frame), (T, D) -> (T, K)."""
        found = -np.logaddexp(0.0, -quadratics(self.outputs(frames), self.curves))
        return np.asarray(found - np.logaddexp.reduce(found, axis=1, keepdims=True))

    def log_likelihoods(self, frames: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        return self.states.scores(self.log_posteriors(frames))
