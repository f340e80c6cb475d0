"""Linear discriminants against scikit-learn, numpy, scipy and the worked example of the MSE lecture."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh
from scipy.optimize import linprog
from scipy.special import expit
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from acoustic import ModelError
from acoustic.discriminants.linear import (
    HoKashyapClassifier,
    LinearDiscriminant,
    LMSClassifier,
    MSEClassifier,
    class_moments,
    ho_kashyap,
    linear_projections,
    merged_moments,
    normalized_rows,
    widrow_hoff_pass,
)
from acoustic.discriminants.projection import GaussianProjection

LECTURE_POINTS = np.array([[1.0, 2.0], [2.0, 0.0], [3.0, 1.0], [2.0, 3.0]])
LECTURE_LABELS = np.array([1, 1, 0, 0])  # ω₁ is the positive class
XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
ESTIMATORS = [
    LinearDiscriminant(),
    LinearDiscriminant(shrinkage=0.3),
    MSEClassifier(),
    LMSClassifier(random_state=0),
    HoKashyapClassifier(max_iter=200),
]
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


def cosine(a, b):
    return float(np.ravel(a) @ np.ravel(b) / np.linalg.norm(a) / np.linalg.norm(b))


def is_linearly_separable(x, positive):
    """Return whether Ya ≥ 1 has a solution, by linear programming."""
    rows = with_bias(x) * np.where(positive, 1.0, -1.0)[:, None]
    found = linprog(np.zeros(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(len(x)), bounds=(None, None))
    return found.status == 0


@quiet
@parametrize_with_checks([*ESTIMATORS, LMSClassifier(schedule="constant", eta=0.1, shuffle=False)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


# Fisher's linear discriminant


def test_fisher_direction_is_the_leading_generalised_eigenvector():
    x, y = blobs()
    means = [x[y == c].mean(axis=0) for c in (0, 1)]
    within = sum((x[y == c] - means[c]).T @ (x[y == c] - means[c]) for c in (0, 1))
    difference = means[1] - means[0]
    _, vectors = eigh(np.outer(difference, difference), within)  # thesis (3.8)
    found = LinearDiscriminant().fit(x, y).coef_
    assert_allclose(abs(cosine(found, vectors[:, -1])), 1.0, rtol=0, atol=1e-12)
    assert cosine(found, difference @ np.linalg.inv(within)) > 0


def test_fisher_direction_is_that_of_least_squares_onto_the_labels():
    x, y = blobs()
    least_squares = MSEClassifier().fit(x, y)
    assert_allclose(
        cosine(LinearDiscriminant().fit(x, y).coef_, least_squares.coef_), 1.0, rtol=0, atol=1e-12
    )  # thesis (3.28)


def test_log_odds_are_those_of_normal_densities_with_one_covariance():
    x, y = blobs()
    found = LinearDiscriminant().fit(x, y)
    covariance = sum((y == c).mean() * np.cov(x[y == c].T, bias=True) for c in (0, 1))
    joint = [
        multivariate_normal(x[y == c].mean(axis=0), covariance).logpdf(x) + np.log((y == c).mean())
        for c in (0, 1)
    ]
    assert_allclose(found.decision_function(x), joint[1] - joint[0], rtol=1e-8, atol=1e-9)
    assert_allclose(found.predict_proba(x)[:, 1], expit(joint[1] - joint[0]), rtol=1e-8, atol=1e-12)


def test_posterior_is_that_of_the_projection_when_its_variances_are_pooled():
    # Under (3.12) projecting loses nothing: (4.7) with one variance of both classes is (3.15).
    x, y = blobs()
    found = LinearDiscriminant().fit(x, y)
    outputs = found.decision_function(x)
    groups = (outputs[y == 0], outputs[y == 1])
    pooled = sum(len(g) * g.var() for g in groups) / len(x)
    projection = GaussianProjection.from_moments(
        [g.mean() for g in groups], [pooled, pooled], [len(g) for g in groups]
    )
    assert_allclose(found.predict_proba(x)[:, 1], projection.predict_proba(outputs), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("shrinkage", [0.0, 0.2, 1.0])
def test_linear_discriminant_is_that_of_scikit_learn(n_classes, shrinkage):
    x, y = blobs(n_classes)
    found = LinearDiscriminant(shrinkage).fit(x, y)
    other = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage or None).fit(x, y)
    assert_allclose(found.predict_proba(x), other.predict_proba(x), rtol=1e-7, atol=1e-11)
    assert_allclose(found.means_, other.means_, rtol=1e-12, atol=1e-12)
    assert_allclose(found.covariance_, other.covariance_, rtol=1e-10, atol=1e-12)
    if n_classes == 2:
        assert_allclose(found.coef_, other.coef_, rtol=1e-8, atol=1e-10)
        assert_allclose(found.intercept_, other.intercept_, rtol=1e-8, atol=1e-10)


def test_linear_discriminant_does_not_depend_on_units_and_origin():
    x, y = blobs(3)
    expected = LinearDiscriminant().fit(x, y).predict_proba(x)
    moved = x * [1e-6, 1.0, 1e3, 1e8] + [1e-3, 1e3, 0.0, 1e9]
    assert_allclose(LinearDiscriminant().fit(moved, y).predict_proba(moved), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("n_features", [60, 200])
def test_fewer_points_than_features_are_separated_without_within_class_scatter(n_features):
    x, y = blobs(n_points=40, n_features=n_features, distance=0.3)
    found = LinearDiscriminant().fit(x, y)
    projected = x @ found.coef_[0]
    gap = projected[y == 1].mean() - projected[y == 0].mean()
    assert gap > 0
    assert max(projected[y == c].std() for c in (0, 1)) < 1e-3 * gap
    assert np.isfinite(found.predict_proba(x)).all()
    assert found.score(x, y) == 1.0


def test_a_class_difference_without_scatter_is_found():
    # S_W has a zero on its diagonal where the classes differ; its pseudoinverse would ignore it.
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    x = np.column_stack([rng.normal(size=40), y])
    assert LinearDiscriminant().fit(x, y).score(x, y) == 1.0
    assert abs(LinearDiscriminant().fit(x, y).coef_[0, 1]) > 1e6


def test_collinear_features_change_nothing():
    x, y = blobs(3)
    twice = np.hstack([x, x[:, :2], (x[:, :1] + x[:, 1:2])])
    expected = LinearDiscriminant().fit(x, y).predict_proba(x)
    assert_allclose(LinearDiscriminant().fit(twice, y).predict_proba(twice), expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("shrinkage", [-0.1, 1.1, np.nan])
def test_a_shrinkage_that_is_no_share_is_refused(shrinkage):
    with pytest.raises(ModelError, match="expected a share from 0 to 1"):
        LinearDiscriminant(shrinkage).fit(*blobs())


def test_a_tolerance_of_zero_is_refused():
    with pytest.raises(ModelError, match="tol is 0"):
        LinearDiscriminant(tol=0).fit(*blobs())


# Pseudoinverse


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


# Widrow-Hoff


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
    assert np.isfinite(found.predict_proba(scale * x)).all()


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


def test_moments_of_batches_are_those_of_all_points():
    x, y = blobs(4)
    whole = class_moments(x, y, 4)
    parts = class_moments(x[:7], y[:7], 4)
    for rows in (slice(7, 50), slice(50, 120)):
        parts = merged_moments(parts, class_moments(x[rows], y[rows], 4))
    for found, expected in zip(parts, whole, strict=True):
        assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert_allclose(
        whole.scatters[0], np.cov(x[y == 0].T, bias=True) * (y == 0).sum(), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_projections_of_moments_are_those_of_the_outputs(n_classes):
    x, y = blobs(n_classes)
    model = MSEClassifier().fit(x, y)
    found = linear_projections(class_moments(x, y, n_classes), model.coef_, model.intercept_)
    for projection, expected in zip(found, model.projections_, strict=True):
        assert_allclose(projection.means_, expected.means_, rtol=1e-9, atol=1e-12)
        assert_allclose(projection.variances_, expected.variances_, rtol=1e-9, atol=1e-12)
        assert_allclose(projection.log_priors_, expected.log_priors_, rtol=1e-12, atol=0)


# Ho-Kashyap


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


# All


@quiet
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
class TestAll:
    def test_shapes_and_precision(self, estimator, n_classes):
        x, y = blobs(n_classes)
        n_columns = 1 if n_classes == 2 else n_classes
        double, single = clone(estimator).fit(x, y), clone(estimator).fit(x.astype(np.float32), y)
        assert double.coef_.shape == (n_columns, 4)
        assert double.intercept_.shape == (n_columns,)
        assert double.decision_function(x).shape == ((len(x),) if n_classes == 2 else (len(x), n_classes))
        assert_allclose(
            single.predict_proba(x.astype(np.float32)), double.predict_proba(x), rtol=0, atol=2e-2
        )

    def test_probabilities_agree_with_predictions(self, estimator, n_classes):
        x, y = blobs(n_classes)
        names = np.array(["one", "two", "three"])[y]
        found = clone(estimator).fit(x, names)
        probability = found.predict_proba(x)
        assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12, atol=0)
        assert_array_equal(found.classes_[probability.argmax(axis=1)], found.predict(x))

    def test_a_constant_feature_and_repeated_points_change_little(self, estimator, n_classes):
        x, y = blobs(n_classes)
        plain = clone(estimator).fit(x, y)
        wide = np.hstack([x, np.full((len(x), 1), 0.1)])
        constant = clone(estimator).fit(np.vstack([wide, wide]), np.append(y, y))
        assert np.mean(constant.predict(wide) != plain.predict(x)) < 0.1
        assert np.isfinite(constant.predict_proba(wide)).all()

    def test_only_constant_features(self, estimator, n_classes):
        y = blobs(n_classes)[1]
        x = np.full((len(y), 3), 7.0)
        found = clone(estimator).fit(x, y)
        assert_array_equal(found.predict(x), np.full(len(y), np.bincount(y).argmax()))
        assert np.isfinite(found.predict_proba(x)).all()

    def test_missing_values_and_one_class_are_refused(self, estimator, n_classes):
        x, y = blobs(n_classes)
        with pytest.raises(ValueError, match="contains NaN"):
            clone(estimator).fit(np.where(x > x.max() - 1e-9, np.nan, x), y)
        with pytest.raises(ValueError, match="y has 1 class"):
            clone(estimator).fit(x, np.zeros(len(x)))


@quiet
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_overflow_is_an_error_with_a_cure_or_none(estimator):
    x, y = blobs()
    try:
        found = clone(estimator).fit(1e200 * x, y)
    except ModelError as error:
        assert "standardise the features" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(found.predict_proba(1e200 * x)).all()


def test_scatter_that_overflows_is_an_error():
    x, y = blobs()
    with pytest.raises(ModelError, match="scatter overflows, expected finite features; standardise"):
        LinearDiscriminant().fit(1e200 * x, y)


@pytest.mark.parametrize("estimator", [LinearDiscriminant(), MSEClassifier()], ids=str)
def test_grid_search_over_a_weighted_problem(estimator):
    x, y = blobs(3)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(x))
    search = GridSearchCV(estimator, {}, cv=3).fit(x, y, sample_weight=weight)
    assert search.best_score_ > 0.7
