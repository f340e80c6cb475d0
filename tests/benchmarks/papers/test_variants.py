"""Regressors of the tables: how they are made and how they are judged."""

import numpy as np
import pytest
from sklearn.svm import SVR

from acoustic.discriminants import NPDRegressor, OLSRegressor
from benchmarks.papers.datasets import sinc_runs
from benchmarks.papers.path_search import TINY, Choice
from benchmarks.papers.variants import Variant, chosen_estimator, on_all, path_of, squared_error
from benchmarks.papers.width_search import Search

CHOICE = Choice(2.0, 1.0, 0.01, 25.0, 0.04)


def select(sigma: float, epsilon: float, n: int) -> NPDRegressor:
    return path_of(NPDRegressor, {"stopping": "loo"}, sigma, epsilon, n)


def test_the_chosen_estimator_has_its_share_of_the_points() -> None:
    variant = Variant("NPD", "all", "–", select, (TINY,))
    made = chosen_estimator(variant, CHOICE, 50)
    assert (made.sigma, made.epsilon, made.max_centers, made.stopping) == (2.0, 0.01, 12, "loo")
    assert chosen_estimator(variant, CHOICE, 1).max_centers == 1
    final = Variant("QR", "all", "–", select, (TINY,), None, lambda sigma, _, n: OLSRegressor(sigma, n))
    assert isinstance(chosen_estimator(final, CHOICE, 50), OLSRegressor)


def test_errors_and_centres_of_each_split() -> None:
    splits = sinc_runs(2, 0, 50, 0.1, 100)
    found = on_all(lambda n: NPDRegressor(2.0, n // 10, block_size=1), splits, Search())
    for (error, n_centers), split in zip(found, splits, strict=True):
        model = NPDRegressor(2.0, 5, block_size=1).fit(split.x, split.y)
        assert error == pytest.approx(np.mean((model.predict(split.x_test) - split.y_test) ** 2), rel=1e-9)
        assert n_centers == 5
    machine = SVR(C=10.0)
    _, n_support = squared_error(machine, splits[0])
    assert n_support == len(machine.support_)
