"""The interface between acoustic models and everything that uses their scores."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from foundation.arrays import Singles


@runtime_checkable
class EmissionModel(Protocol):
    """Anything that scores frames against the emission states of an HMM."""

    @property
    def n_states(self) -> int:
        """Number S of emission states."""
        ...

    def log_likelihoods(self, frames: Singles) -> Singles:
        """Return log p(frame | state), up to a constant per frame: (T, D) float32 -> (T, S) float32."""
        ...
