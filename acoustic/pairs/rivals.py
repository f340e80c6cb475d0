"""Machines of those pairs of classes alone that compete; a cheap stage decides between all others.

The cheap stage has a few points for each class, its prototypes (`Prototypes`). Of a frame, a list of the
classes that its prototypes rank best is coupled: by the machines of their pairs where there is one, else by
the difference of the prototypes' scores. Kernel values and machines of other classes are not evaluated. So
the cost of a frame depends on the length of its list, and that of a model on how many rivals a class has, not
on how many classes there are.

Axes: T frames, M training frames, D features, P pairs that have machines, K classes, C centres in all, R
prototypes of a class, N classes of a frame's list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from acoustic.errors import ModelError
from acoustic.kernels.kernel import CenteredGaussian, mean_point, of_exponents
from acoustic.pairs.class_frames import LabelledFrames, drawn
from acoustic.pairs.coupling import all_pairs, couple_lists, fill_posteriors
from acoustic.pairs.machines import LEAST_SIGMA, for_blocks_of_frames
from foundation.arrays import (
    Floats,
    Ints,
    Longs,
    Reals,
    Singles,
    Tensors,
    check_array,
    check_number,
    check_starts,
    half_precision,
)
from foundation.blocks import block_map

_N_PROTOTYPES = 8  # of a class; with 4, half as many again of a frame's classes are missing from its list
_FRAMES = 1000  # of a class at most that are clustered
# Factor on variances: Gaussians around few points are too sure of themselves (ADR 14).
_BROADER = 2.0
_MEETING_FRAMES = 200  # of each class at most, whose lists tell which classes meet
_LEAST_SCALE = 1e-6  # of a model file: what is divided by its square stays finite
_N_MEETING = 10  # classes of such a list; docs/adr/0014-machines-of-rivals.md
# Classes of a frame's list; chosen by the words of AN4's five folds, docs/adr/0014-machines-of-rivals.md.
N_LISTED = 30
_MOST_CLASSES = 1 << 16  # lists are sorted as numbers of 16 bits
_FRAMES_AT_ONCE = 512  # with fewer, a class is in the lists of too few frames for matrix products
_PROTOTYPES = ("means", "scale", "log_priors")
_TENSORS = ("pairs", "centers", "starts", "weights", "biases")
_HALVES = ("centers", "weights", "prototypes.means")


@dataclass(frozen=True)
class RivalMachines:
    """The discriminants q_ij(x) = Σ_n w_n k(x, x_n) + b_ij of pairs of rivals, positive for i.

    Attributes
    ----------
    sigma : kernel width
    pairs : (P, 2) int32 pairs i < j of rivals, sorted
    centers : (C, D) float32, class by class
    starts : (K + 1,) int32 position of each class's first centre, and C
    weights : float32 weights of all pairs one after the other: those of the centres of the first class, then
        those of the second's
    biases : (P,)
    prototypes : ranks all classes, and decides between classes that are no rivals
    n_listed : number of classes of a frame's list
    """

    layout: ClassVar[str] = "rivals"

    sigma: float
    pairs: Ints
    centers: Singles
    starts: Ints
    weights: Singles
    biases: Floats
    prototypes: Prototypes
    n_listed: int = N_LISTED

    def __post_init__(self) -> None:
        i, j = self.pairs.T
        if not ((i >= 0) & (i < j) & (j < self.n_classes)).all():
            raise ModelError(f"expected pairs i < j of {self.n_classes} classes; train again")
        of_prototypes = self.prototypes.means.shape[0], *self.prototypes.log_priors.shape
        if set(of_prototypes) != {self.n_classes} or self.n_listed < 1:
            raise ModelError(
                f"expected prototypes of {self.n_classes} classes and lists of one class or more, got "
                f"{of_prototypes} and {self.n_listed}; train again"
            )
        if self.starts[0] or (self.sizes < 0).any() or self.starts[-1] != self.n_centers:
            raise ModelError(f"expected the {self.n_centers} centres class by class; train again")
        for name, n in (("weights", int(self.weight_starts[-1])), ("biases", self.n_pairs)):
            if (shape := getattr(self, name).shape) != (n,):
                raise ModelError(f"expected {n} {name}, got {shape}; train again")

    @property
    def n_classes(self) -> int:
        """Number K of classes."""
        return len(self.starts) - 1

    @property
    def n_pairs(self) -> int:
        """Number P of pairs that have machines."""
        return len(self.pairs)

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
        return len(self.weights) / len(self.pairs)

    @cached_property
    def sizes(self) -> Ints:
        """Number of centres of each class, (K,)."""
        return np.diff(self.starts)

    @cached_property
    def weight_starts(self) -> Longs:
        """Position of each pair's first weight, and their number, (P + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes[self.pairs].sum(axis=1), dtype=np.int64)])

    @cached_property
    def pair_of(self) -> Ints:
        """The pair of classes i < j, (K, K); −1 where there is none."""
        found = np.full((self.n_classes, self.n_classes), -1, dtype=np.int32)
        found[self.pairs[:, 0], self.pairs[:, 1]] = np.arange(len(self.pairs))
        return found

    @cached_property
    def kernel(self) -> CenteredGaussian:
        """The kernel, with the mean of the centres as origin."""
        return CenteredGaussian(self.sigma, mean_point(self.centers))

    @cached_property
    def center_blocks(self) -> tuple[Singles, ...]:
        """The centres of each class in the form that `CenteredGaussian.values` multiplies."""
        return tuple(self.kernel.right(self.centers[a:b]) for a, b in pairwise(self.starts))

    def outputs(self, frames: Reals, n_workers: int | None = None) -> Singles:
        """Return q_ij of the pairs of rivals at frames (T, D), (T, P) float32."""
        left, outputs = self.kernel.left(frames), np.empty((len(frames), self.n_pairs), dtype=np.float32)
        parts = [self.weights[a:b] for a, b in pairwise(self.weight_starts)]

        def fill(rows: slice) -> None:
            values = [self.kernel.values(left[rows], centers) for centers in self.center_blocks]
            for p, (i, j) in enumerate(self.pairs):
                n = values[i].shape[1]
                outputs[rows, p] = values[i] @ parts[p][:n] + values[j] @ parts[p][n:] + self.biases[p]

        for_blocks_of_frames(fill, len(frames), n_workers)
        return outputs

    def log_posteriors(self, curves: Floats, frames: Reals, n_workers: int | None = None) -> Singles:
        """Return log P(class | frame), (T, K) float32.

        The classes of a frame's list are coupled among themselves by Price's rule; a class outside of it is
        coupled to them by the prototypes' scores.

        Parameters
        ----------
        curves : (P, 3) from outputs to log odds
        frames : (T, D)
        n_workers : threads; one a core by default. The result does not depend on it.
        """
        found = np.empty((len(frames), self.n_classes), dtype=np.float32)
        singles = self.biases.astype(np.float32), curves.astype(np.float32)
        machines = self.pair_of, self.weight_starts, self.weights, *singles

        def fill(rows: slice) -> None:
            scores = self.prototypes.scores(frames[rows])
            lists = best_classes(scores, self.n_listed)
            sums = np.zeros(lists.shape, dtype=np.float32)
            couple_lists(lists, scores, self._values(frames[rows], lists), self.sizes, machines, sums)
            fill_posteriors(lists, scores, sums, found[rows])

        for_blocks_of_frames(fill, len(frames), n_workers, _FRAMES_AT_ONCE)
        return found

    def _values(self, frames: Reals, lists: Ints) -> tuple[Singles, Longs]:
        """Return the kernel values of frames at the centres of the classes of their lists.

        The values of an entry of the lists, a frame and a class, stand one after the other, the entries of
        one class one after the other. Where those of each entry begin comes with them, (T, N).
        """
        # Numbers of 16 bits are sorted by their digits, nine times as fast.
        order = np.argsort(lists.astype(np.uint16), axis=None, kind="stable")
        left = self.kernel.left(frames)
        rows, classes = order // lists.shape[1], lists.ravel()[order]
        ends = np.cumsum(self.sizes[classes], dtype=np.int64)
        begins = ends - self.sizes[classes]
        places = np.empty(lists.shape, dtype=np.int64)
        places.ravel()[order] = begins
        exponents = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.float32)
        bounds = np.searchsorted(classes, np.arange(self.n_classes + 1))
        for (first, last), centers in zip(pairwise(bounds.tolist()), self.center_blocks, strict=True):
            if first < last and len(centers):
                block = exponents[begins[first] : ends[last - 1]].reshape(last - first, -1)
                np.matmul(left[rows[first:last]], centers.T, out=block)
        return of_exponents(exponents), places

    def tensors(self) -> Tensors:
        """Return the arrays that a model file must hold, in half precision those that need no more."""
        found = {name: getattr(self, name) for name in _TENSORS}
        found |= {f"prototypes.{name}": getattr(self.prototypes, name) for name in _PROTOTYPES}
        with np.errstate(over="ignore"):  # what is too large for half precision stays as it is
            halves = {name: found[name].astype(np.float16) for name in _HALVES}
        found |= {name: half for name, half in halves.items() if np.array_equal(half, found[name])}
        return found | {"n_listed": np.array([self.n_listed], dtype=np.int32)}

    def check(self) -> None:
        """Raise ModelError unless the arrays fit each other; compiled functions rely on it."""
        check_number("rivals.sigma", self.sigma, ModelError, lowest=LEAST_SIGMA)
        check_number("rivals.n_listed", self.n_listed, ModelError, lowest=1)
        check_array("rivals.centers", self.centers, np.float32, (None, None), ModelError)
        check_starts("rivals.starts", self.starts, self.n_centers, ModelError)
        if self.n_classes > _MOST_CLASSES:
            raise ModelError(
                f"rivals.starts: expected at most {_MOST_CLASSES} classes, got {self.n_classes}; train again"
            )
        check_array(
            "rivals.pairs", self.pairs, np.int32, (None, 2), ModelError, lowest=0, highest=self.n_classes - 1
        )
        check_array("rivals.weights", self.weights, np.float32, (int(self.weight_starts[-1]),), ModelError)
        check_array("rivals.biases", self.biases, np.float64, (self.n_pairs,), ModelError)
        self.prototypes.check(self.n_classes, self.n_features)

    @classmethod
    def from_tensors(cls, tensors: Tensors, sigma: float) -> RivalMachines:
        """Return the machines whose `tensors` these are."""
        check_array("rivals.n_listed", tensors["n_listed"], np.int32, (1,), ModelError)
        check_array("rivals.pairs", tensors["pairs"], np.int32, (None, 2), ModelError, lowest=0)
        singles = {name: _single(tensors[name]) for name in _HALVES}
        prototypes = Prototypes(*((tensors | singles)[f"prototypes.{name}"] for name in _PROTOTYPES))
        own = {name: (tensors | singles)[name] for name in _TENSORS}
        return cls(sigma, **own, prototypes=prototypes, n_listed=int(tensors["n_listed"][0]))


def _single(numbers: NDArray[Any]) -> Singles:
    """Return numbers of half precision as single ones, others as they are."""
    return numbers.astype(np.float32) if numbers.dtype == np.float16 else numbers


@dataclass(frozen=True)
class Prototypes:
    """Classes as Gaussians around their prototypes, all of the same width.

    The score of class k is log P(k) + max_r −‖(x − μ_kr) / s‖²/2, up to a constant a frame.

    Attributes
    ----------
    means : (K, R, D) float32 prototypes μ; a class with fewer has some of them several times
    scale : (D,) float32 deviations s of the Gaussians
    log_priors : (K,) log P(k)
    """

    means: Singles
    scale: Singles
    log_priors: Floats

    @property
    def n_classes(self) -> int:
        """Number K of classes."""
        return len(self.means)

    def check(self, n_classes: int, n_features: int) -> None:
        """Raise ModelError unless these are prototypes of so many classes and columns."""
        shape = n_classes, None, n_features
        check_array("prototypes.means", self.means, np.float32, shape, ModelError)
        if not self.means.shape[1]:
            raise ModelError("prototypes.means: expected a prototype of each class, got none; train again")
        check_array(
            "prototypes.scale", self.scale, np.float32, (n_features,), ModelError, lowest=_LEAST_SCALE
        )
        check_array("prototypes.log_priors", self.log_priors, np.float64, (n_classes,), ModelError)

    @cached_property
    def _rows(self) -> tuple[Singles, Singles]:
        """What frames are multiplied by, (R K, D), all classes' first prototypes first, and what is added."""
        means = self.means.transpose(1, 0, 2).reshape(-1, self.means.shape[2]) / self.scale
        offsets = np.tile(self.log_priors, self.means.shape[1]) - 0.5 * np.einsum("ij,ij->i", means, means)
        return means / self.scale, offsets.astype(np.float32)

    def scores(self, frames: Reals) -> Singles:
        """Return the scores of all classes, (T, D) -> (T, K) float32."""
        means, offsets = self._rows
        products = np.asarray(frames, dtype=np.float32) @ means.T
        products += offsets
        return np.asarray(products.reshape(len(products), -1, self.n_classes).max(axis=1))


def fit_prototypes(frames: LabelledFrames, seed: int, n_workers: int | None = None) -> Prototypes:
    """Return prototypes of each class, the means of clusters of its frames.

    Parameters
    ----------
    frames : frames of known class; every class has at least one
    seed : seed of the clustering
    n_workers : threads; one a core by default. The result does not depend on it.
    """
    from sklearn.cluster import MiniBatchKMeans  # a large package, and only for training

    def one(k: int) -> Singles:
        own = frames.x[drawn(np.flatnonzero(frames.codes == k), _FRAMES, np.random.default_rng((seed, k)))]
        if len(own) <= _N_PROTOTYPES:
            return np.resize(own, (_N_PROTOTYPES, own.shape[1])).astype(np.float32)
        clusters = MiniBatchKMeans(_N_PROTOTYPES, n_init=1, random_state=seed)
        return np.asarray(clusters.fit(own).cluster_centers_, dtype=np.float32)

    means = np.stack(
        list(
            block_map(
                one, range(frames.n_classes), label="prototypes", names="class {}".format, n_workers=n_workers
            )
        )
    )
    return Prototypes(half_precision(means), _scale(frames), np.log(frames.counts / frames.counts.sum()))


def _scale(frames: LabelledFrames) -> Singles:
    """Return the deviations (D,) of the Gaussians, from those of frames from their class's mean."""
    squares = np.zeros(frames.x.shape[1])
    for k in range(frames.n_classes):
        own = frames.x[frames.codes == k]
        squares += np.square(own - own.mean(axis=0, dtype=np.float64)).sum(axis=0)
    found = np.sqrt(_BROADER * squares / len(frames.x))
    return np.where(found > 0, found, 1.0).astype(np.float32)


def best_classes(scores: Singles, n: int) -> Ints:
    """Return the n classes of highest score of each frame, (T, K) -> (T, N), in the order of classes."""
    if n >= scores.shape[1]:
        return np.tile(np.arange(scores.shape[1], dtype=np.int32), (len(scores), 1))
    return np.sort(np.argpartition(scores, -n, axis=1)[:, -n:], axis=1).astype(np.int32)


def rival_pairs(prototypes: Prototypes, frames: LabelledFrames, share: float, seed: int) -> Ints:
    """Return the fewest pairs i < j of classes that make a share of all meetings, (P, 2), sorted.

    Two classes meet at each frame of whose list both are. As many frames of each class are counted.

    Parameters
    ----------
    prototypes : rank the classes
    frames : frames of known class
    share : above 0, at most 1; all pairs that meet at all make the share 1
    seed : seed of the random choice of frames
    """
    rng, n_classes = np.random.default_rng(seed), frames.n_classes
    rows = [drawn(np.flatnonzero(frames.codes == k), _MEETING_FRAMES, rng) for k in range(n_classes)]
    meetings = np.zeros((n_classes, n_classes))
    for own in rows:
        is_listed = np.zeros((len(own), n_classes), dtype=np.float32)
        np.put_along_axis(is_listed, best_classes(prototypes.scores(frames.x[own]), _N_MEETING), 1.0, axis=1)
        meetings += is_listed.T @ is_listed / max(len(own), 1)
    pairs = all_pairs(n_classes)
    of_pairs = meetings[pairs[:, 0], pairs[:, 1]]
    order = np.argsort(-of_pairs, kind="stable")
    reached = np.cumsum(of_pairs[order])
    n = int(np.searchsorted(reached, share * reached[-1] * (1.0 - 1e-9))) + 1
    return pairs[np.sort(order[:n])]
