"""The residual-sampled estimators: what they choose, how far it reaches, and what new points meet."""

import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine, make_classification, make_moons
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from acoustic.discriminants import (
    NPDClassifier,
    OROLSClassifier,
    ResidualSampledClassifier,
    ResidualSampledRegressor,
)
from acoustic.discriminants.files import load_estimator, save_estimator
from acoustic.discriminants.forward_machine import automatic_centers
from acoustic.kernels.width import median_width, scale_width

BOTH = [ResidualSampledClassifier, ResidualSampledRegressor]
# Of digits the last centres still take a share of what little error is left.
CAP = "ignore:the left-out error still falls:UserWarning"
REASON = "a repeated row is several points of which centres are drawn and of which some are held out"


def expected_failures(estimator):
    return {f"check_sample_weight_equivalence_on_{kind}_data": REASON for kind in ("dense", "sparse")}


@pytest.mark.filterwarnings("default::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([E() for E in BOTH], expected_failed_checks=expected_failures, xfail_strict=False)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def moons(n=400, seed=0):
    return make_moons(n, noise=0.3, random_state=seed)


def blobs(n=600, n_classes=4):
    x, y = make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, random_state=0
    )
    return x, np.array(["ah", "b", "sil", "zh"])[y]


def waves(n=300, n_targets=2):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (n, 2))
    y = np.column_stack([np.sin((r + 1) * x[:, 0]) + x[:, 1] for r in range(n_targets)])
    return x, y + 0.1 * rng.normal(size=y.shape)


def data(estimator):
    return waves() if estimator is ResidualSampledRegressor else blobs()


def output(model):
    return model.predict if isinstance(model, ResidualSampledRegressor) else model.decision_function


@cache
def digits():
    return load_digits(return_X_y=True)


@cache
def fourteen_classes():
    """Return points of 14 classes that overlap."""
    rng = np.random.default_rng(3)
    codes = np.arange(2800) % 14
    return rng.normal(size=(14, 6))[codes] * 1.5 + rng.normal(size=(2800, 6)), codes


SETS = {"digits": digits, "fourteen": fourteen_classes}


@cache
def fitted(name, multiclass="auto"):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the left-out error still falls")
        return ResidualSampledClassifier(multiclass=multiclass).fit(*SETS[name]())


@pytest.mark.filterwarnings(CAP)
@pytest.mark.parametrize(
    ("make", "slack"),
    [
        (lambda: moons(1000), 0.015),
        (digits, 0.01),
        (lambda: load_wine(return_X_y=True), 0.03),
        (
            lambda: make_classification(
                2000, 5, n_informative=5, n_redundant=0, n_clusters_per_class=8, flip_y=0.2, random_state=1
            ),
            0.04,
        ),
    ],
    ids=["moons", "digits", "wine", "noise"],
)
def test_defaults_err_no_more_than_a_searched_support_vector_machine(make, slack):
    x, y = make()
    deviation = x.std(axis=0)
    train, test, y_train, y_test = train_test_split(
        x / np.where(deviation > 0, deviation, 1.0), y, random_state=0, stratify=y
    )
    gamma = 1.0 / (2 * scale_width(train) ** 2)
    grid = {"C": [1.0, 10.0, 100.0], "gamma": [gamma / 4, gamma, 4 * gamma]}
    searched = GridSearchCV(SVC(), grid, cv=3).fit(train, y_train)
    found = ResidualSampledClassifier().fit(train, y_train)
    assert found.score(test, y_test) >= searched.score(test, y_test) - slack


def test_regression_without_arguments():
    rng = np.random.default_rng(0)
    x = rng.uniform(-10, 10, (300, 1))
    model = ResidualSampledRegressor().fit(x, np.sinc(x[:, 0] / np.pi) + 0.1 * rng.normal(size=300))
    grid = np.linspace(-9, 9, 200)[:, None]
    assert np.sqrt(np.mean((model.predict(grid) - np.sinc(grid[:, 0] / np.pi)) ** 2)) < 0.05
    assert len(model.centers_) < 60


class TestLeftOut:
    @pytest.mark.filterwarnings(CAP)
    @pytest.mark.parametrize("name", SETS)
    def test_the_accuracy_is_about_that_of_cross_validation(self, name):
        crossed = cross_val_score(ResidualSampledClassifier(), *SETS[name](), cv=4).mean()
        assert fitted(name).left_out_accuracy_ == pytest.approx(crossed, abs=0.03)

    @pytest.mark.parametrize("multiclass", ["shared", "ovr", "ovo"])
    @pytest.mark.parametrize("name", SETS)
    def test_points_held_out_are_no_centres(self, name, multiclass):
        model = fitted(name, multiclass)
        assert len(model.held_out_indices_) == pytest.approx(0.25 * len(SETS[name]()[0]), rel=0.02)
        assert not np.isin(model.center_indices_, model.held_out_indices_).any()

    @pytest.mark.parametrize("multiclass", ["shared", "ovr", "ovo"])
    def test_values_belong_to_the_points(self, multiclass):
        model, (_, y) = fitted("fourteen", multiclass), fourteen_classes()
        rows = model.held_out_indices_
        assert model.left_out_decision_.shape == (len(rows), 14)
        assert_allclose(model.left_out_decision_, model.loo_decision_[rows], rtol=0, atol=1e-9)
        right = model.left_out_decision_.argmax(axis=1) == y[rows]
        assert model.left_out_accuracy_ == pytest.approx(right.mean(), abs=1e-12)

    def test_values_are_those_of_fits_without_the_point(self):
        x, y = moons(120)
        model = ResidualSampledClassifier(0.5, 20, epsilon=0.1).fit(x, y)
        centers, signs = model.machines_[0].path.indices, np.where(y == 1, 1.0, -1.0)
        columns = np.column_stack([np.ones(120), model.machines_[0].kernel.block(x, x[centers])])
        penalty = np.zeros((len(centers) + 1,) * 2)
        penalty[1:, 1:] = columns[centers, 1:]
        assert len(model.held_out_indices_) == 30
        for i, decision in zip(model.held_out_indices_, model.left_out_decision_, strict=True):
            others = np.delete(np.arange(120), i)
            gram = columns[others].T @ columns[others] + 2 * 0.1 * penalty
            alpha = np.linalg.solve(gram, columns[others].T @ signs[others])
            assert_allclose(decision[0], columns[i] @ alpha, rtol=0, atol=1e-6)

    def test_random_labels_are_named_at_random(self):
        """What is told of random labels is not better than chance, however many centres there are."""
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(2000, 4)), rng.integers(0, 2, 2000)
        assert ResidualSampledClassifier().fit(x, y).left_out_accuracy_ == pytest.approx(0.5, abs=0.08)

    def test_points_without_weight_are_not_held_out(self):
        x, y = moons()
        weight = (np.arange(400) % 2).astype(float)
        model = ResidualSampledClassifier().fit(x, y, weight)
        assert (model.held_out_indices_ % 2 == 1).all()
        assert (model.center_indices_ % 2 == 1).all()
        kept = ResidualSampledClassifier().fit(x[1::2], y[1::2])
        assert_array_equal(model.held_out_indices_, 2 * kept.held_out_indices_ + 1)
        assert_array_equal(model.center_indices_, 2 * kept.center_indices_ + 1)
        assert model.left_out_accuracy_ == kept.left_out_accuracy_

    def test_points_without_weight_are_not_held_out_in_regression(self):
        x, y = waves()
        weight = (np.arange(300) % 2).astype(float)
        model = ResidualSampledRegressor(0.8, 40).fit(x, y, weight)
        kept = ResidualSampledRegressor(0.8, 40).fit(x[1::2], y[1::2])
        assert_array_equal(model.held_out_indices_, 2 * kept.held_out_indices_ + 1)
        assert_array_equal(model.center_indices_, 2 * kept.center_indices_ + 1)
        assert_array_equal(model.left_out_decision_, kept.left_out_decision_)

    def test_none_may_be_held_out(self):
        x, y = moons()
        model = ResidualSampledClassifier(held_out=0.0).fit(x, y)
        assert not hasattr(model, "left_out_accuracy_")
        assert model.score(x, y) > 0.85

    @pytest.mark.parametrize("multiclass", ["shared", "ovo"])
    def test_a_fit_forgets_the_one_before(self, multiclass):
        x, y = blobs()
        model = ResidualSampledClassifier(max_centers=20, multiclass=multiclass).fit(x, y)
        model.set_params(held_out=0.0, multiclass="shared").fit(x, y)
        gone = {"left_out_accuracy_", "held_out_indices_", "left_out_decision_", "pairwise_"}
        assert gone.isdisjoint(vars(model))


class TestMulticlass:
    def test_pairs_are_taken_where_they_err_less(self):
        for name in ("digits", "fourteen"):
            accuracies = {way: fitted(name, way).left_out_accuracy_ for way in ("shared", "ovo")}
            chosen = fitted(name).multiclass_
            assert chosen in accuracies
            assert accuracies[chosen] >= max(accuracies.values()) - 0.015

    def test_two_classes_share_their_centres(self):
        model = ResidualSampledClassifier().fit(*moons())
        assert model.multiclass_ == "shared"
        assert model.dual_coef_.shape[0] == 1

    @pytest.mark.parametrize(
        ("multiclass", "n_machines", "n_outputs"), [("shared", 1, 4), ("ovr", 4, 4), ("ovo", 6, 6)]
    )
    @pytest.mark.parametrize("selection", ["residual", "random"])
    def test_conventions(self, multiclass, n_machines, n_outputs, selection):
        x, y = blobs()
        model = ResidualSampledClassifier(max_centers=30, multiclass=multiclass, selection=selection).fit(
            x, y
        )
        assert len(model.machine_center_indices_) == n_machines
        assert model.dual_coef_.shape == (n_outputs, len(model.center_indices_))
        assert len(model.curves_) == len(model.intercept_) == n_outputs
        assert model.decision_function(x).shape == model.loo_decision_.shape == (600, 4)
        probability = model.predict_proba(x)
        assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12, atol=0)
        assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(x))
        assert_allclose(model.centers_, x[model.center_indices_], rtol=1e-6, atol=0)
        assert model.path_predict(x, [0, 10, 30]).shape == (3, 600)
        assert model.score(x, y) > 0.75
        assert max(map(len, model.machine_center_indices_)) == 30

    def test_of_pairs_with_few_points_centres_are_drawn_too(self):
        x, y = blobs(200)
        model = ResidualSampledClassifier(max_centers=40, multiclass="ovo").fit(x, y)
        assert model.score(x, y) > 0.75
        assert not np.isin(model.center_indices_, model.held_out_indices_).any()


class TestSetting:
    @pytest.mark.parametrize(("sigma", "expected"), [("scale", scale_width), ("median", median_width)])
    @pytest.mark.parametrize("estimator", BOTH)
    def test_widths_by_name(self, estimator, sigma, expected):
        x, y = moons()
        model = estimator(sigma).fit(x, y)
        assert_allclose(model.sigma_, expected(x), rtol=1e-12, atol=0)
        assert_array_equal(model.center_sigmas_, np.full(len(model.centers_), model.sigma_))

    @pytest.mark.parametrize("estimator", BOTH)
    def test_what_is_given_is_taken(self, estimator):
        x, y = data(estimator)
        model = estimator(0.5, 60, epsilon=0.03).fit(x, y)
        assert (model.sigma_, model.epsilon_) == (0.5, 0.03)
        for rows in model.machine_center_indices_:
            assert len(rows) == 60

    @pytest.mark.filterwarnings(CAP)
    def test_centres_begin_with_a_share_of_the_points(self):
        """Noise asks for no more of them, a pattern for half as many again."""
        x, y = blobs(2000)
        noise = np.random.default_rng(0).normal(size=2000)
        first = automatic_centers(2000)
        model = ResidualSampledRegressor(0.5, stopping="size").fit(x, noise)
        assert model.n_distinct_centers_ == first
        model = ResidualSampledClassifier(0.5, stopping="size").fit(x, y == "b")
        assert model.n_distinct_centers_ == round(1.5 * first)

    def test_the_size_may_be_left_to_the_left_out_error(self):
        x, y = moons(1000)
        some, all_of_them = (
            ResidualSampledClassifier(0.5, stopping=stopping, epsilon=1e-6).fit(x, y)
            for stopping in ("loo", "size")
        )
        assert some.n_distinct_centers_ < all_of_them.n_distinct_centers_

    def test_several_widths_are_refused(self):
        with pytest.raises(ValueError, match="sigma has 2 widths, expected one here; give one number"):
            ResidualSampledClassifier((0.3, 1.0)).fit(*moons())

    def test_a_limit_that_hurts_is_named(self):
        """A fine pattern needs more centres than a third of many points."""
        rng = np.random.default_rng(0)
        x = rng.uniform(0, 1, (3000, 1))
        y = np.sin(1500 * x[:, 0])
        with pytest.warns(UserWarning, match="the left-out error still falls .* give max_centers a larger"):
            ResidualSampledRegressor(5e-4).fit(x, y)

    @pytest.mark.parametrize("estimator", BOTH)
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"sigma": "best"}, "sigma is 'best', expected a finite number above 0, or several, or one of"),
            ({"sigma": -1.0}, "expected a finite number above 0"),
            (
                {"max_centers": "all"},
                "max_centers is 'all', expected a whole number of at least 1, or \"auto\"",
            ),
            ({"max_centers": 0}, "max_centers is 0, expected a whole number of at least 1"),
            ({"epsilon": "gcv"}, 'epsilon is "gcv", expected a finite number of at least 0, or "loo"'),
            ({"epsilon": -1.0}, "epsilon is -1.0, expected a finite number of at least 0"),
            ({"stopping": "gcv"}, 'stopping is "gcv", expected one of: loo, size'),
            ({"selection": "best"}, 'selection is "best", expected one of: residual, random'),
            ({"held_out": 1.5}, "held_out is 1.5, expected a number of at least 0 and below 1"),
        ],
        ids=str,
    )
    def test_bad_values_are_named(self, estimator, arguments, message):
        with pytest.raises(ValueError, match=message):
            estimator(**arguments).fit(*moons(40))

    def test_unknown_ways_are_named(self):
        with pytest.raises(ValueError, match='multiclass is "all", expected one of: auto, shared, ovr, ovo'):
            ResidualSampledClassifier(multiclass="all").fit(*moons())

    def test_a_width_far_too_small_is_named(self):
        with pytest.warns(UserWarning, match='sigma is 1.0, .* nearly 0 between .* give sigma="loo"'):
            ResidualSampledClassifier(1.0, 20).fit(*digits())

    @pytest.mark.parametrize("sigma", [1e-150, 1e-8, 1e8, 1e150])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("estimator", BOTH)
    def test_huge_and_tiny_sigma(self, estimator, dtype, sigma):
        x, y = data(estimator)
        x = x.astype(dtype)
        with pytest.warns(UserWarning, match="the kernel is nearly"):
            model = estimator(sigma, 20).fit(x, y)
        assert np.isfinite(output(model)(x)).all()
        assert np.isfinite(model.loo_decision_).all()


@pytest.mark.parametrize("estimator", BOTH)
class TestAll:
    def test_fits_can_be_repeated_without_a_seed(self, estimator):
        x, y = data(estimator)
        one, other = estimator().fit(x, y), estimator().fit(x, y)
        assert_array_equal(one.center_indices_, other.center_indices_)
        assert_array_equal(output(one)(x), output(other)(x))

    def test_seeds_draw_other_centres(self, estimator):
        x, y = data(estimator)
        one, same, other = (estimator(0.8, 30, random_state=seed).fit(x, y) for seed in (0, 0, 1))
        assert_array_equal(one.center_indices_, same.center_indices_)
        assert set(one.center_indices_) != set(other.center_indices_)
        assert set(one.held_out_indices_) != set(other.held_out_indices_)

    @pytest.mark.parametrize("options", [{}, {"max_centers": 25}, {"multiclass": "ovo"}], ids=str)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_stored_is_the_same_bits(self, estimator, dtype, options, tmp_path):
        x, y = data(estimator)
        x = x.astype(dtype)
        if estimator is ResidualSampledRegressor:
            options = {name: value for name, value in options.items() if name != "multiclass"}
        model = estimator(**options).fit(x, y)
        save_estimator(model, tmp_path / "model.safetensors")
        again = load_estimator(tmp_path / "model.safetensors")
        assert type(again) is estimator
        assert again.get_params() == model.get_params()
        assert_array_equal(output(again)(x), output(model)(x))
        assert_array_equal(again.path_predict(x, [0, 3, 9]), model.path_predict(x, [0, 3, 9]))
        assert_array_equal(again.left_out_decision_, model.left_out_decision_)
        assert_array_equal(again.held_out_indices_, model.held_out_indices_)
        assert (again.sigma_, again.epsilon_) == (model.sigma_, model.epsilon_)
        assert not hasattr(again, "loo_decision_")
        if hasattr(model, "predict_proba"):
            assert_array_equal(again.predict_proba(x), model.predict_proba(x))
            assert again.left_out_accuracy_ == model.left_out_accuracy_
            assert again.multiclass_ == model.multiclass_

    def test_single_precision_agrees(self, estimator):
        x, y = data(estimator)
        single, double = (
            estimator(1.0, 40, epsilon=0.01).fit(points, y) for points in (x.astype(np.float32), x)
        )
        assert single.centers_.dtype == np.float32
        assert_allclose(output(single)(x.astype(np.float32)), output(double)(x), rtol=0, atol=5e-3)

    def test_learned_values_predict(self, estimator):
        x, y = data(estimator)
        options = {} if estimator is ResidualSampledRegressor else {"multiclass": "shared"}
        model = estimator(**options).fit(x, y)
        distances = np.sum((x[:, None] - model.centers_) ** 2, axis=2)
        expected = np.exp(-distances / (2 * model.sigma_**2)) @ model.dual_coef_.T + model.intercept_
        assert_allclose(output(model)(x), expected, rtol=0, atol=1e-8)
        assert_array_equal(model.centers_, x[model.center_indices_])

    def test_more_centres_than_points(self, estimator):
        x, y = data(estimator)
        model = estimator(1.0, 10_000).fit(x[:25], y[:25])
        assert len(model.centers_) <= 25
        assert np.isfinite(output(model)(x)).all()

    def test_duplicated_rows(self, estimator):
        x, y = data(estimator)
        model = estimator(1.0, 500).fit(np.repeat(x[:30], 4, axis=0), np.repeat(y[:30], 4, axis=0))
        assert np.isfinite(output(model)(x)).all()
        assert model.score(x[:30], y[:30]) > 0.8

    def test_grid_search(self, estimator):
        x, y = data(estimator)
        pipeline = make_pipeline(StandardScaler(), estimator(max_centers=15))
        grid = {f"{estimator.__name__.lower()}__sigma": [0.02, 1.0]}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "sigma is")
            search = GridSearchCV(pipeline, grid, cv=3).fit(x, y)
        assert search.best_params_ == {next(iter(grid)): 1.0}

    def test_parameters(self, estimator):
        model = estimator(0.5, 7, stopping="size", random_state=3, held_out=0.1)
        assert clone(model).get_params() == model.get_params()


class TestHeldOutOfThePapersAlgorithms:
    @pytest.mark.parametrize("estimator", [NPDClassifier, OROLSClassifier])
    @pytest.mark.parametrize("multiclass", ["shared", "ovr", "ovo"])
    def test_they_are_no_centres_but_count(self, estimator, multiclass, tmp_path):
        x, y = blobs()
        model = estimator(1.5, 40, epsilon=1e-3, multiclass=multiclass, held_out=0.25).fit(x, y)
        rows = model.held_out_indices_
        assert len(rows) == pytest.approx(150, abs=4)
        assert all(abs(np.sum(y[rows] == name) - np.sum(y == name) / 4) <= 1 for name in model.classes_)
        assert not np.isin(model.center_indices_, rows).any()
        assert_array_equal(model.left_out_decision_, model.loo_decision_[rows])
        right = model.classes_[model.left_out_decision_.argmax(axis=1)] == y[rows]
        assert model.left_out_accuracy_ == pytest.approx(right.mean(), abs=1e-12)
        crossed = cross_val_score(clone(model).set_params(held_out=0.0), x, y, cv=4).mean()
        assert model.left_out_accuracy_ == pytest.approx(crossed, abs=0.06)
        save_estimator(model, tmp_path / "model.safetensors")
        again = load_estimator(tmp_path / "model.safetensors")
        assert_array_equal(again.predict_proba(x), model.predict_proba(x))
        assert again.left_out_accuracy_ == model.left_out_accuracy_
        assert_array_equal(again.held_out_indices_, rows)

    @pytest.mark.parametrize("estimator", [NPDClassifier, OROLSClassifier])
    def test_without_it_there_are_none(self, estimator):
        x, y = blobs()
        model = estimator(1.5, 40).fit(x, y)
        assert {"left_out_accuracy_", "held_out_indices_"}.isdisjoint(vars(model))

    @pytest.mark.parametrize("estimator", [NPDClassifier, OROLSClassifier])
    @pytest.mark.parametrize("multiclass", ["shared", "ovr", "ovo"])
    def test_random_labels_show_whose_values_are_biased(self, estimator, multiclass):
        """Points became centres because they were missed; those that did not were named rightly by chance."""
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(900, 3)), rng.integers(0, 3, 900)
        model = estimator(0.7, 150, epsilon=1e-6, multiclass=multiclass, held_out=0.25).fit(x, y)
        is_right, everyone = model.loo_decision_.argmax(axis=1) == y, np.arange(900)
        is_center, is_held_out = (
            np.isin(everyone, rows) for rows in (model.center_indices_, model.held_out_indices_)
        )
        others = is_right[~is_center & ~is_held_out].mean()
        assert is_right[is_center].mean() < model.left_out_accuracy_ < others
        assert model.left_out_accuracy_ == pytest.approx(1 / 3, abs=0.08)


@pytest.mark.parametrize("estimator", [NPDClassifier, OROLSClassifier, ResidualSampledClassifier])
@pytest.mark.parametrize("multiclass", ["shared", "ovr", "ovo"])
def test_the_former_name_of_left_out_values_stays(estimator, multiclass):
    x, y = blobs()
    model = estimator(1.0, 20, multiclass=multiclass).fit(x, y)
    assert model.loo_decision_ is model.biased_loo_decision_
    with pytest.raises(AttributeError, match="biased_loo_decision_"):
        _ = estimator().loo_decision_
