"""What kernel Fisher discriminant and KMSE have in common: conventions, leaving out, edges."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from acoustic import ModelError
from acoustic.discriminants import kernel_ridge
from acoustic.discriminants.kernel_ridge import (
    KernelFisherDiscriminant,
    KMSEClassifier,
    penalized_least_squares,
    random_points,
)
from acoustic.kernels.kernel import Kernel

ESTIMATORS = [KernelFisherDiscriminant(), KMSEClassifier()]
SPARSE = [
    KernelFisherDiscriminant(max_centers=12, random_state=0),
    KMSEClassifier(n_nodes=12, random_state=0),
    KMSEClassifier(n_nodes=12, selection="random", random_state=0),
]


def moons(n_points=60, seed=0):
    x, y = make_moons(n_points, noise=0.15, random_state=seed)
    keep = np.arange(n_points) % 3 != y  # a third of either class goes, and the classes are of unequal size
    return x[keep | (y == 1)], y[keep | (y == 1)]


def three_rings(n_points=90, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n_points)
    angle = rng.uniform(0, 2 * np.pi, n_points)
    radius = 1.0 + labels + 0.15 * rng.normal(size=n_points)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), labels


@parametrize_with_checks(
    ESTIMATORS,
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "calibration leaves a row out with all its weight"
    },
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@parametrize_with_checks(
    SPARSE,
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "other points are drawn when points are repeated"
    },
)
def test_scikit_learn_conventions_of_sparse_models(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *SPARSE], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_outputs_are_those_of_refitting(estimator, weighted):
    x, y = three_rings(200)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, 200) if weighted else np.ones(200)
    found = clone(estimator).set_params(sigma=0.8).fit(x, y, weight if weighted else None)
    targets = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    if isinstance(estimator, KMSEClassifier):
        targets = (targets + 1) / 2
    chosen = found.center_indices_
    columns = Kernel("gaussian", 0.8).block(x, x[chosen]) * np.sqrt(weight[chosen])
    n_biases = int(isinstance(estimator, KernelFisherDiscriminant))
    for i in range(0, 200, 23):
        w = np.where(np.arange(200) == i, 0.0, weight)
        design = np.hstack([columns, np.ones((200, n_biases))])
        penalty = found.ridge_ * np.diag(np.r_[np.ones(len(chosen)), np.zeros(n_biases)])
        weights = np.linalg.solve(
            design.T @ (w[:, None] * design) + penalty, design.T @ (w[:, None] * targets)
        )
        assert_allclose(found.loo_decision_[i], design[i] @ weights, rtol=0, atol=1e-8)


def test_blocks_of_rows_change_nothing(monkeypatch):
    x, y = three_rings()
    args = (
        Kernel("gaussian", 0.7),
        x,
        x,
        np.where(y[:, None] == 1, 1.0, -1.0),
        np.ones(90),
        np.ones(90),
        1e-3,
    )
    whole = penalized_least_squares(*args, has_bias=True)
    monkeypatch.setattr(kernel_ridge, "_BLOCK", 13)
    parts = penalized_least_squares(*args, has_bias=True)
    assert_allclose(parts.alpha, whole.alpha, rtol=1e-8, atol=1e-10)
    assert_allclose(parts.leave_one_out, whole.leave_one_out, rtol=1e-8, atol=1e-10)


def test_rings_are_learned_and_probabilities_agree_with_predictions():
    (x, y), (x_test, y_test) = three_rings(200), three_rings(300, seed=1)
    for estimator in (*ESTIMATORS, *SPARSE):
        found = clone(estimator).set_params(sigma=0.7).fit(x, np.array(["a", "b", "c"])[y])
        probability = found.predict_proba(x_test)
        assert found.score(x_test, np.array(["a", "b", "c"])[y_test]) > (
            0.97 if estimator in ESTIMATORS else 0.65
        )
        assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12, atol=0)
        assert_array_equal(found.classes_[probability.argmax(axis=1)], found.predict(x_test))


def polynomial(estimator, degree, sigma):
    return clone(estimator).set_params(kernel="polynomial", kernel_params={"degree": degree}, sigma=sigma)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *SPARSE], ids=str)
class TestEdges:
    def test_learned_values_predict(self, estimator):
        x, y = moons()
        found = clone(estimator).fit(x, y)
        n = len(found.centers_)
        assert found.dual_coef_.shape == (1, n)
        assert found.intercept_.shape == (1,)
        assert found.center_indices_.shape == (n,)
        columns = found._make_kernel().block(x, found.centers_)
        expected = columns @ found.dual_coef_[0] + found.intercept_
        assert_allclose(found.decision_function(x), expected, rtol=1e-12, atol=1e-12)
        assert_array_equal(found.centers_, x[found.center_indices_])
        assert found.loo_decision_.shape == (len(x), 1)

    def test_single_precision(self, estimator):
        x, y = three_rings()
        single = clone(estimator).fit(x.astype(np.float32), y)
        again = clone(estimator).fit(x.astype(np.float32).astype(float), y)
        assert_allclose(single.decision_function(x), again.decision_function(x), rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("sigma", [1e-8, 1e-3, 1e3, 1e8])
    def test_extreme_widths_give_finite_values(self, estimator, sigma):
        x, y = three_rings()
        found = clone(estimator).set_params(sigma=sigma).fit(x, y)
        for values in (found.dual_coef_, found.decision_function(x + 0.1), found.predict_proba(x + 0.1)):
            assert np.isfinite(values).all()
        assert np.isfinite(found.loo_decision_).all()
        outputs = found.decision_function(x + 0.1)
        if sigma <= 1e-3:  # no centre is near
            assert_allclose(outputs, np.tile(found.intercept_, (len(x), 1)), rtol=0, atol=1e-50)
        elif sigma == 1e8:  # all points look alike
            assert_allclose(outputs, np.tile(outputs[:1], (len(x), 1)), rtol=0, atol=1e-3)

    def test_repeated_and_constant_features(self, estimator):
        x, y = three_rings()
        wide = np.hstack([np.vstack([x, x]), np.full((2 * len(x), 1), 5.0)])
        found = clone(estimator).set_params(sigma=0.7).fit(wide, np.append(y, y))
        assert found.score(wide, np.append(y, y)) > 0.7

    def test_equal_points_give_the_larger_class(self, estimator):
        y = np.array([0, 1, 1, 2, 1, 0])
        found = clone(estimator).fit(np.full((6, 2), 3.0), y)
        assert_array_equal(found.predict(np.full((2, 2), 3.0)), [1, 1])
        assert np.isfinite(found.predict_proba([[3.0, 3.0], [100.0, 3.0]])).all()

    def test_fewer_points_than_features(self, estimator):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(15, 80)), np.arange(15) % 3
        found = clone(estimator).set_params(sigma=8.0, epsilon=1e-6).fit(x, y)
        assert np.isfinite(found.predict_proba(x)).all()
        assert found.score(x, y) > 0.7

    def test_weights_of_zero_leave_points_out(self, estimator):
        x, y = three_rings()
        weight = (np.arange(len(x)) % 4 > 0).astype(float)
        found = clone(estimator).fit(x, y, weight)
        expected = clone(estimator).fit(x[weight > 0], y[weight > 0])
        assert_allclose(found.decision_function(x), expected.decision_function(x), rtol=1e-8, atol=1e-10)
        assert_array_equal(found.centers_, x[found.center_indices_])

    def test_missing_values_one_class_and_overflow_are_refused(self, estimator):
        x, y = three_rings()
        with pytest.raises(ValueError, match="contains NaN"):
            clone(estimator).fit(np.where(x > x.max() - 1e-9, np.nan, x), y)
        with pytest.raises(ValueError, match="y has 1 class"):
            clone(estimator).fit(x, np.zeros(len(x)))
        with pytest.raises(ModelError, match="kernel overflows for sigma"):
            polynomial(estimator, 9, 1e-40).fit(x, y)
        with pytest.raises(ModelError, match="squares of the polynomial kernel overflow for sigma"):
            polynomial(estimator, 1, 1e-90).fit(x, y)

    @pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-16, np.nan, np.inf])
    def test_a_ridge_that_leaves_the_equations_singular_is_refused(self, estimator, epsilon):
        with pytest.raises(ModelError, match=r"epsilon is .*, expected more than .*; raise it"):
            clone(estimator).set_params(epsilon=epsilon).fit(*moons())


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (KernelFisherDiscriminant(max_centers=0), "max_centers is 0, expected a whole number of at least 1"),
        (KMSEClassifier(n_nodes=0), "n_nodes is 0"),
        (KMSEClassifier(n_nodes=0, selection="random"), "n_nodes is 0"),
        (KMSEClassifier(n_nodes=3, n_candidates=0), "n_candidates is 0"),
        (KMSEClassifier(selection="best"), 'selection is "best", expected one of: random, greedy'),
        (KMSEClassifier(kernel="linear"), 'kernel is "linear"'),
        (KMSEClassifier(sigma=-1.0), "sigma is -1.0"),
        (KernelFisherDiscriminant(sigma=[1.0, 2.0]), "sigma has 2 widths"),
    ],
    ids=str,
)
def test_parameters_are_checked(estimator, message):
    with pytest.raises(ModelError, match=message):
        estimator.fit(*moons())


def test_random_points_are_distinct_and_in_order():
    found = random_points(50, 20, "n", 0)
    assert len(set(found)) == 20
    assert (np.diff(found) > 0).all()
    assert_array_equal(random_points(5, None, "n", 0), np.arange(5))
    assert_array_equal(random_points(5, 9, "n", 0), np.arange(5))
