"""The filter of KRLS against least squares, and its recursion sample by sample."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.discriminants.krls import Dictionary, Filter, Stream, batch_filter, build_dictionary
from acoustic.kernels.kernel import Kernel

KERNEL = Kernel("gaussian", 1.0)


def problem(n=80, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    targets = np.column_stack([np.sin(2 * x[:, 0]), x[:, 1] ** 2]) + 0.1 * rng.normal(size=(n, 2))
    return x, targets, rng.uniform(0.2, 2.0, n)


def started(m=4, seed=1):
    """Return a filter that has learned m unit rows, and the rows and targets of it."""
    targets = np.random.default_rng(seed).normal(size=(m, 2))
    found = Filter(np.zeros((0, 0)), np.zeros((0, 2)))
    for target in targets:
        found.add(target, 1.0)
    return found, np.eye(m), targets


def test_added_samples_are_rows_of_an_identity():
    found, _, targets = started()
    assert_array_equal(found.p, np.eye(4))
    assert_array_equal(found.beta, targets)
    found.add(np.array([3.0, 4.0]), 0.5)
    assert found.p[4, 4] == 2.0  # half a sample leaves twice the variance


@pytest.mark.parametrize("sizes", [[30], [1] * 30, [7, 13, 10]])
def test_absorbed_rows_give_weighted_least_squares_however_they_are_cut(sizes):
    found, rows, targets = started()
    rng = np.random.default_rng(2)
    more, wanted, weight = rng.normal(size=(30, 4)), rng.normal(size=(30, 2)), rng.uniform(0.2, 2.0, 30)
    for part in np.split(np.arange(30), np.cumsum(sizes)[:-1]):
        found.absorb(more[part], wanted[part], weight[part])
    root = np.sqrt(np.concatenate([np.ones(4), weight]))[:, None]
    r, y = root * np.vstack([rows, more]), root * np.vstack([targets, wanted])
    assert_allclose(found.beta, np.linalg.lstsq(r, y, rcond=None)[0], rtol=0, atol=1e-10)
    assert_allclose(found.p, np.linalg.inv(r.T @ r), rtol=0, atol=1e-10)


def test_errors_are_those_just_before_each_row_was_learned():
    whole, _, _ = started()
    one, _, _ = started()
    rng = np.random.default_rng(3)
    rows, wanted, weight = rng.normal(size=(9, 4)), rng.normal(size=(9, 2)), rng.uniform(0.2, 2.0, 9)
    errors = whole.absorb(rows, wanted, weight)
    for n in range(9):
        assert_allclose(errors[n], wanted[n] - rows[n] @ one.beta, rtol=0, atol=1e-10)
        one.absorb(rows[n : n + 1], wanted[n : n + 1], weight[n : n + 1])


def test_batch_filter_is_least_squares_over_the_dictionary_and_leaves_out():
    x, targets, weight = problem()
    dictionary, indices = build_dictionary(x, KERNEL, 0.1, 1000)
    found, left_out = batch_filter(dictionary, indices, x, targets, np.sqrt(weight))
    reduced = np.linalg.solve(dictionary.factor @ dictionary.factor.T, dictionary.columns(x)).T
    root = np.sqrt(weight)[:, None]
    assert_allclose(
        found.beta, np.linalg.lstsq(root * reduced, root * targets, rcond=None)[0], rtol=0, atol=1e-8
    )
    assert_allclose(found.p, np.linalg.inv(reduced.T @ (weight[:, None] * reduced)), rtol=1e-7, atol=1e-9)
    for n in range(len(x)):
        others = np.arange(len(x)) != n
        beta = np.linalg.lstsq((root * reduced)[others], (root * targets)[others], rcond=None)[0]
        assert_allclose(left_out[n], reduced[n] @ beta, rtol=0, atol=1e-7)


def test_a_stream_predicts_each_sample_before_it_learns_it():
    x, targets, weight = problem()
    whole = Stream(Dictionary(KERNEL, 2), Filter(np.zeros((0, 0)), np.zeros((0, 2))), 0.1, 1000)
    outputs, added = whole.learn(x, targets, weight)
    assert_array_equal(added, build_dictionary(x, KERNEL, 0.1, 1000)[1])
    one = Stream(Dictionary(KERNEL, 2), Filter(np.zeros((0, 0)), np.zeros((0, 2))), 0.1, 1000)
    for n in range(len(x)):
        before = np.zeros(2)
        if one.dictionary.size:
            before = one.dictionary.reduce(one.dictionary.project(x[n : n + 1]))[0] @ one.filter.beta
        assert_allclose(outputs[n], before, rtol=0, atol=1e-8)
        one.learn(x[n : n + 1], targets[n : n + 1], weight[n : n + 1])
    assert_allclose(one.filter.beta, whole.filter.beta, rtol=0, atol=1e-8)
