"""Evaluation of one discriminant for each pair of classes, each with centres of its own.

Axes: T frames, D features, P pairs, K classes, C distinct centres in all, c centres of a pair at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from acoustic.errors import ModelError
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.coupling import all_pairs, couple_outputs, log_posteriors_of_sums
from acoustic.pairs.machines import LEAST_SIGMA, for_blocks_of_frames
from foundation.arrays import Floats, Ints, Reals, Singles, Tensors, check_array, check_number
from foundation.compiled import njit

_CENTERS_AT_ONCE = 1024  # with the frames of a block, a kernel block of 0.5 MB: a core's cache holds it


_TENSORS = ("pairs", "centers", "sigmas", "center_rows", "slots", "weights", "biases")


class CenterBlock(NamedTuple):
    """Some of the distinct centres, ``first`` … ``last`` − 1, and the weights of the pairs that use them.

    The weights are a sparse matrix by rows: those of ``pairs[n]`` are ``weights[starts[n]:starts[n + 1]]``,
    and ``slots`` holds the positions of their centres in the block.
    """

    first: int
    last: int
    pairs: Ints
    starts: Ints
    slots: Ints
    weights: Singles


@dataclass(frozen=True)
class SparseMachines:
    """The discriminants q_ij(x) = Σ α_n k(x, x_n) + b of pairs of classes, positive for i; thesis (4.6).

    Attributes
    ----------
    kernel : kernel function
    pairs : (P, 2) int32 classes (i, j)
    centers : (C, D) float32 distinct centres of all pairs
    sigmas : (C,) kernel width of each centre
    center_rows : (C,) int32 row of each centre in the training frames
    slots : (P, c) int32 positions in ``centers`` of each pair's centres, filled up with −1
    weights : (P, c) weights of these centres, filled up with 0
    biases : (P,)
    """

    layout: ClassVar[str] = "pair"

    kernel: Kernel
    pairs: Ints
    centers: Singles
    sigmas: Floats
    center_rows: Ints
    slots: Ints
    weights: Floats
    biases: Floats

    @property
    def n_classes(self) -> int:
        """Number K of classes, one more than the largest class of a pair."""
        return int(self.pairs.max()) + 1

    @property
    def n_pairs(self) -> int:
        """Number P of pairs."""
        return len(self.pairs)

    @property
    def n_centers(self) -> int:
        """Number C of distinct centres."""
        return len(self.centers)

    @property
    def n_features(self) -> int:
        """Number D of columns of the frames."""
        return int(self.centers.shape[1])

    @property
    def centers_a_pair(self) -> float:
        """Mean number of centres of a pair."""
        return float(np.mean(np.sum(self.slots >= 0, axis=1)))

    @property
    def sigma(self) -> float:
        """Width of the kernel if all centres have the same width."""
        return self.kernel.sigma

    @property
    def center_indices(self) -> Ints:
        """The centres of each pair as rows of the training frames, (P, c), filled up with −1."""
        return np.append(self.center_rows, np.int32(-1))[self.slots]

    @cached_property
    def center_blocks(self) -> tuple[CenterBlock, ...]:
        """The blocks of distinct centres, each with the weights of the pairs that use it."""
        pair, place = np.nonzero(self.slots >= 0)
        slots, weights = self.slots[pair, place], self.weights[pair, place].astype(np.float32)
        order = np.argsort(slots // _CENTERS_AT_ONCE, kind="stable")  # pairs stay ascending within a block
        pair, slots, weights = pair[order], slots[order], weights[order]
        firsts = range(0, len(self.centers), _CENTERS_AT_ONCE)
        bounds = np.searchsorted(slots // _CENTERS_AT_ONCE, np.arange(len(firsts) + 1))
        blocks = []
        for first, a, b in zip(firsts, bounds[:-1], bounds[1:], strict=True):
            users, places = np.unique(pair[a:b], return_index=True)
            starts: Ints = np.append(places, b - a).astype(np.int32)
            last = min(first + _CENTERS_AT_ONCE, len(self.centers))
            local = np.asarray(slots[a:b] - first, dtype=np.int32)
            blocks.append(CenterBlock(first, last, users.astype(np.int32), starts, local, weights[a:b]))
        return tuple(blocks)

    def outputs(self, frames: Reals, n_workers: int | None = None) -> Singles:
        """Return q_ij of all pairs at frames (T, D), (T, P) float32."""
        outputs = np.empty((len(frames), self.n_pairs), dtype=np.float32)

        def fill(rows: slice, found: Singles) -> None:
            outputs[rows] = found.T

        self._on_blocks(fill, frames, n_workers)
        return outputs

    def log_posteriors(self, curves: Floats, frames: Reals, n_workers: int | None = None) -> Singles:
        """Return log P(class | frame) by Price's coupling, (T, K) float32, see `Machines`."""
        posteriors = np.empty((len(frames), self.n_classes), dtype=np.float32)
        singles = curves.astype(np.float32)

        def fill(rows: slice, found: Singles) -> None:
            sums = np.zeros((self.n_classes, found.shape[1]), dtype=np.float32)
            couple_outputs(found, self.pairs, singles, sums)
            posteriors[rows] = log_posteriors_of_sums(sums)

        self._on_blocks(fill, frames, n_workers)
        return posteriors

    def tensors(self) -> Tensors:
        """Return the arrays that a model file must hold; all centres have one width."""
        return {name: getattr(self, name) for name in _TENSORS}

    def check(self) -> None:
        """Raise ModelError unless the arrays fit each other; compiled functions rely on it."""
        check_number("pairs.sigma", self.sigma, ModelError, lowest=LEAST_SIGMA)
        check_array("pairs.centers", self.centers, np.float32, (None, None), ModelError)
        n_pairs, n_centers = len(self.pairs), len(self.centers)
        check_array("pairs.pairs", self.pairs, np.int32, (None, 2), ModelError, lowest=0)
        if not n_pairs or not np.array_equal(self.pairs, all_pairs(self.n_classes)):
            raise ModelError("pairs.pairs: expected all pairs i < j of classes, sorted; train again")
        check_array("pairs.sigmas", self.sigmas, np.float64, (n_centers,), ModelError, lowest=LEAST_SIGMA)
        check_array("pairs.center_rows", self.center_rows, np.int32, (n_centers,), ModelError, lowest=-1)
        check_array(
            "pairs.slots", self.slots, np.int32, (n_pairs, None), ModelError, lowest=-1, highest=n_centers - 1
        )
        check_array("pairs.weights", self.weights, np.float64, self.slots.shape, ModelError)
        check_array("pairs.biases", self.biases, np.float64, (n_pairs,), ModelError)

    @classmethod
    def from_tensors(cls, tensors: Tensors, sigma: float) -> SparseMachines:
        """Return the machines whose `tensors` these are."""
        return cls(Kernel("gaussian", sigma), **{name: tensors[name] for name in _TENSORS})

    def _on_blocks(self, fill: Callable[[slice, Singles], None], x: Reals, n_workers: int | None) -> None:
        """Call ``fill`` for blocks of T frames with their rows and the outputs of all pairs (P, T).

        The kernel is evaluated once for every distinct centre, block by block; each block is multiplied by
        the sparse weights of the pairs that use it while it is in the cache.
        """
        frames = np.ascontiguousarray(x, dtype=np.float32)
        blocks, biases = self.center_blocks, self.biases.astype(np.float32)
        widths = self.sigmas if np.any(self.sigmas != self.kernel.sigma) else None

        def work(chosen: slice) -> None:
            rows = frames[chosen]
            found = np.repeat(biases[:, None], len(rows), axis=1)
            for block in blocks:
                inside = slice(block.first, block.last)
                values = self._kernel_values(rows, inside, None if widths is None else widths[inside])
                _accumulate(values, block.pairs, block.starts, block.slots, block.weights, found)
            fill(chosen, found)

        for_blocks_of_frames(work, len(frames), n_workers)

    def _kernel_values(self, rows: Singles, inside: slice, widths: Floats | None) -> Singles:
        """Return the kernel values (C, T) of the C centres ``inside`` at frames (T, D)."""
        centers = self.centers[inside]
        if widths is None:
            return self.kernel.block(centers, rows)
        return np.ascontiguousarray(self.kernel.block(rows, centers, widths).T)


@njit(nogil=True, cache=True, fastmath=True)
def _accumulate(
    values: Singles, pairs: Ints, starts: Ints, slots: Ints, weights: Singles, outputs: Singles
) -> None:
    """Add sparse weights (P, C) times values (C, T) to outputs (P, T), four centres at a time."""
    n_frames = values.shape[1]
    for row in range(pairs.size):
        out, entry, end = outputs[pairs[row]], starts[row], starts[row + 1]
        while entry + 4 <= end:
            a, b = values[slots[entry]], values[slots[entry + 1]]
            c, d = values[slots[entry + 2]], values[slots[entry + 3]]
            wa, wb, wc, wd = weights[entry], weights[entry + 1], weights[entry + 2], weights[entry + 3]
            for t in range(n_frames):
                out[t] += wa * a[t] + wb * b[t] + wc * c[t] + wd * d[t]
            entry += 4
        while entry < end:
            a, wa = values[slots[entry]], weights[entry]
            for t in range(n_frames):
                out[t] += wa * a[t]
            entry += 1
