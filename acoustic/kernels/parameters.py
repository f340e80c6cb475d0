"""Checks of the estimators' parameters; constructors store them unchecked, as scikit-learn demands."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from acoustic.errors import ParameterError


def check_whole(name: str, value: Any, cure: str = "") -> None:
    """Raise ParameterError if a parameter is no whole number of at least 1; ``cure`` ends the message."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{name} is {value!r}, expected a whole number of at least 1{cure}")


def check_not_negative(name: str, value: Any) -> None:
    """Raise ParameterError if a parameter is no finite number of at least 0."""
    if not (isinstance(value, Real) and 0 <= float(value) < np.inf):
        raise ParameterError(f"{name} is {value!r}, expected a finite number of at least 0")


def check_positive(name: str, value: Any, cure: str = "") -> None:
    """Raise ParameterError if a parameter is no finite number above 0; ``cure`` ends the message."""
    if not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise ParameterError(f"{name} is {value!r}, expected a finite number above 0{cure}")


def check_finite(name: str, value: Any) -> None:
    """Raise ParameterError if a parameter is no finite number."""
    if not (isinstance(value, Real) and np.isfinite(float(value))):
        raise ParameterError(f"{name} is {value!r}, expected a finite number")
