"""Any scikit-learn classifier as emission model, stored without pickle.

A fitted estimator is written as what its attributes hold: arrays, numbers, texts, lists, dictionaries and
further estimators. One that holds other objects (trees compiled in C, say) cannot be stored, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier

from acoustic.errors import ModelError
from acoustic.state_priors import StatePriors

Floats = NDArray[np.float64]
Tensors = dict[str, NDArray[Any]]

PREFIX = "sklearn:"
_PLAIN = (bool, int, float, str, np.ndarray, np.generic, tuple, list, dict, BaseEstimator)


@dataclass(frozen=True)
class SklearnModel:
    """Posteriors of a classifier with ``predict_proba``, whose labels are the classes 0 … K − 1.

    Attributes
    ----------
    classifier : fitted
    states : the emission states that the classes stand for
    """

    classifier: Any
    states: StatePriors

    @property
    def n_states(self) -> int:
        """Number S of emission states."""
        return len(self.states.class_of_state)

    def log_posteriors(self, frames: NDArray[np.float32]) -> Floats:
        """Return log P(class | frame), (T, D) -> (T, K)."""
        if not len(frames):
            return np.empty((0, len(self.states.log_priors)))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.classifier.predict_proba(frames)), dtype=np.float64)

    def log_likelihoods(self, frames: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        return self.states.scores(self.log_posteriors(frames))


def make_classifier(name: str) -> Any:
    """Return a new classifier of ``module.Class`` (or ``sklearn:module.Class``) with its own defaults.

    ``sklearn:linear_model.LogisticRegression`` is looked for in scikit-learn first.
    """
    path = name.removeprefix(PREFIX)
    candidates = (f"sklearn.{path}", path) if name.startswith(PREFIX) else (path,)
    for candidate in candidates:
        cls = _find_class(candidate)
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


def _find_class(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name, None) if module else None
    except ImportError:
        return None
    return found if isinstance(found, type) and issubclass(found, BaseEstimator) else None


def pack_estimator(estimator: Any) -> tuple[Tensors, dict[str, Any]]:
    """Return the arrays of an estimator by number, and a description that refers to them."""
    tensors: Tensors = {}
    return tensors, _described(estimator, tensors, type(estimator).__name__)


def unpack_estimator(tensors: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> Any:
    """Return the estimator that `pack_estimator` described."""
    return _restored(description, tensors)


def _described(value: Any, tensors: Tensors, where: str) -> Any:
    """Return what JSON can hold of a value; each kind but the plain ones is a dictionary of one key."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _described(np.asarray(value), tensors, where) | {"is_scalar": True}
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufU":
            raise _cannot_store(where, f"an array of {value.dtype}")
        if value.dtype.kind == "U":
            return {"texts": value.tolist()}
        name = f"estimator.{len(tensors)}"
        tensors[name] = value
        return {"array": name}
    if isinstance(value, list | tuple):
        parts = [_described(v, tensors, f"{where}[{k}]") for k, v in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": parts}
    if isinstance(value, dict):
        parts = [
            [_described(k, tensors, where), _described(v, tensors, f"{where}[{k!r}]")]
            for k, v in value.items()
        ]
        return {"dict": parts}
    if isinstance(value, BaseEstimator):
        cls = type(value)
        state = {k: _described(v, tensors, f"{where}.{k}") for k, v in vars(value).items() if _is_kept(k, v)}
        return {"class": f"{cls.__module__}.{cls.__qualname__}", "state": state}
    raise _cannot_store(where, f"a {type(value).__name__}")


def _is_kept(name: str, value: Any) -> bool:
    """Return whether prediction may need an attribute: generators and optimisers only serve more fitting."""
    return not name.startswith("_") or isinstance(value, _PLAIN)


def _restored(value: Any, tensors: Mapping[str, NDArray[Any]]) -> Any:
    if not isinstance(value, Mapping):
        return value
    if "array" in value:
        array = tensors[value["array"]]
        return array[()] if value.get("is_scalar") else array
    if "texts" in value:
        return np.array(value["texts"])
    if "list" in value:
        return [_restored(v, tensors) for v in value["list"]]
    if "tuple" in value:
        return tuple(_restored(v, tensors) for v in value["tuple"])
    if "dict" in value:
        return {_restored(k, tensors): _restored(v, tensors) for k, v in value["dict"]}
    cls = _find_class(value["class"])
    if cls is None:
        raise ModelError(
            f"{value['class']}: no such scikit-learn estimator; install the package it comes from"
        )
    estimator = cls.__new__(cls)
    vars(estimator).update({k: _restored(v, tensors) for k, v in value["state"].items()})
    return estimator


def _cannot_store(where: str, what: str) -> ModelError:
    return ModelError(
        f"{where} is {what}: models are stored without pickle, expected arrays, numbers, texts and "
        "estimators of these; choose another classifier"
    )
