"""One discriminant for each pair of classes, on centres that all pairs of a class share, fitted.

A class's centres are chosen once; the pair (i, j) has those of i and of j. Kernel values and Gram matrices
inside a class serve all its pairs: large numbers of centres become cheap. Axes: M training frames,
D features, P pairs, K classes, C centres of a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from acoustic.errors import ModelError
from acoustic.pairs.calibration import CurveName, fit_curve
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.pooled import PooledMachines, ScaledKernel
from foundation.arrays import Flags, Floats, Integers, Ints, Longs, Reals, Singles
from foundation.checks import check_choices, check_lowest
from foundation.threads import Watch, parallel_map, unwatched

Loss = Literal["squared", "squared-hinge"]
Outputs = Literal["fitted", "held-out"]

_PAIRS_AT_ONCE = 8  # of one task of a thread
_MORE_RIDGE = 10.0  # where a Gram matrix is not definite in single precision
_MOST_RIDGE = 1.0


@dataclass(frozen=True)
class PoolConfig:
    """How the discriminants of shared centres are fitted.

    Attributes
    ----------
    sigma : width of the Gaussian kernel
    ridge : added to the Gram matrix of the kernel values, a mean over the pair's frames; the bias is free
    loss : least squares on targets ±1 (thesis), or the squared hinge of the same targets by Newton's method
    hinge_steps : Newton steps at most, whole ones, from the least squares solution on
    calibration : from outputs to log odds
    outputs : that calibration sees: of the frames fitted, or of each fold by the others (which of these the
        squared hinge counts is settled with all)
    """

    sigma: float = 5.0
    ridge: float = 1e-5
    loss: Loss = "squared"
    hinge_steps: int = 1
    calibration: CurveName = "logistic"
    outputs: Outputs = "held-out"

    def __post_init__(self) -> None:
        check_choices(self, ModelError)
        check_lowest(self, {"hinge_steps": 1}, ModelError)
        if not (self.sigma > 0 and self.ridge > 0 and np.isfinite([self.sigma, self.ridge]).all()):
            raise ModelError(
                f"sigma and ridge are {self.sigma} and {self.ridge}, expected finite numbers above 0"
            )


def fit_pools(
    x: Reals,
    codes: ArrayLike,
    folds: ArrayLike,
    centers: Sequence[Singles],
    counts: ArrayLike,
    config: PoolConfig = PoolConfig(),
    n_workers: int | None = None,
    watch: Watch = unwatched,
) -> tuple[PooledMachines, Floats]:
    """Return the machines of all pairs and the curves (P, 3) from their outputs to log odds.

    Parameters
    ----------
    x : (M, D) frames
    codes : (M,) their classes, 0 … K − 1; each class has some
    folds : (M,) int: frames of a fold are predicted by a machine that saw the others
    centers : for each class its centres (C, D)
    counts : (K,) from which prior odds are taken
    config : see there
    n_workers : threads; one a core by default. The result does not depend on it.
    watch : shows how many groups of pairs are done
    """
    kernel = ScaledKernel(config.sigma)
    classes = _classes(x, np.asarray(codes), np.asarray(folds), centers, kernel, n_workers)
    frequencies = np.asarray(counts, dtype=np.float64)
    pairs = all_pairs(len(classes))
    parts = [pairs[a : a + _PAIRS_AT_ONCE] for a in range(0, len(pairs), _PAIRS_AT_ONCE)]

    def fit(part: Ints) -> list[_FittedPair]:
        return [_fit_pair(classes[i], classes[j], (frequencies[i], frequencies[j]), config) for i, j in part]

    starts = np.cumsum([0, *(len(c.centers) for c in classes)]).astype(np.int32)
    weights = np.zeros((starts[-1], len(classes)), dtype=np.float32)
    biases, curves = np.empty(len(pairs)), np.empty((len(pairs), 3))
    done = (fitted for part in watch(parallel_map(fit, parts, n_workers), len(parts)) for fitted in part)
    for p, ((i, j), fitted) in enumerate(zip(pairs, done, strict=True)):
        n_first = len(classes[i].centers)
        weights[starts[i] : starts[i + 1], j] = fitted.weights[:n_first]
        weights[starts[j] : starts[j + 1], i] = -fitted.weights[n_first:]
        biases[p], curves[p] = fitted.bias, fitted.curve
    unscaled = np.concatenate([np.asarray(c, dtype=np.float32) for c in centers])
    return PooledMachines(config.sigma, unscaled, starts, weights, biases), curves


class _Class(NamedTuple):
    """Frames of one class, fold by fold, and what all its pairs need of its own centres."""

    frames: Singles
    bounds: Longs
    centers: Singles
    own: Singles
    grams: Singles
    kernel: ScaledKernel


def _classes(
    x: Reals,
    codes: Integers,
    folds: Integers,
    centers: Sequence[Singles],
    kernel: ScaledKernel,
    n_workers: int | None,
) -> list[_Class]:
    """Return the classes with their kernel blocks, and check that there is something in each."""
    if x.ndim != 2 or not len(x) == len(codes) == len(folds):
        raise ModelError(
            f"x has shape {x.shape}, codes {codes.shape}, folds {folds.shape}, expected one class and fold "
            "for each frame"
        )
    missing = [k for k, c in enumerate(centers) if not len(c) or not np.any(codes == k)]
    if missing or len(centers) < 2:
        raise ModelError(
            f"classes {missing} of {len(centers)} have no frames or centres, expected two classes or more "
            "with some each; leave the empty ones out"
        )
    n_folds = int(folds.max()) + 1
    frames = kernel.left(x)

    def one(k: int) -> _Class:
        rows = np.flatnonzero(codes == k)
        rows = rows[np.argsort(folds[rows], kind="stable")]
        bounds = np.searchsorted(folds[rows], np.arange(n_folds + 1))
        right = kernel.right(centers[k])
        own = kernel.values(frames[rows], right)
        grams = np.stack([own[a:b].T @ own[a:b] for a, b in pairwise(bounds)])
        return _Class(frames[rows], bounds, right, own, grams, kernel)

    return list(parallel_map(one, range(len(centers)), n_workers))


class _FittedPair(NamedTuple):
    weights: Singles
    bias: float
    curve: Floats


class _Statistics(NamedTuple):
    """What least squares needs of some frames: Gram matrix (C, C), and for both classes sums and numbers."""

    gram: Singles
    sums: Singles
    sizes: Longs

    def without(self, part: _Statistics) -> _Statistics:
        """Return those of the frames that are not in a part of them."""
        return _Statistics(self.gram - part.gram, self.sums - part.sums, self.sizes - part.sizes)


class _Pair(NamedTuple):
    """Two classes with the kernel values of each one's frames at the other's centres.

    Columns of the pair are the centres of the first class, then those of the second.
    """

    first: _Class
    second: _Class
    first_cross: Singles
    second_cross: Singles

    @classmethod
    def of(cls, first: _Class, second: _Class) -> _Pair:
        values = first.kernel.values
        return cls(first, second, values(first.frames, second.centers), values(second.frames, first.centers))

    def statistics(self, fold: int) -> _Statistics:
        """Return those of one fold."""
        i, j = (slice(c.bounds[fold], c.bounds[fold + 1]) for c in (self.first, self.second))
        return _statistics(
            (self.first.own[i], self.first_cross[i]),
            (self.second.own[j], self.second_cross[j]),
            (self.first.grams[fold], self.second.grams[fold]),
        )

    def statistics_of(self, chosen: Flags) -> _Statistics:
        """Return those of some of the frames (M,)."""
        i, j = chosen[: len(self.first.frames)], chosen[len(self.first.frames) :]
        return _statistics(
            (self.first.own[i], self.first_cross[i]), (self.second.own[j], self.second_cross[j])
        )

    def outputs(self, weights: Singles, bias: np.float32) -> Singles:
        """Return the outputs (M,) at all frames, those of the first class first."""
        n_first = len(self.first.centers)
        own, other = weights[:n_first], weights[n_first:]
        parts = (
            self.first.own @ own + self.first_cross @ other,
            self.second_cross @ own + self.second.own @ other,
        )
        return np.concatenate(parts) + bias

    def frames_of(self, fold: int) -> Flags:
        """Return which of the frames (M,) are of a fold."""
        chosen = np.zeros(len(self.first.frames) + len(self.second.frames), dtype=bool)
        chosen[self.first.bounds[fold] : self.first.bounds[fold + 1]] = True
        n = len(self.first.frames)
        chosen[n + self.second.bounds[fold] : n + self.second.bounds[fold + 1]] = True
        return chosen


def _fit_pair(first: _Class, second: _Class, counts: tuple[float, float], config: PoolConfig) -> _FittedPair:
    """Return the machine on all frames, and the curve from fitted or held-out outputs."""
    pair = _Pair.of(first, second)
    folds = [pair.frames_of(fold) for fold in range(len(first.grams))]
    n_frames = len(first.frames) + len(second.frames)
    parts = [pair.statistics(fold) for fold in range(len(folds))]
    weights, bias = _solved(_total(parts), n_frames, config.ridge)
    outputs = pair.outputs(weights, bias)
    if config.loss == "squared-hinge":
        weights, bias, outputs, parts = _newton(pair, folds, parts, (weights, bias, outputs), config)
    machine = weights, float(bias)
    if config.outputs == "held-out":
        outputs = outputs.copy()
        total = _total(parts)
        for own, is_own in zip(parts, folds, strict=True):
            rest = total.without(own)
            if rest.sizes.all() and is_own.any():  # else nothing of a class is left: fitted ones have to do
                n_rest = n_frames - int(is_own.sum())
                outputs[is_own] = pair.outputs(*_solved(rest, n_rest, config.ridge))[is_own]
    return _FittedPair(*machine, fit_curve(outputs, len(first.frames), counts, config.calibration))


def _newton(
    pair: _Pair,
    folds: Sequence[Flags],
    parts: Sequence[_Statistics],
    start: tuple[Singles, np.float32, Singles],
    config: PoolConfig,
) -> tuple[Singles, np.float32, Singles, list[_Statistics]]:
    """Return weights, bias, outputs and each fold's statistics of what the squared hinge sees.

    A Newton step is least squares on the frames that are not beyond their targets; machines for held-out
    outputs leave out the same frames as that for all. Fewer are beyond than not: they are taken away.
    """
    weights, bias, outputs = start
    signs = np.where(np.arange(len(outputs)) < len(pair.first.frames), np.float32(1), np.float32(-1))
    seen = list(parts)
    is_idle = np.zeros(len(outputs), dtype=bool)
    for _ in range(config.hinge_steps):
        before, is_idle = is_idle, signs * outputs >= 1
        if np.array_equal(before, is_idle):
            break
        active = [
            part.without(pair.statistics_of(is_idle & fold)) for part, fold in zip(parts, folds, strict=True)
        ]
        if not _total(active).sizes.all():
            break
        seen = active
        weights, bias = _solved(_total(seen), len(outputs), config.ridge)
        outputs = pair.outputs(weights, bias)
    return weights, bias, outputs, seen


def _total(parts: Sequence[_Statistics]) -> _Statistics:
    """Return the statistics of all parts together."""
    return _Statistics(*(np.sum(column, axis=0) for column in zip(*parts, strict=True)))


def _statistics(
    first: tuple[Singles, Singles],
    second: tuple[Singles, Singles],
    own_grams: tuple[Singles, Singles] | None = None,
) -> _Statistics:
    """Return the statistics of frames of both classes, given as their values at own and other's centres."""
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
            np.concatenate([own_i.sum(axis=0), cross_i.sum(axis=0)]),
            np.concatenate([cross_j.sum(axis=0), own_j.sum(axis=0)]),
        ]
    )
    return _Statistics(gram, sums, np.array([len(own_i), len(own_j)]))


def _solved(statistics: _Statistics, n_frames: int, ridge: float) -> tuple[Singles, np.float32]:
    """Return weights and free bias of (1/n) Σ (y − f)² + ridge ‖w‖² over the statistics' frames, n given.

    The bias is eliminated: it is the mean of y − wᵀz. The ridge grows until the factorisation succeeds.
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
                return weights, target - weights @ center
        ridge, added = ridge * _MORE_RIDGE, ridge
    raise ModelError(
        "a pair's Gram matrix cannot be factorised; expected finite frames; look for NaN among them"
    )
