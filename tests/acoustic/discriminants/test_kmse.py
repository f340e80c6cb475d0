"""Kernel minimum squared error against scikit-learn, and its nodes against brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.linear_model import ridge_regression

from acoustic.discriminants import kernel_ridge as kmse
from acoustic.discriminants.kernel_ridge import KernelFisherDiscriminant, KMSEClassifier, greedy_nodes
from acoustic.kernels.kernel import Kernel

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


@pytest.mark.parametrize("name", KERNELS)
def test_kmse_is_ridge_regression_on_the_gram_matrix(name):
    x, y = moons()
    found = KMSEClassifier(0.7, kernel=name).fit(x, y)
    gram = Kernel(name, 0.7).block(x, x)
    expected = ridge_regression(gram, 2.0 * y - 1.0, found.ridge_, solver="svd")
    assert_allclose(found.decision_function(x), gram @ expected, rtol=1e-7, atol=1e-9)
    nearer_to_one = np.abs(found.decision_function(x) - 1) < np.abs(found.decision_function(x) + 1)
    assert_array_equal(found.predict(x) == 1, nearer_to_one)
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
    found = KMSEClassifier(
        1.0, kernel="polynomial", kernel_params={"degree": 1, "theta": 1.0}, epsilon=1e-10
    ).fit(x, y)
    rows = np.hstack([np.ones((len(x), 1)), x])
    weights, *_ = np.linalg.lstsq(rows, 2.0 * y - 1.0, rcond=None)
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
        weights, *_ = np.linalg.lstsq(columns[:, nodes], wanted, rcond=None)
        return np.sum((columns[:, nodes] @ weights - wanted) ** 2)

    chosen = []
    for _ in range(6):
        chosen.append(min(set(range(40)) - set(chosen), key=lambda j: error([*chosen, j])))
    assert_array_equal(found, chosen)


def test_greedy_nodes_do_not_depend_on_the_blocks(monkeypatch):
    x, y = three_rings()
    whole = KMSEClassifier(0.7, 10, n_candidates=None).fit(x, y)
    monkeypatch.setattr(kmse, "_BLOCK", 7)
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"selection": "random"}, "selection is 'random', which has no effect with n_nodes=None"),
        ({"n_candidates": None}, "n_candidates is None, which has no effect with n_nodes=None"),
        (
            {"n_nodes": 5, "selection": "random", "n_candidates": 7},
            'n_candidates is 7, which has no effect with selection="random"',
        ),
    ],
)
def test_arguments_without_effect_are_named(options, message):
    with pytest.warns(UserWarning, match=message):
        KMSEClassifier(0.7, **options).fit(*moons())
