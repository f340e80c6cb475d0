"""Emission scores from one discriminant for each pair of states."""

from __future__ import annotations

from dataclasses import dataclass

from acoustic.emissions.state_priors import StatePriors
from acoustic.pairs.calibration import quadratics
from acoustic.pairs.iterative_coupling import CouplingName, recoupled
from acoustic.pairs.pooled import PooledMachines, pooled_log_posteriors, pooled_outputs
from acoustic.pairs.sparse import PairwiseMachines, pair_log_posteriors, pair_outputs
from foundation.arrays import Floats, Reals, Singles


@dataclass(frozen=True)
class PairwiseDiscriminantModel:
    """Outputs of pairs, calibrated, coupled to P(state | frame), divided by the states' priors.

    Attributes
    ----------
    machines : discriminants of all pairs of classes
    curves : (P, 3) from their outputs to log odds
    states : the emission states that the classes stand for
    coupling, n_coupled : as of `acoustic.emissions.hybrid.HybridConfig`
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

    def log_posteriors(self, frames: Singles, n_workers: int | None = 1) -> Reals:
        """Return log P(class | frame), (T, D) -> (T, K)."""
        if isinstance(self.machines, PooledMachines):
            coupled = pooled_log_posteriors(self.machines, self.curves, frames, n_workers)
        else:
            coupled = pair_log_posteriors(self.machines, self.curves, frames, n_workers)
        if self.coupling == "price":
            return coupled
        return recoupled(coupled, self.log_odds(frames, n_workers), self.coupling, self.n_coupled)

    def log_odds(self, frames: Singles, n_workers: int | None = 1) -> Floats:
        """Return those of the first class of all pairs i < j, (T, D) -> (T, P)."""
        outputs: Singles
        if isinstance(self.machines, PooledMachines):
            outputs = pooled_outputs(self.machines, frames, n_workers)
        else:
            outputs = pair_outputs(self.machines, frames, n_workers)
        return quadratics(outputs, self.curves)

    def log_likelihoods(self, frames: Singles) -> Singles:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        return self.states.scores(self.log_posteriors(frames))
