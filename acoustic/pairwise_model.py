"""Emission scores from one discriminant for each pair of states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acoustic.discriminants.calibration import quadratics
from acoustic.discriminants.iterative_coupling import CouplingName, recoupled
from acoustic.discriminants.pair_machines import PairwiseMachines, pair_log_posteriors, pair_outputs
from acoustic.discriminants.pooled_machines import PooledMachines, pooled_log_posteriors, pooled_outputs
from acoustic.state_priors import StatePriors

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@dataclass(frozen=True)
class PairwiseDiscriminantModel:
    """Outputs of pairs, calibrated, coupled to P(state | frame), divided by the states' priors.

    Attributes
    ----------
    machines : discriminants of all pairs of classes
    curves : (P, 3) from their outputs to log odds
    states : the emission states that the classes stand for
    coupling, n_coupled : as of `acoustic.hybrid.HybridConfig`
    """

    machines: PairwiseMachines | PooledMachines
    curves: Floats
    states: StatePriors
    coupling: CouplingName = "price"
    n_coupled: int = 10

    @property
    def n_states(self) -> int:
        """Number S of emission states."""
        return len(self.states.class_of_state)

    def log_posteriors(self, frames: NDArray[np.float32], n_workers: int | None = 1) -> NDArray[np.floating]:
        """Return log P(class | frame), (T, D) -> (T, K)."""
        if isinstance(self.machines, PooledMachines):
            coupled = pooled_log_posteriors(self.machines, self.curves, frames, n_workers)
        else:
            coupled = pair_log_posteriors(self.machines, self.curves, frames, n_workers)
        if self.coupling == "price":
            return coupled
        return recoupled(coupled, self.log_odds(frames, n_workers), self.coupling, self.n_coupled)

    def log_odds(self, frames: NDArray[np.float32], n_workers: int | None = 1) -> Floats:
        """Return those of the first class of all pairs i < j, (T, D) -> (T, P)."""
        outputs: Singles
        if isinstance(self.machines, PooledMachines):
            outputs = pooled_outputs(self.machines, frames, n_workers)
        else:
            outputs = pair_outputs(self.machines, frames, n_workers)
        return quadratics(outputs, self.curves)

    def log_likelihoods(self, frames: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        return self.states.scores(self.log_posteriors(frames))
