"""Pseudoinverse, LMS and Ho-Kashyap against numpy, linear programming and the MSE lecture's example."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from acoustic import ModelError
from acoustic.discriminants.linear import (
    HoKashyapClassifier,
    LMSClassifier,
    MSEClassifier,
    ho_kashyap,
    normalized_rows,
    widrow_hoff_pass,
)

LECTURE_POINTS = np.array([[1.0, 2.0], [2.0, 0.0], [3.0, 1.0], [2.0, 3.0]])
LECTURE_LABELS = np.array([1, 1, 0, 0])  # ω₁ is the positive class
XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def blobs(n_classes=2, n_points=120, n_features=4, distance=2.0, seed=0):
    """Return correlated points and unequally frequent labels."""
    rng = np.random.default_rng(seed)
    labels = np.minimum(rng.geometric(0.5, n_points) - 1, n_classes - 1)
    centers = distance * rng.normal(size=(n_classes, n_features))
    return (rng.normal(size=(n_points, n_features)) + centers[labels]) @ rng.normal(
        size=(n_features,) * 2
    ), labels


def with_bias(x):
    return np.hstack([np.ones((len(x), 1)), x])


def is_linearly_separable(x, positive):
    """Return whether Ya ≥ 1 has a solution, by linear programming."""
    rows = with_bias(x) * np.where(positive, 1.0, -1.0)[:, None]
    found = linprog(np.zeros(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(len(x)), bounds=(None, None))
    return found.status == 0


def test_worked_example_of_the_lecture():
    found = MSEClassifier().fit(LECTURE_POINTS, LECTURE_LABELS)
    assert_allclose(found.intercept_, [11 / 3], rtol=1e-12, atol=0)
    assert_allclose(found.coef_, [[-4 / 3, -2 / 3]], rtol=1e-12, atol=0)
    assert_array_equal(found.predict(LECTURE_POINTS), LECTURE_LABELS)


def test_two_classes_have_negated_rows_and_margins_of_one():
    rows, margins = normalized_rows(LECTURE_POINTS, np.array([[1.0], [1.0], [-1.0], [-1.0]]))
    assert_array_equal(rows, [[1, 1, 2], [1, 2, 0], [-1, -3, -1], [-1, -2, -3]])  # as printed in the lecture
    assert_array_equal(margins, np.ones((4, 1)))


@pytest.mark.parametrize("n_features", [3, 50])
def test_multicategory_weights_are_the_pseudoinverse_times_indicators(n_features):
    x, y = blobs(3, n_points=40, n_features=n_features)
    found = MSEClassifier().fit(x, y)
    expected = np.linalg.pinv(with_bias(x)) @ (y[:, None] == np.arange(3))
    assert_allclose(found.intercept_, expected[0], rtol=1e-8, atol=1e-10)
    assert_allclose(found.coef_.T, expected[1:], rtol=1e-8, atol=1e-10)
    # Σ of the indicators is 1, and so is that of their fits.
    assert_allclose(found.decision_function(x).sum(axis=1), 1.0, rtol=1e-8, atol=0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_lms_converges_to_the_pseudoinverse_solution(n_classes):
    x, y = blobs(n_classes, n_points=300)
    x = (x - x.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(x.T))).T
    found = LMSClassifier(max_iter=20_000, tol=1e-5, random_state=0).fit(x, y)
    expected = MSEClassifier().fit(x, y)
    assert_allclose(found.decision_function(x), expected.decision_function(x), rtol=0, atol=2e-4)


def test_lms_pass_is_the_rule_of_the_lecture():
    rng = np.random.default_rng(0)
    rows, margins, order = rng.normal(size=(20, 4)), rng.normal(size=(20, 3)), rng.permutation(20)
    expected = rng.normal(size=(4, 3))
    found = expected.copy()
    widrow_hoff_pass(rows, margins, order, 0.05, found)
    for i in order:
        expected = expected + 0.05 * np.outer(rows[i], margins[i] - rows[i] @ expected)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_lms_says_that_it_did_not_converge():
    x, y = blobs(distance=0.1)
    with pytest.warns(ConvergenceWarning, match="LMS did not converge in 2 epochs"):
        found = LMSClassifier(max_iter=2, tol=1e-12).fit(x, y)
    assert found.n_iter_ == 2


@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e100])
@quiet
def test_lms_does_not_diverge_on_features_of_any_size(scale):
    x, y = blobs(3)
    found = LMSClassifier(eta=1.9, random_state=0).fit(scale * x, y)
    assert np.isfinite(found.coef_).all()
    probability = found.predict_proba(scale * x)
    assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12, atol=0)
    assert np.mean(found.predict(scale * x) == y) >= np.bincount(y).max() / len(y)  # of one class


@quiet
def test_lms_passes_by_partial_fit_are_the_epochs_of_fit():
    x, y = blobs(3)
    whole = LMSClassifier(max_iter=4, tol=0.0, shuffle=False).fit(x, y)
    parts = LMSClassifier()
    for _ in range(4):
        parts.partial_fit(x, y, classes=[0, 1, 2])
    assert_allclose(parts.coef_, whole.coef_, rtol=1e-12, atol=1e-14)
    assert parts.n_iter_ == 4
    assert_allclose(parts.predict_proba(x), whole.predict_proba(x), rtol=1e-7, atol=1e-9)


@quiet
def test_lms_learns_batches_with_one_class_only():
    x, y = blobs(3, n_points=300, distance=4.0)
    found = LMSClassifier(schedule="constant", eta=0.5)
    found.partial_fit(x[y == 2], y[y == 2], classes=[0, 1, 2])
    assert np.isfinite(found.predict_proba(x)).all()
    for _ in range(20):
        for batch in np.array_split(np.arange(len(x)), 10):
            found.partial_fit(x[batch], y[batch])
    assert found.score(x, y) > 0.9


def test_lms_refuses_labels_it_was_not_told_of():
    x, y = blobs(3)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        LMSClassifier().partial_fit(x, y)
    with pytest.raises(ValueError, match="expected one of classes_"):
        LMSClassifier().partial_fit(x, y, classes=[0, 1])
    with pytest.raises(ValueError, match="expected at least 2"):
        LMSClassifier().partial_fit(x[y == 1], y[y == 1], classes=[1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"eta": 0.0}, "eta is 0.0, expected a number above 0 and below 2"),
        ({"eta": 2.0}, "eta is 2.0"),
        ({"schedule": "linear"}, 'schedule is "linear", expected one of: inverse, constant'),
        ({"max_iter": 0}, "max_iter is 0"),
    ],
)
def test_lms_refuses_parameters(parameters, message):
    with pytest.raises(ModelError, match=message):
        LMSClassifier(**parameters).fit(*blobs())
    with pytest.raises(ModelError, match=message):
        LMSClassifier(**parameters).partial_fit(*blobs(), classes=[0, 1])


@pytest.mark.parametrize("seed", range(12))
def test_ho_kashyap_agrees_with_linear_programming(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 3))
    noise = 0.6 if seed % 2 else 0.0  # every other problem is separable
    y = (x @ [1.0, -2.0, 0.5] + 0.3 + noise * rng.normal(size=30) > 0).astype(int)
    found = HoKashyapClassifier(tol=1e-4, max_iter=200_000).fit(x, y)
    assert found.is_separable_ is is_linearly_separable(x, y == 1)
    if found.is_separable_:
        assert found.score(x, y) == 1.0


def test_ho_kashyap_separates_where_the_pseudoinverse_does_not():
    # A far outlier on the right side draws the least squares over to it.
    x = np.r_[np.linspace(-1.0, -0.05, 20), np.linspace(0.05, 0.2, 20), 60.0][:, None]
    y = (x[:, 0] > 0).astype(int)
    found = HoKashyapClassifier().fit(x, y)
    assert MSEClassifier().fit(x, y).score(x, y) < 1.0
    assert found.is_separable_ is True
    assert found.n_iter_ > 1
    assert found.score(x, y) == 1.0


def test_ho_kashyap_reports_xor():
    found = HoKashyapClassifier().fit(XOR, [0, 0, 1, 1])
    assert found.is_separable_ is False
    assert found.separability_ == [False]


def test_ho_kashyap_reports_equal_points_of_both_classes():
    x, y = blobs(distance=5.0)
    assert HoKashyapClassifier().fit(np.vstack([x, x[:1]]), np.append(y, 1 - y[0])).is_separable_ is False


def test_ho_kashyap_says_that_it_does_not_know():
    x, y = blobs(distance=0.5)
    with pytest.warns(ConvergenceWarning, match="did not decide in 2 steps"):
        found = HoKashyapClassifier(max_iter=2, tol=1e-9).fit(x, y)
    assert found.is_separable_ is None
    assert found.n_iter_ == 2


def test_ho_kashyap_tells_of_each_class_whether_it_separates_from_the_rest():
    x, y = load_iris(return_X_y=True)
    found = HoKashyapClassifier(tol=0.02, max_iter=50_000).fit(x, y)
    assert found.separability_ == [is_linearly_separable(x, y == c) for c in range(3)]  # setosa alone
    assert found.is_separable_ is False


@pytest.mark.parametrize("eta", [0.05, 0.5, 0.95])
def test_ho_kashyap_step_is_that_of_the_corrected_lecture(eta):
    x, y = blobs(distance=0.5)
    rows, margins = normalized_rows(x, np.where(y == 1, 1.0, -1.0)[:, None])
    b, inverse = margins[:, 0], np.linalg.pinv(rows)
    norms = []
    for steps in range(1, 8):
        error = rows @ (inverse @ b) - b
        norms.append(np.linalg.norm(error))
        b = b + 2 * eta * np.maximum(error, 0.0)
        found = ho_kashyap(rows, margins[:, 0], eta, steps, 0.0)
        assert found.n_iter == steps
        assert_allclose(found.weights, inverse @ b, rtol=1e-9, atol=1e-12)
    assert (np.diff(norms) < 0).all()


@pytest.mark.parametrize("eta", [0.0, 1.0, -0.5])
def test_ho_kashyap_refuses_steps_that_need_not_converge(eta):
    with pytest.raises(ModelError, match="expected a number above 0 and below 1"):
        HoKashyapClassifier(eta).fit(*blobs())


def test_ho_kashyap_refuses_no_steps():
    with pytest.raises(ModelError, match="max_iter is 0"):
        HoKashyapClassifier(max_iter=0).fit(*blobs())


def test_lms_starts_after_a_first_call_that_failed():
    x = np.random.default_rng(0).normal(size=(30, 3))
    y = (x[:, 0] > 0).astype(int)
    model = LMSClassifier()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(x * np.nan, y, classes=[0, 1])
    again = model.partial_fit(x, y, classes=[0, 1])
    assert_allclose(
        again.coef_, LMSClassifier().partial_fit(x, y, classes=[0, 1]).coef_, rtol=1e-12, atol=1e-12
    )
