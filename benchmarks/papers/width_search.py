"""The kernel width σ by cross-validation on training points, for methods that have nothing else to choose.

The grid is σ = d̃ · 2^(k/4), k = −16 … 6, with d̃ the median distance of training points: from a sixteenth
of it to 2.8 times it. It is searched from coarse to fine: every fourth width, then both neighbours two steps
from the best, then both one step from it; ten of twenty-three. Ties go to the wider kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from foundation.arrays import Longs
from foundation.threads import single_threaded_libraries

Make = Callable[[float, int], Any]  # σ and number of training points -> estimator
Folds = list[tuple[Longs, Longs]]

LOWEST, HIGHEST, PER_OCTAVE = -16, 6, 4
N_FOLDS = 5
_N_PAIRS = 4000  # random pairs whose distances give the median


@dataclass(frozen=True)
class Search:
    """How σ is searched.

    Attributes
    ----------
    n_jobs : processes
    seed : seed of the folds
    is_coarse : every fourth width only
    """

    n_jobs: int = 1
    seed: int = 0
    is_coarse: bool = False


@dataclass(frozen=True)
class Width:
    """A chosen σ, also in median distances, and its cross-validated error (share wrong or mean square)."""

    sigma: float
    factor: float
    error: float


def choose_width(
    make: Make,
    training_sets: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    search: Search,
    highest: int = HIGHEST,
) -> Width:
    """Return the width whose 5-fold cross-validation error, summed over the training sets, is least.

    One training set in most tables; where a table has many partitions of one data set, the first five of
    them, as in the thesis (5.1.2). ``highest`` is the widest σ, as k in d̃ · 2^(k/4).
    """
    unit = float(np.median([median_distance(x, search.seed) for x, _ in training_sets]))
    errors: dict[int, float] = {}

    def best_of(steps: Sequence[int]) -> int:
        wanted = [k for k in steps if LOWEST <= k <= highest and k not in errors]
        sigmas = [unit * 2.0 ** (k / PER_OCTAVE) for k in wanted]
        errors.update(zip(wanted, _errors(make, sigmas, training_sets, search), strict=True))
        return min(errors, key=lambda k: (errors[k], -k))

    best = best_of(range(LOWEST, highest + 1, PER_OCTAVE))
    for step in () if search.is_coarse else (2, 1):
        best = best_of((best - step, best + step))
    factor = 2.0 ** (best / PER_OCTAVE)
    return Width(unit * factor, factor, errors[best])


def median_distance(x: NDArray[Any], seed: int) -> float:
    """Return the median distance of random pairs of different points."""
    first, second = np.random.default_rng(seed).integers(len(x), size=(2, _N_PAIRS))
    distances = np.linalg.norm(x[first] - x[second], axis=1)
    return float(np.median(distances[distances > 0]))


def _errors(
    make: Make,
    sigmas: Sequence[float],
    training_sets: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    search: Search,
) -> list[float]:
    """Return the cross-validated error of each width, a mean over the training sets."""
    folds = [_folds(make(1.0, len(x)), x, y, search.seed) for x, y in training_sets]
    jobs = [(s, t, f) for s in sigmas for t in range(len(training_sets)) for f in range(N_FOLDS)]
    found = Parallel(n_jobs=search.n_jobs)(
        delayed(_fold_error)(make(s, len(folds[t][f][0])), *training_sets[t], *folds[t][f])
        for s, t, f in jobs
    )
    return [float(v) for v in np.reshape(found, (len(sigmas), -1)).mean(axis=1)]


def _folds(estimator: Any, x: NDArray[Any], y: NDArray[Any], seed: int) -> Folds:
    splitter = StratifiedKFold if is_classifier(estimator) else KFold
    return list(splitter(N_FOLDS, shuffle=True, random_state=seed).split(x, y))


def _fold_error(
    estimator: Any,
    x: NDArray[Any],
    y: NDArray[Any],
    train: Longs,
    held_out: Longs,
) -> float:
    """Return the share of wrong labels, or the mean squared error, on the points held out."""
    with single_threaded_libraries():
        predicted = estimator.fit(x[train], y[train]).predict(x[held_out])
    wrong = predicted != y[held_out] if is_classifier(estimator) else (predicted - y[held_out]) ** 2
    return float(np.mean(wrong))
