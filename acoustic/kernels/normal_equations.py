"""Regularised least squares on kernel columns by normal equations, which grow block by block.

With the columns K_m = [1 k_1 … k_m] the weights solve (KᵀK + 2ε P) α = Kᵀy, where P is the Gram matrix of the
centres, with zeros for the bias. That is what adding ε to the diagonal of the Gram matrix does (thesis, K +
εI) to first order: (K + εI)ᵀ(K + εI) = KᵀK + 2εP + ε²I on the columns of the centres. The triangular factor
RᵀR = KᵀK + 2εP gives all that an orthogonal basis gives: R = D^½ U with the U of K_m = Q_m U_m, thesis
(3.76), and Q_m D^-½ = K_m R⁻¹ by one matrix product.

Axes: M training points, R targets, m columns with the bias.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from acoustic.errors import ParameterError
from acoustic.kernels.kernel import Kernel
from foundation.arrays import Flags, Floats, Longs, Reals

_JITTER = 1e-11  # added to the diagonal, in units of its mean
_TRIES = 5  # with a hundred times the jitter each
_IN_SPAN = 1e-9  # share of its squared length that a column must have outside the span of those before


class Factor(NamedTuple):
    """The triangular factor R (m, m) and R⁻ᵀKᵀy (m, R)."""

    r: Floats
    products: Floats

    @property
    def weights(self) -> Floats:
        """α (m, R)."""
        return np.asarray(dtrtrs(self.r, self.products, lower=0)[0])

    def orthonormal(self, columns: Floats) -> Floats:
        """Return rows of K_m R⁻¹ from rows of K_m, (n, m)."""
        inverse, _ = dtrtri(self.r, lower=0)
        return np.asarray(dtrmm(1.0, inverse, columns, side=1, lower=0))


class NormalEquations:
    """Kernel columns of some centres, weighted, their Gram matrix and their products with the targets.

    Parameters
    ----------
    x : (M, D) points
    targets : (M, R)
    root : (M,) roots of the points' weights
    kernel : kernel function
    capacity : largest number of centres

    Attributes
    ----------
    centers : (m − 1,) points that are centres
    columns : (M, m) the bias and the centres' columns, times the roots of the weights, float64
    targets : (M, R) times the roots of the weights
    """

    def __init__(self, x: Reals, targets: Floats, root: Floats, kernel: Kernel, capacity: int) -> None:
        self.x, self.root, self.kernel = x, root, kernel
        self.targets = targets * root[:, None]
        self.centers: Longs = np.empty(0, dtype=np.int64)
        self._columns = np.empty((len(x), 1 + capacity), order="F")
        self._gram = np.empty((1 + capacity, 1 + capacity))
        self._penalty = np.zeros((1 + capacity, 1 + capacity))  # P
        self._products = np.empty((1 + capacity, targets.shape[1]))  # Kᵀy
        self._columns[:, 0] = root
        self._gram[0, 0] = root @ root
        self._products[0] = root @ self.targets

    @property
    def columns(self) -> Floats:
        """The columns (M, m)."""
        return self._columns[:, : 1 + len(self.centers)]

    def add(self, points: Longs) -> None:
        """Make points (b,) centres."""
        old = 1 + len(self.centers)
        self.centers = np.concatenate([self.centers, points])
        new = slice(old, 1 + len(self.centers))
        block = np.asarray(self.kernel.block(self.x[points], self.x), dtype=np.float64)  # symmetric
        self._penalty[new, 1 : new.stop] = block[:, self.centers]
        self._penalty[1:old, new] = self._penalty[new, 1:old].T
        block *= self.root
        self._columns[:, new] = block.T
        with np.errstate(over="ignore", invalid="ignore"):
            products = self.columns.T @ self._columns[:, new]
        if not np.isfinite(products).all():
            raise ParameterError(
                "kernel columns are not finite, expected numbers that can be squared; "
                "standardise the features or change sigma or kernel_params"
            )
        self._gram[: new.stop, new] = products
        self._gram[new, :old] = products[:old].T
        self._products[new] = block @ self.targets

    def of_width(self, sigma: float) -> NormalEquations:
        """Return the equations of the same centres with another width."""
        kernel, capacity = replace(self.kernel, sigma=sigma), self._columns.shape[1] - 1
        found = NormalEquations(self.x, self.targets / self.root[:, None], self.root, kernel, capacity)
        found.add(self.centers)
        return found

    def drop(self, is_kept: Flags) -> None:
        """Keep only some of the centres, (m − 1,)."""
        kept = np.append(0, 1 + np.flatnonzero(is_kept))
        n = len(kept)
        self.centers = self.centers[is_kept]
        self._columns[:, :n] = self._columns[:, kept]
        self._products[:n] = self._products[kept]
        for square in (self._gram, self._penalty):
            square[:n, :n] = square[np.ix_(kept, kept)]

    def factor(self, epsilon: float) -> Factor:
        """Return the factor of KᵀK + 2εP."""
        n = 1 + len(self.centers)
        gram = np.add(self._gram[:n, :n], 2.0 * epsilon * self._penalty[:n, :n], order="F")
        jitter = _JITTER * float(np.trace(gram)) / n
        for _ in range(_TRIES):
            gram[np.diag_indices(n)] += jitter
            r, failed = dpotrf(gram, lower=0, clean=1)
            if not failed:
                break
            jitter *= 100.0
        return Factor(r, np.asarray(dtrtrs(r, self._products[:n], lower=0, trans=1)[0]))

    def outside_the_span(self, factor: Factor) -> Flags:
        """Return which centres' columns do not lie in the span of the columns before them, (m − 1,)."""
        n = len(factor.r)
        lengths = self._gram[:n, :n].diagonal()
        return np.asarray(np.square(factor.r.diagonal()) > _IN_SPAN * lengths)[1:]
