"""Outcomes of fitted models, and results over partitions."""

from collections.abc import Callable

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.svm import SVC

from acoustic.discriminants import OROLSClassifier
from benchmarks.papers.cross_validation import Choice
from benchmarks.papers.datasets import Split
from benchmarks.papers.outcomes import Result, corrected_standard_error, evaluate

Blobs = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


def test_distinct_centres_are_those_of_all_machines_together(blobs: Blobs) -> None:
    rng = np.random.default_rng(5)
    x, y = blobs(rng, 120, 3)
    outcome = evaluate(OROLSClassifier(2.0, 10, block_size=1, multiclass="ovr"), Split(x, y, x, y))
    model = OROLSClassifier(2.0, 10, block_size=1, multiclass="ovr").fit(x, y)
    assert outcome.n_centers == 10
    assert (
        outcome.n_distinct
        == model.n_distinct_centers_
        == len({*np.concatenate(model.machine_center_indices_)})
    )


def test_centres_of_other_models(blobs: Blobs) -> None:
    x, y = blobs(np.random.default_rng(6), 80, 2)
    split = Split(x, y, x, y)
    n_vectors = len(SVC().fit(x, y).support_)
    assert evaluate(SVC(), split).n_centers == n_vectors
    stumps = evaluate(AdaBoostClassifier(n_estimators=3, random_state=0), split)
    assert (stumps.n_centers, stumps.n_distinct) == (0.0, 0)


def test_a_cell_is_mean_deviation_and_the_papers_error() -> None:
    result = Result(Choice(1.0, 1.0, 0.1, 5.0, 0.2), (10.0, 12.0), (5.0, 5.0))
    assert result.cell(11.5) == "11.0 ± 1.0 (11.5)"
    assert result.cell() == "11.0 ± 1.0"


def test_the_standard_error_of_resplits_counts_what_they_share():
    errors = [10.0, 12.0, 11.0, 13.0]
    independent = np.std(errors, ddof=1) / 2
    np.testing.assert_allclose(corrected_standard_error(errors, 200, 0), independent, rtol=1e-12, atol=0)
    # 4 resplits with a quarter as many test points: twice the variance of a mean of independent draws
    found = corrected_standard_error(errors, 200, 50)
    np.testing.assert_allclose(found, independent * np.sqrt(2), rtol=1e-12, atol=0)
