"""Training of one discriminant for each pair of classes, on centres that all pairs of a class share.

The centres of each class, its pool, are chosen once (`pool_centers`); the pair (i, j) has the centres of i
and of j. Kernel values and Gram matrices inside a class serve all its pairs, which makes large numbers of
centres cheap. A pair is fitted by ridge regression or squared hinge (`fit_pair`): the columns of its matrices
are the centres of its first class, then those of its second, and so are the rows, its frames.

Axes: M training frames, D features, P pairs, K classes, C centres of a class, in `fit_pair` of both classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from acoustic.errors import ModelError
from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import CenteredGaussian, Kernel, check_positive, check_whole, mean_point
from acoustic.pairs.calibration import Calibration, fit_curve
from acoustic.pairs.class_frames import LabelledFrames, drawn, pair_name
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.machines import PooledMachines
from acoustic.pairs.rivals import Prototypes, RivalMachines, fit_prototypes, rival_pairs
from foundation.arrays import Flags, Floats, Integers, Ints, Longs, Reals, Singles, half_precision
from foundation.blocks import block_map
from foundation.records import check_choices, check_highest
from foundation.threads import Watch, unwatched

Choice = Literal["random", "kmeans", "npd", "orols"]
Loss = Literal["squared", "squared-hinge"]

# Of the choice of centres.
_BLOCK = 8  # centres that the selection adds at once
_EPSILON = 1e-3  # added to the diagonal of the selection's Gram matrix; by feel
_FRAMES = 1000  # of the class among which centres are selected; more cost time and choose no better
_FRAMES_A_CENTER = 5  # if that is more; by feel
# Of the fit of a pair.
_MORE_RIDGE = 10.0  # factor on the ridge when a Gram matrix is not definite in single precision; by feel
_MOST_RIDGE = 1.0  # a Gram matrix that is not definite with this has values that are no numbers; by feel
_LEAST_SLACK = 1e-6  # least value of 1 − h in leave-one-out outputs
# Of the work on all pairs.
_FEW_CLASSES = 20  # up to so many have machines for all pairs; docs/adr/0014-machines-of-rivals.md
_GROUPS = 16  # of classes at least; a thread takes the pairs between two groups at once; by feel
_MOST_CLASSES = 16  # of a group: all their kernel values are held at once


@dataclass(frozen=True)
class PoolsConfig:
    """How the discriminants of shared centres are fitted.

    Attributes
    ----------
    n_centers : largest number of centres of a class's pool
    choice : how these are chosen: ``npd`` and ``orols`` select them in blocks to separate the class from as
        many frames of all others, ``random`` draws them, ``kmeans`` takes the means of clusters
    ridge : number added to the diagonal of a pair's Gram matrix, which is a mean over the pair's frames; the
        bias is not penalised
    loss : ``squared`` is least squares on targets ±1 (thesis); ``squared-hinge`` takes one Newton step from
        there towards the least squared hinge loss
    rivals : which pairs of states have a machine: the fewest that make this share of the meetings of two
        states among the ten that come nearest to a frame; 1 gives every pair one, and so does a
        ``hybrid.coupling`` other than ``price`` or ``hybrid.floor=none``, whatever stands here
    """

    n_centers: int = 100
    ridge: float = 1e-5
    loss: Loss = "squared-hinge"
    rivals: float = 0.9
    choice: Choice = "npd"

    def __post_init__(self) -> None:
        check_choices(self, ModelError)
        check_whole("n_centers", self.n_centers)
        check_positive("ridge", self.ridge)
        check_highest(self, {"n_centers": 1_000_000, "ridge": 1e6}, ModelError)
        if not 0 < self.rivals <= 1:
            raise ModelError(f"rivals: expected above 0 and at most 1, got {self.rivals}; change it")


def fit(
    frames: LabelledFrames,
    sigma: float,
    config: PoolsConfig,
    calibration: Calibration,
    *,
    seed: int = 0,
    n_workers: int | None = None,
    watch: Watch = unwatched,
) -> tuple[PooledMachines | RivalMachines, Floats]:
    """Return the machines and the curves (P, 3) from their outputs to log odds.

    Of more than twenty classes only pairs of rivals have a machine.

    Parameters
    ----------
    frames : training frames of known class
    sigma : width of the Gaussian kernel
    config : number of centres, how they are chosen, and how discriminants are fitted
    calibration : how curves are fitted
    seed : seed of the random choices
    n_workers : threads; one a core by default. The result does not depend on it.
    watch : shows how many groups of pairs are done
    """
    check_positive("sigma", sigma)
    centers = pool_centers(frames, config.choice, config.n_centers, sigma, seed, n_workers)
    n_steps = 1 if config.loss == "squared-hinge" else 0
    has_all = config.rivals == 1 or frames.n_classes <= _FEW_CLASSES
    kept = centers if has_all else [half_precision(c) for c in centers]
    trainer = PoolTrainer(frames, kept, sigma, config.ridge, calibration, n_steps)
    if has_all:
        return trainer.all_pairs(n_workers, watch)
    prototypes = fit_prototypes(frames, seed, n_workers)
    pairs = rival_pairs(prototypes, frames, config.rivals, seed)
    return trainer.rivals(pairs, prototypes, n_workers, watch)


def fit_pools(
    frames: LabelledFrames,
    centers: Sequence[Singles],
    sigma: float,
    ridge: float,
    calibration: Calibration,
    *,
    hinge_steps: int = 0,
    n_workers: int | None = None,
    watch: Watch = unwatched,
) -> tuple[PooledMachines, Floats]:
    """Return the machines of all pairs on given centres, and the curves (P, 3) from outputs to log odds.

    The parameters are those of `PoolTrainer` and `fit`.
    """
    return PoolTrainer(frames, centers, sigma, ridge, calibration, hinge_steps).all_pairs(n_workers, watch)


class PoolTrainer:
    """Fits the machines of pairs of classes on given centres.

    Parameters
    ----------
    frames : training frames of known class; every class has at least one
    centers : the centres (C, D) of each class
    sigma, ridge, calibration : see `fit`
    hinge_steps : largest number of full Newton steps of the squared hinge, which start from the least squares
        solution
    """

    def __init__(
        self,
        frames: LabelledFrames,
        centers: Sequence[Singles],
        sigma: float,
        ridge: float,
        calibration: Calibration,
        hinge_steps: int = 0,
    ) -> None:
        check_positive("sigma", sigma)
        _check(frames, centers)
        self.frames, self.sigma, self.ridge = frames, sigma, ridge
        self.calibration, self.hinge_steps = calibration, hinge_steps
        self.centers = [np.asarray(c, dtype=np.float32) for c in centers]
        self.kernel = CenteredGaussian(sigma, mean_point(np.concatenate(self.centers)))
        self.order = np.lexsort((frames.folds, frames.codes))
        self.bounds = np.searchsorted(frames.codes[self.order], np.arange(len(centers) + 1))
        self.n_folds = int(frames.folds.max()) + 1

    @property
    def starts(self) -> Ints:
        """Position of each class's first centre, and their number, (K + 1,)."""
        return np.cumsum([0, *map(len, self.centers)]).astype(np.int32)

    def all_pairs(
        self, n_workers: int | None = None, watch: Watch = unwatched
    ) -> tuple[PooledMachines, Floats]:
        """Return the machines of all pairs and the curves (P, 3) from outputs to log odds."""
        pairs, starts = all_pairs(len(self.centers)), self.starts
        weights = np.zeros((starts[-1], len(self.centers)), dtype=np.float32)
        biases, curves = np.empty(len(pairs)), np.empty((len(pairs), 3))
        for p, fitted in self.fitted(pairs, n_workers, watch):
            i, j = pairs[p]
            n_first = len(self.centers[i])
            weights[starts[i] : starts[i + 1], j] = fitted.weights[:n_first]
            weights[starts[j] : starts[j + 1], i] = -fitted.weights[n_first:]
            biases[p], curves[p] = fitted.bias, fitted.curve
        return PooledMachines(self.sigma, np.concatenate(self.centers), starts, weights, biases), curves

    def rivals(
        self, pairs: Ints, prototypes: Prototypes, n_workers: int | None = None, watch: Watch = unwatched
    ) -> tuple[RivalMachines, Floats]:
        """Return the machines of pairs (P, 2) of rivals and the curves (P, 3) from outputs to log odds."""
        weights: list[Singles] = [np.empty(0, dtype=np.float32)] * len(pairs)
        biases, curves = np.empty(len(pairs)), np.empty((len(pairs), 3))
        for p, fitted in self.fitted(pairs, n_workers, watch):
            weights[p], biases[p], curves[p] = fitted.weights, fitted.bias, fitted.curve
        machines = RivalMachines(
            self.sigma,
            pairs,
            np.concatenate(self.centers),
            self.starts,
            half_precision(np.concatenate(weights)),
            biases,
            prototypes,
        )
        return machines, curves

    def fitted(
        self, pairs: Ints, n_workers: int | None = None, watch: Watch = unwatched
    ) -> Iterator[tuple[int, FittedPair]]:
        """Yield the position of each of the pairs (P, 2), in any order, with what was fitted.

        The kernel values inside the classes of a part of the pairs are held only while that part is fitted.
        """
        parts = _parts(pairs, len(self.centers))

        def work(part: Longs) -> list[FittedPair]:
            classes = {k: self._pool_class(k) for k in np.unique(pairs[part]).tolist()}
            return [self._fit(classes, *pairs[p].tolist()) for p in part]

        def name(part: Longs) -> str:
            return f"{pair_name(pairs[part[0]])} to {pair_name(pairs[part[-1]])}"

        fits = block_map(work, parts, label="pairs", names=name, n_workers=n_workers)
        done = watch(fits, len(parts))
        for part, found in zip(parts, done, strict=True):
            yield from zip(part.tolist(), found, strict=True)

    def _fit(self, classes: Mapping[int, PoolClass], i: int, j: int) -> FittedPair:
        pair = PoolPair.of(classes[i], classes[j])
        return fit_pair(pair, self.frames.counts[[i, j]], self.ridge, self.hinge_steps, self.calibration)

    def _pool_class(self, k: int) -> PoolClass:
        """Return a class with its kernel values."""
        rows = self.order[self.bounds[k] : self.bounds[k + 1]]
        bounds = np.searchsorted(self.frames.folds[rows], np.arange(self.n_folds + 1))
        left, right = self.kernel.left(self.frames.x[rows]), self.kernel.right(self.centers[k])
        own = self.kernel.values(left, right)
        grams = np.stack([own[a:b].T @ own[a:b] for a, b in pairwise(bounds)])
        return PoolClass(left, bounds, right, own, grams, self.kernel)


def _parts(pairs: Ints, n_classes: int) -> list[Longs]:
    """Return positions of the pairs (P, 2) in parts, each of the pairs between two groups of classes."""
    size = min(max(n_classes // _GROUPS, 1), _MOST_CLASSES)
    groups = pairs // size
    keys = groups[:, 0] * n_classes + groups[:, 1]
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)


def _check(frames: LabelledFrames, centers: Sequence[Singles]) -> None:
    """Raise ModelError if frames and their classes do not fit, or a class has no frames or no centres."""
    x, codes, folds = frames.x, frames.codes, frames.folds
    if x.ndim != 2 or not len(x) == len(codes) == len(folds):
        raise ModelError(
            f"x has shape {x.shape}, codes {codes.shape}, folds {folds.shape}, expected one class and fold "
            "for each frame"
        )
    n_given = {k: len(c) for k, c in enumerate(centers)}
    missing = [k for k in range(frames.n_classes) if not n_given.get(k) or not np.any(codes == k)]
    if missing or len(centers) < 2:
        raise ModelError(
            f"classes {missing} of {len(centers)} have no frames or centres, expected two classes or more "
            "with some each; leave the empty ones out"
        )


def pool_centers(
    frames: LabelledFrames,
    choice: Choice,
    n_centers: int,
    sigma: float,
    seed: int,
    n_workers: int | None = None,
) -> list[Singles]:
    """Return the centres (C, D) of each class.

    Parameters
    ----------
    frames : frames of known class; every class has at least one
    choice : ``random`` takes random frames of the class; ``kmeans`` the means of clusters of its frames;
        ``npd`` and ``orols`` run forward selection on the class against as many random frames of all others
        and keep the centres that are frames of the class; if these are too few, the rest is drawn
    n_centers : C; a class with fewer frames has all of them as centres
    sigma : width of the Gaussian kernel
    seed : seed of the random choices
    n_workers : threads; one a core by default. The result does not depend on it.
    """
    from sklearn.cluster import MiniBatchKMeans  # a large package, and only for training

    x, codes = frames.x, frames.codes

    def one(k: int) -> Singles:
        rng = np.random.default_rng((seed, k))
        own = np.flatnonzero(codes == k)
        if len(own) <= n_centers:
            return np.asarray(x[own])
        if choice == "kmeans":
            clusters = MiniBatchKMeans(n_centers, n_init=1, random_state=int(rng.integers(2**31)))
            return np.asarray(clusters.fit(x[own]).cluster_centers_, dtype=np.float32)
        chosen: Integers = np.zeros(0, dtype=int)
        if choice != "random":
            some = drawn(own, max(_FRAMES, _FRAMES_A_CENTER * n_centers), rng)
            others = drawn(np.flatnonzero(codes != k), len(some), rng)
            chosen = _selected(x, some, others, n_centers, sigma, choice == "orols", rng)
        rest = drawn(np.setdiff1d(own, chosen), n_centers - len(chosen), rng)
        return np.asarray(x[np.concatenate([chosen, rest])])

    return list(
        block_map(one, range(frames.n_classes), label="centres", names="class {}".format, n_workers=n_workers)
    )


def _selected(
    x: Singles,
    own: Integers,
    others: Integers,
    n_centers: int,
    sigma: float,
    regularize: bool,
    rng: np.random.Generator,
) -> Integers:
    """Return the rows of those selected centres that are frames of the class itself."""
    rows = np.concatenate([own, others])
    targets = np.where(np.arange(len(rows)) < len(own), 1.0, -1.0)[:, None]
    config = ForwardConfig(
        Kernel("gaussian", sigma),
        (sigma,),
        2 * n_centers,
        epsilon=_EPSILON,
        block_size=_BLOCK,
        regularize=regularize,
    )
    indices = forward_selection(x[rows], targets, config, rng=rng).indices
    return np.asarray(rows[indices[indices < len(own)]][:n_centers])


class PoolClass(NamedTuple):
    """Frames of one class, fold by fold, its centres, and the kernel values that all its pairs need."""

    frames: Singles
    bounds: Longs
    centers: Singles
    own: Singles
    grams: Singles
    kernel: CenteredGaussian


class FittedPair(NamedTuple):
    """Weights (C,), bias, and the curve (3,) from outputs to log odds."""

    weights: Singles
    bias: float
    curve: Floats


class _Statistics(NamedTuple):
    """Statistics of some frames for least squares.

    ``gram`` (C, C) is the Gram matrix of the kernel values, ``sums`` (2, C) their sums over the frames of
    each class and ``sizes`` (2,) the numbers of frames.
    """

    gram: Singles
    sums: Singles
    sizes: Longs

    def without(self, part: _Statistics) -> _Statistics:
        """Return the statistics of these frames without those of a part of them."""
        return _Statistics(self.gram - part.gram, self.sums - part.sums, self.sizes - part.sizes)


class PoolPair(NamedTuple):
    """Two classes with the kernel values of the frames of each at the centres of the other."""

    first: PoolClass
    second: PoolClass
    first_cross: Singles
    second_cross: Singles

    @classmethod
    def of(cls, first: PoolClass, second: PoolClass) -> PoolPair:
        """Return the pair with its kernel values."""
        values = first.kernel.values
        return cls(first, second, values(first.frames, second.centers), values(second.frames, first.centers))

    def statistics(self, fold: int) -> _Statistics:
        """Return the statistics of the frames of one fold."""
        i, j = (slice(c.bounds[fold], c.bounds[fold + 1]) for c in (self.first, self.second))
        return _statistics(
            (self.first.own[i], self.first_cross[i]),
            (self.second.own[j], self.second_cross[j]),
            (self.first.grams[fold], self.second.grams[fold]),
        )

    def statistics_of(self, chosen: Flags) -> _Statistics:
        """Return the statistics of the chosen frames (M,)."""
        i, j = chosen[: len(self.first.frames)], chosen[len(self.first.frames) :]
        return _statistics(
            (self.first.own[i], self.first_cross[i]), (self.second.own[j], self.second_cross[j])
        )

    @property
    def n_frames(self) -> int:
        """Number M of frames of both classes."""
        return len(self.first.frames) + len(self.second.frames)

    def values(self) -> Singles:
        """Return the kernel values (M, C) of all frames, those of the first class first."""
        return np.block([[self.first.own, self.first_cross], [self.second_cross, self.second.own]])

    def outputs(self, solution: _Solution) -> Singles:
        """Return the outputs (M,) at all frames, those of the first class first."""
        everything = slice(len(self.first.frames)), slice(len(self.second.frames))
        return np.concatenate(self._outputs(solution, everything))

    def fill_outputs(self, solution: _Solution, fold: int, outputs: Singles) -> None:
        """Put the outputs at the frames of one fold where they belong among those at all frames (M,)."""
        i, j = (slice(c.bounds[fold], c.bounds[fold + 1]) for c in (self.first, self.second))
        n = len(self.first.frames)
        outputs[i], outputs[n + j.start : n + j.stop] = self._outputs(solution, (i, j))

    def _outputs(self, solution: _Solution, rows: tuple[slice, slice]) -> tuple[Singles, Singles]:
        """Return the outputs at some frames of the first and of the second class."""
        n, (i, j) = len(self.first.centers), rows
        own, other = solution.weights[:n], solution.weights[n:]
        first = self.first.own[i] @ own + self.first_cross[i] @ other + solution.bias
        return first, self.second_cross[j] @ own + self.second.own[j] @ other + solution.bias

    def frames_of(self, fold: int) -> Flags:
        """Return which of the frames (M,) belong to a fold."""
        chosen = np.zeros(self.n_frames, dtype=bool)
        chosen[self.first.bounds[fold] : self.first.bounds[fold + 1]] = True
        n = len(self.first.frames)
        chosen[n + self.second.bounds[fold] : n + self.second.bounds[fold + 1]] = True
        return chosen


def fit_pair(
    pair: PoolPair, counts: Floats, ridge: float, hinge_steps: int, calibration: Calibration
) -> FittedPair:
    """Return the machine on all frames, and the curve of the outputs that calibration asks for."""
    folds = [pair.frames_of(fold) for fold in range(len(pair.first.grams))]
    parts = [pair.statistics(fold) for fold in range(len(folds))]
    solution = _solved(_total(parts), pair.n_frames, ridge)
    fit = _Fit(solution, pair.outputs(solution), parts, np.zeros(pair.n_frames, dtype=bool))
    fit = _newton(pair, folds, fit, ridge, hinge_steps)
    outputs: Reals = fit.outputs
    if calibration.outputs == "loo":
        outputs = _left_out(pair, fit)
    elif calibration.outputs == "held-out":
        outputs = _held_out(pair, folds, fit, ridge)
    first, second = counts
    curve = fit_curve(outputs, len(pair.first.frames), (first, second), calibration.curve)
    return FittedPair(fit.solution.weights, float(fit.solution.bias), curve)


class _Fit(NamedTuple):
    """A pair's fitted machine.

    ``outputs`` (M,) are its outputs, ``parts`` the statistics of each fold from which it was solved, and
    ``is_idle`` (M,) says which frames these statistics leave out.
    """

    solution: _Solution
    outputs: Singles
    parts: list[_Statistics]
    is_idle: Flags


def _newton(pair: PoolPair, folds: Sequence[Flags], start: _Fit, ridge: float, n_steps: int) -> _Fit:
    """Return the fit after Newton steps of the squared hinge.

    A Newton step is least squares on the frames whose outputs are not beyond their targets. Where fewer
    frames are beyond, their statistics are subtracted from those of all frames.
    """
    fit = start
    signs = np.where(np.arange(pair.n_frames) < len(pair.first.frames), np.float32(1), np.float32(-1))
    for _ in range(n_steps):
        is_idle = signs * fit.outputs >= 1
        if np.array_equal(is_idle, fit.is_idle):
            break
        if 2 * np.count_nonzero(is_idle) > pair.n_frames:
            active = [pair.statistics_of(~is_idle & fold) for fold in folds]
        else:
            active = [
                part.without(pair.statistics_of(is_idle & fold))
                for part, fold in zip(start.parts, folds, strict=True)
            ]
        if not _total(active).sizes.all():
            break
        solution = _solved(_total(active), pair.n_frames, ridge)
        fit = _Fit(solution, pair.outputs(solution), active, is_idle)
    return fit


def _held_out(pair: PoolPair, folds: Sequence[Flags], fit: _Fit, ridge: float) -> Singles:
    """Return the outputs (M,) at the frames of each fold of a machine fitted to the other folds.

    The frames that the squared hinge leaves out are those left out by the fit to all folds.
    """
    outputs, total = fit.outputs.copy(), _total(fit.parts)
    for fold, (own, is_own) in enumerate(zip(fit.parts, folds, strict=True)):
        rest = total.without(own)
        if rest.sizes.all() and is_own.any():  # else a class has no other frames, and its fitted outputs stay
            n_rest = pair.n_frames - int(np.count_nonzero(is_own))
            pair.fill_outputs(_solved(rest, n_rest, ridge), fold, outputs)
    return outputs


def _left_out(pair: PoolPair, fit: _Fit) -> Floats:
    """Return the leave-one-out outputs (M,), computed from leverages.

    A frame that the squared hinge does not count keeps its output, since nothing changes when it is left out.
    """
    solution = fit.solution
    is_first = np.arange(pair.n_frames) < len(pair.first.frames)
    targets = np.where(is_first, 1.0, -1.0)
    deviations = pair.values() - solution.center
    half = solve_triangular(solution.factor, deviations.T, lower=True, check_finite=False)
    leverages = 1.0 / solution.size + np.einsum("ij,ij->j", half, half, dtype=np.float64) / pair.n_frames
    slack = np.maximum(1.0 - leverages, _LEAST_SLACK)
    outputs = fit.outputs.astype(np.float64)
    left_out = targets - (targets - outputs) / slack
    return np.where(fit.is_idle, outputs, left_out)


def _total(parts: Sequence[_Statistics]) -> _Statistics:
    """Return the statistics of all parts together."""
    return _Statistics(*(np.sum(column, axis=0) for column in zip(*parts, strict=True)))


def _statistics(
    first: tuple[Singles, Singles],
    second: tuple[Singles, Singles],
    own_grams: tuple[Singles, Singles] | None = None,
) -> _Statistics:
    """Return the statistics of frames given as (values at own, values at the other class's centres)."""
    (own_i, cross_i), (own_j, cross_j) = first, second
    gram_i, gram_j = (own_i.T @ own_i, own_j.T @ own_j) if own_grams is None else own_grams
    n_first = own_i.shape[1]
    gram = np.empty((n_first + own_j.shape[1],) * 2, dtype=np.float32)
    gram[:n_first, :n_first] = gram_i + cross_j.T @ cross_j
    gram[n_first:, n_first:] = gram_j + cross_i.T @ cross_i
    gram[:n_first, n_first:] = own_i.T @ cross_i + cross_j.T @ own_j
    gram[n_first:, :n_first] = gram[:n_first, n_first:].T
    sums = np.stack(
        [
            np.concatenate([_sum_of(own_i), _sum_of(cross_i)]),
            np.concatenate([_sum_of(cross_j), _sum_of(own_j)]),
        ]
    )
    return _Statistics(gram, sums, np.array([len(own_i), len(own_j)]))


def _sum_of(values: Singles) -> Singles:
    """Return the sums of the columns, as a product, which is faster."""
    return np.ones(len(values), dtype=np.float32) @ values


class _Solution(NamedTuple):
    """Weights (C,) and bias of a fit, and what its leave-one-out outputs need.

    ``factor`` (C, C) is the Cholesky factor of the centred Gram matrix with its ridge, ``center`` (C,) the
    mean kernel values of the frames of the fit, and ``size`` the number of these frames.
    """

    weights: Singles
    bias: np.float32
    factor: Singles
    center: Singles
    size: int


def _solved(statistics: _Statistics, n_frames: int, ridge: float) -> _Solution:
    """Return the minimum of (1/n) Σ (y − f)² + ridge ‖w‖² over the frames of the statistics.

    n is ``n_frames``, which also counts frames that the statistics leave out. The bias is not penalised: it
    is the mean of y − wᵀz, where z are the kernel values. The ridge is raised until the factorisation
    succeeds.
    """
    gram, sums, sizes = statistics
    size = sizes.sum()
    center = sums.sum(axis=0) / np.float32(size)
    target = np.float32((sizes[0] - sizes[1]) / size)
    share = np.float32(size / n_frames)
    centered = gram / np.float32(n_frames) - share * np.outer(center, center)
    right = (sums[0] - sums[1]) / np.float32(n_frames) - share * target * center
    diagonal = np.einsum("ii->i", centered)
    added = 0.0
    most = max(ridge, _MOST_RIDGE)
    while ridge <= most:
        diagonal += np.float32(ridge - added)
        factor, failed = lapack.spotrf(centered, lower=1, clean=0)
        if not failed:
            weights, _ = lapack.spotrs(factor, right, lower=1)
            if np.isfinite(weights).all():
                return _Solution(weights, target - weights @ center, factor, center, int(size))
        ridge, added = ridge * _MORE_RIDGE, ridge
    raise ModelError(
        "a pair's Gram matrix cannot be factorised; expected finite frames; look for NaN among them"
    )
