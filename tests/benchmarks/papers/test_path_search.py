"""The search for σ, ε and the number of centres against fits of every point of its grid."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from acoustic.discriminants import NPDRegressor
from benchmarks.papers import path_search
from benchmarks.papers.datasets import sinc_runs
from benchmarks.papers.path_search import TINY, PathSearch, n_centers
from benchmarks.papers.width_search import Search, median_distance

PERCENTS = (10, 20, 40)


def make(sigma: float, epsilon: float, n: int) -> NPDRegressor:
    return NPDRegressor(sigma, n, epsilon=epsilon, block_size=1)


def error_of(
    sets: list[tuple[np.ndarray, np.ndarray]], sigma: float, epsilon: float, percent: float
) -> float:
    """Return the cross-validated error of models that are fitted with this very number of centres."""
    errors = []
    for x, y in sets:
        for train, held_out in KFold(5, shuffle=True, random_state=0).split(x):
            model = make(sigma, epsilon, n_centers(percent, len(train))).fit(x[train], y[train])
            errors.append(np.mean((model.predict(x[held_out]) - y[held_out]) ** 2))
    return float(np.mean(errors))


@pytest.fixture
def sets() -> list[tuple[np.ndarray, np.ndarray]]:
    return [(s.x, s.y) for s in sinc_runs(2, 0, 40, 0.2, 1)]


def test_chooses_the_best_of_the_whole_coarse_grid(sets: list[tuple[np.ndarray, np.ndarray]]) -> None:
    paths = PathSearch(make, sets, PERCENTS, Search(is_coarse=True))
    choice = paths.choose((-4, 0))
    unit = float(np.median([median_distance(x, 0) for x, _ in sets]))
    errors = {
        (unit * 2.0 ** (i / 2), 10.0 ** (j / 2), percent): 0.0
        for i in path_search.WIDTHS
        for j in (-4, 0)
        for percent in PERCENTS
    }
    for point in errors:
        errors[point] = error_of(sets, *point)
    best = min(errors, key=errors.__getitem__)
    assert (choice.sigma, choice.epsilon, choice.percent) == pytest.approx(best, rel=1e-12)
    assert choice.error == pytest.approx(errors[best], rel=1e-9)
    assert choice.factor == pytest.approx(choice.sigma / unit, rel=1e-12)


def test_no_neighbour_of_the_choice_is_better(sets: list[tuple[np.ndarray, np.ndarray]]) -> None:
    choice = PathSearch(make, sets, PERCENTS, Search()).choose((-4, -2, 0))
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            sigma, epsilon = choice.sigma * 2.0 ** (i / 2), choice.epsilon * 10.0 ** (j / 2)
            assert min(error_of(sets, sigma, epsilon, p) for p in PERCENTS) >= choice.error * (1 - 1e-9)


def test_what_is_given_is_not_chosen_and_nothing_is_computed_twice(
    sets: list[tuple[np.ndarray, np.ndarray]],
) -> None:
    fits: list[tuple[float, float]] = []

    def counted(sigma: float, epsilon: float, n: int) -> NPDRegressor:
        fits.append((sigma, epsilon))
        return make(sigma, epsilon, n)

    paths = PathSearch(counted, sets, PERCENTS, Search())
    small = paths.choose((TINY,), (10,))
    assert (small.epsilon, small.percent) == (1e-6, 10)
    free = paths.choose((TINY,))
    assert free.error <= small.error
    assert len(fits) == 5 * len(sets) * len(set(fits))
    n_fits = len(fits)
    assert paths.choose((TINY,)) == free
    assert len(fits) == n_fits
