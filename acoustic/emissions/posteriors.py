"""Posteriors of states: emission scores with the priors that were taken out of them."""

from __future__ import annotations

import numpy as np

from acoustic.emissions.combined import uncombined
from acoustic.emissions.model_files import AcousticModel
from acoustic.emissions.state_priors import StatePriors
from foundation.arrays import Floats, Reals, Singles


def log_posteriors(scores: Reals, model: AcousticModel) -> Singles:
    """Return log P(state | frame), (T, S) float32, of a model's scores (T, S); rows sum to one.

    Discriminants are posteriors over priors: what they divided by is multiplied again. A mixture's
    likelihoods are multiplied with the share of the training frames that each state has.
    """
    joint = scores.astype(np.float64) + _log_priors(model)
    joint -= np.logaddexp.reduce(joint, axis=1, keepdims=True)
    return joint.astype(np.float32)


def _log_priors(model: AcousticModel) -> Floats:
    """Return what is added to the scores, (S,)."""
    states = getattr(uncombined(model.emissions), "states", None)
    if isinstance(states, StatePriors):
        # A state without a class has the prior of the rarest one.
        known = np.append(states.log_priors, states.log_priors.min())
        return np.asarray(states.prior_scale * known[states.class_of_state])
    frames = np.maximum(model.occupancy, 1.0)
    return np.asarray(np.log(frames / frames.sum()))
