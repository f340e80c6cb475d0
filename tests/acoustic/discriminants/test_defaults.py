"""What arguments of NPD and OROLS mean for a training set, and the warnings about them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_moons

from acoustic.discriminants import NPDClassifier, NPDRegressor, OROLSClassifier, OROLSRegressor
from acoustic.discriminants.files import load_estimator, save_estimator
from acoustic.discriminants.forward_machine import automatic_centers
from acoustic.discriminants.npd_orols import THESIS_EPSILON, plan_of
from acoustic.kernels.width import EPSILONS, FACTORS, median_width, scale_width

CLASSIFIERS = [NPDClassifier, OROLSClassifier]
ALL = [*CLASSIFIERS, NPDRegressor, OROLSRegressor]


def moons(n=400):
    return make_moons(n, noise=0.3, random_state=0)


def plan(x, y, pairwise=False, regularize=False, **arguments):
    parameters = NPDClassifier(**arguments).get_params(deep=False)
    targets = np.where(y == 1, 1.0, -1.0)[:, None]
    return plan_of(parameters, x, targets, None, regularize=regularize, is_pairwise=pairwise)


@pytest.mark.parametrize(
    ("n_points", "expected"), [(100, 50), (400, 133), (1500, 500), (4000, 500), (16000, 759)]
)
def test_the_number_of_centres_follows_the_number_of_points(n_points, expected):
    assert automatic_centers(n_points) == expected


@pytest.mark.parametrize("regularize", [False, True])
def test_without_arguments_all_is_chosen_by_leaving_out(regularize):
    x, y = moons()
    found = plan(x, y, regularize=regularize)
    assert (found.algorithm, found.selection, found.block_size) == ("stable", "residual", 1)
    assert (found.stopping, found.max_centers, found.regularize) == ("loo", 133, regularize)
    assert found.epsilon in EPSILONS
    assert min(abs(found.sigmas[0] / scale_width(x) - f) for f in FACTORS) < 1e-9
    assert found.kernel.sigma == found.sigmas[0]


@pytest.mark.parametrize(
    ("regularize", "epsilon", "stopping", "n_centers"),
    [(False, THESIS_EPSILON, "tol", 133), (True, 0.0, "lambda", 400)],
)
def test_the_algorithms_as_printed_have_their_own_rules(regularize, epsilon, stopping, n_centers):
    x, y = moons()
    found = plan(x, y, algorithm="thesis", regularize=regularize)
    assert (found.epsilon, found.stopping, found.max_centers) == (epsilon, stopping, n_centers)
    patience = 1 if regularize else 20  # λ is looked at after each centre
    assert (found.algorithm, found.patience, found.block_size) == ("thesis", patience, 1)
    given = plan(x, y, algorithm="thesis", regularize=regularize, max_centers=7, epsilon=0.1, sigma=0.5)
    assert (given.epsilon, given.stopping, given.max_centers, given.sigmas) == (0.1, "size", 7, (0.5,))
    # ε of neither is searched, but the width is
    assert min(abs(found.sigmas[0] / scale_width(x) - f) for f in FACTORS) < 1e-9


def test_all_that_is_given_is_taken():
    x, y = moons()
    found = plan(x, y, sigma=0.5, block_size=8, epsilon=0.1, max_centers=7, stopping="loo")
    values = found.epsilon, found.max_centers, found.stopping, found.block_size, found.sigmas
    assert values == (0.1, 7, "loo", 8, (0.5,))
    assert plan(x, y, sigma=(0.3, 1.0)).sigmas == (0.3, 1.0)
    assert plan(x, y, kernel="polynomial", sigma=1.0).kernel.name == "polynomial"
    assert plan(x, y, stopping="gcv").stopping == "gcv"
    assert plan(x, y, epsilon="loo").epsilon == plan(x, y).epsilon


def test_the_block_size_of_older_files_is_one():
    assert plan(*moons(), block_size="auto").block_size == 1


def test_blocks_are_not_as_printed():
    with pytest.raises(ValueError, match='block_size is 8, expected 1 with algorithm="thesis"'):
        NPDClassifier(0.5, 10, algorithm="thesis", block_size=8).fit(*moons())


def test_a_given_number_of_centres_is_used_up():
    x, y = moons()
    assert plan(x, y, max_centers=60).stopping == "size"
    assert len(NPDClassifier(0.3, 60).fit(x, y).centers_) == 60
    assert plan(x, y, pairwise=True).max_centers == 150
    assert plan(x, y, pairwise=True).stopping == "size"
    assert plan(x, y, pairwise=True, max_centers=9).max_centers == 9


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


def test_many_classes_get_a_machine_for_each_pair():
    rng = np.random.default_rng(0)
    codes = np.arange(520) % 13
    x = rng.normal(size=(13, 4))[codes] * 4 + rng.normal(size=(520, 4))
    model = NPDClassifier().fit(x, codes)
    assert len(model.machine_center_indices_) == 78
    assert model.curves_[0].square == 0.0  # logistic
    assert model.score(x, codes) > 0.9
    assert len(NPDClassifier().fit(x, codes % 12).machine_center_indices_) == 1
    as_printed = NPDClassifier(2.0, 20, algorithm="thesis").fit(x, codes)
    assert len(as_printed.machine_center_indices_) == len(as_printed.dual_coef_) == 13  # thesis 5.1.1


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
        model = OROLSClassifier(0.2, 119, stopping="lambda", tol=0.0, algorithm="thesis").fit(x, y)
        assert model.n_distinct_centers_ > 0.9 * 119

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
        ({"algorithm": "own"}, 'algorithm is "own", expected one of: stable, thesis'),
        ({"held_out": 1.0}, "held_out is 1.0, expected a number of at least 0 and below 1"),
        ({"held_out": "some"}, "held_out is 'some', expected a number of at least 0 and below 1"),
        ({"epsilon": "gcv"}, 'epsilon is "gcv", expected a finite number of at least 0, or "loo"'),
        ({"epsilon": -1.0}, "epsilon is -1.0, expected a finite number of at least 0"),
        ({"block_size": "large"}, "block_size is 'large', expected a whole number of at least 1"),
        ({"stopping": "soon"}, 'stopping is "soon", expected one of: size'),
    ],
    ids=str,
)
def test_bad_values_are_named(estimator, arguments, message):
    with pytest.raises(ValueError, match=message):
        estimator(**arguments).fit(*moons(40))
