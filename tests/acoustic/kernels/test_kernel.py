"""Kernel functions against scikit-learn and their formulae."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

from acoustic.errors import ModelError, ParameterError
from acoustic.kernels.kernel import Kernel, make_kernel, widths

NAMES = ("gaussian", "polynomial", "sigmoid", "compact")


def points(n_points=30, n_features=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n_points, n_features))


@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
def test_kernels_are_those_of_scikit_learn(sigma):
    x, centers = points(), points(7, seed=1)
    gamma = 1.0 / sigma**2
    expected = {
        "gaussian": rbf_kernel(x, centers, gamma=gamma / 2),
        "polynomial": polynomial_kernel(x, centers, degree=3, gamma=gamma, coef0=1.0),
        "sigmoid": sigmoid_kernel(x, centers, gamma=gamma, coef0=1.0),
    }
    for name, values in expected.items():
        assert_allclose(Kernel(name, sigma).block(x, centers), values, rtol=1e-11, atol=1e-14)


def test_compact_kernel_is_a_tapered_gaussian():
    x, centers = points(), points(7, seed=1)
    distance = np.linalg.norm(x[:, None] - centers, axis=2)
    taper = np.maximum(1.0 - distance / (0.8 * 3.0), 0.0) ** 3
    found = Kernel("compact", 0.8).block(x, centers)
    assert_allclose(found, np.exp(-(distance**2) / (2 * 0.8**2)) * taper, rtol=1e-10, atol=1e-14)
    assert_array_equal(found[distance > 2.4], 0.0)
    assert (found == 0.0).any()


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5, 8])
def test_compact_kernel_without_its_gaussian_is_positive_definite(n_features):
    # All within a tenth of a width: the Gaussian is nearly 1. In 2 dimensions the power 1 would give −0.07.
    x = 0.02 * points(150, n_features)
    kernel = Kernel("compact", 1.0, radius=0.05)
    assert np.linalg.eigvalsh(kernel.block(x, x)).min() > -1e-10


@pytest.mark.parametrize("name", NAMES)
def test_diagonal_is_that_of_the_gram_matrix(name):
    x, kernel = points(), Kernel(name, 2.0)
    # The root in the compact kernel's taper turns a distance of 1e-16 into 1e-8.
    assert_allclose(kernel.diagonal(x), np.diag(kernel.block(x, x)), rtol=1e-7, atol=0)


@pytest.mark.parametrize("name", NAMES)
def test_blocks_and_widths_of_each_center(name):
    x, sigma = points(), np.array([0.5, 1.0, 3.0])
    block = Kernel(name).block(x, x[:3], sigma)
    for c, width in enumerate(sigma):
        expected = Kernel(name, width).block(x, x[c : c + 1])[:, 0]
        assert_allclose(block[:, c], expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_stays_single(name):
    x, kernel = points().astype(np.float32), Kernel(name, 2.0)
    block = kernel.block(x, x[:5])
    assert block.dtype == kernel.diagonal(x).dtype == np.float32
    double = kernel.block(x.astype(float), x[:5].astype(float))
    assert_allclose(block, double, rtol=1e-4, atol=2e-3 if name == "compact" else 1e-5)


@pytest.mark.parametrize("sigma", [1e-8, 1e8])
@pytest.mark.parametrize("name", ["gaussian", "compact"])
def test_extreme_widths_are_finite(name, sigma):
    x = points()
    block = Kernel(name, sigma).block(x, x)
    off_diagonal = block[~np.eye(len(x), dtype=bool)]
    assert_allclose(off_diagonal, 0.0 if sigma < 1 else 1.0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf])
def test_a_width_that_is_none_is_refused(sigma):
    with pytest.raises(ModelError, match="expected a finite number above 0"):
        Kernel("gaussian", sigma)
    with pytest.raises(ModelError, match="expected a finite number above 0"):
        widths([1.0, sigma])


def test_an_unknown_name_is_refused():
    with pytest.raises(ModelError, match='kernel is "rbf", expected one of: gaussian, polynomial'):
        Kernel("rbf")


def test_widths_of_one_number_or_several():
    assert widths(2) == (2.0,)
    assert widths(np.float32(2)) == (2.0,)
    assert widths([1, 2.5]) == (1.0, 2.5)
    with pytest.raises(ModelError, match="or several"):
        widths([])


@pytest.mark.parametrize("name", ["gaussian", "compact"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma", [1e-200, 1e-8, 1e-3])
def test_a_point_is_one_with_itself_however_small_sigma_is(name, dtype, sigma):
    x = (100.0 + points(60, 20)).astype(dtype)
    assert_array_equal(Kernel(name, sigma).block(x, x), np.eye(60))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_precision_of_a_wide_kernel_on_the_diagonal(dtype):
    x = points(60, 20).astype(dtype)
    diagonal = np.diag(Kernel("gaussian", 2.0).block(x, x))
    assert_allclose(diagonal, 1.0, rtol=0, atol=np.sqrt(np.finfo(dtype).eps))


def test_close_points_are_told_apart_at_a_tiny_sigma():
    x = np.array([[1.0, 2.0], [1.0, 2.0 + 1e-9], [1.0 + 1e-9, 2.0], [50.0, 0.0]])
    distances = np.sum((x[:, None] - x) ** 2, axis=2)
    assert_allclose(Kernel("gaussian", 1e-9).block(x, x), np.exp(-distances / 2e-18), rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", ["gaussian", "compact"])
@pytest.mark.parametrize("size", [1e30, 1e160, 1e300])
def test_distances_that_overflow_are_far(name, size):
    x = size * points()
    assert_array_equal(Kernel(name, 1.0).block(x, x), np.eye(len(x)))


def test_no_centers():
    block = Kernel().block(points(), points()[:0])
    assert_array_equal(block @ np.zeros((0, 2)), np.zeros((30, 2)))  # a model of the bias alone


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("gaussian", None, Kernel("gaussian", 2.0)),
        ("gaussian", {}, Kernel("gaussian", 2.0)),
        ("polynomial", {"theta": 0.5, "degree": 2}, Kernel("polynomial", 2.0, theta=0.5, degree=2)),
        ("sigmoid", {"theta": -1.0}, Kernel("sigmoid", 2.0, theta=-1.0)),
        ("compact", {"radius": 1.5}, Kernel("compact", 2.0, radius=1.5)),
    ],
)
def test_kernel_of_parameters_by_name(name, params, expected):
    assert make_kernel(name, 2.0, params) == expected


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_a_kernel_takes_changes_it(name):
    x = points()
    values = {"theta": 0.3, "degree": 2, "radius": 1.0}
    for key, value in values.items():
        if key in {"polynomial": ("theta", "degree"), "sigmoid": ("theta",), "compact": ("radius",)}.get(
            name, ()
        ):
            other = make_kernel(name, 2.0, {key: value})
            assert np.abs(other.block(x, x) - Kernel(name, 2.0).block(x, x)).max() > 1e-3
        else:
            with pytest.raises(
                ParameterError, match=f"kernel_params has '{key}', expected of the {name} kernel"
            ):
                make_kernel(name, 2.0, {key: value})
