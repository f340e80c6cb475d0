"""The models that can be trained by name (``asr train --model NAME``)."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from asr.errors import ConfigError
from features.frontend import Projection


@dataclass(frozen=True)
class GmmSystem:
    """A monophone GMM-HMM.

    Attributes
    ----------
    n_components : Gaussians per state
    projection : of the front end
    """

    n_components: int
    projection: Projection = "none"


SYSTEMS: dict[str, GmmSystem] = {
    "gmm": GmmSystem(8),
    "gmm16": GmmSystem(16),
    "gmm-lda": GmmSystem(8, "lda"),
    "gmm-lda16": GmmSystem(16, "lda"),
}


def find_system(name: str) -> GmmSystem:
    """Return the system of a name."""
    if name not in SYSTEMS:
        near = difflib.get_close_matches(name, SYSTEMS, n=1)
        hint = f' (did you mean "{near[0]}"?)' if near else ""
        raise ConfigError(f'model "{name}" is not known{hint}; expected one of: {", ".join(SYSTEMS)}')
    return SYSTEMS[name]
