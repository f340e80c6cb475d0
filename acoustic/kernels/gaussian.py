"""The Gaussian kernel of one width in single precision: one matrix product and one exponential a block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foundation.arrays import Reals, Singles


@dataclass(frozen=True)
class CenteredGaussian:
    """exp(−‖x−c‖²/2σ²) of points near an origin.

    −‖x−c‖²/2 is the product of [x, −‖x‖²/2, 1] and [c, 1, −‖c‖²/2]; both are shifted by the origin and
    divided by σ first, so that distances are not lost to rounding however far from 0 the points lie.

    Axes: M points, D features, C centres.

    Attributes
    ----------
    sigma : width
    origin : (D,) float32, a point amid the data, for example the mean of the centres
    """

    sigma: float
    origin: Singles

    def left(self, x: Reals) -> Singles:
        """Return points (M, D) in the form that `values` multiplies, (M, D + 2)."""
        scaled, half = self._scaled(x)
        return np.column_stack([scaled, -half, np.ones_like(half)])

    def right(self, centers: Reals) -> Singles:
        """Return centres (C, D) in the form that `values` multiplies, (C, D + 2)."""
        scaled, half = self._scaled(centers)
        return np.column_stack([scaled, np.ones_like(half), -half])

    def values(self, left: Singles, right: Singles) -> Singles:
        """Return k(x, c), (M, C)."""
        return of_exponents(left @ right.T)

    def _scaled(self, x: Reals) -> tuple[Singles, Singles]:
        """Return the points, shifted and scaled, and half their squared lengths (M,)."""
        scaled = (np.asarray(x, dtype=np.float32) - self.origin) / np.float32(self.sigma)
        return scaled, np.float32(0.5) * np.einsum("ij,ij->i", scaled, scaled)


def of_exponents(exponents: Singles) -> Singles:
    """Return the kernel values of −‖x−c‖²/2σ², which rounding may leave above 0, in the same array."""
    np.minimum(exponents, 0.0, out=exponents)
    return np.asarray(np.exp(exponents, out=exponents))


def mean_point(points: Reals) -> Singles:
    """Return the mean (D,) of points (M, D), to serve as their origin."""
    return np.asarray(points.mean(axis=0, dtype=np.float64), dtype=np.float32)
