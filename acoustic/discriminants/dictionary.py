"""Approximately independent points of the kernel's feature space; thesis Algorithm 3, Engel et al. (2004).

The kernel is k + 1. The kernel matrix K̃ of the dictionary is kept as its Cholesky factor L, since its
inverse (3.108) loses half the digits. With z = L⁻¹k̃ we have δ = k_nn − zᵀz and r̃ = L⁻ᵀz.

Axes: M training points, D features, C points of the dictionary, b points of a block.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import solve_triangular

from acoustic.discriminants.expansion import gram_block, gram_diagonal
from acoustic.kernels.kernel import Kernel
from foundation.arrays import Floats, Longs

BLOCK = 256  # samples taken at once
_ROUNDING = 64 * np.finfo(np.float64).eps  # share of k_nn below which δ is rounding


class Dictionary:
    """Approximately linearly independent points, and the Cholesky factor of their kernel matrix K̃ = LLᵀ.

    Parameters
    ----------
    kernel : k, to which 1 is added
    n_features : D

    Attributes
    ----------
    n_refused : number of points that are not dependent on the dictionary, but for which there was no room
    """

    def __init__(self, kernel: Kernel, n_features: int) -> None:
        self.kernel = kernel
        self.size = self.n_refused = 0
        self._points = np.empty((16, n_features))
        self._factor = np.zeros((16, 16))

    @classmethod
    def of(cls, kernel: Kernel, points: Floats, factor: Floats) -> Dictionary:
        """Return the dictionary of these points (C, D) with this L (C, C)."""
        found = cls(kernel, points.shape[1])
        found.size, found._points, found._factor = len(points), points, factor
        return found

    @property
    def points(self) -> Floats:
        """The points (C, D)."""
        return self._points[: self.size]

    @property
    def factor(self) -> Floats:
        """L (C, C), lower triangular."""
        return self._factor[: self.size, : self.size]

    def columns(self, x: Floats) -> Floats:
        """Return k̃(x_n) of (3.98) for points (b, D), as columns (C, b)."""
        return gram_block(self.kernel, self.points, x) + 1.0

    def project(self, x: Floats) -> Floats:
        """Return z = L⁻¹k̃(x_n), columns (C, b)."""
        return solved(self.factor, self.columns(x))

    def reduce(self, z: Floats) -> Floats:
        """Return the coefficients r̃_n of (3.96) of projected points (C, b), as rows (b, C)."""
        return solved(self.factor, z, transposed=True).T

    def scan(self, x: Floats, nu: float, max_size: int) -> Iterator[tuple[int, int, Floats]]:
        """Grow by the points (b, D) that are not approximately dependent on those before: Algorithm 3.

        Yields (start, stop, z): the points from ``start`` up to ``stop`` are dependent on the dictionary
        of that moment; point ``stop``, if there is one, is added next. z holds L⁻¹k̃ of all these.
        """
        n = len(x)
        diagonal = gram_diagonal(self.kernel, x) + 1.0  # (3.99)
        z = np.empty((min(max_size, self.size + n), n))
        z[: self.size] = self.project(x)
        delta = diagonal - np.einsum("ij,ij->j", z[: self.size], z[: self.size])  # (3.95)
        threshold = np.maximum(nu, _ROUNDING * diagonal)
        start = 0
        while start < n:
            is_independent = (delta[start:] > threshold[start:]) & (self.size < max_size)  # (3.94)
            stop = start + int(is_independent.argmax()) if is_independent.any() else n
            if self.size >= max_size:
                self.n_refused += int(np.sum(delta[start:] > threshold[start:]))
            yield start, stop, z[: self.size, start : stop + 1]
            if stop < n:
                self._add(x, stop, z, delta)
            start = stop + 1

    def _add(self, x: Floats, n: int, z: Floats, delta: Floats) -> None:
        """Add point ``n``; update z and δ of the points behind it with the new row of the Cholesky factor."""
        m = self.size
        self._reserve(m + 1)
        self._points[m] = x[n]
        self._factor[m, :m] = z[:m, n]
        self._factor[m, m] = pivot = np.sqrt(delta[n])
        row = gram_block(self.kernel, x[n : n + 1], x[n + 1 :])[0] + 1.0
        z[m, : n + 1] = 0.0
        z[m, n + 1 :] = (row - z[:m, n] @ z[:m, n + 1 :]) / pivot
        delta[n + 1 :] -= z[m, n + 1 :] ** 2
        self.size = m + 1

    def _reserve(self, size: int) -> None:
        if size > len(self._points):
            room = max(16, 2 * len(self._points))
            points, factor = np.empty((room, self._points.shape[1])), np.zeros((room, room))
            points[: self.size], factor[: self.size, : self.size] = self.points, self.factor
            self._points, self._factor = points, factor


def build_dictionary(x: Floats, kernel: Kernel, nu: float, max_size: int) -> tuple[Dictionary, Longs]:
    """Return the dictionary of points (M, D) by Algorithm 3, and their rows (C,)."""
    dictionary, indices = Dictionary(kernel, x.shape[1]), []
    for first in range(0, len(x), BLOCK):
        block = x[first : first + BLOCK]
        indices += [first + n for _, n, _ in dictionary.scan(block, nu, max_size) if n < len(block)]
    return dictionary, np.array(indices, dtype=np.int64)


def solved(factor: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """Return L⁻¹ or L⁻ᵀ times the right-hand sides."""
    if not len(factor):
        return right
    found: Floats = solve_triangular(
        factor, right, lower=True, trans="T" if transposed else "N", check_finite=False
    )
    return found
