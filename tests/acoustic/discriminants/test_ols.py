"""OLS against brute-force greedy search, least squares, Fisher's discriminant and leaving points out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import qr_insert
from sklearn.utils.estimator_checks import parametrize_with_checks

from acoustic.discriminants.ols import OLSClassifier, OLSRegressor, fisher_targets
from acoustic.errors import ModelError

CLASSIFIERS = ["chen", "billings_lee", "nair"]
REGRESSORS = ["chen", "nair"]


def expected_failures(estimator):
    if not hasattr(estimator, "predict_proba"):
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": "calibration leaves a row out with all its weight"
    }


@parametrize_with_checks(
    [
        *(OLSClassifier(algorithm=name) for name in CLASSIFIERS),
        *(OLSRegressor(algorithm=name) for name in REGRESSORS),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def wave(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, np.sin(2 * x.sum(axis=1)) + 3.0 + 0.1 * rng.normal(size=n)


def two_classes(n=200, seed=0):
    x, y = wave(n, seed)
    return x, np.where(y > 3.4, 1.0, -1.0)


def design(x, centers, sigma=1.0):
    """Bias and kernel columns."""
    return np.column_stack(
        [np.ones(len(x)), np.exp(-((x[:, None] - centers) ** 2).sum(axis=2) / (2 * sigma**2))]
    )


def least_squares(columns, y):
    return columns @ np.linalg.lstsq(columns, y, rcond=None)[0]


@pytest.mark.parametrize("algorithm", REGRESSORS)
def test_weights_are_least_squares(algorithm):
    x, y = wave()
    targets = np.column_stack([y, y**2])
    model = OLSRegressor(max_centers=40, algorithm=algorithm, stopping="size").fit(x, targets)
    assert model.dual_coef_.shape == (2, 40)
    alpha = np.linalg.lstsq(design(x, x[model.center_indices_]), targets, rcond=None)[0]
    assert_allclose(model.predict(x), design(x, model.centers_) @ alpha, rtol=0, atol=1e-8)
    assert_allclose(model.intercept_, alpha[0], rtol=1e-5, atol=0)
    assert_allclose(model.dual_coef_, alpha[1:].T, rtol=0, atol=1e-6 * abs(alpha).max())


@pytest.mark.parametrize("n_targets", [1, 2])
def test_chen_takes_the_column_that_leaves_least(n_targets):
    x, y = wave(50)
    targets = np.column_stack([y, x[:, 0] ** 3])[:, :n_targets]
    selected = []
    for _ in range(8):
        energy = {
            c: np.sum((targets - least_squares(design(x, x[[*selected, c]]), targets)) ** 2)
            for c in set(range(50)) - set(selected)
        }
        selected.append(min(energy, key=energy.get))
    assert_array_equal(OLSRegressor(max_centers=8).fit(x, targets).center_indices_, selected)


def test_nair_takes_the_largest_residual():
    x, y = wave(80)
    selected = []
    for _ in range(20):
        residual = np.abs(y - least_squares(design(x, x[selected]), y))
        residual[selected] = -1.0
        selected.append(int(residual.argmax()))
    model = OLSRegressor(max_centers=20, algorithm="nair", stopping="size").fit(x, y)
    assert_array_equal(model.center_indices_, selected)


def qr_insert_reference(x, y, n_centers, sigma=1.0):
    """Nair et al. (2002): the centres and outputs of a thin QR decomposition that scipy updates."""
    columns = design(x, x, sigma)
    q, r = np.linalg.qr(columns[:, :1])
    residual, selected = y - q[:, 0] * (q[:, 0] @ y), []
    for _ in range(n_centers):
        free = np.setdiff1d(np.arange(len(x)), selected)
        chosen = int(free[np.abs(residual[free]).argmax()])
        q, r = qr_insert(q, r, columns[:, 1 + chosen], q.shape[1], which="col")
        selected.append(chosen)
        residual = residual - q[:, -1] * (q[:, -1] @ residual)
    return selected, q @ (q.T @ y)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.0])
def test_nair_is_the_updated_qr_decomposition(sigma):
    x, y = wave(150)
    selected, outputs = qr_insert_reference(x, y, 30, sigma)
    model = OLSRegressor(sigma, 30, algorithm="nair", stopping="size").fit(x, y)
    assert_array_equal(model.center_indices_, selected)
    assert_allclose(model.predict(x), outputs, rtol=0, atol=1e-8)


@pytest.mark.parametrize("algorithm", REGRESSORS)
def test_stops_at_the_share_left(algorithm):
    x, y = wave()
    model = OLSRegressor(algorithm=algorithm, tol=0.05).fit(x, y)
    unexplained = [
        np.sum((y - least_squares(design(x, x[model.center_indices_[:n]]), y)) ** 2)
        / np.sum((y - y.mean()) ** 2)
        for n in range(len(model.centers_) + 1)
    ]
    assert unexplained[-1] <= 0.05 < unexplained[-2]


def test_billings_lee_is_fishers_discriminant():
    x, y = two_classes()
    chen, billings = (
        OLSClassifier(max_centers=15, algorithm=name).fit(x, y) for name in ("chen", "billings_lee")
    )
    assert_array_equal(chen.center_indices_, billings.center_indices_)
    columns = design(x, billings.centers_)[:, 1:]
    groups = columns[y > 0], columns[y < 0]
    within = sum((g - g.mean(axis=0)).T @ (g - g.mean(axis=0)) for g in groups)  # thesis (3.7)
    direction = np.linalg.solve(within, groups[0].mean(axis=0) - groups[1].mean(axis=0))  # thesis (3.11)
    for model in (chen, billings):
        found = model.dual_coef_[0]
        assert_allclose(
            found / np.linalg.norm(found), direction / np.linalg.norm(direction), rtol=0, atol=1e-8
        )
    assert_allclose(billings.decision_function(x).mean(), 0.0, rtol=0, atol=1e-10)


@pytest.mark.parametrize("algorithm", CLASSIFIERS)
def test_leave_one_out_is_leaving_out(algorithm):
    x, y = two_classes()
    model = OLSClassifier(max_centers=20, algorithm=algorithm).fit(x, y)
    target = fisher_targets(y[:, None])[:, 0] if algorithm == "billings_lee" else y
    columns = design(x, model.centers_)
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        alpha = np.linalg.lstsq(columns[rest], target[rest], rcond=None)[0]
        assert_allclose(model.loo_decision_[i, 0], columns[i] @ alpha, rtol=0, atol=1e-8)


@pytest.mark.parametrize("algorithm", REGRESSORS)
def test_weights_count_copies(algorithm):
    x, y = wave(60)
    weight = np.random.default_rng(0).integers(0, 4, size=60)
    model, repeated = (OLSRegressor(max_centers=10, algorithm=algorithm) for _ in range(2))
    model.fit(x, y, sample_weight=weight)
    repeated.fit(x.repeat(weight, axis=0), y.repeat(weight))
    assert_array_equal(model.centers_, repeated.centers_)
    assert_array_equal(model.centers_, x[model.center_indices_])
    assert_allclose(model.predict(x), repeated.predict(x), rtol=0, atol=1e-8)


@pytest.mark.parametrize("algorithm", REGRESSORS)
def test_leaving_out_takes_all_of_a_weight(algorithm):
    x, y = wave(60)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=60)
    model = OLSRegressor(max_centers=10, algorithm=algorithm).fit(x, y, sample_weight=weight)
    columns, root = design(x, model.centers_), np.sqrt(weight)
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        alpha = np.linalg.lstsq((root[:, None] * columns)[rest], (root * y)[rest], rcond=None)[0]
        assert_allclose(model.loo_decision_[i, 0], columns[i] @ alpha, rtol=0, atol=1e-8)


@pytest.mark.parametrize("algorithm", REGRESSORS)
def test_leaving_out_a_point_with_a_column_to_itself_is_the_limit_of_a_vanishing_ridge(algorithm):
    x, y = wave(30)
    model = OLSRegressor(1e-3, 12, algorithm=algorithm, stopping="size").fit(x, y)
    q, r = np.linalg.qr(design(x, model.centers_, 1e-3))
    q, ridge = q * np.diag(r), 1e-7 * np.eye(13)
    for i in model.center_indices_:
        rest = np.arange(len(x)) != i
        alpha = np.linalg.solve(q[rest].T @ q[rest] + ridge, q[rest].T @ y[rest])
        assert_allclose(model.loo_decision_[i, 0], q[i] @ alpha, rtol=0, atol=1e-5)


def test_epsilon_is_on_the_diagonal_of_the_training_columns():
    x, y = wave(60)
    model = OLSRegressor(max_centers=10, epsilon=0.3, stopping="size").fit(x, y)
    columns = design(x, model.centers_)
    columns[model.center_indices_, np.arange(1, 11)] += 0.3
    alpha = np.linalg.lstsq(columns, y, rcond=None)[0]
    assert_allclose(np.append(model.intercept_, model.dual_coef_), alpha, rtol=0, atol=1e-8)


@pytest.mark.parametrize("algorithm", CLASSIFIERS)
def test_three_classes_share_centers(algorithm):
    x, _ = wave(300)
    labels = np.digitize(np.arctan2(x[:, 1], x[:, 0]), [-1.0, 1.0])
    model = OLSClassifier(max_centers=20, algorithm=algorithm).fit(x, labels)
    assert model.dual_coef_.shape == (3, len(model.centers_))
    assert model.score(x, labels) > 0.9


@pytest.mark.parametrize("algorithm", CLASSIFIERS)
@pytest.mark.parametrize("sigma", [1e-200, 1e-8, 1e-3, 1e3, 1e8, 1e200])
@pytest.mark.parametrize("stopping", ["tol", "size"])
def test_extreme_widths_give_numbers(algorithm, sigma, stopping):
    x, y = two_classes(60)
    model = OLSClassifier(sigma, algorithm=algorithm, stopping=stopping).fit(x, y)
    for values in (model.decision_function(x), model.predict_proba(x), model.loo_decision_):
        assert np.isfinite(values).all()
    outputs = model.decision_function(x + 0.1)
    if sigma <= 1e-3:  # no centre is near
        assert_array_equal(outputs, np.full(60, model.intercept_[0]))
    elif sigma >= 1e8:  # all points look alike
        assert_allclose(outputs, outputs[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("algorithm", REGRESSORS)
def test_duplicates_constant_features_and_targets(algorithm):
    x, y = wave(40)
    x = np.column_stack([x, np.ones(40)]).repeat(2, axis=0)
    model = OLSRegressor(0.2, algorithm=algorithm, stopping="size").fit(x, y.repeat(2))
    assert len(model.centers_) == 39  # with the bias as many columns as different points
    assert len(np.unique(model.centers_, axis=0)) == 39
    assert_allclose(model.predict(x), y.repeat(2), rtol=0, atol=1e-8)
    flat = OLSRegressor(algorithm=algorithm).fit(np.ones((9, 2)), np.arange(9.0))
    assert len(flat.centers_) == 0
    assert_allclose(flat.predict(np.zeros((1, 2))), 4.0, rtol=0, atol=1e-12)
    constant = OLSRegressor(algorithm=algorithm, stopping="size").fit(x, np.full(80, 7.0))
    assert len(constant.centers_) == 0
    assert_allclose(constant.predict(x), 7.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("algorithm", REGRESSORS)
def test_float32_is_computed_in_float64(algorithm):
    x, y = wave()
    x = x.astype(np.float32)
    single, double = (OLSRegressor(algorithm=algorithm).fit(t, y) for t in (x, x.astype(float)))
    assert_array_equal(single.predict(x), double.predict(x.astype(float)))


def test_errors_say_what_to_do():
    x, y = two_classes(20)
    with pytest.raises(ModelError, match='algorithm is "qr", expected one of: chen, billings_lee, nair'):
        OLSClassifier(algorithm="qr").fit(x, y)
    with pytest.raises(ModelError, match="for regression one of: chen, nair"):
        OLSRegressor(algorithm="billings_lee").fit(x, y)
    with pytest.raises(ModelError, match='stopping is "gcv"'):
        OLSClassifier(stopping="gcv").fit(x, y)
    with pytest.raises(ModelError, match="tol is -1"):
        OLSClassifier(tol=-1).fit(x, y)
    with pytest.raises(ModelError, match="max_centers is 0"):
        OLSClassifier(max_centers=0).fit(x, y)
    with pytest.raises(ValueError, match="NaN"):
        OLSRegressor().fit(np.where(x > 1, np.nan, x), y)
    with pytest.raises(ValueError, match="1 class"):
        OLSClassifier().fit(x, np.ones(20))
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        OLSRegressor().fit(x, y, sample_weight=np.zeros(20))


def test_what_overflows_is_said():
    x, y = two_classes(20)
    with pytest.raises(ModelError, match="polynomial kernel overflows"):
        OLSClassifier(kernel="polynomial").fit(1e160 * x, y)


def test_a_tolerance_without_effect_is_named():
    x, y = two_classes(20)
    with pytest.warns(
        UserWarning, match='OLSClassifier: tol is 0.1, which has no effect with stopping="size"'
    ):
        OLSClassifier(max_centers=3, stopping="size", tol=0.1).fit(x, y)
