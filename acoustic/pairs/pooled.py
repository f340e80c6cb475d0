"""Discriminants of all pairs of classes on centres that the pairs of a class share, evaluated.

The outputs of all pairs at a block of frames are one matrix product a class. Axes: T frames, D features,
P pairs, K classes, N centres of all classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from acoustic.pairs.coupling import add_odds, log_posteriors_of_sums
from foundation.arrays import Floats, Ints, Reals, Singles
from foundation.threads import parallel_map

_FRAMES_AT_ONCE = 128


class ScaledKernel(NamedTuple):
    """The Gaussian kernel as one product and one exponential.

    −‖x−c‖²/2 is the product of [x, −‖x‖²/2, 1] and [c, 1, −‖c‖²/2]; both are divided by σ first.
    """

    sigma: float

    def left(self, x: Reals) -> Singles:
        """Return frames (M, D) as `values` wants them."""
        scaled, half = self._scaled(x)
        return np.column_stack([scaled, -half, np.ones_like(half)])

    def right(self, centers: Reals) -> Singles:
        """Return centres (C, D) as `values` wants them."""
        scaled, half = self._scaled(centers)
        return np.column_stack([scaled, np.ones_like(half), -half])

    def _scaled(self, x: Reals) -> tuple[Singles, Singles]:
        scaled = np.asarray(x, dtype=np.float32) / np.float32(self.sigma)
        return scaled, np.float32(0.5) * np.einsum("ij,ij->i", scaled, scaled)

    def values(self, left: Singles, right: Singles) -> Singles:
        """Return k(x, c), (M, C)."""
        exponents = left @ right.T
        np.minimum(exponents, 0.0, out=exponents)
        return np.asarray(np.exp(exponents, out=exponents))


@dataclass(frozen=True)
class PooledMachines:
    """The discriminants q_ij(x) = Σ_n w_n k(x, x_n) + b_ij of all pairs i < j, positive for i.

    Attributes
    ----------
    sigma : kernel width
    centers : (N, D) float32, class by class
    starts : (K + 1,) int32 where each class's centres begin
    weights : (N, K) float32; column j of a centre of class i is its weight in q_ij (i < j) or −q_ji (i > j)
    biases : (P,) in the order of `acoustic.pairs.coupling.all_pairs`
    """

    sigma: float
    centers: Singles
    starts: Ints
    weights: Singles
    biases: Floats

    @property
    def n_classes(self) -> int:
        """Number K of classes."""
        return len(self.starts) - 1

    @cached_property
    def center_blocks(self) -> tuple[Singles, ...]:
        """Each class's centres as `ScaledKernel.values` wants them."""
        kernel = ScaledKernel(self.sigma)
        return tuple(kernel.right(self.centers[a:b]) for a, b in pairwise(self.starts))


def pooled_outputs(machines: PooledMachines, x: Reals, n_workers: int | None = None) -> Singles:
    """Return q_ij of all pairs at frames (T, D), (T, P) float32."""
    outputs = np.empty((len(x), len(machines.biases)), dtype=np.float32)
    biases = machines.biases.astype(np.float32)

    def fill(rows: slice, sides: Singles) -> None:
        found = np.empty((len(biases), sides.shape[2]), dtype=np.float32)
        _join(sides, biases, found)
        outputs[rows] = found.T

    _on_blocks(fill, machines, x, n_workers)
    return outputs


def pooled_log_posteriors(
    machines: PooledMachines, curves: Floats, x: Reals, n_workers: int | None = None
) -> Singles:
    """Return log P(class | frame) by Price's coupling, (T, K) float32, of frames (T, D).

    Parameters
    ----------
    machines : all pairs
    curves : (P, 3) from their outputs to log odds
    x : frames
    n_workers : threads; one a core by default. The result does not depend on it.
    """
    posteriors = np.empty((len(x), machines.n_classes), dtype=np.float32)
    biases, singles = machines.biases.astype(np.float32), curves.astype(np.float32)

    def fill(rows: slice, sides: Singles) -> None:
        sums = np.zeros(sides.shape[1:], dtype=np.float32)
        _couple(sides, biases, singles, sums)
        posteriors[rows] = log_posteriors_of_sums(sums)

    _on_blocks(fill, machines, x, n_workers)
    return posteriors


def _on_blocks(
    fill: Callable[[slice, Singles], None],
    machines: PooledMachines,
    x: Reals,
    n_workers: int | None,
) -> None:
    """Call ``fill`` with some frames' rows and each class's share of its pairs' outputs there (K, K, T)."""
    kernel, centers, n_classes = ScaledKernel(machines.sigma), machines.center_blocks, machines.n_classes
    frames = kernel.left(x)
    weights = [machines.weights[a:b].T for a, b in pairwise(machines.starts)]

    def work(start: int) -> None:
        rows = slice(start, min(start + _FRAMES_AT_ONCE, len(frames)))
        sides = np.empty((n_classes, n_classes, rows.stop - start), dtype=np.float32)
        for k in range(n_classes):
            np.matmul(weights[k], kernel.values(frames[rows], centers[k]).T, out=sides[k])
        fill(rows, sides)

    for _ in parallel_map(work, range(0, len(frames), _FRAMES_AT_ONCE), n_workers):
        pass


@njit(nogil=True, cache=True)
def _join(sides: Singles, biases: Singles, outputs: Singles) -> None:
    """Fill q_ij = side_i + side_j + b_ij, (P, T)."""
    n_classes = len(sides)
    pair = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            for t in range(outputs.shape[1]):
                outputs[pair, t] = sides[i, j, t] - sides[j, i, t] + biases[pair]
            pair += 1


@njit(nogil=True, cache=True)
def _couple(sides: Singles, biases: Singles, curves: Singles, sums: Singles) -> None:
    """Add e^{−d_ij} of all pairs to their classes' sums (K, T)."""
    n_classes = len(sides)
    outputs = np.empty(sums.shape[1], dtype=np.float32)
    pair = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            for t in range(len(outputs)):
                outputs[t] = sides[i, j, t] - sides[j, i, t] + biases[pair]
            add_odds(outputs, curves[pair], sums[i], sums[j])
            pair += 1
