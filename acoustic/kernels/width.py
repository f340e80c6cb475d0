"""The width σ of a kernel and the ε of its Gram matrix, from the training points.

``scale`` and ``median`` look at the points only. The search by the leave-one-out error looks at the targets,
too: it fits a small model for each of a few widths, with some of the points as centres, and one eigenvalue
decomposition of each gives the leave-one-out errors for all ε at once.

Axes: M training points, D features, R targets, n rows and c centres of the small models.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri

from acoustic.kernels.kernel import Kernel
from foundation.arrays import Floats, Longs, Reals
from foundation.threads import single_threaded_libraries

EPSILONS = 10.0 ** np.arange(-8.0, 2.0)
FACTORS = (0.25, 0.5, 1.0, 2.0)  # of the width by scale, from which the search chooses; by feel
_START = 3  # index of the factor that it looks at first, the widest
_N_ROWS = 500  # by feel
_CENTERS = (2.0, 32, 96)  # c is this many √M, at least, at most; by feel
_N_PAIRS = 4000  # pairs whose distances give the median
_LEAST_SLACK = 1e-6
_JITTER = 1e-9


class Setting(NamedTuple):
    """A width, an ε, and the leave-one-out squared error of a small model with them."""

    sigma: float
    epsilon: float
    error: float


def scale_width(x: Reals) -> float:
    """Return σ = √(D var(X)/2), the width of ``SVC(gamma="scale")``; 1 for points that are all equal."""
    deviation = float(np.std(x, dtype=np.float64))
    return float(np.sqrt(x.shape[1] / 2.0)) * deviation if deviation > 0 else 1.0


def median_width(x: Reals) -> float:
    """Return the median distance of 4,000 fixed pairs of different points; 1 if all points are equal."""
    first, second = np.random.default_rng(0).integers(len(x), size=(2, _N_PAIRS))
    distances = np.linalg.norm(np.asarray(x, dtype=np.float64)[first] - x[second], axis=1)
    apart = distances[distances > 0]
    return float(np.median(apart)) if len(apart) else 1.0


def left_out_setting(
    x: Reals,
    targets: Floats,
    kernel: Kernel,
    sigmas: Floats,
    epsilons: Floats,
    weight: Floats | None = None,
) -> Setting:
    """Return the width and the ε of the least leave-one-out squared error of small models.

    The search begins at the widest and goes on to narrower ones as long as the error falls.

    Parameters
    ----------
    x : (M, D) points
    targets : (M, R)
    kernel : kernel function, whose width does not matter
    sigmas : widths in rising order
    epsilons : numbers to be added to the diagonal of the Gram matrix
    weight : (M,) weights of the squared errors
    """
    small = _SmallModel(x, targets, kernel, weight)
    found: dict[int, Setting] = {}

    def error(k: int) -> float:
        if k not in found:
            found[k] = small.best(float(sigmas[k]), epsilons)
        return found[k].error

    best = min(_START, len(sigmas) - 1)
    with single_threaded_libraries():  # threads for so small products mostly wait for each other
        for step in (1, -1):
            while 0 <= best + step < len(sigmas) and error(best + step) < error(best):
                best += step
        error(best)
    return found[best]


def n_small_centers(n_points: int) -> int:
    """Return the number of centres of the small models that the search fits."""
    share, least, most = _CENTERS
    return min(n_points, max(least, min(most, round(share * float(np.sqrt(n_points))))))


class _SmallModel:
    """Ridge regression on a few centres, for some of the points."""

    def __init__(self, x: Reals, targets: Floats, kernel: Kernel, weight: Floats | None) -> None:
        n_points, rng = len(x), np.random.default_rng(0)
        order = rng.permutation(n_points)[:_N_ROWS]
        n_centers = n_small_centers(n_points)
        self.kernel, self.rows, self.centers = kernel, x[order], x[order[:n_centers]]
        roots = np.ones(n_points) if weight is None else np.sqrt(weight / np.mean(weight))
        self.root = roots[order]
        self.bias = self.root / np.linalg.norm(self.root)  # the direction of the bias, which is not penalised
        self.repeats = n_points / len(order)  # each row stands for so many points
        self.targets = self._centered(targets[order] * self.root[:, None])

    def best(self, sigma: float, epsilons: Floats) -> Setting:
        """Return the ε of the least leave-one-out error with this width."""
        errors = self.errors(sigma, epsilons)
        k = int(np.argmin(errors))
        return Setting(sigma, float(epsilons[k]), float(errors[k]))

    def errors(self, sigma: float, epsilons: Floats) -> Floats:
        """Return the mean leave-one-out squared error for each ε.

        With Φ the columns that are orthonormal under the penalty, the outputs for λ = 2ε are Φ(ΦᵀΦ +
        λI)⁻¹Φᵀy; in the basis of the eigenvectors of ΦᵀΦ they are sums for every λ.
        """
        kernel = replace(self.kernel, sigma=sigma)
        block = np.asarray(kernel.block(self.centers, self.rows), dtype=np.float64).T  # symmetric, by columns
        phi = self._centered(_whitened(block, block[: len(self.centers)]) * self.root[:, None])
        values, vectors = np.linalg.eigh(phi.T @ phi)
        q = phi @ vectors
        shares = 1.0 / (np.maximum(values, 0.0) + 2.0 * epsilons[:, None] / self.repeats)  # (E, c)
        leverages = np.square(q) @ shares.T + np.square(self.bias)[:, None]
        parts = (shares.T[:, :, None] * (q.T @ self.targets)[:, None]).reshape(len(values), -1)
        residual = self.targets[:, None] - (q @ parts).reshape(len(q), len(epsilons), -1)
        slack = np.maximum(1.0 - leverages / self.repeats, _LEAST_SLACK)
        return np.asarray(np.mean(np.square(residual / slack[:, :, None]).sum(axis=2), axis=0))

    def _centered(self, columns: Floats) -> Floats:
        """Return columns (n, c) without their part along the bias."""
        return np.asarray(columns - np.outer(self.bias, self.bias @ columns))


def _whitened(block: Floats, penalty: Floats) -> Floats:
    """Return the columns (n, c) in a basis in which the penalty (c, c) is the identity."""
    jitter = _JITTER * float(np.mean(penalty.diagonal()))
    r, failed = dpotrf(penalty + jitter * np.eye(len(penalty)), lower=0, clean=1)
    return block if failed else np.asarray(dtrmm(1.0, dtrtri(r, lower=0)[0], block, side=1, lower=0))


def neighbours(x: Reals, kernel: Kernel, sigma: float, n_points: int = 64, n_others: int = 1024) -> Floats:
    """Return the kernel (n,) of some points with the most similar of some others, and the least of all.

    The first n values are those of the points; the last one is the smallest value of all.
    """
    order: Longs = np.random.default_rng(0).permutation(len(x))
    block = replace(kernel, sigma=sigma).block(x[order[:n_others]], x[order[:n_points]])
    values = np.asarray(block, dtype=np.float64)
    least = float(values.min())
    np.fill_diagonal(values, -np.inf)
    return np.append(values.max(axis=0), least)
