"""Recursive least squares over reduced coefficients r̃; thesis Algorithm 4, Engel et al. (2004).

The implementation differs from the thesis in two equivalent ways. Instead of α̃ it keeps β = K̃α̃, the
weights of the reduced coefficients: k̃ᵀα̃ = r̃ᵀβ, so that the recursion over rows r̃ does not need K̃. And
samples are learned in blocks: the recursion (3.106) to (3.110) over b samples is one step with a b × b
matrix, whose Cholesky factor also gives the prediction of each sample just before it was learned.

Axes: M training points, D features, R targets, C points of the dictionary, b points of a block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from acoustic.discriminants.dictionary import BLOCK, Dictionary, solved
from acoustic.kernels.leave_one_out import left_out_residuals
from foundation.arrays import Floats, Longs


@dataclass
class Filter:
    """Recursive least squares on rows r̃.

    Attributes
    ----------
    p : (C, C) P = (RᵀR)⁻¹
    beta : (C, R) PRᵀY; α̃ = K̃⁻¹β, (3.105)
    """

    p: Floats
    beta: Floats

    def add(self, targets: Floats, weight: float) -> None:
        """Learn the targets (R,) of a new point of the dictionary; its row is a unit vector, (3.107)."""
        m = len(self.p)
        p = np.zeros((m + 1, m + 1))
        p[:m, :m], p[m, m] = self.p, 1.0 / weight
        self.p, self.beta = p, np.vstack([self.beta, targets])

    def absorb(self, rows: Floats, targets: Floats, weight: Floats) -> Floats:
        """Learn rows (b, C) one after the other; return the error of each before it was learned, (b, R)."""
        root = np.sqrt(weight)[:, None]
        rows, errors = rows * root, (targets - rows @ self.beta) * root
        gains = rows @ self.p
        # The pivots of the factor are the roots of the denominators of (3.106), sample by sample.
        factor = cholesky(gains @ rows.T + np.eye(len(rows)), lower=True)
        gains, errors = solved(factor, gains), solved(factor, errors)
        self.beta = self.beta + gains.T @ errors  # (3.109), (3.110)
        self.p = self.p - gains.T @ gains  # (3.106)
        return np.asarray(errors * np.diag(factor)[:, None] / root)


@dataclass
class Stream:
    """Dictionary and filter grown together, Engel et al. (2004); each r̃ uses the dictionary of its time."""

    dictionary: Dictionary
    filter: Filter
    nu: float
    max_size: int

    def learn(self, x: Floats, targets: Floats, weight: Floats) -> tuple[Floats, Longs]:
        """Learn samples (b, D); return the output for each just before (b, R), and the new centres."""
        outputs, added = np.zeros_like(targets), []
        for start, stop, z in self.dictionary.scan(x, self.nu, self.max_size):
            rows, old = self.dictionary.reduce(z), slice(start, stop)
            if stop > start and self.dictionary.size:
                errors = self.filter.absorb(rows[: stop - start], targets[old], weight[old])
                outputs[old] = targets[old] - errors
            if stop < len(x):
                outputs[stop] = rows[-1] @ self.filter.beta  # k̃ᵀα̃ = r̃ᵀβ
                self.filter.add(targets[stop], float(weight[stop]))
                added.append(stop)
        return outputs, np.array(added, dtype=np.int64)


def batch_filter(
    dictionary: Dictionary, indices: Longs, x: Floats, targets: Floats, root: Floats
) -> tuple[Filter, Floats]:
    """Return the least squares (3.105) over a whole dictionary, and its leave-one-out outputs (M, R).

    This is Algorithm 4 without its start P_{m,0}: a triangular root of P⁻¹ is updated (QR), which can start
    from P⁻¹ = 0. P⁻¹ is not singular in the end, as R contains the rows of an identity matrix.

    Parameters
    ----------
    dictionary : C points
    indices : (C,) rows of these points in x
    x, targets : (M, D) and (M, R)
    root : (M,) square roots of the samples' weights
    """
    m, size = dictionary.size, max(BLOCK, dictionary.size)
    blocks = [np.arange(first, min(first + size, len(x))) for first in range(0, len(x), size)]
    triangle = np.zeros((0, m + targets.shape[1]))
    for rows in blocks:
        reduced = _reduced_rows(dictionary, indices, x, rows)
        augmented = np.hstack([reduced, targets[rows]]) * root[rows, None]
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, augmented]), mode="r"))
    inverse = solve_triangular(triangle[:m, :m], np.eye(m))
    filtered = Filter(inverse @ inverse.T, inverse @ triangle[:m, m:])
    residual, leverages = np.empty_like(targets), np.empty(len(x))
    for rows in blocks:
        reduced = _reduced_rows(dictionary, indices, x, rows)
        residual[rows] = targets[rows] - reduced @ filtered.beta
        leverages[rows] = np.sum((reduced @ inverse) ** 2, axis=1) * root[rows] ** 2

    def limit(points: Longs) -> tuple[Floats, Floats]:
        """Return the limits for a vanishing ridge on the squared length α̃ᵀK̃α̃ in feature space."""
        rows = solved(dictionary.factor, filtered.p @ _reduced_rows(dictionary, indices, x, points).T).T
        return rows @ solved(dictionary.factor, filtered.beta), np.sum(rows**2, axis=1) * root[points] ** 2

    return filtered, targets - left_out_residuals(residual, leverages, limit)


def _reduced_rows(dictionary: Dictionary, indices: Longs, x: Floats, rows: Longs) -> Floats:
    """Return r̃ (b, C) of b points; for points of the dictionary it is exactly a unit vector."""
    reduced = dictionary.reduce(dictionary.project(x[rows]))
    place = np.minimum(np.searchsorted(indices, rows), len(indices) - 1)
    inside = np.flatnonzero(indices[place] == rows)
    reduced[inside] = np.eye(dictionary.size)[place[inside]]
    return reduced
