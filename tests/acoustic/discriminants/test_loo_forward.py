"""LOOForward against really leaving points out, and against the greedy search done by brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from acoustic.discriminants.loo_forward import LOOForwardClassifier
from acoustic.errors import ModelError


@parametrize_with_checks(
    [LOOForwardClassifier(), LOOForwardClassifier(stopping="size", fit_intercept=True)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "a row is left out with all its weight"
    },
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def two_moons(n=100, seed=0, noise=0.6):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, np.where(x[:, 1] + np.sin(2 * x[:, 0]) + noise * rng.normal(size=n) > 0, 1.0, -1.0)


def gram(x, centers, sigma=1.0):
    return np.exp(-((x[:, None] - centers) ** 2).sum(axis=2) / (2 * sigma**2))


def orthogonalized(columns):
    """W of P = WA by Householder: orthogonal columns, A with a unit diagonal."""
    q, r = np.linalg.qr(columns)
    return q * np.diag(r)


def really_left_out(columns, y, ridge, weight=None):
    """Outputs at each point of the ridge model on orthogonal columns, fitted without it."""
    weight = np.ones(len(y)) if weight is None else weight
    found = np.empty(len(y))
    for i in range(len(y)):
        rest = weight.astype(float)
        rest[i] = 0.0
        normal = columns.T @ (rest[:, None] * columns) + ridge * np.eye(columns.shape[1])
        found[i] = columns[i] @ np.linalg.solve(normal, columns.T @ (rest * y))
    return found


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_alpha_over_beta_is_leaving_out(fit_intercept):
    x, y = two_moons(200)
    model = LOOForwardClassifier(ridge=0.3, stopping="size", max_centers=12, fit_intercept=fit_intercept).fit(
        x, y
    )
    columns = gram(x, x[model.machine_center_indices_[0]])
    if fit_intercept:
        columns = np.column_stack([np.ones(len(x)), columns])
    left_out = really_left_out(orthogonalized(columns), y, 0.3)
    assert_allclose(model.loo_decision_[:, 0], left_out, rtol=0, atol=1e-8)
    rate, squared = model.loo_errors_[0][-1]
    assert_allclose(
        [rate, squared], [np.mean(left_out * y <= 0), np.mean((y - left_out) ** 2)], rtol=0, atol=1e-8
    )


def test_without_ridge_leaving_out_is_least_squares_on_the_rest():
    x, y = two_moons(200)
    model = LOOForwardClassifier(ridge=0.0, stopping="size", max_centers=8).fit(x, y)
    columns = gram(x, model.centers_)
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        theta = np.linalg.lstsq(columns[rest], y[rest], rcond=None)[0]
        assert_allclose(model.loo_decision_[i, 0], columns[i] @ theta, rtol=0, atol=1e-8)


def test_weights_are_ridge_in_the_orthogonal_basis():
    x, y = two_moons(150)
    model = LOOForwardClassifier(ridge=0.5, stopping="size", max_centers=10).fit(x, y)
    w = orthogonalized(gram(x, model.centers_))
    gamma = w.T @ y / (np.sum(w**2, axis=0) + 0.5)
    assert_allclose(model.decision_function(x), w @ gamma, rtol=0, atol=1e-9)


def brute_force(x, y, ridge, n_centers):
    """The slides' search, every candidate refitted without every point."""
    selected, path = [], []
    for _ in range(n_centers):
        scores = []
        for candidate in range(len(x)):
            if candidate in selected:
                continue
            w = orthogonalized(gram(x, x[[*selected, candidate]]))
            g = y * really_left_out(w, y, ridge)
            scores.append((np.mean(g <= 0), np.mean((1 - g) ** 2), candidate))
        best = min(scores)
        path.append(best[:2])
        selected.append(best[2])
    return selected, np.array(path)


@pytest.mark.parametrize("seed", [0, 1])
def test_every_step_takes_the_best_candidate(seed):
    x, y = two_moons(40, seed)
    selected, path = brute_force(x, y, 1e-2, 6)
    model = LOOForwardClassifier(ridge=1e-2, stopping="size", max_centers=6).fit(x, y)
    assert_array_equal(model.machine_center_indices_[0], selected)
    assert_allclose(model.loo_errors_[0][1:], path, rtol=0, atol=1e-8)
    assert_array_equal(model.loo_errors_[0][0], [1.0, 1.0])  # J_0: no output counts as wrong


@pytest.mark.parametrize("patience", [1, 4])
def test_stops_when_the_rate_no_longer_falls(patience):
    x, y = two_moons(300)
    model = LOOForwardClassifier(patience=patience).fit(x, y)
    rates, size = model.loo_errors_[0][:, 0], len(model.centers_)
    assert len(rates) - 1 == size + patience
    assert rates[size] == rates.min()
    assert rates[size] < rates[:size].min()
    if patience == 1:
        assert (np.diff(rates[: size + 1]) < 0).all()
    assert_allclose(np.mean(model.loo_decision_[:, 0] * y <= 0), rates[size], rtol=0, atol=1e-12)


def test_squared_error_goes_further():
    x, y = two_moons(300, noise=0.0)
    few, more = (LOOForwardClassifier(stopping=rule, patience=3).fit(x, y) for rule in ("loo", "loo_error"))
    assert len(more.centers_) > len(few.centers_)
    at_few, at_more = more.loo_errors_[0][[len(few.centers_), len(more.centers_)]]
    assert tuple(at_more) < tuple(at_few)  # the rate, at the same rate the squared error


def test_weights_count_copies():
    x, y = two_moons(60)
    weight = np.random.default_rng(0).integers(0, 4, size=60).astype(float)
    settings = {"stopping": "size", "max_centers": 6, "ridge": 0.1}
    weighted = LOOForwardClassifier(**settings).fit(x, y, sample_weight=weight)
    copies = weight.astype(int)
    repeated = orthogonalized(gram(x.repeat(copies, axis=0), weighted.centers_))
    gamma = repeated.T @ y.repeat(copies) / (np.sum(repeated**2, axis=0) + 0.1)
    expected = repeated @ gamma
    assert_allclose(weighted.decision_function(x).repeat(copies), expected, rtol=0, atol=1e-9)
    used = np.flatnonzero(weight)
    w = orthogonalized(np.sqrt(weight[used, None]) * gram(x[used], weighted.centers_)) / np.sqrt(
        weight[used, None]
    )
    left_out = really_left_out(w, y[used], 0.1, weight[used])
    assert_allclose(weighted.loo_decision_[:, 0], left_out, rtol=0, atol=1e-8)


def test_leaving_out_takes_all_of_a_weight():
    x, y = two_moons(60)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=60)
    model = LOOForwardClassifier(ridge=0.1, stopping="size", max_centers=6).fit(x, y, weight)
    root = np.sqrt(weight)[:, None]
    left_out = really_left_out(orthogonalized(root * gram(x, model.centers_)) / root, y, 0.1, weight)
    assert_allclose(model.loo_decision_[:, 0], left_out, rtol=0, atol=1e-8)
    assert_allclose(
        model.loo_errors_[0][-1][0], weight @ (y * left_out <= 0) / weight.sum(), rtol=0, atol=1e-12
    )


def test_each_class_has_its_own_centers():
    x, _ = two_moons(300)
    labels = np.array(["a", "b", "c"])[np.digitize(np.arctan2(x[:, 1], x[:, 0]), [-1.0, 1.0])]
    model = LOOForwardClassifier().fit(x, labels)
    assert model.dual_coef_.shape == (3, len(model.center_indices_))
    assert len(np.unique(model.center_indices_)) == len(model.center_indices_)
    for c, label in enumerate("abc"):
        machine = LOOForwardClassifier().fit(x, labels == label)
        assert_array_equal(model.machine_center_indices_[c], machine.center_indices_)
        assert_allclose(model.decision_function(x)[:, c], machine.decision_function(x), rtol=0, atol=1e-10)
    assert model.score(x, labels) > 0.9


def test_random_candidates():
    x, y = two_moons(200)
    settings = {"n_candidates": 20, "stopping": "size", "max_centers": 5}
    one, same, other = (LOOForwardClassifier(**settings, random_state=seed).fit(x, y) for seed in (0, 0, 1))
    assert_array_equal(one.center_indices_, same.center_indices_)
    assert set(one.center_indices_) != set(other.center_indices_)
    all_of_them = LOOForwardClassifier(n_candidates=200, stopping="size", max_centers=5).fit(x, y)
    every = LOOForwardClassifier(stopping="size", max_centers=5).fit(x, y)
    assert_array_equal(all_of_them.center_indices_, every.center_indices_)


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
@pytest.mark.parametrize("sigma", [1e-200, 1e-8, 1e-3, 1e3, 1e8, 1e200])
def test_extreme_widths_give_numbers(sigma, ridge):
    x, y = two_moons(60)
    for stopping in ("loo", "size"):
        model = LOOForwardClassifier(sigma, ridge=ridge, stopping=stopping).fit(x, y)
        assert np.isfinite(model.decision_function(x)).all()
        assert np.isfinite(model.predict_proba(x)).all()
        assert np.isfinite(model.loo_decision_).all()
        outputs = model.decision_function(x + 0.1)
        if sigma <= 1e-3:  # no centre is near
            assert_allclose(outputs, 0.0, rtol=0, atol=1e-100)
        elif sigma >= 1e8:  # all points look alike
            assert_allclose(outputs, outputs[0], rtol=0, atol=1e-6)


def test_duplicates_and_constant_features():
    x, y = two_moons(30)
    x = np.column_stack([x, np.ones(30)]).repeat(2, axis=0)
    model = LOOForwardClassifier(stopping="size").fit(x, y.repeat(2))
    assert len(np.unique(model.centers_, axis=0)) == len(model.centers_) <= 30
    constant = LOOForwardClassifier(stopping="size").fit(np.ones((9, 2)), [1] * 5 + [0] * 4)
    assert len(constant.centers_) == 1
    assert (constant.predict(np.ones((1, 2))) == 1).all()


def test_float32_is_computed_in_float64():
    x, y = two_moons(100)
    x = x.astype(np.float32)
    single, double = LOOForwardClassifier().fit(x, y), LOOForwardClassifier().fit(x.astype(float), y)
    assert_array_equal(single.decision_function(x), double.decision_function(x.astype(float)))


def test_no_column_at_all_leaves_no_centers():
    model = LOOForwardClassifier(kernel="sigmoid", kernel_params={"theta": 0.0}).fit(
        np.zeros((6, 2)), [0, 1] * 3
    )
    assert len(model.centers_) == 0
    assert_array_equal(model.decision_function(np.zeros((2, 2))), [0.0, 0.0])


def test_errors_say_what_to_do():
    x, y = two_moons(20)
    with pytest.raises(ModelError, match="ridge is -1"):
        LOOForwardClassifier(ridge=-1).fit(x, y)
    with pytest.raises(ModelError, match='stopping is "never"'):
        LOOForwardClassifier(stopping="never").fit(x, y)
    with pytest.raises(ModelError, match="patience is 0"):
        LOOForwardClassifier(patience=0).fit(x, y)
    with pytest.raises(ModelError, match="n_candidates is 0"):
        LOOForwardClassifier(n_candidates=0).fit(x, y)
    with pytest.raises(ValueError, match="NaN"):
        LOOForwardClassifier().fit(np.where(x > 1, np.nan, x), y)
    with pytest.raises(ValueError, match="1 class"):
        LOOForwardClassifier().fit(x, np.ones(20))


def test_what_overflows_is_said():
    x, y = two_moons(20)
    with pytest.raises(ModelError, match="polynomial kernel overflows"):
        LOOForwardClassifier(kernel="polynomial").fit(1e160 * x, y)


def test_a_patience_without_effect_is_named():
    with pytest.warns(UserWarning, match='patience is 3, which has no effect with stopping="size"'):
        LOOForwardClassifier(max_centers=3, stopping="size", patience=3).fit(*two_moons(20))
