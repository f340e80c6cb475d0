"""Fitted estimators as arrays and JSON, without pickle.

The attributes of an estimator are written: arrays, numbers, texts, lists, dictionaries and further
estimators. ``loo_decision_`` is left out, as it has the size of the training set and predictions do not need
it; random generators among the parameters become None. An estimator with other objects, for example trees
compiled in C, cannot be stored and raises an error. Reading makes only objects of scikit-learn's estimators
and of `acoustic.discriminants`, from installed modules; nothing in the files is executed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from sklearn.base import BaseEstimator

from acoustic.errors import ModelError
from foundation.writing import write_whole

Tensors = dict[str, NDArray[Any]]

_PLAIN = (bool, int, float, str, np.ndarray, np.generic, tuple, list, dict, BaseEstimator)
_OWN = ("acoustic.discriminants.", "acoustic.kernels.", "acoustic.pairs.")
_GENERATORS = (np.random.RandomState, np.random.Generator)
_AS_LARGE_AS_THE_TRAINING_SET = "loo_decision_"
_HEADER = "estimator"


def save_estimator(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator as one safetensors file, its description in the header."""
    tensors, description = pack_estimator(estimator)
    write_whole(path, save(tensors, metadata={_HEADER: json.dumps(description)}))


def load_estimator(path: str | Path) -> Any:
    """Return the estimator that `save_estimator` wrote.

    Raises
    ------
    ModelError : the file is damaged or was not written by `save_estimator`
    """
    try:
        with safe_open(path, framework="numpy") as file:
            description = json.loads((file.metadata() or {})[_HEADER])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise ModelError(
            f"{path}: {error}; expected a file that save_estimator wrote; check the path or restore it"
        ) from error
    return unpack_estimator(tensors, description)


def pack_estimator(estimator: Any) -> tuple[Tensors, dict[str, Any]]:
    """Return the arrays of an estimator by number, and a description that refers to them."""
    tensors: Tensors = {}
    return tensors, _described(estimator, tensors, type(estimator).__name__)


def unpack_estimator(tensors: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> Any:
    """Return the estimator that `pack_estimator` described."""
    return _restored(description, tensors)


def _described(value: Any, tensors: Tensors, where: str) -> Any:
    """Return a value in the form of JSON; kinds that JSON lacks become dictionaries with one key."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, _GENERATORS):
        return None
    if isinstance(value, np.generic):
        return _described(np.asarray(value), tensors, where) | {"is_scalar": True}
    if isinstance(value, np.ndarray):
        if value.dtype == object and all(isinstance(v, str) for v in value.flat):
            return {"texts": value.tolist(), "is_object": True}
        if value.dtype.kind not in "biufU":
            raise _cannot_store(where, f"an array of {value.dtype}")
        if value.dtype.kind == "U":
            return {"texts": value.tolist()}
        name = f"estimator.{len(tensors)}"
        tensors[name] = np.array(value, order="C")  # safetensors writes the memory unchanged
        return {"array": name}
    if isinstance(value, list | tuple):
        parts = [_described(v, tensors, f"{where}[{k}]") for k, v in enumerate(value)]
        if hasattr(value, "_fields"):
            return {"record": f"{type(value).__module__}.{type(value).__qualname__}", "tuple": parts}
        return {"tuple" if isinstance(value, tuple) else "list": parts}
    if isinstance(value, dict):
        parts = [
            [_described(k, tensors, where), _described(v, tensors, f"{where}[{k!r}]")]
            for k, v in value.items()
        ]
        return {"dict": parts}
    cls = type(value)
    if isinstance(value, BaseEstimator) or cls.__module__.startswith(_OWN):
        state = {k: _described(v, tensors, f"{where}.{k}") for k, v in vars(value).items() if _is_kept(k, v)}
        return {"class": f"{cls.__module__}.{cls.__qualname__}", "state": state}
    raise _cannot_store(where, f"a {type(value).__name__}")


def _is_kept(name: str, value: Any) -> bool:
    """Return whether prediction may need an attribute; it does not need random generators and optimisers."""
    return name != _AS_LARGE_AS_THE_TRAINING_SET and (not name.startswith("_") or isinstance(value, _PLAIN))


def _restored(value: Any, tensors: Mapping[str, NDArray[Any]]) -> Any:
    if not isinstance(value, Mapping):
        return value
    if "array" in value:
        array = tensors[value["array"]]
        return array[()] if value.get("is_scalar") else array
    if "texts" in value:
        return np.array(value["texts"], dtype=object if value.get("is_object") else None)
    if "list" in value:
        return [_restored(v, tensors) for v in value["list"]]
    if "tuple" in value:
        parts = tuple(_restored(v, tensors) for v in value["tuple"])
        return _found_class(value["record"])(*parts) if "record" in value else parts
    if "dict" in value:
        return {_restored(k, tensors): _restored(v, tensors) for k, v in value["dict"]}
    cls = _found_class(value["class"])
    estimator = object.__new__(cls)
    vars(estimator).update({k: _restored(v, tensors) for k, v in value["state"].items()})
    return estimator


def _found_class(path: str) -> Any:
    cls = find_class(path)
    if cls is None:
        raise ModelError(f"{path}: no such scikit-learn estimator; install the package it comes from")
    return cls


def _cannot_store(where: str, what: str) -> ModelError:
    return ModelError(
        f"{where} is {what}: models are stored without pickle, expected arrays, numbers, texts and "
        "estimators of these; choose another classifier"
    )


def find_class(path: str) -> Any:
    """Return the estimator class of ``module.Class``, None if there is none."""
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name, None) if module else None
    except ImportError:
        return None
    is_known = isinstance(found, type) and (issubclass(found, BaseEstimator) or module.startswith(_OWN))
    return found if is_known else None
