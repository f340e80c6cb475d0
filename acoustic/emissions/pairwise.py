"""Emission scores from one discriminant for each pair of states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acoustic.emissions.state_priors import StatePriors
from acoustic.pairs.calibration import quadratics
from acoustic.pairs.coupling import coupled_log_posteriors
from acoustic.pairs.iterative_coupling import CouplingName, recoupled
from acoustic.pairs.machines import Machines
from foundation.arrays import Floats, Reals, Singles, bounded


@dataclass(frozen=True)
class PairwiseDiscriminantModel:
    """An emission model whose pairs' outputs are calibrated, coupled to posteriors and divided by priors.

    Attributes
    ----------
    machines : discriminants of all pairs of classes
    curves : (P, 3) from their outputs to log odds
    states : the emission states that the classes stand for
    coupling : how log odds are coupled to posteriors
    n_coupled : number of best classes of each frame that a coupling other than Price's is restricted to; 0
        for all
    chosen_by : how the machines' centres were chosen, for people: ``npd``, ``orols``, ``random``, …; empty if
        unknown
    """

    machines: Machines
    curves: Floats
    states: StatePriors
    coupling: CouplingName = "price"
    n_coupled: int = 10
    chosen_by: str = ""

    @property
    def n_states(self) -> int:
        """Number S of emission states."""
        return len(self.states.class_of_state)

    def log_posteriors(self, frames: Singles, n_workers: int | None = 1) -> Reals:
        """Return log P(class | frame), (T, D) -> (T, K)."""
        # The machines couple in single precision, log odds within ±80: enough for posteriors with a floor.
        if self.coupling == "price" and self.states.floor is not None:
            return self.machines.log_posteriors(self.curves, bounded(frames), n_workers)
        log_odds = self.log_odds(frames, n_workers)
        coupled = coupled_log_posteriors(log_odds, self.machines.n_classes)
        coupled -= np.logaddexp.reduce(coupled, axis=1, keepdims=True)
        if self.coupling == "price":
            return coupled
        return recoupled(coupled, log_odds, self.coupling, self.n_coupled)

    def log_odds(self, frames: Singles, n_workers: int | None = 1) -> Floats:
        """Return the log odds of class i against class j for all pairs i < j, (T, D) -> (T, P)."""
        return quadratics(self.machines.outputs(bounded(frames), n_workers), self.curves)

    def log_likelihoods(self, frames: Singles) -> Singles:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        return self.states.scores(self.log_posteriors(frames))
