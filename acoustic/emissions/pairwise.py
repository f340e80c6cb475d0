"""Emission scores from one discriminant for each pair of states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from acoustic.emissions.emission_model import StatePriors
from acoustic.errors import ModelError
from acoustic.pairs.calibration import quadratics
from acoustic.pairs.coupling import CouplingName, coupled_log_posteriors, recoupled
from acoustic.pairs.machines import Machines
from foundation.arrays import Floats, Reals, Singles, bounded, check_array, check_number


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

    @property
    def n_features(self) -> int:
        """Number D of columns of the frames."""
        return self.machines.n_features

    def check(self) -> None:
        """Raise ModelError unless machines, curves and priors fit each other."""
        self.states.check()
        self.machines.check()
        n_classes, n_pairs = len(self.states.log_priors), self.machines.n_pairs
        if self.machines.n_classes != n_classes:
            raise ModelError(
                f"expected machines of {n_classes} classes, got {self.machines.n_classes}; train again"
            )
        if not self.machines.n_centers * self.n_features or n_classes < 2:
            raise ModelError("expected machines of two classes or more that have centres; train again")
        check_array("pairwise.curves", self.curves, np.float64, (n_pairs, 3), ModelError)
        if self.coupling not in get_args(CouplingName):
            raise ModelError(
                f'coupling is "{self.coupling}", expected one of: {", ".join(get_args(CouplingName))}; '
                "train again"
            )
        is_whole = n_pairs == n_classes * (n_classes - 1) // 2
        if not is_whole and (self.coupling != "price" or self.states.floor is None):
            raise ModelError("expected machines of all pairs for this coupling; train again")
        check_number("n_coupled", self.n_coupled, ModelError, lowest=0)

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
        found: Floats = quadratics(self.machines.outputs(bounded(frames), n_workers), self.curves)
        return found

    def log_likelihoods(self, frames: Singles) -> Singles:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        return self.states.scores(self.log_posteriors(frames))
