"""The discriminants of all pairs of classes, ready to be evaluated.

`Machines` is what they have in common. `PooledMachines` have centres that all pairs of a class share: the
outputs of all pairs at a block of frames cost one matrix product for each class. `SparseMachines` have
centres of their own for each pair: every distinct centre costs one kernel value a frame. Machines of some
pairs alone are in `acoustic.pairs.rivals`.

Axes: T frames, D features, P pairs, K classes, C distinct centres in all, c centres of a pair at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np

from acoustic.errors import ModelError
from acoustic.kernels.kernel import CenteredGaussian, Kernel, mean_point
from acoustic.pairs.coupling import all_pairs, couple_outputs, couple_sides, log_posteriors_of_sums
from foundation.arrays import Floats, Ints, Reals, Singles, Tensors, check_array, check_number, check_starts
from foundation.compiled import njit
from foundation.threads import parallel_map, single_threaded_libraries

FRAMES_AT_ONCE = 128
LEAST_SIGMA = 1e-6  # of a kernel in a model file: frames divided by it stay finite
_POOLED_TENSORS = ("centers", "starts", "weights", "biases")
_CENTERS_AT_ONCE = 1024  # with the frames of a block, a kernel block of 0.5 MB: a core's cache holds it
_SPARSE_TENSORS = ("pairs", "centers", "sigmas", "center_rows", "slots", "weights", "biases")


class Machines(Protocol):
    """The discriminants q_ij of pairs of classes, positive for i.

    `PooledMachines` and `SparseMachines` have one for each pair, `acoustic.pairs.rivals.RivalMachines` only
    for pairs that compete. Which it is, the module that trains decides (`train_pools`, `train_forward`,
    `train_svm`).

    Attributes
    ----------
    layout : name, in model files, of the way in which centres and weights are stored
    n_classes : K
    n_pairs : P
    n_centers : number of distinct centres of all pairs; each costs one kernel value a frame
    centers_a_pair : mean number of centres of one pair
    n_features : number D of columns of the frames
    sigma : width of the Gaussian kernel
    """

    layout: ClassVar[str]

    @property
    def n_classes(self) -> int: ...  # noqa: D102 (see the class)

    @property
    def n_pairs(self) -> int: ...  # noqa: D102

    @property
    def n_centers(self) -> int: ...  # noqa: D102

    @property
    def centers_a_pair(self) -> float: ...  # noqa: D102

    @property
    def n_features(self) -> int: ...  # noqa: D102

    @property
    def sigma(self) -> float: ...  # noqa: D102

    def outputs(self, frames: Reals, n_workers: int | None = None) -> Singles:
        """Return q_ij of all pairs at frames (T, D), (T, P) float32."""
        ...

    def log_posteriors(self, curves: Floats, frames: Reals, n_workers: int | None = None) -> Singles:
        """Return log P(class | frame) by Price's coupling of the pairs that there are, (T, K) float32.

        Parameters
        ----------
        curves : (P, 3) from outputs to log odds
        frames : (T, D)
        n_workers : threads; one a core by default. The result does not depend on it.
        """
        ...

    def tensors(self) -> Tensors:
        """Return the arrays that a model file must hold, beside layout and width."""
        ...

    def check(self) -> None:
        """Raise ModelError unless the arrays fit each other; compiled functions rely on it."""
        ...

    @classmethod
    def from_tensors(cls, tensors: Tensors, sigma: float) -> Self:
        """Return the machines whose `tensors` these are."""
        ...


def for_blocks_of_frames(
    work: Callable[[slice], None],
    n_frames: int,
    n_workers: int | None = None,
    at_once: int | None = None,
) -> None:
    """Call ``work`` with the rows of one block of frames after the other, in threads.

    The blocks are so small that their outputs of thousands of pairs stay in a core's cache until they are
    used.
    """
    size = at_once or FRAMES_AT_ONCE
    rows = [slice(start, min(start + size, n_frames)) for start in range(0, n_frames, size)]

    def quietly(block: slice) -> None:
        # OpenBLAS 0.3.31 (AVX-512) multiplies a matrix of five columns by a vector together with what lies on
        # its stack, and throws that part away. The product is right, but numpy may warn of "invalid values".
        with np.errstate(invalid="ignore"):
            work(block)

    if n_workers == 1:  # in the caller's thread: what is allocated in ever new threads stays with the process
        with single_threaded_libraries():
            for block in rows:
                quietly(block)
        return
    for _ in parallel_map(quietly, rows, n_workers):
        pass


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
        return {name: getattr(self, name) for name in _POOLED_TENSORS}

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
        return cls(sigma, **{name: tensors[name] for name in _POOLED_TENSORS})

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
        return {name: getattr(self, name) for name in _SPARSE_TENSORS}

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
        return cls(Kernel("gaussian", sigma), **{name: tensors[name] for name in _SPARSE_TENSORS})

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
