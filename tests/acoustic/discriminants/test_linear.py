"""Linear discriminants against scikit-learn, numpy and scipy; what all linear classifiers have in common."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh
from scipy.special import expit
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from acoustic import ModelError
from acoustic.discriminants.base import gram_block
from acoustic.discriminants.kernel_ridge import KMSEClassifier
from acoustic.discriminants.linear import (
    HoKashyapClassifier,
    LinearDiscriminant,
    LMSClassifier,
    MSEClassifier,
)
from acoustic.discriminants.npd_orols import NPDClassifier
from acoustic.kernels.kernel import make_kernel
from acoustic.pairs.calibration import GaussianCurve

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


def cosine(a, b):
    return float(np.ravel(a) @ np.ravel(b) / np.linalg.norm(a) / np.linalg.norm(b))


@quiet
@parametrize_with_checks([*ESTIMATORS, LMSClassifier(schedule="constant", eta=0.1, shuffle=False)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_fisher_direction_is_the_leading_generalised_eigenvector():
    x, y = blobs()
    means = [x[y == c].mean(axis=0) for c in (0, 1)]
    within = sum((x[y == c] - means[c]).T @ (x[y == c] - means[c]) for c in (0, 1))
    difference = means[1] - means[0]
    _, vectors = eigh(np.outer(difference, difference), within)  # thesis (3.8)
    found = LinearDiscriminant().fit(x, y).coef_
    assert_allclose(abs(cosine(found, vectors[:, -1])), 1.0, rtol=0, atol=1e-12)
    direction = np.linalg.solve(within, difference)  # (3.11)
    assert_allclose(cosine(found, direction), 1.0, rtol=0, atol=1e-12)

    def quotient(w):
        return (difference @ w) ** 2 / (w @ within @ w)  # (3.5)

    others = direction + np.abs(direction).mean() * np.random.default_rng(0).normal(
        size=(200, len(direction))
    )
    assert max(quotient(w) for w in others) < quotient(direction)


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
    curve = GaussianCurve.from_moments([g.mean() for g in groups], [pooled, pooled], [len(g) for g in groups])
    assert_allclose(found.predict_proba(x)[:, 1], curve.predict_proba(outputs), rtol=1e-9, atol=1e-12)


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


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_in_the_span_of_few_points_the_discriminant_is_the_same(n_classes, shrinkage, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 60)) * rng.uniform(0.1, 10, 60)
    x[:, 5], y = 3.0, np.arange(20) % n_classes
    weight = rng.uniform(0.2, 2, 20) if weighted else None
    full = LinearDiscriminant(shrinkage).fit(x, y, weight)
    monkeypatch.setattr("acoustic.discriminants.linear._MANY_FEATURES", 10)
    within = LinearDiscriminant(shrinkage).fit(x, y, weight)
    assert not hasattr(within, "covariance_")
    assert_allclose(within.means_, full.means_, rtol=1e-12, atol=0)
    assert_allclose(within.coef_, full.coef_, rtol=1e-8, atol=1e-10 * np.abs(full.coef_).max())
    points = 5 * rng.normal(size=(50, 60))
    outputs = full.decision_function(points)
    assert_allclose(within.decision_function(points), outputs, rtol=1e-8, atol=1e-10 * np.abs(outputs).max())


def test_many_features_of_few_points_need_no_matrix_of_pairs_of_features():
    x, y = np.random.default_rng(0).normal(size=(20, 200_000)), np.arange(20) % 2
    tracemalloc.start()
    try:
        model = LinearDiscriminant().fit(x, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * x.nbytes  # a matrix would be of 320 GB
    assert_array_equal(model.predict(x), y)


def test_what_is_larger_than_the_machine_is_refused_before_it_is_asked_for(monkeypatch):
    monkeypatch.setattr("foundation.arrays.memory_bytes", lambda: 1e6)
    x, y = np.random.default_rng(0).normal(size=(600, 3)), np.arange(600) % 2
    expected = r"^the products of all centres: 600 x 600 numbers need 0 GB, expected no more than"
    with pytest.raises(ModelError, match=expected):
        KMSEClassifier().fit(x, y)
    with pytest.raises(ModelError, match=r"^the kernel of all points: 500 x 600 numbers need .* take fewer"):
        gram_block(make_kernel("gaussian", 1.0, None), x[:500], x)
    with pytest.raises(ModelError, match=r"^outputs of each pair of classes: 600 x 4,950 numbers"):
        NPDClassifier(max_centers=5).fit(x, np.arange(600) // 6)
    wide = np.random.default_rng(0).normal(size=(400, 300))
    with pytest.raises(ModelError, match=r"^the scatters of the classes: 2 x 300 x 300 numbers need .* take"):
        LinearDiscriminant().fit(wide, np.arange(400) % 2)
    with pytest.raises(ModelError, match=r"^targets of each class: 600 x 300 numbers need .* check"):
        MSEClassifier().fit(x, np.arange(600) // 2)
