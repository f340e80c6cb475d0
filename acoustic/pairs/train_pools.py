"""Fitting one discriminant for each pair of classes, on centres that all pairs of a class share.

The centres of each class are chosen once; the pair (i, j) has the centres of i and of j. Kernel values and
Gram matrices inside a class serve all its pairs, which makes large numbers of centres cheap.

Axes: M training frames, D features, P pairs, K classes, C centres of a class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from acoustic.errors import ModelError
from acoustic.kernels.gaussian import CenteredGaussian, mean_point
from acoustic.kernels.parameters import check_positive, check_whole
from acoustic.pairs.calibration import Calibration
from acoustic.pairs.class_frames import LabelledFrames, pair_name
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.pool_centers import Choice, pool_centers
from acoustic.pairs.pool_pairs import FittedPair, PoolClass, PoolPair, fit_pair
from acoustic.pairs.pooled import PooledMachines
from acoustic.pairs.prototypes import Prototypes, fit_prototypes, rival_pairs
from acoustic.pairs.rivals import RivalMachines
from foundation.arrays import Floats, Ints, Longs, Singles, half_precision
from foundation.blocks import block_map
from foundation.records import check_choices, check_highest
from foundation.threads import Watch, unwatched

Loss = Literal["squared", "squared-hinge"]

_FEW_CLASSES = 20  # up to so many have machines for all pairs
_GROUPS = 16  # of classes at least; a thread takes the pairs between two groups at once
_MOST_CLASSES = 16  # of a group: all their kernel values are held at once


@dataclass(frozen=True)
class PoolsConfig:
    """How the discriminants of shared centres are fitted.

    Attributes
    ----------
    n_centers : largest number of centres of a class's pool
    ridge : number added to the diagonal of a pair's Gram matrix, which is a mean over the pair's frames; the
        bias is not penalised
    loss : ``squared`` is least squares on targets ±1 (thesis); ``squared-hinge`` takes one Newton step from
        there towards the least squared hinge loss
    rivals : which pairs of states have a machine: the fewest that make this share of the meetings of two
        states among the ten that come nearest to a frame; 1 gives every pair one
    """

    n_centers: int = 100
    ridge: float = 1e-5
    loss: Loss = "squared-hinge"
    rivals: float = 0.9

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
    choice: Choice = "random",
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
    config : number of centres, and how discriminants are fitted
    calibration : how curves are fitted
    choice : how centres are chosen (`acoustic.pairs.pool_centers`)
    seed : seed of the random choices
    n_workers : threads; one a core by default. The result does not depend on it.
    watch : shows how many groups of pairs are done
    """
    check_positive("sigma", sigma)
    centers = pool_centers(frames, choice, config.n_centers, sigma, seed, n_workers)
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
