"""The papers' cross-validation: σ, a second constant and the number of centres, on training points only.

The second constant is ε of NPD, OROLS and KFD and C of the SVM. The error of every combination is computed
(no search from coarse to fine): one Gram matrix a width serves all folds, classes and constants, and one
forward selection all numbers of centres. For data with many partitions the errors of the first five training
sets are added up ("optimized on the first five training partitions", thesis 5.1.2). The median over five
separate optima, as Rätsch et al. take it, would combine values that do not fit each other.

Axes: M training points, V points held out, E constants, S sizes, K classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from acoustic.kernels.kernel import KernelName, make_kernel
from benchmarks.papers.width_search import N_FOLDS, Search, median_distance
from foundation.arrays import Floats, Integers, Longs, Reals
from foundation.threads import single_threaded_libraries

# Widths in median distances of two training points, in steps of half an octave.
WIDTHS = tuple(2.0 ** (k / 2) for k in range(6, -6, -1))
N_TUNED = 5  # training sets the hyper-parameters are chosen on


class Guess(NamedTuple):
    """What a method predicts on points held out: columns (M, M + V), codes (M,), K -> codes (E, S, V)."""

    columns: Reals
    codes: Integers
    n_classes: int
    constants: Floats
    sizes: Longs


@dataclass(frozen=True)
class Method:
    """A method whose hyper-parameters are cross-validated.

    Attributes
    ----------
    name : in the tables
    guess : returns the codes (E, S, V) of the classes predicted for the points held out
    make : returns an estimator, given σ, the constant and the number of centres
    constants : values of the second constant, in the order in which ties go to the first
    shares : numbers of centres in % of the training points, ascending; one value if they are given
    most : most centres of a model in cross-validation, whatever the share
    widths : in median distances, descending
    kernel : name of the kernel
    """

    name: str
    guess: Callable[[Guess], Integers]
    make: Callable[[float, float, int], Any]
    constants: tuple[float, ...]
    shares: tuple[float, ...]
    most: int = 300
    widths: tuple[float, ...] = WIDTHS
    kernel: KernelName = "gaussian"

    def sizes(self, n_points: int) -> Longs:
        """Return the numbers of centres (S,) for this many training points."""
        sizes = np.rint(np.array(self.shares) * n_points / 100)
        return np.clip(sizes, 1, max(self.most, sizes[0])).astype(np.int64)


@dataclass(frozen=True)
class Choice:
    """Chosen hyper-parameters; ``width`` in median distances, ``share`` in %, ``error`` cross-validated."""

    sigma: float
    width: float
    constant: float
    share: float
    error: float

    def model(self, method: Method, n_points: int) -> Any:
        """Return the estimator for this many training points."""
        n_centers = max(1, round(self.share * n_points / 100))
        return method.make(self.sigma, self.constant, n_centers)


TrainingSet = tuple[NDArray[Any], NDArray[Any]]


def choose(
    method: Method, training_sets: Sequence[TrainingSet], search: Search, slack: float = 0.0
) -> Choice:
    """Return the combination of hyper-parameters of the least error, a mean over the training sets.

    Ties go to the wider kernel, then to the first constant, then to fewer centres. With a ``slack``, only the
    fewest centres are compared with which some combination comes within that share of the least error.
    """
    errors = np.mean([grid_errors(method, x, y, search) for x, y in training_sets], axis=0)
    if slack:
        is_near = (errors <= (1 + slack) * errors.min()).any(axis=(0, 1))
        errors = np.where(np.arange(errors.shape[2]) == np.argmax(is_near), errors, np.inf)
    # Equal numbers of errors are sums of shares that may differ by rounding; `argmin` takes the first.
    best = np.unravel_index(np.argmin(np.round(errors, 12)), errors.shape)
    unit = float(np.median([median_distance(x, search.seed) for x, _ in training_sets]))
    width, constant, share = (
        values[index]
        for values, index in zip((method.widths, method.constants, method.shares), best, strict=True)
    )
    return Choice(unit * width, width, constant, share, float(errors[best]))


def grid_errors(method: Method, x: NDArray[Any], y: NDArray[Any], search: Search) -> Floats:
    """Return the cross-validated error (number of widths, E, S), a share of the points."""
    unit = median_distance(x, search.seed)
    sigmas = [unit * width for width in method.widths]
    with single_threaded_libraries():
        found = Parallel(n_jobs=search.n_jobs)(
            delayed(_width_errors)(method, sigma, x, y, search.seed) for sigma in sigmas
        )
    return np.array(list(found))


def _width_errors(method: Method, sigma: float, x: NDArray[Any], y: NDArray[Any], seed: int) -> Floats:
    """Return the errors (E, S) of one width, a mean over the folds."""
    classes, codes = np.unique(y, return_inverse=True)
    gram = make_kernel(method.kernel, sigma).block(x, x)
    constants = np.array(method.constants)
    errors = []
    for train, held_out in _folds(x, y, seed):
        columns = np.ascontiguousarray(gram[np.ix_(train, np.concatenate([train, held_out]))])
        sizes = method.sizes(len(train))
        guessed = method.guess(Guess(columns, codes[train], len(classes), constants, sizes))
        errors.append(np.mean(guessed != codes[held_out], axis=2))
    return np.asarray(np.mean(errors, axis=0))


def _folds(x: NDArray[Any], y: NDArray[Any], seed: int) -> Iterator[tuple[Longs, Longs]]:
    yield from StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(x, y)
