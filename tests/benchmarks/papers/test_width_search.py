"""The search for a width against scikit-learn's grid search."""

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold

from acoustic.discriminants import OROLSClassifier
from benchmarks.papers.datasets import sinc
from benchmarks.papers.width_search import HIGHEST, LOWEST, PER_OCTAVE, Search, choose_width, median_distance

Blobs = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


def test_is_grid_search_of_scikit_learn_on_a_smooth_error() -> None:
    rng = np.random.default_rng(3)
    split = sinc(60, 1, 0.05, rng)
    unit = median_distance(split.x, 0)
    factors = 2.0 ** (np.arange(LOWEST, HIGHEST + 1) / PER_OCTAVE)
    model = KernelRidge(alpha=0.01, kernel="rbf")
    grid = GridSearchCV(
        model,
        {"gamma": 0.5 / (unit * factors) ** 2},
        scoring="neg_mean_squared_error",
        cv=KFold(5, shuffle=True, random_state=0),
    ).fit(split.x, split.y)
    chosen = choose_width(
        lambda sigma, _: KernelRidge(alpha=0.01, kernel="rbf", gamma=0.5 / sigma**2),
        [(split.x, split.y)],
        Search(),
    )
    assert 0.5 / chosen.sigma**2 == pytest.approx(grid.best_params_["gamma"], rel=1e-9)
    assert chosen.error == pytest.approx(-grid.best_score_, rel=1e-9)


def test_never_sees_test_points(blobs: Blobs) -> None:
    rng = np.random.default_rng(4)
    x, y = blobs(rng, 80, 2)
    seen: list[int] = []

    def make(sigma: float, n_train: int) -> OROLSClassifier:
        seen.append(n_train)
        return OROLSClassifier(sigma, 5, block_size=1)

    choose_width(make, [(x, y)], Search(is_coarse=True))
    assert set(seen) == {64, 80}  # the folds, and the look at the estimator's kind


def test_median_distance_is_of_different_points() -> None:
    x = np.array([[0.0, 0.0]] * 5 + [[3.0, 4.0]])  # most pairs are of equal points
    assert median_distance(x, 0) == 5.0
