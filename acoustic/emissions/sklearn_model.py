"""A classifier of scikit-learn, or of `acoustic.discriminants`, as emission model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags

from acoustic.discriminants.files import OWN, SCIKIT_LEARN, n_features_of, path_of, storable_class, tried
from acoustic.emissions.emission_model import StatePriors
from acoustic.errors import ModelError
from foundation.arrays import Floats, Singles, bounded, check_number
from foundation.errors import did_you_mean, near

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

    @property
    def n_features(self) -> int:
        """Number D of columns of the frames; 0 if the classifier does not say."""
        return n_features_of(self.classifier)

    def check(self) -> None:
        """Raise ModelError unless the classifier has a posterior for each class of the priors."""
        self.states.check()
        n_features, n_classes = self.n_features, len(self.states.log_priors)
        check_number("n_features_in_", n_features, ModelError, lowest=1)
        found = tried(self.classifier, "predict_proba", np.zeros((2, n_features), dtype=np.float32))
        if found.shape != (2, n_classes):
            raise ModelError(
                f"expected posteriors of {n_classes} classes, got {found.shape[1:]}; train again"
            )

    def log_posteriors(self, frames: Singles) -> Floats:
        """Return log P(class | frame), (T, D) -> (T, K)."""
        if not len(frames):
            return np.empty((0, len(self.states.log_priors)))
        found = tried(self.classifier, "predict_proba", bounded(frames)).astype(np.float64)
        # Where a classifier finds no number, or no class possible, it says nothing about the frame.
        is_known = np.isfinite(found).all(axis=1) & (found.sum(axis=1) > 0)
        with np.errstate(divide="ignore"):
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

    A name such as ``sklearn:linear_model.LogisticRegression`` is one of scikit-learn's, and
    ``sklearn:acoustic.discriminants.MSEClassifier`` one of ours. Which there are says `names_of_classifiers`:
    those that a model file may hold (`acoustic.discriminants.files`), that have posteriors, and that can
    learn from frames. Of other packages nothing is imported; their classifiers come as plugins
    (`acoustic.emissions.kinds`).
    """
    path = name.removeprefix(PREFIX)
    candidates = (f"sklearn.{path}", path) if name.startswith(PREFIX) else (path,)
    found = next(filter(None, map(_class_of, candidates)), None)
    fault = "no such class" if found is None else _fault_of(found)
    if found is None or fault:
        known = names_of_classifiers()
        ends = {name.rpartition(".")[2]: name for name in known} | {name: name for name in known}
        hint = "" if found else did_you_mean([PREFIX + ends[end] for end in near(path, ends)])
        raise ModelError(
            f"{path}: {fault}{hint}; expected a classifier that has posteriors and that a model file may "
            f"hold, such as {PREFIX}{_USUAL}, or --model svm, our own; docs/plugins.md lists all {len(known)}"
        )
    return found()


@cache
def names_of_classifiers() -> tuple[str, ...]:
    """Return the names of classifiers that `make_classifier` takes: scikit-learn's, then ours.

    >>> "linear_model.LogisticRegression" in names_of_classifiers(), "svm.SVC" in names_of_classifiers()
    (True, False)
    """
    theirs = (f"{module}.{name}" for module, names in SCIKIT_LEARN.items() for name in names)
    ours = sorted(f"{_OURS}{path.rpartition('.')[2]}" for path in OWN)
    found = (path for path in (*theirs, *ours) if (kind := _class_of(path)) and not _fault_of(kind))
    return tuple(path.removeprefix("sklearn.") for path in found)


_OURS = "acoustic.discriminants."
_USUAL = "linear_model.LogisticRegression"


def _class_of(path: str) -> type[Any] | None:
    """Return the class of ``module.Class``: of scikit-learn any estimator, of other packages the storable."""
    module, _, name = path.rpartition(".")
    if path == _OURS + name:  # files know it by the module that it once stood in
        path = next((f"acoustic.{own}" for own in OWN if own.endswith(f".{name}")), path)
    found = storable_class(path)
    if found is not None or not path.startswith("sklearn."):
        return found
    try:
        other = getattr(import_module(module), name, None)
    except ImportError:
        return None
    return other if isinstance(other, type) and issubclass(other, BaseEstimator) else None


def _fault_of(kind: type[Any]) -> str:
    """Return why a class is none whose objects can be emission models; nothing if it is one."""
    if storable_class(path_of(kind)) is not kind:
        return "no model file may hold it, since its compiled code would trust the file"
    try:
        classifier = kind()
    except TypeError:
        return "cannot be made without arguments"
    if not isinstance(classifier, BaseEstimator) or not is_classifier(classifier):
        return "no classifier"
    if not hasattr(classifier, "predict_proba"):
        return "it has no predict_proba"
    if get_tags(classifier).input_tags.positive_only:
        return "it takes no negative numbers, which frames have"
    return ""
