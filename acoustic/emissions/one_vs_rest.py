"""Emission scores from one discriminant for each state against all others (KRLS in the thesis)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from acoustic.emissions.state_priors import StatePriors
from acoustic.pairs.calibration import quadratics
from acoustic.pairs.pooled import ScaledKernel
from foundation.arrays import Floats, Singles

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
    centers: Singles
    weights: Singles
    biases: Floats
    curves: Floats
    states: StatePriors

    @property
    def n_states(self) -> int:
        """Number S of emission states."""
        return len(self.states.class_of_state)

    @cached_property
    def _right(self) -> Singles:
        """The centres as `ScaledKernel.values` wants them."""
        return ScaledKernel(self.sigma).right(self.centers)

    def outputs(self, frames: Singles) -> Floats:
        """Return the outputs of all discriminants, (T, D) -> (T, K)."""
        kernel, right = ScaledKernel(self.sigma), self._right
        left = kernel.left(frames)
        outputs = np.empty((len(frames), len(self.biases)))
        for start in range(0, len(frames), _FRAMES_AT_ONCE):
            rows = slice(start, start + _FRAMES_AT_ONCE)
            outputs[rows] = kernel.values(left[rows], right) @ self.weights + self.biases
        return outputs

    def log_posteriors(self, frames: Singles) -> Floats:
        """Return log P(class | frame), (T, D) -> (T, K)."""
        found = -np.logaddexp(0.0, -quadratics(self.outputs(frames), self.curves))
        return np.asarray(found - np.logaddexp.reduce(found, axis=1, keepdims=True))

    def log_likelihoods(self, frames: Singles) -> Singles:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        return self.states.scores(self.log_posteriors(frames))
