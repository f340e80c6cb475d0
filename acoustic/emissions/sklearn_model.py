"""Any scikit-learn classifier as emission model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from acoustic.discriminants.files import find_class
from acoustic.emissions.state_priors import StatePriors
from acoustic.errors import ModelError
from foundation.arrays import Floats, Singles, bounded

PREFIX = "sklearn:"


@dataclass(frozen=True)
class SklearnModel:
    """An emission model from a classifier with ``predict_proba``, whose labels are the classes 0 … K − 1.

    Attributes
    ----------
    classifier : fitted classifier
    states : the emission states that the classes stand for
    """

    classifier: Any
    states: StatePriors

    @property
    def n_states(self) -> int:
        """Number S of emission states."""
        return len(self.states.class_of_state)

    def log_posteriors(self, frames: Singles) -> Floats:
        """Return log P(class | frame), (T, D) -> (T, K)."""
        if not len(frames):
            return np.empty((0, len(self.states.log_priors)))
        with np.errstate(all="ignore"):
            found = np.asarray(self.classifier.predict_proba(bounded(frames)), dtype=np.float64)
            # Where a classifier finds no number, or no class possible, it says nothing about the frame.
            is_known = np.isfinite(found).all(axis=1) & (found.sum(axis=1) > 0)
            return np.log(np.where(is_known[:, None], found, 1.0 / found.shape[1]))

    def log_likelihoods(self, frames: Singles) -> Singles:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        return self.states.scores(self.log_posteriors(frames))


def seeded(classifier: Any, seed: int) -> Any:
    """Return a classifier, and the estimators in it, with this seed wherever there is a ``random_state``."""
    names = (name for name in classifier.get_params() if name.split("__")[-1] == "random_state")
    return classifier.set_params(**dict.fromkeys(names, seed))


def make_classifier(name: str) -> Any:
    """Return a new classifier of ``module.Class`` (or ``sklearn:module.Class``) with its own defaults.

    A name such as ``sklearn:linear_model.LogisticRegression`` is looked for in scikit-learn first.
    """
    path = name.removeprefix(PREFIX)
    candidates = (f"sklearn.{path}", path) if name.startswith(PREFIX) else (path,)
    for candidate in candidates:
        cls = find_class(candidate)
        if cls is not None:
            classifier = cls()
            if not is_classifier(classifier) or not hasattr(classifier, "predict_proba"):
                raise ModelError(
                    f"{path}: expected a classifier with predict_proba, got {cls.__name__}; choose another, "
                    "or wrap it in sklearn.calibration.CalibratedClassifierCV"
                )
            return classifier
    raise ModelError(
        f"{path}: no such class; expected module.Class of an installed scikit-learn classifier, as "
        "sklearn:linear_model.LogisticRegression"
    )
