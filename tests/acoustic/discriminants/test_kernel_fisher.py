"""Kernel Fisher discriminant and kernel minimum squared error against their definitions and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.linear_model import Ridge, ridge_regression
from sklearn.utils.estimator_checks import parametrize_with_checks

from acoustic import ModelError
from acoustic.discriminants import kernel_fisher
from acoustic.discriminants.kernel_fisher import (
    KernelFisherDiscriminant,
    KMSEClassifier,
    greedy_nodes,
    penalized_least_squares,
    random_points,
)
from acoustic.discriminants.kernels import Kernel

ESTIMATORS = [KernelFisherDiscriminant(), KMSEClassifier()]
SPARSE = [
    KernelFisherDiscriminant(max_centers=12, random_state=0),
    KMSEClassifier(n_nodes=12, random_state=0),
    KMSEClassifier(n_nodes=12, selection="random", random_state=0),
]
KERNELS = ("gaussian", "polynomial", "sigmoid", "compact")


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


def kernel_scatters(gram, positive):
    """Return m₊ − m₋ of thesis (3.37) and S_W of (3.38)."""
    within, means = 0.0, []
    for mask in (~positive, positive):
        k, n = gram[:, mask], mask.sum()
        within = within + k @ (np.eye(n) - np.full((n, n), 1.0 / n)) @ k.T
        means.append(k.mean(axis=1))
    return means[1] - means[0], within


def cosine(a, b):
    return float(np.ravel(a) @ np.ravel(b) / np.linalg.norm(a) / np.linalg.norm(b))


@parametrize_with_checks(ESTIMATORS)
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


# Kernel Fisher discriminant


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("epsilon", [1e-6, 1e-2])
def test_direction_is_that_of_the_regularised_scatters(name, epsilon):
    x, y = moons()
    found = KernelFisherDiscriminant(0.7, epsilon=epsilon, kernel=name).fit(x, y)
    gram = Kernel(name, 0.7).block(x, x)
    difference, within = kernel_scatters(gram, y == 1)
    within += found.ridge_ * np.eye(len(x))
    expected = np.linalg.solve(within, difference)  # thesis (3.41)
    assert_allclose(cosine(found.dual_coef_, expected), 1.0, rtol=0, atol=1e-8)
    _, vectors = eigh(np.outer(difference, difference), within)  # of (3.40)
    assert_allclose(abs(cosine(found.dual_coef_, vectors[:, -1])), 1.0, rtol=0, atol=1e-7)


def test_direction_of_each_class_against_the_rest():
    x, y = three_rings()
    found = KernelFisherDiscriminant(0.7, epsilon=1e-4).fit(x, y)
    gram = Kernel("gaussian", 0.7).block(x, x)
    for c in range(3):
        difference, within = kernel_scatters(gram, y == c)
        expected = np.linalg.solve(within + found.ridge_ * np.eye(len(x)), difference)
        assert_allclose(cosine(found.dual_coef_[c], expected), 1.0, rtol=0, atol=1e-9)


def test_no_direction_has_a_larger_rayleigh_quotient():
    x, y = moons()
    found = KernelFisherDiscriminant(0.7).fit(x, y)
    difference, within = kernel_scatters(Kernel("gaussian", 0.7).block(x, x), y == 1)
    within += found.ridge_ * np.eye(len(x))

    def quotient(alpha):
        return (alpha @ difference) ** 2 / (alpha @ within @ alpha)  # thesis (3.40)

    best, rng = quotient(found.dual_coef_[0]), np.random.default_rng(0)
    steps = 0.1 * rng.normal(size=(200, len(x))) * np.abs(found.dual_coef_[0]).mean()
    assert max(quotient(found.dual_coef_[0] + step) for step in steps) <= best * (1 + 1e-12)


def test_unit_ridge_is_the_mean_diagonal_of_the_total_scatter():
    x, y = moons()
    gram = Kernel("gaussian", 0.7).block(x, x)
    expected = 0.01 * np.var(gram, axis=0).sum()
    assert_allclose(
        KernelFisherDiscriminant(0.7, epsilon=0.01).fit(x, y).ridge_, expected, rtol=1e-10, atol=0
    )


def test_length_and_bias_are_those_of_ridge_regression():
    x, y = moons()
    weight = np.random.default_rng(0).uniform(0.5, 3.0, len(x))
    found = KernelFisherDiscriminant(0.7).fit(x, y, sample_weight=weight)
    # A centre of weight w stands for w equal ones: its column times the root of w.
    gram = Kernel("gaussian", 0.7).block(x, x) * np.sqrt(weight)
    ridge = Ridge(found.ridge_, solver="cholesky").fit(gram, 2.0 * y - 1.0, sample_weight=weight)
    assert_allclose(found.decision_function(x), ridge.predict(gram), rtol=1e-6, atol=1e-8)
    assert_allclose(found.intercept_, ridge.intercept_, rtol=1e-6, atol=1e-8)


# Kernel minimum squared error


@pytest.mark.parametrize("name", KERNELS)
def test_kmse_is_ridge_regression_on_the_gram_matrix(name):
    x, y = moons()
    found = KMSEClassifier(0.7, kernel=name).fit(x, y)
    gram = Kernel(name, 0.7).block(x, x)
    expected = ridge_regression(gram, 2.0 * y - 1.0, found.ridge_, solver="svd")
    assert_allclose(found.decision_function(x), gram @ expected, rtol=1e-7, atol=1e-9)
    assert_array_equal(found.intercept_, [0.0])


def test_kmse_with_a_vanishing_ridge_solves_the_equations_of_the_lecture():
    x, y = three_rings(30)
    found = KMSEClassifier(0.3, epsilon=2e-12).fit(x, y)
    targets = (y[:, None] == np.arange(3)).astype(float)  # multicategory: 1 and 0
    assert_allclose(found.decision_function(x), targets, rtol=0, atol=1e-5)
    gram = Kernel("gaussian", 0.3).block(x, x)
    assert_allclose(found.dual_coef_.T, np.linalg.solve(gram, targets), rtol=0, atol=1e-3)


def test_linear_kernel_gives_the_least_squares_of_the_points():
    x, y = moons()
    found = KMSEClassifier(1.0, kernel="polynomial", degree=1, theta=1.0, epsilon=1e-10).fit(x, y)
    rows = np.hstack([np.ones((len(x), 1)), x])
    weights, *_ = np.linalg.lstsq(rows, 2.0 * y - 1.0)
    assert_allclose(found.decision_function(x), rows @ weights, rtol=0, atol=1e-6)


@pytest.mark.parametrize("selection", ["random", "greedy"])
def test_reduced_form_is_the_least_squares_over_its_nodes(selection):
    x, y = three_rings()
    found = KMSEClassifier(0.7, 15, selection=selection, random_state=3).fit(x, y)
    assert found.dual_coef_.shape == (3, 15)
    assert len(set(found.center_indices_)) == 15
    assert_array_equal(found.centers_, x[found.center_indices_])
    columns = Kernel("gaussian", 0.7).block(x, found.centers_)
    expected = ridge_regression(columns, (y[:, None] == np.arange(3)) * 1.0, found.ridge_, solver="svd")
    assert_allclose(found.dual_coef_, expected, rtol=1e-5, atol=1e-7)


def test_greedy_nodes_reduce_the_error_most_one_by_one():
    x, y = three_rings(40)
    targets = (y[:, None] == np.arange(3)).astype(float)
    root = np.sqrt(np.random.default_rng(0).uniform(0.5, 2.0, 40))
    kernel = Kernel("gaussian", 1.0)
    found = greedy_nodes(kernel, x, targets, root, 6, None, np.random.RandomState(0))
    columns, wanted = kernel.block(x, x) * root[:, None], targets * root[:, None]

    def error(nodes):
        weights, *_ = np.linalg.lstsq(columns[:, nodes], wanted)
        return np.sum((columns[:, nodes] @ weights - wanted) ** 2)

    chosen = []
    for _ in range(6):
        chosen.append(min(set(range(40)) - set(chosen), key=lambda j: error([*chosen, j])))
    assert_array_equal(found, chosen)


def test_greedy_nodes_do_not_depend_on_the_blocks(monkeypatch):
    x, y = three_rings()
    whole = KMSEClassifier(0.7, 10, n_candidates=None).fit(x, y)
    monkeypatch.setattr(kernel_fisher, "_BLOCK", 7)
    parts = KMSEClassifier(0.7, 10, n_candidates=None).fit(x, y)
    assert_array_equal(parts.center_indices_, whole.center_indices_)
    assert_allclose(parts.decision_function(x), whole.decision_function(x), rtol=1e-8, atol=1e-10)


def test_repeated_points_are_chosen_once():
    x, y = three_rings(20)
    found = KMSEClassifier(0.7, 60, epsilon=1e-6, n_candidates=None).fit(np.vstack([x] * 4), np.tile(y, 4))
    assert len(found.centers_) <= 20
    assert len(np.unique(found.centers_, axis=0)) == len(found.centers_)
    assert found.score(x, y) == 1.0


def test_greedy_nodes_serve_better_than_random_ones():
    x, y = load_digits(return_X_y=True)
    x, y = x[:800] / 16.0, y[:800]
    train = np.arange(800) % 2 == 0
    scores = {
        selection: np.mean(
            [
                KMSEClassifier(1.5, 30, epsilon=1e-6, selection=selection, random_state=seed)
                .fit(x[train], y[train])
                .score(x[~train], y[~train])
                for seed in range(2)
            ]
        )
        for selection in ("random", "greedy")
    }
    assert scores["greedy"] > scores["random"] + 0.05
    assert scores["greedy"] > 0.85


def test_same_seed_gives_the_same_nodes_and_another_seed_others():
    x, y = three_rings()
    for estimator in SPARSE:
        first, again = clone(estimator).fit(x, y), clone(estimator).fit(x, y)
        assert_array_equal(first.dual_coef_, again.dual_coef_)
        other = clone(estimator).set_params(random_state=1).fit(x, y)
        assert set(other.center_indices_) != set(first.center_indices_)


# Both


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *SPARSE], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_outputs_are_those_of_refitting(estimator, weighted):
    x, y = three_rings(200)
    weight = np.random.default_rng(0).uniform(0.1, 1.0, 200) if weighted else np.ones(200)
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


def test_left_out_outputs_leave_out_one_of_the_points_a_weight_counts():
    x, y = three_rings(40)
    weight = np.random.default_rng(0).integers(1, 4, 40)
    for estimator in ESTIMATORS:
        weighted = clone(estimator).fit(x, y, weight)
        repeated = clone(estimator).fit(x.repeat(weight, axis=0), y.repeat(weight))
        assert_allclose(
            weighted.loo_decision_.repeat(weight, axis=0), repeated.loo_decision_, rtol=1e-6, atol=1e-8
        )


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
    monkeypatch.setattr(kernel_fisher, "_BLOCK", 13)
    parts = penalized_least_squares(*args, has_bias=True)
    assert_allclose(parts.alpha, whole.alpha, rtol=1e-8, atol=1e-10)
    assert_allclose(parts.leverages, whole.leverages, rtol=1e-10, atol=1e-12)


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


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *SPARSE], ids=str)
class TestEdges:
    def test_shapes(self, estimator):
        x, y = moons()
        found = clone(estimator).fit(x, y)
        n = len(found.centers_)
        assert found.dual_coef_.shape == (1, n)
        assert found.intercept_.shape == (1,)
        assert found.center_indices_.shape == (n,)
        assert found.decision_function(x).shape == (len(x),)
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
            clone(estimator).set_params(kernel="polynomial", degree=9, sigma=1e-40).fit(x, y)
        with pytest.raises(ModelError, match="squares of the polynomial kernel overflow for sigma"):
            clone(estimator).set_params(kernel="polynomial", degree=1, sigma=1e-90).fit(x, y)

    @pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-16, np.nan, np.inf])
    def test_a_ridge_that_leaves_the_equations_singular_is_refused(self, estimator, epsilon):
        with pytest.raises(ModelError, match=r"epsilon is .*, expected more than .*; raise it"):
            clone(estimator).set_params(epsilon=epsilon).fit(*moons())


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (KernelFisherDiscriminant(max_centers=0), "max_centers is 0, expected at least 1"),
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
