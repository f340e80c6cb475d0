"""A hybrid and a Gaussian mixture model together: a log-linear combination of their scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acoustic.emissions.protocol import EmissionModel
from acoustic.errors import ModelError
from foundation.arrays import Ints, Singles, check_array, check_number


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
