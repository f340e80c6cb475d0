"""σ, ε and the number of centres of NPD and OROLS by cross-validation on training points (thesis 5.1.2, 5.2).

One forward selection holds the models of all smaller numbers of centres, so that their errors cost nothing.
The grid is σ = d̃ · 2^(i/2), with d̃ the median distance of training points, and ε = 10^(j/2). It is searched
from coarse to fine: octaves and decades first, then the neighbours of the best point until none is better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from benchmarks.papers.width_search import N_FOLDS, Search, median_distance
from foundation.arrays import Floats, Longs
from foundation.threads import single_threaded_libraries

MakePath = Callable[
    [float, float, int], Any
]  # σ, ε, largest number of centres -> regressor with path_predict
Point = tuple[int, int]  # i and j of the grid

TINY = -12  # j of ε = 1e-6, which only keeps the Gram matrix definite
WIDTHS = range(-4, 3, 2)  # i of the coarse grid
EPSILONS = range(-6, 1, 2)  # j of the coarse grid
_MOST_ROUNDS = 4  # moves to a better neighbour


@dataclass(frozen=True)
class Choice:
    """Chosen hyper-parameters and their cross-validated mean squared error.

    Attributes
    ----------
    sigma : kernel width
    factor : the same in median distances
    epsilon : number added to the diagonal of the Gram matrix
    percent : centres in % of the training points
    error : mean over all folds of all training sets
    """

    sigma: float
    factor: float
    epsilon: float
    percent: float
    error: float


@dataclass
class PathSearch:
    """The cross-validated errors of one method, computed where they are asked for and then kept.

    Attributes
    ----------
    make : returns a regressor
    training_sets : (x, y) of each training set; the folds of all count alike
    percents : numbers of centres to choose from, in % of the training points
    search : processes and seed; ``is_coarse`` leaves out the neighbours
    """

    make: MakePath
    training_sets: Sequence[tuple[NDArray[Any], NDArray[Any]]]
    percents: Sequence[float]
    search: Search
    _errors: dict[Point, Floats] = field(default_factory=dict)

    def choose(self, epsilons: Sequence[int], percents: Sequence[float] | None = None) -> Choice:
        """Return the best point of the grid; with a single ε only σ and the number of centres are searched.

        Parameters
        ----------
        epsilons : j of the coarse grid
        percents : numbers of centres allowed; all by default
        """
        allowed = np.isin(self.percents, self.percents if percents is None else percents)

        def best_of(points: Sequence[Point]) -> Point:
            self._compute(points)
            return min(self._errors.keys() & set(points), key=lambda p: (self._errors[p][allowed].min(), p))

        best = best_of(list(product(WIDTHS, epsilons)))
        for _ in range(0 if self.search.is_coarse else _MOST_ROUNDS):
            near = best_of(self._neighbours(best, epsilons))
            if near == best:
                break
            best = near
        errors = np.where(allowed, self._errors[best], np.inf)
        factor = 2.0 ** (best[0] / 2)
        return Choice(
            self.unit * factor,
            factor,
            10.0 ** (best[1] / 2),
            float(self.percents[int(np.argmin(errors))]),
            float(errors.min()),
        )

    @property
    def unit(self) -> float:
        """The median distance of training points."""
        return float(np.median([median_distance(x, self.search.seed) for x, _ in self.training_sets]))

    @staticmethod
    def _neighbours(point: Point, epsilons: Sequence[int]) -> list[Point]:
        """Return the point and its neighbours: eight, or two where ε is given."""
        around = (-1, 0, 1) if len(epsilons) > 1 else (0,)
        return [(point[0] + i, point[1] + j) for i, j in product((-1, 0, 1), around)]

    def _compute(self, points: Sequence[Point]) -> None:
        """Compute the errors of those points of the grid that are not known yet."""
        missing = [point for point in points if point not in self._errors]
        unit = self.unit
        jobs = [
            (unit * 2.0 ** (i / 2), 10.0 ** (j / 2), x, y, train, held_out)
            for i, j in missing
            for x, y in self.training_sets
            for train, held_out in KFold(N_FOLDS, shuffle=True, random_state=self.search.seed).split(x)
        ]
        found = Parallel(n_jobs=self.search.n_jobs)(
            delayed(_fold_errors)(self.make, self.percents, *job) for job in jobs
        )
        if missing:
            means = np.reshape(found, (len(missing), -1, len(self.percents))).mean(axis=1)
            self._errors.update(zip(missing, means, strict=True))


def n_centers(percent: float, n_points: int) -> int:
    """Return a percentage of the points as a whole number, at least 1."""
    return max(1, round(n_points * percent / 100))


def _fold_errors(
    make: MakePath,
    percents: Sequence[float],
    sigma: float,
    epsilon: float,
    x: NDArray[Any],
    y: NDArray[Any],
    train: Longs,
    held_out: Longs,
) -> Floats:
    """Return the mean squared error on the points held out of the model of each size."""
    sizes = [n_centers(percent, len(train)) for percent in percents]
    with single_threaded_libraries():
        model = make(sigma, epsilon, max(sizes)).fit(x[train], y[train])
        predicted = model.path_predict(x[held_out], sizes)[..., 0]
    return np.asarray(np.mean((predicted - y[held_out]) ** 2, axis=1))
