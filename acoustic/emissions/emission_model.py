"""What all emission models share: their interface, priors of states, and two models combined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from acoustic.errors import ModelError
from foundation.arrays import Floats, Ints, Reals, Singles, check_array, check_number

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
        if columns_of(self.first) != self.first_stop or self.first_stop > self.n_features:
            raise ModelError(
                f"first_stop: expected {columns_of(self.first)} columns, which the first model sees, of "
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
