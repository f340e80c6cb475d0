"""Deltas against the regression they are defined by, and against signals whose slope is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from features.mfcc import add_derivatives


def frames(n=20, n_columns=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_columns)).astype(np.float32)


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_a_delta_is_the_slope_of_the_fitted_line(n, window):
    x = frames(n)
    found = add_derivatives(x, window, 1)
    assert_array_equal(found[:, :3], x)
    steps = np.arange(-window, window + 1)
    for t in range(n):
        around = x[np.clip(t + steps, 0, n - 1)].astype(np.float64)
        assert_allclose(found[t, 3:], np.polyfit(steps, around, 1)[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("window", [1, 2, 4])
def test_a_parabola_has_a_constant_second_derivative(window):
    t = np.arange(40, dtype=np.float32)
    found = add_derivatives(np.column_stack([t, 0.5 * t**2]), window, 2)
    inside = slice(2 * window, -2 * window)
    assert_allclose(found[inside, 2], 1.0, rtol=1e-4, atol=0)  # delta of t
    assert_allclose(found[inside, 3], t[inside], rtol=1e-4, atol=0)  # delta of t²/2
    assert_allclose(found[inside, 4], 0.0, rtol=0, atol=1e-4)
    assert_allclose(found[inside, 5], 1.0, rtol=1e-3, atol=0)


def test_accelerations_are_the_deltas_of_deltas():
    x = frames()
    once = add_derivatives(x, 2, 1)
    twice = add_derivatives(x, 2, 2)
    assert_array_equal(twice[:, :6], once)
    assert_array_equal(twice[:, 6:], add_derivatives(np.ascontiguousarray(once[:, 3:]), 2, 1)[:, 3:])


def test_time_turned_round_turns_the_sign_of_odd_orders():
    x = frames()
    found, turned = add_derivatives(x, 3, 2), add_derivatives(x[::-1].copy(), 3, 2)[::-1]
    assert_allclose(turned, found * np.repeat([1, -1, 1], 3), rtol=1e-5, atol=1e-6)


def test_without_derivatives_the_frames_stay():
    x = frames()
    found = add_derivatives(x, 2, 0)
    assert_array_equal(found, x, strict=True)
