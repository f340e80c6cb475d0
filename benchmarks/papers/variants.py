"""Regressors of the papers' tables, each in several ways to choose its hyper-parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.papers.datasets import Split
from benchmarks.papers.path_search import Choice, MakePath, n_centers
from benchmarks.papers.width_search import Search
from foundation.threads import single_threaded_libraries

Fit = Callable[[int], Any]  # number of training points -> estimator


@dataclass(frozen=True)
class Variant:
    """One way to choose the hyper-parameters of a method.

    Attributes
    ----------
    label : method
    chosen : what is chosen, in words
    paper : the paper's result
    make : selects centres
    epsilons : of the coarse grid, as j of 10^(j/2)
    percents : numbers of centres to choose from; None for all
    final : makes the estimator that is tested, if it is another
    """

    label: str
    chosen: str
    paper: str
    make: MakePath
    epsilons: Sequence[int]
    percents: Sequence[float] | None = None
    final: MakePath | None = None


def path_of(estimator: type[Any], options: dict[str, Any], sigma: float, epsilon: float, n: int) -> Any:
    """Return the papers' algorithm for a width, an ε and a size; a `MakePath` once two are bound."""
    return estimator(sigma, n, epsilon=epsilon, **options)


def chosen_estimator(variant: Variant, choice: Choice, n_train: int) -> Any:
    """Return the estimator of the chosen hyper-parameters for this many training points."""
    make = variant.final or variant.make
    return make(choice.sigma, choice.epsilon, n_centers(choice.percent, n_train))


def on_all(make: Fit, splits: Sequence[Split], search: Search) -> list[tuple[float, int]]:
    """Return squared error and centres on each split."""
    found = Parallel(n_jobs=search.n_jobs)(delayed(squared_error)(make(len(s.x)), s) for s in splits)
    return list(found)


def squared_error(estimator: Any, split: Split) -> tuple[float, int]:
    """Return the mean squared error on the test points and the number of centres."""
    with single_threaded_libraries():
        predicted = estimator.fit(split.x, split.y).predict(split.x_test)
    # Ours and the RVM's, the SVR's; kernel ridge regression has all points.
    found = [getattr(estimator, name) for name in ("center_indices_", "support_") if hasattr(estimator, name)]
    return float(np.mean((predicted - split.y_test) ** 2)), len([*found, split.x][0])
