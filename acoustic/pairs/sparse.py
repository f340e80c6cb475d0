"""One discriminant for each pair of classes, each with centres of its own, evaluated.

Axes: T frames, D features, P pairs, C centres of a pair, N distinct centres, K classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit

from acoustic.kernels.kernel import Kernel
from acoustic.pairs.coupling import add_odds, log_posteriors_of_sums
from foundation.arrays import Floats, Ints, Reals, Singles
from foundation.threads import parallel_map

_FRAMES_AT_ONCE = 128
_CENTERS_AT_ONCE = 1024  # with the frames above, a kernel block of 0.5 MB: a core's cache holds it


class CenterBlock(NamedTuple):
    """Some of the distinct centres and the pairs' weights on them, by rows of a sparse matrix."""

    first: int
    last: int
    pairs: Ints
    starts: Ints
    slots: Ints
    weights: Singles


@dataclass(frozen=True)
class PairwiseMachines:
    """The discriminants q_ij(x) = Σ α_n k(x, x_n) + b of pairs of classes, positive for i; thesis (4.6).

    Attributes
    ----------
    kernel : kernel function
    pairs : (P, 2) int32 classes (i, j)
    centers : (N, D) float32 distinct centres of all pairs
    sigmas : (N,) width of each
    center_rows : (N,) int32 where they lie in the training frames
    slots : (P, C) int32 which of ``centers`` each pair has, −1 behind the last
    weights : (P, C) their weights, 0 behind the last
    biases : (P,)
    """

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
        """Number K of classes, the last of which is in a pair."""
        return int(self.pairs.max()) + 1

    @property
    def center_indices(self) -> Ints:
        """The centres of each pair as rows of the training frames, (P, C), −1 behind the last."""
        return np.append(self.center_rows, np.int32(-1))[self.slots]

    @cached_property
    def center_blocks(self) -> tuple[CenterBlock, ...]:
        """The weights turned round: for every block of distinct centres, the pairs that use it."""
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


def pair_outputs(machines: PairwiseMachines, x: Reals, n_workers: int | None = None) -> Singles:
    """Return q_ij of all pairs at frames (T, D), (T, P) float32.

    The kernel is evaluated once for every distinct centre, block by block; each block is multiplied by the
    sparse weights of the pairs that use it while it is in the cache.
    """
    outputs = np.empty((len(x), len(machines.pairs)), dtype=np.float32)

    def fill(rows: slice, found: Singles) -> None:
        outputs[rows] = found.T

    _on_blocks(fill, machines, x, n_workers)
    return outputs


def pair_log_posteriors(
    machines: PairwiseMachines, curves: Floats, x: Reals, n_workers: int | None = None
) -> Singles:
    """Return log P(class | frame) by Price's coupling, (T, K) float32, of machines for all pairs.

    Parameters
    ----------
    machines : of all pairs i < j
    curves : (P, 3) from their outputs to log odds
    x : (T, D) frames
    n_workers : threads; one a core by default
    """
    n_classes = machines.n_classes
    posteriors = np.empty((len(x), n_classes), dtype=np.float32)
    singles = curves.astype(np.float32)

    def fill(rows: slice, found: Singles) -> None:
        sums = np.zeros((n_classes, found.shape[1]), dtype=np.float32)
        _couple(found, machines.pairs, singles, sums)
        posteriors[rows] = log_posteriors_of_sums(sums)

    _on_blocks(fill, machines, x, n_workers)
    return posteriors


def _on_blocks(
    fill: Callable[[slice, Singles], None],
    machines: PairwiseMachines,
    x: Reals,
    n_workers: int | None,
) -> None:
    """Call ``fill`` with some frames' rows and the outputs of all pairs there (P, T)."""
    frames = np.ascontiguousarray(x, dtype=np.float32)
    blocks, biases = machines.center_blocks, machines.biases.astype(np.float32)
    widths = machines.sigmas if len(np.unique(machines.sigmas)) > 1 else None

    def work(start: int) -> None:
        chosen = slice(start, min(start + _FRAMES_AT_ONCE, len(frames)))
        rows = frames[chosen]
        found = np.repeat(biases[:, None], len(rows), axis=1)
        for block in blocks:
            centers = machines.centers[block.first : block.last]
            if widths is None:
                values = machines.kernel.block(centers, rows)
            else:
                values = np.ascontiguousarray(
                    machines.kernel.block(rows, centers, widths[block.first : block.last]).T
                )
            _accumulate(values, block.pairs, block.starts, block.slots, block.weights, found)
        fill(chosen, found)

    for _ in parallel_map(work, range(0, len(frames), _FRAMES_AT_ONCE), n_workers):
        pass


@njit(nogil=True, cache=True, fastmath=True)
def _accumulate(
    values: Singles, pairs: Ints, starts: Ints, slots: Ints, weights: Singles, outputs: Singles
) -> None:
    """Add sparse weights (pairs, centres) times values (centres, T) to outputs (P, T), four at a time."""
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


@njit(nogil=True, cache=True)
def _couple(outputs: Singles, pairs: Ints, curves: Singles, sums: Singles) -> None:
    """Add e^{−d_ij} of all pairs' outputs (P, T) to their classes' sums (K, T); outputs are overwritten."""
    for p in range(len(pairs)):
        add_odds(outputs[p], curves[p], sums[pairs[p, 0]], sums[pairs[p, 1]])
