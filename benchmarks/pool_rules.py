"""Rules that choose the frames of a class for its pool of centres: peers of `acoustic.pairs.train_pools`.

Each returns rows among a sample of frames whose first ones are of the class itself (target +1), the others of
other classes (target −1).

Axes: M frames of the sample, of which the first N are of the class; C centres.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acoustic.discriminants.loo_forward import LooConfig, loo_forward_selection
from acoustic.kernels.kernel import CenteredGaussian, Kernel, mean_point
from foundation.arrays import Flags, Longs, Singles

RIDGE = 1e-3  # λ of error reduction (of a mean over frames) and of the slides; ε of the residual rule


@dataclass(frozen=True)
class Sample:
    """Frames of a class and of others.

    Attributes
    ----------
    x : (M, D), the first ``n_own`` of the class
    n_own : N
    folds : (M,) half of the speakers
    may_be_centers : (M,) which frames may become centres
    sigma : width of the kernel
    """

    x: Singles
    n_own: int
    folds: Longs
    may_be_centers: Flags
    sigma: float

    @property
    def targets(self) -> Singles:
        """The targets (M,)."""
        return np.where(np.arange(len(self.x)) < self.n_own, np.float32(1), np.float32(-1))

    def columns(self, points: Longs) -> Singles:
        """Return the kernel columns (M, b) of some points."""
        gaussian = CenteredGaussian(self.sigma, mean_point(self.x))
        return gaussian.values(gaussian.left(self.x), gaussian.right(self.x[points]))


def largest_residual(
    sample: Sample, n: int, *, left_out: bool = False, highest: float = np.inf, learned: Flags | None = None
) -> Longs:
    """Return own rows in the order in which thesis Algorithm 1 selects them, one at a time.

    Frames of the other classes are selected, too, and dropped in the end.

    Parameters
    ----------
    sample : frames
    n : C
    left_out : whether the residual of each frame is that of the machine fitted without it, e/(1 − h)
    highest : frames with a larger |residual| come after all others
    learned : (M,) frames that the machine is fitted to; all by default. Otherwise only the others may become
        centres, so that residuals are held out
    """
    x, y = sample.x, sample.targets
    fitted = np.ones(len(y), dtype=bool) if learned is None else learned
    free = sample.may_be_centers & (np.ones(len(y), dtype=bool) if learned is None else ~learned)
    q = np.zeros((len(y), 1 + 2 * n), dtype=np.float32)
    q[:, 0] = 1 / np.sqrt(fitted.sum())
    residual, leverage = y - q[:, 0] * (q[fitted, 0] @ y[fitted]), q[:, 0] ** 2
    kernel, own, size = sample.columns(np.arange(len(x))), [], 1
    while size < q.shape[1] and len(own) < n and free.any():
        errors = np.abs(residual / np.maximum(1 - leverage, RIDGE)) if left_out else np.abs(residual)
        errors = np.where(errors > highest, RIDGE / np.maximum(errors, RIDGE), errors)
        p = int(np.where(free, errors, -1).argmax())
        free[p] = False
        column = kernel[:, p].copy()
        column[p] += RIDGE
        for _ in range(2):
            column -= q[:, :size] @ (q[fitted, :size].T @ column[fitted])
        length = np.linalg.norm(column[fitted])
        if length < 1e-3:
            continue
        q[:, size] = column / length
        residual = residual - q[:, size] * (q[fitted, size] @ residual[fitted])
        leverage = leverage + q[:, size] ** 2
        size += 1
        if p < sample.n_own:
            own.append(p)
    return np.array(own, dtype=int)


def held_out_residual(sample: Sample, n: int) -> Longs:
    """Return own rows with the largest residuals of machines fitted to the other half of the speakers."""
    halves = [sample.folds == fold for fold in (0, 1)]
    if not all(half[part].sum() > 1 for half in halves for part in _parts(sample)):
        return largest_residual(sample, n)
    return np.concatenate([largest_residual(sample, n // 2, learned=half) for half in halves])


def error_reduction(sample: Sample, n: int, n_rivals: int = 0) -> Longs:
    """Return own rows whose columns reduce the squared error most, one after the other.

    Orthogonal least squares on the Gram matrix of all candidate columns.

    Parameters
    ----------
    sample, n : see `largest_residual`
    n_rivals : number of frames of other classes whose columns are in the model from the start
    """
    candidates = np.flatnonzero(sample.may_be_centers[: sample.n_own])
    columns = _centered(sample.columns(candidates))
    target = _centered(sample.targets[:, None])
    if n_rivals:
        given = _centered(sample.columns(np.arange(sample.n_own, len(sample.x))[:n_rivals]))
        gram = (given.T @ given).astype(float) + RIDGE * len(given) * np.eye(given.shape[1])
        both = np.concatenate([columns, target], axis=1)
        both -= given @ np.linalg.solve(gram, given.T @ both).astype(np.float32)
        columns, target = both[:, :-1], both[:, -1:]
    gram, products = (columns.T @ columns).astype(float), (columns.T @ target)[:, 0].astype(float)
    lengths = np.diag(gram).copy()
    free, ridge = lengths > 0, RIDGE * len(columns)
    factors, chosen = np.zeros((n, len(candidates))), []
    while len(chosen) < n and free.any():
        gains = np.where(free, products**2 / (np.maximum(lengths, 0) + ridge), -1)
        p, size = int(gains.argmax()), len(chosen)
        root = np.sqrt(max(lengths[p], 0) + ridge)
        factor = (gram[p] - factors[:size, p] @ factors[:size]) / root
        products = products - factor * products[p] / root
        lengths = lengths - factor**2
        factors[size], free[p] = factor, False
        chosen.append(p)
    return candidates[chosen]


def left_out_misclassification(sample: Sample, n: int, n_candidates: int = 200) -> Longs:
    """Return own rows selected by the leave-one-out misclassification rate, as in the LOO slides."""
    candidates = np.flatnonzero(sample.may_be_centers[: sample.n_own])
    candidates = candidates[:: max(1, len(candidates) // n_candidates)]
    config = LooConfig(n, RIDGE, "size", fit_intercept=True)
    x, y, kernel = sample.x.astype(float), sample.targets.astype(float), Kernel("gaussian", sample.sigma)
    return loo_forward_selection(x, y, kernel, candidates, config).indices


def _parts(sample: Sample) -> tuple[slice, slice]:
    return slice(sample.n_own), slice(sample.n_own, None)


def _centered(columns: Singles) -> Singles:
    return columns - columns.mean(axis=0)
