"""The benchmark of the defaults: its search of SVC against scikit-learn's, its means by hand."""

import defaults
import numpy as np
import pytest
from defaults import RSS, Measured, summary, verdicts
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC


def test_the_search_is_that_of_scikit_learn(monkeypatch):
    monkeypatch.setattr(defaults, "CS", (0.3, 10.0))
    monkeypatch.setattr(defaults, "GAMMAS", (0.5, 4.0))
    x, y = make_moons(120, noise=0.3, random_state=0)
    found = defaults.search_svc(x, y)
    rows = np.random.default_rng(1).permutation(120)
    scale = 1.0 / (x.shape[1] * x.var())
    grid = {"C": [0.3, 10.0], "gamma": [0.5 * scale, 4.0 * scale]}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = GridSearchCV(SVC(), grid, cv=folds).fit(x[rows], y[rows])
    assert_allclose(found.error, 100 * (1 - expected.best_score_), rtol=1e-9, atol=0)
    best = SVC(C=found.c, gamma=found.gamma)  # others may err as little
    alone = GridSearchCV(best, {}, cv=folds).fit(x[rows], y[rows])
    assert_allclose(alone.best_score_, expected.best_score_, rtol=1e-12, atol=0)


def results(ours_error, ours_fit, ours_predict):
    svc = Measured(10.0, 1.0, 1.0, 100.0)
    ours = Measured(ours_error, ours_fit, ours_predict, 50.0)
    half = Measured(ours_error, ours_fit / 4, ours_predict, 50.0)
    return {"one": {"SVC": svc, RSS: ours}, "two": {"SVC": svc, RSS: half}}


@pytest.mark.parametrize(
    ("given", "is_met"),
    [
        ((10.2, 2.0, 0.5), True),
        ((10.4, 2.0, 0.5), False),
        ((10.2, 3.2, 0.5), False),
        ((10.2, 2.0, 1.1), False),
    ],
)
def test_the_target_needs_all_three(given, is_met):
    found = summary(results(*given), RSS)
    assert_allclose(found.fit_ratio, given[1] / 2, rtol=1e-12, atol=0)  # the geometric mean of 1 and ¼ is ½
    assert (found.error, found.predict_ratio) == (given[0], pytest.approx(given[2]))
    assert found.is_met is is_met
    assert verdicts(results(*given))[0].endswith("target met" if is_met else "target missed")
