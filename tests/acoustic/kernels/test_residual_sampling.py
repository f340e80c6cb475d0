"""Centres drawn in blocks: models of all sizes, left-out outputs and what they choose, each fitted alone."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.kernels.kernel import Kernel
from acoustic.kernels.residual_sampling import SamplingConfig, sample_regressors

CONFIG = SamplingConfig(0.7, 0.02, 24, 24, chooses_size=False)
NOBODY = np.zeros(0, dtype=np.int64)


def problem(n=90, n_targets=2, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    y = np.column_stack([np.sin((r + 1) * x[:, 0]) + x[:, 1] for r in range(n_targets)])
    return x, y + noise * rng.normal(size=y.shape)


def weights_of(n):
    return np.random.default_rng(1).uniform(0.5, 2.0, n)


def equations(x, y, centers, epsilon, sigma=0.7, weight=None):
    """Return columns, their weighted penalised Gram matrix and products with the targets."""
    weight = np.ones(len(x)) if weight is None else weight / weight.mean()
    columns = np.column_stack([np.ones(len(x)), Kernel(sigma=sigma).block(x, x[centers])])
    penalty = np.zeros((columns.shape[1],) * 2)
    penalty[1:, 1:] = columns[centers, 1:]
    weighted = weight[:, None] * columns
    return columns, weighted.T @ columns + 2 * epsilon * penalty, weighted.T @ y


def fitted(*arguments, **options):
    """Return columns, and bias and weights of penalised least squares, by normal equations."""
    columns, gram, products = equations(*arguments, **options)
    return columns, np.linalg.solve(gram, products)


def left_out(x, y, centers, epsilon, rows, **options):
    """Return the outputs at some rows of fits without each of them; the centres are kept."""
    weight = options.pop("weight", None)
    weight = np.ones(len(x)) if weight is None else weight / weight.mean()
    columns, gram, products = equations(x, y, centers, epsilon, weight=weight, **options)
    found = []
    for i in rows:
        own = weight[i] * columns[i]
        alpha = np.linalg.solve(gram - np.outer(own, columns[i]), products - np.outer(own, y[i]))
        found.append(columns[i] @ alpha)
    return np.array(found)


def error_of(x, y, centers, epsilon, rows, sigma=0.7, weight=None):
    """Return the squared leave-one-out error at some rows, by which all is chosen."""
    columns, gram, products = equations(x, y, centers, epsilon, sigma, weight)
    weight = np.ones(len(x)) if weight is None else weight / weight.mean()
    leverages = np.einsum("ij,ji->i", columns[rows], np.linalg.solve(gram, columns[rows].T)) * weight[rows]
    residual = (y - columns @ np.linalg.solve(gram, products))[rows]
    return np.sum(weight[rows, None] * (residual / (1 - leverages)[:, None]) ** 2)


def run(x, y, config=CONFIG, seed=0, held_out=NOBODY, **options):
    return sample_regressors(x, y, config, held_out=held_out, rng=np.random.default_rng(seed), **options)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_models_of_every_size_are_those_fitted_alone(is_weighted):
    x, y = problem()
    weight = weights_of(len(x)) if is_weighted else None
    path = run(x, y, sample_weight=weight).path
    assert path.size == 24
    assert not path.ridges.any()
    for size in (0, 1, 7, 24):
        columns, alpha = fitted(x, y, path.indices[:size], 0.02, weight=weight)
        weights, bias = path.weights(size)
        assert_allclose(np.vstack([bias, weights]), alpha, rtol=1e-5, atol=1e-6)
    assert_allclose(path.fitted, columns @ alpha, rtol=0, atol=1e-6)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n_held_out", [0, 12])
def test_left_out_outputs_are_those_of_fits_without_the_point(is_weighted, n_held_out):
    x, y = problem(70)
    weight, held_out = weights_of(70) if is_weighted else None, np.arange(0, 5 * n_held_out, 5)
    found = run(x, y, sample_weight=weight, held_out=held_out)
    expected = left_out(x, y, found.path.indices, 0.02, np.arange(70), weight=weight)
    assert_allclose(found.path.leave_one_out, expected, rtol=0, atol=1e-6)
    assert_array_equal(found.left_out, found.path.leave_one_out[held_out])


@pytest.mark.parametrize("n_held_out", [0, 320])
def test_the_size_is_the_smallest_of_about_the_least_left_out_error(n_held_out):
    """The errors of the points held out decide if there are some hundreds, else those of all points."""
    x, y = problem(90 + 2 * n_held_out, noise=2.0)
    held_out = np.arange(n_held_out)
    path = run(x, y, SamplingConfig(0.5, 1e-3, 48, 48), held_out=held_out).path
    rows = held_out if n_held_out else np.arange(90)
    sizes = range(0, 49, 4)  # that are looked at
    errors = [error_of(x, y, path.indices[:size], 1e-3, rows, 0.5) for size in sizes]
    assert len(path.indices) == 48
    assert path.size == 4 * int(np.argmax(np.array(errors) <= 1.002 * min(errors)))
    assert 0 < path.size < 48
    assert errors[path.size // 4] < errors[-1]
    columns, alpha = fitted(x, y, path.indices[: path.size], 1e-3, 0.5)
    assert_allclose(path.fitted, columns @ alpha, rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("are_labels", [False, True])
def test_width_and_epsilon_are_those_of_the_least_left_out_error(are_labels, is_weighted, seed):
    x, y = problem(200, noise=0.1, seed=seed)
    y = np.where(y > 0, 1.0, -1.0) if are_labels else y
    weight = np.where(x[:, 0] > 0, 1.0, 1e-3) if is_weighted else None
    widths, shares = (1.0, 0.5, 0.25), (1.0, 0.1, 10.0)
    config = SamplingConfig(1.6, 0.1, 24, 24, widths, shares, chooses_size=False)
    found = run(x, y, config, sample_weight=weight)
    half = found.path.indices[:12]

    def error(setting):
        sigma, epsilon = setting
        return error_of(x, y, half, epsilon, np.arange(200), sigma, weight)

    settings = [(1.6 * width, 0.1 * share) for width in widths for share in shares]
    sigma, epsilon = min(settings, key=error)
    assert found.sigma == sigma
    assert found.epsilon == epsilon
    assert_array_equal(np.unique(found.path.sigmas), [sigma])


def test_refinement_finds_back_from_a_wrong_setting():
    x, y = problem(200, noise=0.1)
    wrong = SamplingConfig(8.0, 10.0, 24, 24, chooses_size=False)
    found = run(x, y, replace(wrong, widths=(1.0, 0.5, 0.25), epsilons=(1.0, 1e-2, 1e-3)))
    kept = run(x, y, wrong)
    assert (kept.sigma, kept.epsilon) == (8.0, 10.0)
    left, before = (np.sum((y - one.path.leave_one_out) ** 2) for one in (found, kept))
    assert left < 0.5 * before


class TestHeldOut:
    HELD_OUT = np.arange(0, 200, 4)  # 50 of 200, so that there are 150 candidates

    @pytest.mark.parametrize("selection", ["residual", "random"])
    @pytest.mark.parametrize("n_centers", [10, 75, 120])
    def test_they_become_no_centres(self, selection, n_centers):
        x, y = problem(200)
        config = SamplingConfig(0.3, 0.02, n_centers, n_centers, selection=selection)
        path = run(x, y, config, held_out=self.HELD_OUT).path
        assert len(path.indices) == n_centers
        assert not np.isin(path.indices, self.HELD_OUT).any()

    @pytest.mark.parametrize(("n_centers", "n_admitted"), [(60, 0), (75, 0), (78, 26), (120, 40), (150, 50)])
    def test_some_become_centres_at_the_end_where_more_than_half_of_the_others_are(
        self, n_centers, n_admitted
    ):
        """Noise does not ask for more centres, so the room for 200 is left to those held out."""
        x, _ = problem(200)
        y = np.random.default_rng(5).normal(size=(200, 1))
        config = SamplingConfig(0.3, 0.5, n_centers, 200, chooses_size=False)
        found = run(x, y, config, held_out=self.HELD_OUT)
        is_held_out = np.isin(found.path.indices, self.HELD_OUT)
        assert_array_equal(is_held_out, np.arange(n_centers + n_admitted) >= n_centers)
        # What they are told is the error of the model before they became centres.
        before = found.path.indices[:n_centers]
        if n_admitted:
            expected = left_out(x, y, before, 0.5, self.HELD_OUT, sigma=0.3)
            assert_allclose(found.left_out, expected, rtol=0, atol=1e-6)

    def test_no_more_are_admitted_than_there_may_be_centres(self):
        x, y = problem(200)
        path = run(x, y, SamplingConfig(0.3, 0.02, 150, 160), held_out=self.HELD_OUT).path
        assert len(path.indices) == 160
        assert np.isin(path.indices, self.HELD_OUT).sum() == 10

    def test_they_count_in_the_least_squares(self):
        x, y = problem(200)
        path = run(x, y, held_out=self.HELD_OUT).path
        columns, alpha = fitted(x, y, path.indices, 0.02)
        assert_allclose(path.fitted, columns @ alpha, rtol=0, atol=1e-6)


class TestGrowth:
    @staticmethod
    def ripples(n=400):
        x = np.linspace(0, 60, n)[:, None]
        return x, np.sin(3 * x)

    @pytest.mark.parametrize("most", [10, 64, 100])
    def test_centres_are_doubled_while_the_error_falls(self, most):
        x, y = self.ripples()
        found = run(x, y, SamplingConfig(0.4, 1e-4, 10, most, chooses_size=False))
        assert len(found.path.indices) == most
        assert (found.last_gain < 0.9) == (most > 10)

    @pytest.mark.parametrize("selection", ["residual", "random"])
    def test_noise_asks_for_no_more(self, selection):
        x, _ = self.ripples()
        y = np.random.default_rng(0).normal(size=x.shape)
        found = run(x, y, SamplingConfig(0.4, 1e-2, 20, 400, chooses_size=False, selection=selection))
        assert len(found.path.indices) == 20
        assert found.last_gain == 1.0

    @pytest.mark.parametrize("noise", [0.3, 0.5, 0.7])
    def test_it_ends_where_twice_the_centres_err_about_as_much(self, noise):
        x, y = self.ripples()
        y = y + noise * np.random.default_rng(0).normal(size=y.shape)
        path = run(x, y, SamplingConfig(0.3, 0.3, 20, 400, chooses_size=False)).path
        sizes = [20, 40, 80, 160, 320, 400]
        errors = [error_of(x, y, path.indices[:n], 0.3, np.arange(400), 0.3) for n in [10, *sizes]]
        is_enough = np.array(errors[1:]) > 0.99 * np.array(errors[:-1])
        expected = sizes[int(np.argmax(is_enough))]
        assert len(path.indices) == expected
        assert 20 < expected < 400

    def test_no_further_than_there_are_candidates(self):
        x, y = np.linspace(0, 8, 80)[:, None], np.sin(3 * np.linspace(0, 8, 80))[:, None]
        held_out = np.arange(0, 80, 4)
        path = run(x, y, SamplingConfig(0.1, 1e-6, 30, 60, chooses_size=False), held_out=held_out).path
        assert_array_equal(np.sort(path.indices), np.setdiff1d(np.arange(80), held_out))


def test_repeated_points_are_taken_once():
    x, y = problem(20)
    config = replace(CONFIG, max_centers=100, most_centers=100)
    path = run(np.repeat(x, 5, axis=0), np.repeat(y, 5, axis=0), config).path
    places = path.indices // 5
    assert_array_equal(np.sort(places), np.unique(places))


def test_more_centres_than_points_and_one_seed_one_path():
    x, y = problem(30)
    config = replace(CONFIG, max_centers=500, most_centers=500, selection="random")
    one, other, another = (run(x, y, config, seed).path for seed in (0, 0, 1))
    assert_array_equal(np.sort(one.indices), np.arange(30))
    assert_array_equal(one.indices, other.indices)
    assert (one.indices != another.indices).any()


def test_points_of_large_residuals_are_drawn_more_often():
    x = np.linspace(0, 100, 400)[:, None]
    y = np.where(x > 90, np.sin(8 * x), 0.0)  # all there is to learn is at the end
    path = run(x, y, replace(CONFIG, max_centers=100, most_centers=100)).path
    assert np.mean(x[path.indices] > 90) > 2 * np.mean(x > 90)
    uniform = run(x, y, replace(CONFIG, max_centers=100, most_centers=100, selection="random")).path
    assert np.mean(x[uniform.indices] > 90) < 2 * np.mean(x > 90)


def test_single_precision_points():
    x, y = problem(90)
    one, other = (run(points, y).path for points in (x.astype(np.float32), x))
    assert_array_equal(one.indices, other.indices)
    assert_allclose(one.fitted, other.fitted, rtol=0, atol=1e-3)
