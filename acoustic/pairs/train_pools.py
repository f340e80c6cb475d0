"""Fitting one discriminant for each pair of classes, on centres that all pairs of a class share.

The centres of each class are chosen once; the pair (i, j) has the centres of i and of j. Kernel values and
Gram matrices inside a class serve all its pairs, which makes large numbers of centres cheap.

Axes: M training frames, D features, P pairs, K classes, C centres of a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from acoustic.errors import ModelError
from acoustic.kernels.gaussian import CenteredGaussian, mean_point
from acoustic.kernels.parameters import check_positive, check_whole
from acoustic.pairs.calibration import Calibration
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.pool_centers import Choice, pool_centers
from acoustic.pairs.pool_pairs import FittedPair, PoolClass, PoolPair, fit_pair
from acoustic.pairs.pooled import PooledMachines
from foundation.arrays import Floats, Ints, Singles
from foundation.checks import check_choices
from foundation.threads import Watch, parallel_map, unwatched

Loss = Literal["squared", "squared-hinge"]

_PAIRS_AT_ONCE = 8  # pairs that a thread takes at once


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
    """

    n_centers: int = 100
    ridge: float = 1e-5
    loss: Loss = "squared-hinge"

    def __post_init__(self) -> None:
        check_choices(self, ModelError)
        check_whole("n_centers", self.n_centers)
        check_positive("ridge", self.ridge)


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
) -> tuple[PooledMachines, Floats]:
    """Return the machines of all pairs and the curves (P, 3) from their outputs to log odds.

    Parameters
    ----------
    frames : training frames of known class
    sigma : width of the Gaussian kernel
    config : number of centres, and how discriminants are fitted
    calibration : how curves are fitted
    choice : how centres are chosen (`acoustic.pairs.pool_centers`)
    seed : seed of the random choice of centres
    n_workers : threads; one a core by default. The result does not depend on it.
    watch : shows how many groups of pairs are done
    """
    check_positive("sigma", sigma)
    centers = pool_centers(frames, choice, config.n_centers, sigma, seed, n_workers)
    n_steps = 1 if config.loss == "squared-hinge" else 0
    return fit_pools(
        frames,
        centers,
        sigma,
        config.ridge,
        calibration,
        hinge_steps=n_steps,
        n_workers=n_workers,
        watch=watch,
    )


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

    Parameters
    ----------
    frames : training frames of known class; every class has at least one
    centers : the centres (C, D) of each class
    sigma, ridge, calibration : see `fit`
    hinge_steps : largest number of full Newton steps of the squared hinge, which start from the least squares
        solution
    n_workers, watch : see `fit`
    """
    unscaled = [np.asarray(c, dtype=np.float32) for c in centers]
    check_positive("sigma", sigma)
    classes = _classes(frames, unscaled, sigma, n_workers)
    pairs = all_pairs(len(classes))
    parts = [pairs[a : a + _PAIRS_AT_ONCE] for a in range(0, len(pairs), _PAIRS_AT_ONCE)]

    def work(part: Ints) -> list[FittedPair]:
        of_pairs = ((PoolPair.of(classes[i], classes[j]), frames.counts[[i, j]]) for i, j in part)
        return [fit_pair(pair, counts, ridge, hinge_steps, calibration) for pair, counts in of_pairs]

    starts = np.cumsum([0, *(len(c.centers) for c in classes)]).astype(np.int32)
    weights = np.zeros((starts[-1], len(classes)), dtype=np.float32)
    biases, curves = np.empty(len(pairs)), np.empty((len(pairs), 3))
    done = (fitted for part in watch(parallel_map(work, parts, n_workers), len(parts)) for fitted in part)
    for p, ((i, j), fitted) in enumerate(zip(pairs, done, strict=True)):
        n_first = len(classes[i].centers)
        weights[starts[i] : starts[i + 1], j] = fitted.weights[:n_first]
        weights[starts[j] : starts[j + 1], i] = -fitted.weights[n_first:]
        biases[p], curves[p] = fitted.bias, fitted.curve
    return PooledMachines(sigma, np.concatenate(unscaled), starts, weights, biases), curves


def _classes(
    frames: LabelledFrames, centers: Sequence[Singles], sigma: float, n_workers: int | None
) -> list[PoolClass]:
    """Return the classes with their kernel blocks; raise ModelError if one has no frames or no centres."""
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
    n_folds = int(folds.max()) + 1
    kernel = CenteredGaussian(sigma, mean_point(np.concatenate(centers)))
    left = kernel.left(x)

    def one(k: int) -> PoolClass:
        rows = np.flatnonzero(codes == k)
        rows = rows[np.argsort(folds[rows], kind="stable")]
        bounds = np.searchsorted(folds[rows], np.arange(n_folds + 1))
        right = kernel.right(centers[k])
        own = kernel.values(left[rows], right)
        grams = np.stack([own[a:b].T @ own[a:b] for a, b in pairwise(bounds)])
        return PoolClass(left[rows], bounds, right, own, grams, kernel)

    return list(parallel_map(one, range(len(centers)), n_workers))
