"""The leave-one-out selection itself: its recursion, its candidates and its configuration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.discriminants.loo_forward import LooConfig, _Recursion, loo_forward_selection
from acoustic.errors import ParameterError
from acoustic.kernels.kernel import Kernel


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


def really_left_out(columns, y, ridge):
    """Outputs at each point of the ridge model on orthogonal columns, fitted without it."""
    found = np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        normal = columns[rest].T @ columns[rest] + ridge * np.eye(columns.shape[1])
        found[i] = columns[i] @ np.linalg.solve(normal, columns[rest].T @ y[rest])
    return found


def test_recursion_is_numerator_and_denominator_of_left_out_outputs():
    x, y = two_moons(40)
    w = orthogonalized(gram(x, x[:5]))
    state = _Recursion(y, np.ones(40), 0.3)
    assert state.errors() == (1.0, 1.0)  # no output counts as wrong
    for k in range(5):
        state.add(w[:, k])
        left_out = really_left_out(w[:, : k + 1], y, 0.3)
        assert_allclose(state.alpha / state.beta, y * left_out, rtol=0, atol=1e-10)
        expected = np.mean(y * left_out <= 0), np.mean((y - left_out) ** 2)
        assert_allclose(state.errors(), expected, rtol=0, atol=1e-10)


def test_candidates_are_orthogonal_all_the_way():
    x, y = two_moons(80)
    found = loo_forward_selection(x, y, Kernel(sigma=3.0), np.arange(80), LooConfig(80, 1e-6, "size"))
    left_out = really_left_out(orthogonalized(gram(x, x[found.indices], 3.0)), y, 1e-6)
    assert len(found.indices) < 80  # a wide kernel's columns run out
    assert_allclose(found.leave_one_out, left_out, rtol=0, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_model_predicts_what_its_weights_say(fit_intercept):
    x, y = two_moons(80)
    config = LooConfig(10, 0.1, "size", fit_intercept=fit_intercept)
    found = loo_forward_selection(x, y, Kernel(), np.arange(80), config)
    columns = gram(x, x[found.indices])
    w = orthogonalized(np.column_stack([np.ones(80), columns]) if fit_intercept else columns)
    expected = w @ (w.T @ y / (np.sum(w**2, axis=0) + 0.1))
    assert_allclose(columns @ found.alpha + found.bias, expected, rtol=0, atol=1e-8)
    assert (found.bias != 0.0) == fit_intercept


def test_only_candidates_become_centres():
    x, y = two_moons(80)
    candidates = np.arange(3, 80, 7)
    found = loo_forward_selection(x, y, Kernel(), candidates, LooConfig(50, 0.1, "size"))
    assert set(found.indices) <= set(candidates.tolist())
    assert len(found.errors) == 1 + len(found.indices)
    some = loo_forward_selection(x, y, Kernel(), candidates, LooConfig(3, 0.1, "size"))
    assert_array_equal(some.indices, found.indices[:3])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ridge": -1.0}, "ridge is -1.0, expected a finite number of at least 0"),
        ({"stopping": "never"}, 'stopping is "never", expected one of: loo, loo_error, size'),
        ({"patience": 0}, "patience is 0, expected a whole number of at least 1"),
    ],
)
def test_bad_configuration_is_named(change, message):
    with pytest.raises(ParameterError, match=message):
        LooConfig(**{"max_centers": 3, "ridge": 0.1} | change)
