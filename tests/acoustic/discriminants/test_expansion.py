"""Kernel expansions with known weights, and what overflows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.discriminants import base as expansion
from acoustic.discriminants.base import ExpansionRegressor, KernelExpansion, gram_block, gram_diagonal
from acoustic.errors import ParameterError
from acoustic.kernels.kernel import Kernel


class Known(KernelExpansion):
    """An expansion whose weights are given."""

    def __init__(self, sigma=1.0, max_centers=3, kernel="gaussian", kernel_params=None):
        self.sigma, self.max_centers, self.kernel, self.kernel_params = (
            sigma,
            max_centers,
            kernel,
            kernel_params,
        )
        self.centers_ = np.array([[0.0, 0.0], [1.0, 2.0]])
        self.dual_coef_ = np.array([[1.0, -2.0], [0.5, 0.0], [0.0, 3.0]])
        self.intercept_ = np.array([0.1, 0.2, 0.3])


class Mean(ExpansionRegressor):
    """A regressor that learns the weighted mean and says so."""

    def _fit_outputs(self, X, targets, sample_weight):
        self.seen = X, targets, sample_weight
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        self.intercept_ = weight @ targets / weight.sum()
        return targets + 1.0

    def _outputs(self, X):
        return np.tile(self.intercept_, (len(X), 1))


@pytest.mark.parametrize("block", [1, 4, 100])
def test_outputs_are_sums_of_kernels(monkeypatch, block):
    monkeypatch.setattr(expansion, "_PREDICT_BLOCK", block)
    x = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)
    model = Known(1.7)
    k = np.exp(-((x[:, None].astype(float) - model.centers_) ** 2).sum(axis=2) / (2 * 1.7**2))
    expected = [[w @ row + b for w, b in zip(model.dual_coef_, model.intercept_, strict=True)] for row in k]
    assert_allclose(model._outputs(x), expected, rtol=1e-12, atol=1e-12)


def test_kernel_parameters_reach_the_kernel():
    found = Known(2.0, kernel="polynomial", kernel_params={"degree": 2, "theta": 0.5})._make_kernel()
    assert found == Kernel("polynomial", 2.0, theta=0.5, degree=2)


def test_there_are_no_more_centres_than_points():
    assert Known(max_centers=3)._capacity(10) == 3
    assert Known(max_centers=30)._capacity(10) == 10


def test_one_width_only():
    with pytest.raises(ParameterError, match="sigma has 2 widths, expected one here; give one number"):
        Known((1.0, 2.0))._make_kernel()


def test_regressor_sees_columns_of_targets_and_only_points_with_a_weight():
    x, y, weight = (
        np.arange(8.0).reshape(4, 2),
        np.array([1.0, 2.0, 3.0, 10.0]),
        np.array([1.0, 0.0, 3.0, 0.0]),
    )
    model = Mean().fit(x, y, weight)
    for found, expected in zip(model.seen, (x[[0, 2]], [[1.0], [3.0]], [1.0, 3.0]), strict=True):
        assert_array_equal(found, expected)
    assert_array_equal(model.loo_decision_, [[2.0], [4.0]])
    assert_array_equal(model.predict(x), np.full(4, 2.5))
    assert Mean().fit(x, y[:, None]).predict(x).shape == (4, 1)


def test_values_of_kernels_are_double_and_on_the_diagonal():
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    kernel = Kernel("polynomial", 1.5)
    block = gram_block(kernel, x, x)
    assert block.dtype == np.float64
    assert_allclose(np.diag(block), gram_diagonal(kernel, x), rtol=1e-5, atol=0)


@pytest.mark.parametrize("values", [gram_diagonal, lambda kernel, x: gram_block(kernel, x, x)])
def test_an_overflow_names_kernel_and_width(values):
    with pytest.raises(ParameterError, match="polynomial kernel overflows for sigma = 1, expected finite"):
        values(Kernel("polynomial", 1.0), np.full((2, 2), 1e160))
