"""KRLS against batch least squares, the papers' recursions sample by sample, refitting, and scikit-learn."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import parametrize_with_checks

from acoustic.discriminants.krls import KRLSClassifier, KRLSRegressor
from acoustic.errors import ModelError


def expected_failures(estimator):
    if not hasattr(estimator, "predict_proba"):
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": "calibration leaves a row out with all its weight"
    }


@parametrize_with_checks([KRLSClassifier(), KRLSRegressor()], expected_failed_checks=expected_failures)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def wave(n=300, seed=0, n_features=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features))
    return x, np.sin(2 * x.sum(axis=1)) + 0.5 + 0.1 * rng.normal(size=n)


def two_classes(n=300, seed=0):
    x, y = wave(n, seed)
    return x, np.where(y > 0.5, "up", "down")


def gram(x, centers, sigma=1.0):
    """The kernel k + 1."""
    return np.exp(-((x[:, None] - centers) ** 2).sum(axis=2) / (2 * sigma**2)) + 1.0


def sparsify_reference(x, nu):
    """Thesis Algorithm 3 to the letter: K̃⁻¹ by (3.108), P by (3.106) and (3.107)."""
    inverse, p, chosen = np.array([[1 / 2.0]]), np.array([[1.0]]), [0]
    for n in range(1, len(x)):
        k = gram(x[chosen], x[n : n + 1])[:, 0]
        r = inverse @ k
        delta = 2.0 - k @ r
        m = len(chosen)
        if delta > nu:
            inverse = (
                np.block([[delta * inverse + np.outer(r, r), -r[:, None]], [-r[None], np.ones((1, 1))]])
                / delta
            )
            p = np.block([[p, np.zeros((m, 1))], [np.zeros((1, m)), np.ones((1, 1))]])
            chosen.append(n)
        else:
            p = p - np.outer(p @ r, r @ p) / (1 + r @ p @ r)
    return chosen, inverse, p


def filter_reference(x, y, chosen, inverse, p):
    """Thesis Algorithm 4 from a given P: (3.106), (3.109), (3.110)."""
    alpha = np.zeros(len(chosen))
    for n in range(len(x)):
        k = gram(x[chosen], x[n : n + 1])[:, 0]
        r = inverse @ k
        q = p @ r / (1 + r @ p @ r)
        p = p - np.outer(q, r @ p)
        alpha = alpha + inverse @ q * (y[n] - k @ alpha)
    return alpha


def engel_reference(x, y, nu):
    """Engel, Mannor, Meir (2004), their figure of the algorithm: one pass, α̃ itself."""
    chosen, inverse, p, alpha = [0], np.array([[1 / 2.0]]), np.array([[1.0]]), np.array([y[0] / 2.0])
    for n in range(1, len(x)):
        k = gram(x[chosen], x[n : n + 1])[:, 0]
        r = inverse @ k
        delta, error, m = 2.0 - k @ r, y[n] - k @ alpha, len(chosen)
        if delta > nu:
            inverse = (
                np.block([[delta * inverse + np.outer(r, r), -r[:, None]], [-r[None], np.ones((1, 1))]])
                / delta
            )
            p = np.block([[p, np.zeros((m, 1))], [np.zeros((1, m)), np.ones((1, 1))]])
            alpha = np.append(alpha - r * error / delta, error / delta)
            chosen.append(n)
        else:
            q = p @ r / (1 + r @ p @ r)
            p = p - np.outer(q, r @ p)
            alpha = alpha + inverse @ q * error
    return chosen, alpha, p


def test_fit_is_least_squares_on_the_dictionary():
    x, y = wave(700)
    model = KRLSRegressor(nu=1e-2).fit(x, y)
    assert 10 < len(model.centers_) < 200
    columns = gram(x, model.centers_)
    alpha = np.linalg.lstsq(columns, y, rcond=None)[0]  # (3.92) over the dictionary, what (3.105) solves
    assert_allclose(model.predict(x), columns @ alpha, rtol=0, atol=1e-8)
    assert_allclose(model.dual_coef_[0], alpha, rtol=1e-6, atol=1e-6)
    assert_allclose(model.intercept_[0], alpha.sum(), rtol=1e-6, atol=1e-8)
    assert_array_equal(model.centers_, x[model.center_indices_])


def test_several_targets_share_the_dictionary():
    x, y = wave(300)
    both = KRLSRegressor().fit(x, np.column_stack([y, y**2]))
    assert both.dual_coef_.shape == (2, len(both.centers_))
    for r, target in enumerate((y, y**2)):
        assert_allclose(both.predict(x)[:, r], KRLSRegressor().fit(x, target).predict(x), rtol=0, atol=1e-10)


def test_dictionary_and_p_are_those_of_algorithm_3():
    x, y = wave(400)
    chosen, inverse, p = sparsify_reference(x, 1e-2)
    model = KRLSRegressor(nu=1e-2).partial_fit(x, y)
    assert_array_equal(model.center_indices_, chosen)
    assert_array_equal(KRLSRegressor(nu=1e-2).fit(x, y).center_indices_, chosen)
    assert_allclose(model.reduced_covariance_, p, rtol=1e-6, atol=1e-9)
    found = np.linalg.inv(model.gram_factor_ @ model.gram_factor_.T)
    assert_allclose(found, inverse, rtol=0, atol=1e-6 * abs(inverse).max())


def test_every_point_left_out_is_close_to_the_span():
    x, y = wave(400)
    model = KRLSRegressor(nu=1e-2).fit(x, y)
    k, small = gram(x, model.centers_), gram(model.centers_, model.centers_)
    delta = 2.0 - np.einsum("ij,ji->i", k, np.linalg.solve(small, k.T))
    assert delta.max() <= 1e-2 + 1e-9


def test_filter_ends_where_algorithm_4_does_from_a_large_p():
    x, y = wave(300)
    chosen, inverse, _ = sparsify_reference(x, 1e-1)
    outputs = KRLSRegressor(nu=1e-1).fit(x, y).predict(x)
    alpha = filter_reference(x, y, chosen, inverse, 1e8 * np.eye(len(chosen)))
    assert_allclose(gram(x, x[chosen]) @ alpha, outputs, rtol=0, atol=1e-5)


def test_a_second_pass_from_p_m_halves_the_outputs_and_turns_some_signs():
    """The start P_{m,0} = P_m as printed, docs/papers.md: the data count a second time, as a prior at 0."""
    ratios, turned = [], []
    for seed in range(10):
        x, y = wave(300, seed)
        chosen, inverse, p = sparsify_reference(x, 1e-1)
        outputs = KRLSRegressor(nu=1e-1).fit(x, y).predict(x)
        halved = gram(x, x[chosen]) @ filter_reference(x, y, chosen, inverse, p)
        ratios.append(halved @ outputs / (outputs @ outputs))
        turned.append(np.mean(np.sign(halved) != np.sign(outputs)))
    assert_allclose(ratios, 0.5, rtol=0, atol=0.05)
    assert 0.01 < np.mean(turned) < 0.05  # 2.6 % over twenty seeds
    assert min(turned) > 0


def test_a_second_pass_over_the_same_rows_halves_the_outputs_exactly():
    x, y = wave(300)
    chosen, inverse, _ = sparsify_reference(x, 1e-1)
    rows = gram(x, x[chosen]) @ inverse  # R over the final dictionary, in both passes
    alpha = filter_reference(x, y, chosen, inverse, np.linalg.inv(rows.T @ rows))
    expected = KRLSRegressor(nu=1e-1).fit(x, y).predict(x) / 2
    assert_allclose(gram(x, x[chosen]) @ alpha, expected, rtol=0, atol=1e-8)


def test_partial_fit_is_engels_algorithm():
    x, y = wave(400)
    chosen, alpha, p = engel_reference(x, y, 1e-2)
    model = KRLSRegressor(nu=1e-2).partial_fit(x, y)
    assert_array_equal(model.center_indices_, chosen)
    assert_allclose(model.predict(x), gram(x, x[chosen]) @ alpha, rtol=0, atol=1e-8)
    assert_allclose(model.reduced_covariance_, p, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("size", [1, 7, 256, 300])
def test_partial_fit_does_not_depend_on_the_cuts(size):
    x, labels = two_classes(300)
    whole = KRLSClassifier().partial_fit(x, labels, ["down", "up"])
    parts = KRLSClassifier()
    for start in range(0, len(x), size):
        parts.partial_fit(x[start : start + size], labels[start : start + size], ["down", "up"])
    assert_array_equal(parts.center_indices_, whole.center_indices_)
    assert_allclose(parts.decision_function(x), whole.decision_function(x), rtol=0, atol=1e-9)
    assert_allclose(parts.predict_proba(x), whole.predict_proba(x), rtol=0, atol=1e-7)


def test_partial_fit_equals_fit_once_the_dictionary_is_there():
    x, y = wave(300)
    fitted = KRLSRegressor().fit(x, y)
    first = np.concatenate([fitted.center_indices_, np.setdiff1d(np.arange(len(x)), fitted.center_indices_)])
    online = KRLSRegressor().partial_fit(x[first], y[first])
    assert_allclose(online.predict(x), fitted.predict(x), rtol=0, atol=1e-9)


def test_partial_fit_goes_on_from_fit():
    x, y = wave(400)
    model = KRLSRegressor().fit(x[:200], y[:200])
    model.set_params(max_centers=len(model.centers_)).partial_fit(x[200:], y[200:])
    columns = gram(x, model.centers_)
    alpha = np.linalg.lstsq(columns, y, rcond=None)[0]
    assert_allclose(model.predict(x), columns @ alpha, rtol=0, atol=1e-8)
    assert model.n_samples_seen_ == 400


def test_outputs_before_learning_are_predictions():
    x, y = wave(60)
    model, before = KRLSRegressor(), [0.0]
    model.partial_fit(x[:1], y[:1])
    for n in range(1, len(x)):
        before.append(model.predict(x[n : n + 1])[0])
        model.partial_fit(x[n : n + 1], y[n : n + 1])
    whole = KRLSRegressor()
    whole._start(2, 1)
    assert_allclose(whole._continue(x, y[:, None], None)[:, 0], before, rtol=0, atol=1e-8)


def full_dictionary(x, y, weight):
    """Return a model of five centres that has room for no more."""
    with pytest.warns(ConvergenceWarning, match="is full"):
        return KRLSRegressor(max_centers=5).partial_fit(x, y, weight)


def test_weighted_outputs_before_learning_are_predictions():
    x, y = wave(60)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=60)
    model = full_dictionary(x[:20], y[:20], weight[:20])
    before = []
    for n in range(20, len(x)):
        before.append(model.predict(x[n : n + 1])[0])
        model.partial_fit(x[n : n + 1], y[n : n + 1], weight[n : n + 1])
    whole = full_dictionary(x[:20], y[:20], weight[:20])
    assert_allclose(whole._continue(x[20:], y[20:, None], weight[20:])[:, 0], before, rtol=0, atol=1e-9)


def test_leave_one_out_is_leaving_out():
    x, labels = two_classes(200)
    model = KRLSClassifier(nu=5e-2).fit(x, labels)
    y, columns = np.where(labels == "up", 1.0, -1.0), gram(x, model.centers_)
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        alpha = np.linalg.lstsq(columns[rest], y[rest], rcond=None)[0]
        assert_allclose(model.loo_decision_[i, 0], columns[i] @ alpha, rtol=0, atol=1e-8)


def test_leaving_out_takes_all_of_a_weight():
    x, y = wave(100)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=100)
    model = KRLSRegressor(nu=5e-2).fit(x, y, weight)
    columns = gram(x, model.centers_)
    for i in range(len(x)):
        root = np.sqrt(np.where(np.arange(len(x)) == i, 0.0, weight))
        alpha = np.linalg.lstsq(root[:, None] * columns, root * y, rcond=None)[0]
        assert_allclose(model.loo_decision_[i, 0], columns[i] @ alpha, rtol=0, atol=1e-8)


def test_leaving_out_a_point_with_a_column_to_itself_is_the_limit_of_a_vanishing_ridge():
    x, y = wave(40)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=40)
    model = KRLSRegressor(1e-2, nu=1e-6).fit(x, y, weight)
    assert len(model.centers_) == 40
    k = gram(x, x, 1e-2)
    for i in range(len(x)):
        w = np.where(np.arange(len(x)) == i, 0.0, weight)
        alpha = np.linalg.solve(k @ (w[:, None] * k) + 1e-8 * k, k @ (w * y))
        assert_allclose(model.loo_decision_[i, 0], k[i] @ alpha, rtol=0, atol=1e-4)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_weights_count_copies(method):
    x, y = wave(100)
    weight = np.random.default_rng(1).integers(0, 4, size=100)
    weighted = getattr(KRLSRegressor(), method)(x, y, sample_weight=weight)
    repeated = getattr(KRLSRegressor(), method)(x.repeat(weight, axis=0), y.repeat(weight))
    assert_allclose(weighted.predict(x), repeated.predict(x), rtol=0, atol=1e-8)
    assert_array_equal(weighted.centers_, x[weighted.center_indices_])


def test_whole_dictionary_interpolates_as_kernel_ridge():
    x, y = wave(40)
    model = KRLSRegressor(sigma=0.5, nu=1e-10).fit(x, y)
    ridge = KernelRidge(alpha=1e-12, kernel="precomputed").fit(gram(x, x, 0.5), y)
    grid = np.random.default_rng(3).normal(size=(50, 2))
    assert len(model.centers_) == 40
    assert_allclose(model.predict(grid), ridge.predict(gram(grid, x, 0.5)), rtol=0, atol=1e-5)
    assert_allclose(model.predict(x), y, rtol=0, atol=1e-8)


def test_one_vs_rest_learns_three_classes():
    x, _ = wave(400)
    labels = np.digitize(np.arctan2(x[:, 1], x[:, 0]), [-1.0, 1.0])
    model = KRLSClassifier().fit(x[:300], labels[:300])
    assert model.dual_coef_.shape == (3, len(model.centers_))
    assert model.score(x[300:], labels[300:]) > 0.85
    assert KRLSClassifier().partial_fit(x, labels, [0, 1, 2]).score(x, labels) > 0.85


def test_float32_is_computed_in_float64():
    x, y = wave(200)
    x = x.astype(np.float32)
    assert_array_equal(
        KRLSRegressor().fit(x, y).predict(x), KRLSRegressor().fit(x.astype(float), y).predict(x)
    )


@pytest.mark.parametrize("sigma", [1e-200, 1e-8, 1e-3, 1e3, 1e8, 1e200])
@pytest.mark.parametrize("kernel", ["gaussian", "compact", "sigmoid"])
def test_extreme_widths_give_numbers(sigma, kernel):
    x, labels = two_classes(60)
    for model in (KRLSClassifier(sigma, kernel=kernel), KRLSClassifier(sigma, kernel=kernel, max_centers=3)):
        for learn in (model.fit, lambda x, y, m=model: m.partial_fit(x, y, ["down", "up"])):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # three centres are few
                learn(x, labels)
            outputs = model.decision_function(x + 0.1)
            assert np.isfinite(outputs).all()
            assert np.isfinite(model.predict_proba(x)).all()
            if sigma <= 1e-3 and kernel != "sigmoid":  # no centre is near
                assert_array_equal(outputs, np.full(60, model.intercept_[0]))
            elif sigma >= 1e8:  # all points look alike
                assert_allclose(outputs, outputs[0], rtol=0, atol=1e-6)


def test_huge_sigma_is_the_mean():
    x, y = wave(100)
    assert_allclose(KRLSRegressor(1e8).fit(x, y).predict(x), y.mean(), rtol=0, atol=1e-9)


def test_duplicates_and_constant_features():
    x, y = wave(50)
    x = np.column_stack([x, np.ones(50)]).repeat(2, axis=0)
    model = KRLSRegressor().fit(x, y.repeat(2))
    assert len(np.unique(model.centers_, axis=0)) == len(model.centers_) <= 50
    constant = KRLSRegressor().fit(np.ones((20, 2)), np.arange(20.0))
    assert len(constant.centers_) == 1
    assert_allclose(constant.predict(np.ones((1, 2))), 9.5, rtol=0, atol=1e-10)


def test_max_centers_bounds_the_dictionary():
    x, y = wave(200)
    for learn in (
        KRLSRegressor(max_centers=5, nu=1e-4).fit,
        KRLSRegressor(max_centers=5, nu=1e-4).partial_fit,
    ):
        with pytest.warns(ConvergenceWarning, match="the dictionary is full"):
            assert_array_equal(learn(x, y).center_indices_, np.arange(5))


def refused(x, centers, nu):
    """Return how many points are not approximately dependent on the centres."""
    k, small = gram(x, centers), gram(centers, centers)
    return int(np.sum(2.0 - np.einsum("ij,ji->i", k, np.linalg.solve(small, k.T)) > nu))


def test_a_full_dictionary_warns_of_what_it_leaves_out():
    x, _ = wave(300)
    labels = np.repeat(["a", "b", "c"], 100)
    centers = KRLSRegressor().fit(x, x).center_indices_
    assert centers[5] < 100
    left_out = refused(x[centers[5] + 1 :], x[centers[:6]], 1e-2)
    message = (
        rf"max_centers=6\) after the first {centers[5] + 1} of 300 points, and {left_out} later ones .* "
        "it has points of 1 of 3 classes; raise max_centers or nu, or shuffle"
    )
    with pytest.warns(ConvergenceWarning, match=message):
        KRLSClassifier(max_centers=6).fit(x, labels)
    KRLSClassifier(max_centers=len(centers)).fit(x, labels)  # warnings are errors here


def test_a_stream_warns_once_when_the_dictionary_gets_full():
    x, y = wave(300)
    model = KRLSRegressor(max_centers=6)
    with pytest.warns(ConvergenceWarning, match=r"KRLSRegressor: the dictionary is full \(max_centers=6\)"):
        model.partial_fit(x[:150], y[:150])
    model.partial_fit(x[150:], y[150:])  # it was full before: no news
    assert len(model.centers_) == 6


def test_errors_say_what_to_do():
    x, labels = two_classes(20)
    with pytest.raises(ModelError, match="nu is 0"):
        KRLSClassifier(nu=0).fit(x, labels)
    with pytest.raises(ModelError, match="max_centers is 0"):
        KRLSClassifier(max_centers=0).fit(x, labels)
    with pytest.raises(ModelError, match="nowhere above nu"):
        KRLSClassifier(nu=3.0).fit(x, labels)
    with pytest.raises(ModelError, match="polynomial kernel overflows"):
        KRLSClassifier(1e-120, kernel="polynomial").fit(x, labels)
    with pytest.raises(ModelError, match="2 widths"):
        KRLSClassifier((1.0, 2.0)).fit(x, labels)
    with pytest.raises(ValueError, match="NaN"):
        KRLSClassifier().fit(np.where(x > 1, np.nan, x), labels)
    with pytest.raises(ValueError, match="1 class"):
        KRLSClassifier().fit(x, ["a"] * 20)
    with pytest.raises(ValueError, match="1 class"):
        KRLSClassifier().partial_fit(x, ["a"] * 20, ["a"])
    model = KRLSClassifier()
    with pytest.raises(ValueError, match="y has labels"):
        model.partial_fit(x, labels, ["down", "left"])
    with pytest.raises(ValueError, match="expected 1 as before"):
        KRLSRegressor().partial_fit(x, x[:, 0]).partial_fit(x, x)


def test_a_class_may_be_long_in_coming():
    x, labels = two_classes(100)
    order = np.argsort(labels)
    model = KRLSClassifier().partial_fit(x[order[:5]], labels[order[:5]], ["down", "up"])
    assert np.isfinite(model.predict_proba(x)).all()
    model.partial_fit(x[order[5:]], labels[order[5:]])
    assert model.score(x, labels) > 0.85


def test_what_overflows_is_said():
    x, y = two_classes(20)
    with pytest.raises(ModelError, match="polynomial kernel overflows"):
        KRLSClassifier(kernel="polynomial").fit(1e160 * x, y)


def test_rows_are_counted_with_those_without_weight():
    x = np.random.default_rng(0).normal(size=(30, 3))
    y, weight = (x[:, 0] > 0).astype(int), np.repeat([1.0, 0.0], [20, 10])
    model = KRLSClassifier(0.5, nu=1e-6).fit(x, y, sample_weight=weight)
    assert model.n_samples_seen_ == 30
    model.partial_fit(x + 5.0, y)
    assert model.n_samples_seen_ == 60
    assert model.center_indices_.max() == 59
    assert_allclose(model.centers_, np.vstack([x, x + 5.0])[model.center_indices_], rtol=0, atol=0)
