"""Evaluation of the discriminants of all pairs of classes on centres that the pairs of a class share.

The outputs of all pairs at a block of frames cost one matrix product for each class.

Axes: T frames, D features, P pairs, K classes, C centres in all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from acoustic.errors import ModelError
from acoustic.kernels.gaussian import CenteredGaussian, mean_point
from acoustic.pairs.coupling import couple_sides, log_posteriors_of_sums
from acoustic.pairs.machines import LEAST_SIGMA, for_blocks_of_frames
from foundation.arrays import Floats, Ints, Reals, Singles, Tensors, check_array, check_number, check_starts
from foundation.compiled import njit

_TENSORS = ("centers", "starts", "weights", "biases")


@dataclass(frozen=True)
class PooledMachines:
    """The discriminants q_ij(x) = Σ_n w_n k(x, x_n) + b_ij of all pairs i < j, positive for i.

    Attributes
    ----------
    sigma : kernel width
    centers : (C, D) float32, class by class
    starts : (K + 1,) int32 position of each class's first centre, and C
    weights : (C, K) float32; column j of a centre of class i is its weight in q_ij (i < j) or −q_ji (i > j)
    biases : (P,) in the order of `acoustic.pairs.coupling.all_pairs`
    """

    layout: ClassVar[str] = "state"

    sigma: float
    centers: Singles
    starts: Ints
    weights: Singles
    biases: Floats

    @property
    def n_classes(self) -> int:
        """Number K of classes."""
        return len(self.starts) - 1

    @property
    def n_pairs(self) -> int:
        """Number P of pairs."""
        return len(self.biases)

    @property
    def n_centers(self) -> int:
        """Number C of centres of all classes."""
        return len(self.centers)

    @property
    def n_features(self) -> int:
        """Number D of columns of the frames."""
        return int(self.centers.shape[1])

    @property
    def centers_a_pair(self) -> float:
        """Mean number of centres of a pair, which has the centres of both its classes."""
        return float(2 * np.diff(self.starts).mean())

    @cached_property
    def kernel(self) -> CenteredGaussian:
        """The kernel, with the mean of the centres as origin."""
        return CenteredGaussian(self.sigma, mean_point(self.centers))

    @cached_property
    def center_blocks(self) -> tuple[Singles, ...]:
        """The centres of each class in the form that `CenteredGaussian.values` multiplies."""
        return tuple(self.kernel.right(self.centers[a:b]) for a, b in pairwise(self.starts))

    def outputs(self, frames: Reals, n_workers: int | None = None) -> Singles:
        """Return q_ij of all pairs at frames (T, D), (T, P) float32."""
        outputs = np.empty((len(frames), self.n_pairs), dtype=np.float32)
        biases = self.biases.astype(np.float32)

        def fill(rows: slice, sides: Singles) -> None:
            found = np.empty((len(biases), sides.shape[2]), dtype=np.float32)
            _join(sides, biases, found)
            outputs[rows] = found.T

        self._on_blocks(fill, frames, n_workers)
        return outputs

    def log_posteriors(self, curves: Floats, frames: Reals, n_workers: int | None = None) -> Singles:
        """Return log P(class | frame) by Price's coupling, (T, K) float32, see `Machines`."""
        posteriors = np.empty((len(frames), self.n_classes), dtype=np.float32)
        biases, singles = self.biases.astype(np.float32), curves.astype(np.float32)

        def fill(rows: slice, sides: Singles) -> None:
            sums = np.zeros(sides.shape[1:], dtype=np.float32)
            couple_sides(sides, biases, singles, sums)
            posteriors[rows] = log_posteriors_of_sums(sums)

        self._on_blocks(fill, frames, n_workers)
        return posteriors

    def tensors(self) -> Tensors:
        """Return the arrays that a model file must hold."""
        return {name: getattr(self, name) for name in _TENSORS}

    def check(self) -> None:
        """Raise ModelError unless the arrays fit each other; compiled functions rely on it."""
        check_number("pools.sigma", self.sigma, ModelError, lowest=LEAST_SIGMA)
        check_array("pools.centers", self.centers, np.float32, (None, None), ModelError)
        check_starts("pools.starts", self.starts, self.n_centers, ModelError)
        n_pairs = self.n_classes * (self.n_classes - 1) // 2
        check_array("pools.weights", self.weights, np.float32, (self.n_centers, self.n_classes), ModelError)
        check_array("pools.biases", self.biases, np.float64, (n_pairs,), ModelError)

    @classmethod
    def from_tensors(cls, tensors: Tensors, sigma: float) -> PooledMachines:
        """Return the machines whose `tensors` these are."""
        return cls(sigma, **{name: tensors[name] for name in _TENSORS})

    def _on_blocks(self, fill: Callable[[slice, Singles], None], x: Reals, n_workers: int | None) -> None:
        """Call ``fill`` for blocks of T frames with their rows and the shares of classes (K, K, T)."""
        frames, centers, n_classes = self.kernel.left(x), self.center_blocks, self.n_classes
        weights = [self.weights[a:b].T for a, b in pairwise(self.starts)]

        def work(rows: slice) -> None:
            sides = np.empty((n_classes, n_classes, rows.stop - rows.start), dtype=np.float32)
            for k in range(n_classes):
                np.matmul(weights[k], self.kernel.values(frames[rows], centers[k]).T, out=sides[k])
            fill(rows, sides)

        for_blocks_of_frames(work, len(frames), n_workers)


@njit(nogil=True, cache=True)
def _join(sides: Singles, biases: Singles, outputs: Singles) -> None:
    """Fill q_ij = side_ij − side_ji + b_ij, (P, T)."""
    n_classes = len(sides)
    pair = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            for t in range(outputs.shape[1]):
                outputs[pair, t] = sides[i, j, t] - sides[j, i, t] + biases[pair]
            pair += 1
