"""Discriminants of pairs on given centres: random ones, or those of other machines in other widths.

Least squares with a bias on the columns of K + εI, as NPD solves it (thesis (3.49)), by its normal equations
in double precision. Curves are Gaussians of the fitted outputs, thesis (4.7).

Axes: M training frames, P pairs, C centres of a pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from acoustic.kernels.kernel import Kernel
from acoustic.pairs.calibration import fit_curve
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.machines import SparseMachines
from foundation.arrays import Floats, Ints, Longs, Reals

Centers = tuple[Longs, Floats]  # rows of the training frames and widths, (C,) each
Choice = Callable[[int, Longs], Centers]  # of the pair p with the frames ``rows``

_JITTER = 1e-10  # of the mean of the diagonal


@dataclass(frozen=True)
class TruncatedGaussian(Kernel):
    """The Gaussian, set to 0 from the distance ``radius``·σ on, as chapter 6 of the thesis suggests.

    It is not positive definite, which least squares on its columns does not need.
    """

    def block(self, x: Reals, centers: Reals, sigma: Reals | None = None) -> Reals:
        """Return k(x_i, c_j), (M, D) and (C, D) -> (M, C)."""
        values = super().block(x, centers, sigma)
        values[values < np.exp(-0.5 * self.radius**2)] = 0.0
        return values


def random_choice(n_centers: int, sigma: float, seed: int = 0) -> Choice:
    """Return the rule that draws each pair's centres from its frames."""

    def choose(pair: int, rows: Longs) -> Centers:
        drawn = np.random.default_rng((seed, pair)).permutation(rows)[:n_centers]
        return drawn, np.full(len(drawn), sigma)

    return choose


def choice_of(machines: SparseMachines, widths: tuple[float, ...], n_centers: int) -> Choice:
    """Return the rule that takes the first centres of other machines' pairs, each in all these widths."""
    indices = machines.center_indices

    def choose(pair: int, rows: Longs) -> Centers:
        own = indices[pair][indices[pair] >= 0][:n_centers]
        return np.repeat(own, len(widths)), np.tile(widths, len(own))

    return choose


def fit_given(
    frames: LabelledFrames, choose: Choice, kernel: Kernel, epsilon: float
) -> tuple[SparseMachines, Floats]:
    """Return the machines of all pairs and the curves (P, 3) from their outputs to log odds."""
    pairs = all_pairs(frames.n_classes)
    of_class = [np.flatnonzero(frames.codes == k) for k in range(frames.n_classes)]
    chosen, solutions, curves = [], [], []
    for p, (i, j) in enumerate(pairs):
        rows = np.concatenate([of_class[i], of_class[j]])
        centers = choose(p, rows)
        columns = columns_of(frames, rows, centers, kernel)
        targets = np.where(np.arange(len(rows)) < len(of_class[i]), 1.0, -1.0)
        weights = least_squares(columns + epsilon * diagonal(rows, centers), targets)
        counts = float(frames.counts[i]), float(frames.counts[j])
        # The outputs are those of decoding, which has no ε.
        curves.append(fit_curve(columns @ weights, len(of_class[i]), counts, "gaussian"))
        chosen.append(centers)
        solutions.append(weights)
    return gathered(frames, pairs, chosen, solutions, kernel), np.stack(curves)


def columns_of(frames: LabelledFrames, rows: Longs, centers: Centers, kernel: Kernel) -> Floats:
    """Return the columns (M, 1 + C) of a pair: ones for the bias, then those of K."""
    x, (indices, sigmas) = frames.x, centers
    values = kernel.block(x[rows], x[indices], sigmas).astype(np.float64)
    return np.column_stack([np.ones(len(rows)), values])


def diagonal(rows: Longs, centers: Centers) -> Floats:
    """Return 1 where a row (M,) is the centre of a column (1 + C,), else 0."""
    same = (rows[:, None] == centers[0]).astype(np.float64)
    return np.column_stack([np.zeros(len(rows)), same])


def least_squares(columns: Floats, targets: Floats) -> Floats:
    """Return the weights (1 + C,) of least squared error."""
    gram = dsyrk(1.0, columns, trans=1, lower=1)
    gram[np.diag_indices_from(gram)] += _JITTER * np.trace(gram) / len(gram)
    return np.asarray(cho_solve(cho_factor(gram, lower=True), columns.T @ targets))


def gathered(
    frames: LabelledFrames, pairs: Ints, chosen: list[Centers], solutions: list[Floats], kernel: Kernel
) -> SparseMachines:
    """Return the machines over their distinct centres."""
    keys = np.concatenate([np.stack(centers) for centers in chosen], axis=1)
    distinct, inverse = np.unique(keys, axis=1, return_inverse=True)
    sizes = np.array([len(rows) for rows, _ in chosen])
    used = np.arange(sizes.max()) < sizes[:, None]
    slots, weights = np.full(used.shape, -1, dtype=np.int32), np.zeros(used.shape)
    slots[used] = inverse
    weights[used] = np.concatenate([solution[1:] for solution in solutions])
    rows = distinct[0].astype(np.int32)
    biases = np.array([solution[0] for solution in solutions])
    return SparseMachines(kernel, pairs, frames.x[rows], distinct[1], rows, slots, weights, biases)
