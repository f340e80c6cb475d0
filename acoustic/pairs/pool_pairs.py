"""Fitting the discriminant of two classes on the centres of both, by ridge regression or squared hinge.

The columns of a pair's matrices are the centres of its first class, then those of its second; the rows are
the frames of its first class, then those of its second.

Axes: M training frames of both classes, D features, C centres of both classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from acoustic.errors import ModelError
from acoustic.kernels.gaussian import CenteredGaussian
from acoustic.pairs.calibration import Calibration, fit_curve
from foundation.arrays import Flags, Floats, Longs, Reals, Singles

_MORE_RIDGE = 10.0  # factor on the ridge when a Gram matrix is not definite in single precision
_MOST_RIDGE = 1.0
_LEAST_SLACK = 1e-6  # least value of 1 − h in leave-one-out outputs


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
        n_first = len(self.first.centers)
        own, other = solution.weights[:n_first], solution.weights[n_first:]
        parts = (
            self.first.own @ own + self.first_cross @ other,
            self.second_cross @ own + self.second.own @ other,
        )
        return np.concatenate(parts) + solution.bias

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
    for own, is_own in zip(fit.parts, folds, strict=True):
        rest = total.without(own)
        if rest.sizes.all() and is_own.any():  # else a class has no other frames, and its fitted outputs stay
            outputs[is_own] = pair.outputs(_solved(rest, pair.n_frames - int(is_own.sum()), ridge))[is_own]
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
            np.concatenate([own_i.sum(axis=0), cross_i.sum(axis=0)]),
            np.concatenate([cross_j.sum(axis=0), own_j.sum(axis=0)]),
        ]
    )
    return _Statistics(gram, sums, np.array([len(own_i), len(own_j)]))


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
