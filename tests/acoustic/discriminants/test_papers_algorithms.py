"""NPD and OROLS against thesis Algorithms 1 and 2 written down in a few lines, at small and large sizes."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification

from acoustic.discriminants import NPDClassifier, NPDRegressor, OROLSClassifier, OROLSRegressor

SIGMA = 2.0
SEEDS = range(4)
SIZES = [40, 60, 200]


def sounds(seed, n_classes=2):
    x, codes = make_classification(
        400, 8, n_informative=6, n_classes=n_classes, flip_y=0.1, random_state=seed
    )
    return (x - x.mean(axis=0)) / x.std(axis=0), codes


def signs(codes, positive=1):
    return np.where(codes == positive, 1.0, -1.0)


def gram(x, sigma=SIGMA):
    return np.exp(-((x[:, None] - x) ** 2).sum(axis=2) / (2 * sigma**2))


def algorithm_1(gram, y, n_centers):
    """Return the centres, and the weights of the models of all sizes, the bias first; ``gram`` is K + εI."""
    centers, columns, models = [], np.ones((len(y), 1)), [np.array([y.mean()])]
    for _ in range(n_centers):
        residual = np.abs(y - columns @ models[-1])
        residual[centers] = -1.0
        centers.append(int(residual.argmax()))
        columns = np.column_stack([columns, gram[:, centers[-1]]])
        models.append(np.linalg.lstsq(columns, y, rcond=None)[0])
    return np.array(centers), models


def algorithm_2(gram, y, n_centers):
    """Return the centres, λ after each of them, and the outputs of all; the bias is the first column of Q."""
    q, centers, ridges, ridge = np.ones((len(y), 1)), [], [], 0.0
    residual = y - y.mean()
    for _ in range(n_centers):
        sizes = np.abs(residual)
        sizes[centers] = -1.0
        centers.append(int(sizes.argmax()))
        column = gram[:, centers[-1]]
        q = np.column_stack([q, column - q @ (q.T @ column / (q**2).sum(axis=0))])  # (3.78)
        kappa, products = (q**2).sum(axis=0), q.T @ y
        alpha = products / (kappa + ridge)  # (3.83)
        projected, trace = y - q @ alpha, len(y) - np.sum(kappa / (kappa + ridge))  # (3.81)
        slope, curvature = np.sum(kappa / (kappa + ridge) ** 2), np.sum(alpha**2 / (kappa + ridge))
        ridge = slope * (projected @ projected) / (trace * curvature)  # (3.88), (3.89)
        residual = residual - q[:, -1] * products[-1] / (ridge + kappa[-1])  # (3.82)
        ridges.append(ridge)
    return np.array(centers), np.array(ridges), q @ (products / (kappa + ridge))


@cache
def largest_of_algorithm_1(seed, epsilon):
    x, codes = sounds(seed)
    return algorithm_1(gram(x) + epsilon * np.eye(400), signs(codes), max(SIZES))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_centers", SIZES)
@pytest.mark.parametrize("epsilon", [1e-6, 1e-2])
@pytest.mark.parametrize("algorithm", ["stable", "thesis"])
def test_npd_picks_the_centres_of_algorithm_1(algorithm, epsilon, n_centers, seed):
    x, codes = sounds(seed)
    model = NPDClassifier(SIGMA, max_centers=n_centers, epsilon=epsilon, algorithm=algorithm).fit(x, codes)
    centers, models = largest_of_algorithm_1(seed, epsilon)
    centers, (bias, *weights) = centers[:n_centers], models[n_centers]
    assert_array_equal(model.center_indices_, centers)
    assert_allclose(model.decision_function(x), gram(x)[:, centers] @ weights + bias, rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("algorithm", ["stable", "thesis"])
def test_npd_without_arguments_picks_the_centres_of_algorithm_1(algorithm, seed):
    x, codes = sounds(seed)
    model = NPDClassifier(algorithm=algorithm).fit(x, codes)
    ridged = gram(x, model.sigma_) + model.epsilon_ * np.eye(400)
    assert len(model.center_indices_) > 5
    centers, _ = algorithm_1(ridged, signs(codes), len(model.center_indices_))
    assert_array_equal(model.center_indices_, centers)


@pytest.mark.parametrize("tol", [0.3, 0.1])
def test_npd_as_printed_stops_when_no_residual_exceeds_tol(tol):
    x, _ = sounds(0)
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1]
    model = NPDRegressor(SIGMA, algorithm="thesis", tol=tol).fit(x, y)
    n_centers, ridged = len(model.center_indices_), gram(x) + model.epsilon_ * np.eye(400)
    centers, models = algorithm_1(ridged, y, n_centers)
    assert_array_equal(model.center_indices_, centers)
    assert 5 < n_centers < 133  # which is the limit
    largest = [
        np.abs(y - weights[0] - ridged[:, centers[:n]] @ weights[1:]).max()
        for n, weights in enumerate(models)
    ]
    assert_array_equal(np.array(largest) <= tol, np.arange(n_centers + 1) == n_centers)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_centers", SIZES)
def test_npd_as_printed_and_stable_agree(n_centers, seed):
    x, codes = sounds(seed)
    printed, stable = (
        NPDClassifier(SIGMA, n_centers, algorithm=algorithm, epsilon=1e-6).fit(x, codes)
        for algorithm in ("thesis", "stable")
    )
    assert_array_equal(printed.center_indices_, stable.center_indices_)
    assert_allclose(printed.dual_coef_, stable.dual_coef_, rtol=1e-4, atol=1e-4)
    assert_allclose(printed.biased_loo_decision_, stable.biased_loo_decision_, rtol=1e-5, atol=1e-5)
    assert_allclose(printed.predict_proba(x), stable.predict_proba(x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("estimator", [NPDClassifier, OROLSClassifier])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_several_classes_as_printed_are_one_against_the_rest(estimator, dtype):
    """Thesis 5.1.1."""
    x, codes = sounds(0, n_classes=4)
    model = estimator(SIGMA, 40, algorithm="thesis").fit(x.astype(dtype), codes)
    assert len(model.machine_center_indices_) == 4
    for code, found in enumerate(model.machine_center_indices_):
        y = signs(codes, code)
        ridged = gram(x) + model.epsilon_ * np.eye(400)
        expected = (
            algorithm_2(ridged, y, 40) if estimator is OROLSClassifier else algorithm_1(ridged, y, 40)
        )[0]
        n_sure = 40 if dtype is np.float64 else 10  # later residuals may differ by rounding only
        assert_array_equal(found[:n_sure], expected[:n_sure])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_centers", SIZES)
def test_orols_picks_the_centres_of_algorithm_2(n_centers, seed):
    x, codes = sounds(seed)
    model = OROLSClassifier(algorithm="thesis", sigma=SIGMA, max_centers=n_centers).fit(x, codes)
    centers, ridges, outputs = algorithm_2(gram(x), signs(codes), n_centers)
    assert model.epsilon_ == 0.0
    assert_array_equal(model.center_indices_, centers)
    assert_allclose(model.ridge_, ridges[-1:], rtol=1e-6, atol=0)
    assert_allclose(model.machines_[0].path.ridges[1:], ridges, rtol=1e-6, atol=0)
    assert model.machines_[0].path.ridges[0] == 0.0
    assert_allclose(model.decision_function(x), outputs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("tol", [0.1, 0.01, 1e-3])
def test_orols_as_printed_stops_when_lambda_has_settled(tol, seed):
    """Without a largest number of centres, when λ changes by less than ``tol`` for the first time."""
    x, codes = sounds(seed)
    model = OROLSClassifier(SIGMA, algorithm="thesis", tol=tol).fit(x, codes)
    n_centers, ridges = len(model.center_indices_), model.machines_[0].path.ridges
    centers, expected, _ = algorithm_2(gram(x), signs(codes), n_centers)
    assert_array_equal(model.center_indices_, centers)
    assert_allclose(ridges[1:], expected, rtol=1e-6, atol=0)
    change = np.abs(np.diff(ridges)) / np.maximum(ridges[1:], ridges[:-1])
    assert 1 < n_centers < 399
    assert_array_equal(change <= tol, np.arange(1, n_centers + 1) == n_centers)


@pytest.mark.parametrize("estimator", [NPDRegressor, OROLSRegressor])
def test_regressors_are_the_same_algorithms_on_real_values(estimator):
    x, _ = sounds(0)
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.3 * np.random.default_rng(0).normal(size=400)
    model = estimator(SIGMA, 60, algorithm="thesis").fit(x, y)
    if estimator is OROLSRegressor:
        centers, ridges, outputs = algorithm_2(gram(x), y, 60)
        assert_allclose(model.ridge_, ridges[-1:], rtol=1e-6, atol=0)
    else:
        centers, models = algorithm_1(gram(x) + model.epsilon_ * np.eye(400), y, 60)
        bias, *weights = models[-1]
        outputs = gram(x)[:, centers] @ weights + bias
    assert_array_equal(model.center_indices_, centers)
    assert_allclose(model.predict(x), outputs, rtol=0, atol=1e-5)


def test_as_printed_a_column_in_the_span_ends_the_selection():
    """The stable algorithm passes the point over."""
    x, codes = sounds(0)
    twice, labels = np.repeat(x[:20], 2, axis=0), np.repeat(codes[:20], 2)
    labels[1::2] = 1 - labels[1::2]  # of two equal points one is always missed
    printed, stable = (
        NPDClassifier(SIGMA, 40, algorithm=algorithm, epsilon=0.0).fit(twice, labels)
        for algorithm in ("thesis", "stable")
    )
    assert printed.n_distinct_centers_ < stable.n_distinct_centers_
    assert_array_equal(np.unique(stable.center_indices_ // 2), np.sort(stable.center_indices_ // 2))
