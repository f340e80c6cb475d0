"""Emission models: what scores frames against the states of an HMM.

`EmissionModel` is the interface that decoding and alignment know. `PairwiseDiscriminantModel` is the hybrid
of the thesis: the outputs of discriminants of pairs become log odds, the log odds posteriors of classes,
and these, over the priors of the states (`StatePriors`), scores. `CombinedModel` adds a mixture model's.

Axes: T frames, D features, S states, K classes, P pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, get_args, runtime_checkable

import numpy as np

from acoustic.errors import ModelError
from acoustic.pairs.calibration import quadratics
from acoustic.pairs.coupling import CouplingName, coupled_log_posteriors, recoupled
from acoustic.pairs.machines import Machines
from foundation.arrays import Floats, Ints, Reals, Singles, bounded, check_array, check_number

FLOOR = -40.0
_ROUNDING = 1e-6  # the logarithm of a probability of one may be as far above 0
_FRAMES_AT_ONCE = 512  # the steps in between are in double precision


@runtime_checkable
class EmissionModel(Protocol):
    """Anything that scores frames against the emission states of an HMM."""

    @property
    def n_states(self) -> int:
        """Number S of emission states."""
        ...

    def log_likelihoods(self, frames: Singles) -> Singles:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        ...


@dataclass(frozen=True)
class PairwiseDiscriminantModel:
    """An emission model whose pairs' outputs are calibrated, coupled to posteriors and divided by priors.

    Attributes
    ----------
    machines : discriminants of all pairs of classes, or of those alone that compete (`Machines`)
    curves : (P, 3) from their outputs to log odds
    states : the emission states that the classes stand for
    coupling : how log odds are coupled to posteriors
    n_coupled : number of best classes of each frame that a coupling other than Price's is restricted to; 0
        for all
    chosen_by : how the machines' centres were chosen, for people: ``npd``, ``orols``, ``random``, …; empty if
        unknown
    loss : what the machines were fitted by, for people: ``squared``, ``squared-hinge``, ``hinge``; empty if
        unknown
    """

    machines: Machines
    curves: Floats
    states: StatePriors
    coupling: CouplingName = "price"
    n_coupled: int = 10
    chosen_by: str = ""
    loss: str = ""

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


@dataclass(frozen=True)
class StatePriors:
    """The priors by which P(class | frame) becomes log p(frame | state).

    Attributes
    ----------
    class_of_state : (S,) int32 class of each emission state, several may share one; −1 for none
    log_priors : (K,) log priors of the classes
    prior_scale : factor of the log prior that is subtracted
    floor : least log posterior, in nats; smaller ones are raised to it; None for none
    """

    class_of_state: Ints
    log_priors: Floats
    prior_scale: float = 0.5
    floor: float | None = FLOOR

    def check(self) -> None:
        """Raise ModelError unless the arrays fit each other."""
        check_array("states.log_priors", self.log_priors, np.float64, (None,), ModelError, highest=_ROUNDING)
        n = len(self.log_priors)
        if not n:
            raise ModelError("states.log_priors: expected one of each class, got none; train again")
        check_array(
            "states.class_of_state",
            self.class_of_state,
            np.int32,
            (None,),
            ModelError,
            lowest=-1,
            highest=n - 1,
        )
        check_number("prior_scale", self.prior_scale, ModelError, lowest=0)
        if self.floor is not None:
            check_number("floor", self.floor, ModelError, highest=0)

    def scores(self, log_posteriors: Reals) -> Singles:
        """Return log p(frame | state), up to a constant per frame, (T, S) float32, of posteriors (T, K).

        log p(frame | state) = log P(state | frame) − prior_scale · log P(state); thesis chapter 4. A state
        without a class gets the prior of the rarest class as its posterior, which says nothing about the
        frame.
        """
        found = np.empty((len(log_posteriors), len(self.class_of_state)), dtype=np.float32)
        nothing = (1.0 - self.prior_scale) * self.log_priors.min()
        for start in range(0, len(found), _FRAMES_AT_ONCE):
            rows = slice(start, start + _FRAMES_AT_ONCE)
            part = log_posteriors[rows]
            bounded = part if self.floor is None else np.maximum(part, self.floor)
            scores = bounded - self.prior_scale * self.log_priors
            scores = np.column_stack([scores, np.full(len(scores), nothing)])
            found[rows] = scores[:, self.class_of_state]
        return found


@dataclass(frozen=True)
class CombinedModel:
    """Scores of one model plus weighted scores of another, each computed from its own columns of the frames.

    Attributes
    ----------
    first : model that sees the columns before ``first_stop``
    second : model that sees the columns from ``second_start`` on
    first_stop : number of columns that the first model sees
    second_start : first column that the second model sees
    weight : factor of the second model's log-likelihoods
    second_states : (S,) int32 state of the second model for each state of the first
    """

    first: EmissionModel
    second: EmissionModel
    first_stop: int
    second_start: int
    weight: float
    second_states: Ints

    @property
    def n_states(self) -> int:
        """Number S of emission states."""
        return self.first.n_states

    @property
    def n_features(self) -> int:
        """Number D of columns of the frames."""
        return self.second_start + columns_of(self.second)

    def check(self) -> None:
        """Raise ModelError unless both models and what they see of the frames fit each other."""
        check_array(
            "combined.second_states",
            self.second_states,
            np.int32,
            (self.first.n_states,),
            ModelError,
            lowest=0,
            highest=self.second.n_states - 1,
        )
        check_number("weight", self.weight, ModelError)
        check_number("second_start", self.second_start, ModelError, lowest=0)
        seen = columns_of(self.first) or self.first_stop  # a plugin's model need not say what it sees
        if seen != self.first_stop or not 1 <= self.first_stop <= self.n_features:
            raise ModelError(
                f"first_stop: expected {seen} columns, which the first model sees, of "
                f"{self.n_features}, got {self.first_stop}; train again"
            )

    def log_likelihoods(self, frames: Singles) -> Singles:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        scores = self.first.log_likelihoods(np.ascontiguousarray(frames[:, : self.first_stop]))
        others = self.second.log_likelihoods(np.ascontiguousarray(frames[:, self.second_start :]))
        return np.asarray(scores + np.float32(self.weight) * others[:, self.second_states])


def columns_of(model: EmissionModel) -> int:
    """Return the number D of columns of the frames that a model scores; 0 if it does not say."""
    return int(getattr(model, "n_features", 0))


def uncombined(emissions: EmissionModel) -> EmissionModel:
    """Return the first model of a combination; any other model as it is."""
    return emissions.first if isinstance(emissions, CombinedModel) else emissions
