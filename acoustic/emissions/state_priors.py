"""From posteriors of classes to emission scores of states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acoustic.errors import ModelError
from foundation.arrays import Floats, Ints, Reals, Singles, check_array, check_number

FLOOR = -40.0
_ROUNDING = 1e-6  # the logarithm of a probability of one may be as far above 0
_FRAMES_AT_ONCE = 512  # the steps in between are in double precision


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
