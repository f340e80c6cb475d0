"""Fitted estimators as plain arrays, to be written without pickle: a header in JSON beside the numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acoustic.errors import ModelError

State = dict[str, NDArray[Any]]

HEADER = "header"
_VERSION = 2


def packed_header(estimator: str, fields: Mapping[str, Any]) -> NDArray[np.uint8]:
    """Return a header as bytes (n,): what is not an array, and whose it is."""
    header = {"estimator": estimator, "version": _VERSION, **fields}
    return np.frombuffer(json.dumps(header, default=_plain).encode(), dtype=np.uint8).copy()


def unpacked_header(state: Mapping[str, NDArray[Any]], estimator: str) -> dict[str, Any]:
    """Return the header of a state of this estimator."""
    if HEADER not in state:
        raise ModelError(
            f'state has no "{HEADER}", expected that of {estimator}.state_dict(); save the model again'
        )
    header: dict[str, Any] = json.loads(state[HEADER].tobytes())
    found = header.get("estimator"), header.get("version")
    if found != (estimator, _VERSION):
        raise ModelError(
            f"state is of {found[0]}, version {found[1]}, expected {estimator}, version {_VERSION}; "
            "load it with the class that saved it"
        )
    return header


def packed_labels(labels: NDArray[Any]) -> dict[str, Any]:
    """Return class labels as a header holds them: their type and values."""
    kind = "object" if labels.dtype == object else labels.dtype.str
    return {"dtype": kind, "values": labels.tolist()}


def unpacked_labels(packed: Mapping[str, Any]) -> NDArray[Any]:
    """Return the class labels (n_classes,) again."""
    return np.array(packed["values"], dtype=packed["dtype"])


def _plain(value: Any) -> Any:
    """Return numpy's scalars and arrays as Python's; a random generator as None: prediction needs none."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None
    raise ModelError(f"a parameter is {value!r}, expected numbers and words; only such models can be saved")
