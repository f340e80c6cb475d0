"""What arguments mean for a training set, the warnings about them, and how far the defaults reach."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_wine, make_classification, make_moons
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from acoustic.discriminants import NPDClassifier, NPDRegressor, OROLSClassifier, OROLSRegressor
from acoustic.discriminants.files import load_estimator, save_estimator
from acoustic.discriminants.forward_machine import automatic_centers, plan_of
from acoustic.kernels.width import EPSILONS, FACTORS, median_width, scale_width

CLASSIFIERS = [NPDClassifier, OROLSClassifier]
ALL = [*CLASSIFIERS, NPDRegressor, OROLSRegressor]


def moons(n=400):
    return make_moons(n, noise=0.3, random_state=0)


def plan(x, y, pairwise=False, **arguments):
    parameters = NPDClassifier(**arguments).get_params(deep=False)
    targets = np.where(y == 1, 1.0, -1.0)[:, None]
    return plan_of(parameters, x, targets, None, regularize=False, is_pairwise=pairwise)


@pytest.mark.parametrize(
    ("n_points", "expected"), [(100, 50), (400, 133), (1500, 500), (4000, 500), (16000, 759)]
)
def test_the_number_of_centres_follows_the_number_of_points(n_points, expected):
    assert automatic_centers(n_points) == expected


def test_without_arguments_all_is_chosen_by_leaving_out():
    x, y = moons()
    found = plan(x, y)
    assert found.is_quick
    assert found.config.stopping == "loo"
    assert found.config.max_centers == 133
    assert found.config.epsilon in EPSILONS
    assert_allclose(found.config.sigmas[0] / scale_width(x) / np.array(FACTORS) - 1, 0, atol=4)
    assert min(abs(found.config.sigmas[0] / scale_width(x) - f) for f in FACTORS) < 1e-9
    assert found.config.kernel.sigma == found.config.sigmas[0]


def test_a_block_size_is_the_papers_algorithm():
    x, y = moons()
    found = plan(x, y, sigma=0.5, block_size=1)
    assert not found.is_quick
    values = found.config.epsilon, found.config.max_centers, found.config.stopping, found.config.block_size
    assert values == (1e-6, 100, "size", 1)
    given = plan(x, y, sigma=0.5, block_size=8, epsilon=0.1, max_centers=7, stopping="loo").config
    assert (given.epsilon, given.max_centers, given.stopping, given.block_size) == (0.1, 7, "loo", 8)


@pytest.mark.parametrize(
    ("arguments", "is_quick", "block_size"),
    [
        ({"max_centers": 50}, False, 1),
        ({"max_centers": 51}, True, 1),
        ({"stopping": "gcv"}, False, 16),
        ({"sigma": (0.3, 1.0)}, False, 16),
        ({"kernel": "polynomial", "sigma": 1.0}, False, 16),
        ({"selection": "random"}, True, 1),
    ],
)
def test_which_selection_is_run(arguments, is_quick, block_size):
    found = plan(*moons(), **arguments)
    assert (found.is_quick, found.config.block_size) == (is_quick, block_size)


def test_a_given_number_of_centres_is_used_up():
    x, y = moons()
    assert plan(x, y, max_centers=60).config.stopping == "size"
    assert len(NPDClassifier(0.3, 60).fit(x, y).centers_) == 60
    assert plan(x, y, pairwise=True).config.max_centers == 150


@pytest.mark.parametrize(("sigma", "expected"), [("scale", scale_width), ("median", median_width)])
@pytest.mark.parametrize("estimator", ALL)
def test_widths_by_name(estimator, sigma, expected):
    x, y = moons()
    model = estimator(sigma).fit(x, y)
    assert_allclose(model.sigma_, expected(x), rtol=1e-12, atol=0)
    assert_array_equal(model.center_sigmas_, np.full(len(model.centers_), model.sigma_))


def test_learned_setting_can_be_given():
    x, y = moons()
    found = NPDClassifier().fit(x, y)
    again = NPDClassifier(found.sigma_, epsilon=found.epsilon_).fit(x, y)
    assert (again.sigma_, again.epsilon_) == (found.sigma_, found.epsilon_)
    assert_allclose(again.predict_proba(x)[:, 1], found.predict_proba(x)[:, 1], rtol=0, atol=0.1)
    assert NPDClassifier((0.3, 0.6), 20, epsilon=0.01).fit(x, y).sigma_ == (0.3, 0.6)


@pytest.mark.parametrize("estimator", ALL)
def test_fits_can_be_repeated_without_a_seed(estimator, tmp_path):
    x, y = moons()
    one, other = estimator().fit(x, y), estimator().fit(x, y)
    assert_array_equal(one.center_indices_, other.center_indices_)
    assert_array_equal(one.predict(x), other.predict(x))
    save_estimator(one, tmp_path / "model.safetensors")
    again = load_estimator(tmp_path / "model.safetensors")
    assert_array_equal(again.predict(x), one.predict(x))
    assert (again.sigma_, again.epsilon_) == (one.sigma_, one.epsilon_)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize(
    ("make", "slack"),
    [
        (lambda: moons(1000), 0.015),
        (lambda: load_digits(return_X_y=True), 0.01),
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
def test_defaults_err_no_more_than_a_searched_support_vector_machine(estimator, make, slack):
    x, y = make()
    deviation = x.std(axis=0)
    train, test, y_train, y_test = train_test_split(
        x / np.where(deviation > 0, deviation, 1.0), y, random_state=0, stratify=y
    )
    gamma = 1.0 / (2 * scale_width(train) ** 2)
    grid = {"C": [1.0, 10.0, 100.0], "gamma": [gamma / 4, gamma, 4 * gamma]}
    searched = GridSearchCV(SVC(), grid, cv=3).fit(train, y_train)
    assert estimator().fit(train, y_train).score(test, y_test) >= searched.score(test, y_test) - slack


def test_many_classes_get_a_machine_for_each_pair():
    rng = np.random.default_rng(0)
    codes = np.arange(520) % 13
    x = rng.normal(size=(13, 4))[codes] * 4 + rng.normal(size=(520, 4))
    model = NPDClassifier().fit(x, codes)
    assert len(model.machine_center_indices_) == 78
    assert model.curves_[0].square == 0.0  # logistic
    assert model.score(x, codes) > 0.9
    assert len(NPDClassifier().fit(x, codes % 12).machine_center_indices_) == 1
    assert len(NPDClassifier(2.0, 40, block_size=1).fit(x, codes).machine_center_indices_) == 1


@pytest.mark.parametrize("estimator", [NPDRegressor, OROLSRegressor])
def test_regression_without_arguments(estimator):
    rng = np.random.default_rng(0)
    x = rng.uniform(-10, 10, (300, 1))
    model = estimator().fit(x, np.sinc(x[:, 0] / np.pi) + 0.1 * rng.normal(size=300))
    grid = np.linspace(-9, 9, 200)[:, None]
    assert np.sqrt(np.mean((model.predict(grid) - np.sinc(grid[:, 0] / np.pi)) ** 2)) < 0.05
    assert len(model.centers_) < 60


class TestWarnings:
    def test_a_width_far_too_small_is_named(self):
        x, y = load_digits(return_X_y=True)
        with pytest.warns(UserWarning, match='sigma is 1.0, .* nearly 0 between .* give sigma="loo"'):
            NPDClassifier(1.0, 20).fit(x, y)

    def test_a_width_far_too_large_is_named(self):
        x, y = moons()
        with pytest.warns(UserWarning, match=r"sigma is 10000.0, .* nearly 1 between all points"):
            OROLSClassifier(1e4, 20).fit(x, y)

    def test_lambda_that_never_settles_is_named(self):
        x, y = moons(120)
        with pytest.warns(UserWarning, match='stopping="lambda" took 1.. of 120 points .*"loo" or "gcv"'):
            OROLSClassifier(0.2, 119, stopping="lambda", epsilon=1e-6).fit(x, y)

    def test_the_papers_algorithm_comes_without_advice(self):
        x, y = moons(120)
        model = OROLSClassifier(0.2, 119, stopping="lambda", block_size=1).fit(x, y)
        assert model.score(x, y) > 0.9  # of 119 centres
        outputs = NPDClassifier(1e-4, 20, block_size=1).fit(x, y).decision_function(x + 0.5)
        assert_array_equal(outputs, np.full(120, outputs[0]))

    @pytest.mark.parametrize("sigma", ["loo", "scale", "median", 0.3, (0.1, 1.0)])
    def test_useful_widths_pass(self, sigma):
        x, y = moons()
        assert NPDClassifier(sigma, 60).fit(x, y).score(x, y) > 0.85  # warnings are errors here


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sigma": "best"}, "sigma is 'best', expected a finite number above 0, or several, or one of: loo"),
        ({"max_centers": "all"}, "max_centers is 'all', expected a whole number of at least 1, or \"auto\""),
        ({"max_centers": 0}, "max_centers is 0, expected a whole number of at least 1"),
        ({"epsilon": "gcv"}, 'epsilon is "gcv", expected a finite number of at least 0, or "loo"'),
        ({"epsilon": -1.0}, "epsilon is -1.0, expected a finite number of at least 0"),
        (
            {"block_size": "large"},
            "block_size is 'large', expected a whole number of at least 1, or \"auto\"",
        ),
        ({"stopping": "soon"}, 'stopping is "soon", expected one of: size'),
    ],
    ids=str,
)
def test_bad_values_are_named(estimator, arguments, message):
    with pytest.raises(ValueError, match=message):
        estimator(**arguments).fit(*moons(40))
