"""Machines of NPD and OROLS: their outputs written out, and what estimators show of several."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.discriminants import forward_machine
from acoustic.discriminants.forward_machine import generator, held_out_points, machine_of
from acoustic.discriminants.npd_orols import OROLSRegressor
from acoustic.errors import ParameterError
from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel

CONFIG = ForwardConfig(Kernel(), (0.5, 2.0), 6, regularize=True)
ROWS = 10 * np.arange(50)


@pytest.fixture
def machines(problem):
    """Two machines of one and two columns of targets, on rows 0, 10, … of an estimator's points."""
    x, y = problem(50, n_targets=3)
    paths = [forward_selection(x, columns, CONFIG) for columns in (y[:, :1], y[:, 1:])]
    return x, [machine_of(path, x, CONFIG.kernel, ROWS) for path in paths]


def shown(machines):
    """Return what an estimator shows of the machines."""
    found = OROLSRegressor()
    found._keep(machines, np.zeros((50, 3)))
    return found


def kernel(x, centers, sigmas):
    return np.exp(-((x[:, None] - centers) ** 2).sum(axis=2) / (2 * sigmas**2))


@pytest.mark.parametrize("block", [1, 7, 100])
def test_outputs_are_sums_of_kernels_of_every_size(monkeypatch, machines, block):
    monkeypatch.setattr(forward_machine, "PREDICT_BLOCK", block)
    x, (_, machine) = machines
    sizes = [0, 2, 6]
    found = machine.outputs(x, sizes)
    for outputs, size in zip(found, sizes, strict=True):
        alpha, bias = machine.path.weights(size)
        columns = kernel(x, x[machine.path.indices[:size] // 10], machine.path.sigmas[:size])
        assert_allclose(outputs, columns @ alpha + bias, rtol=0, atol=1e-12)
    assert_allclose(machine.outputs(x)[0], found[-1], rtol=0, atol=1e-12)


def test_machines_forget_the_points(machines):
    _, (machine, _) = machines
    assert machine.path.fitted.shape == machine.path.leave_one_out.shape == (0, 1)
    assert set(machine.chosen) <= set(ROWS)


def test_dense_weights_over_distinct_centres_predict_all_machines(machines):
    x, both = machines
    found = shown(both)
    names = list(zip(found.center_indices_, found.center_sigmas_, strict=True))
    assert len(set(names)) == len(names)
    chosen = [list(zip(m.chosen, m.path.sigmas, strict=True)) for m in both]
    assert names == list(dict.fromkeys(chosen[0] + chosen[1]))  # in the order of their selection
    assert_array_equal(found.centers_, x[found.center_indices_ // 10])
    outputs = kernel(x, found.centers_, found.center_sigmas_) @ found.dual_coef_.T + found.intercept_
    assert_allclose(outputs, found._machine_outputs(x)[0], rtol=0, atol=1e-12)
    assert found.n_distinct_centers_ == len(set(found.center_indices_))


def test_a_ridge_for_every_row_of_weights(machines):
    _, both = machines
    one, two = (m.path.ridges[-1] for m in both)
    assert_array_equal(shown(both).ridge_, [one, two, two])


@pytest.mark.parametrize("sizes", [[-1], [1.5]])
def test_impossible_sizes_are_named(machines, sizes):
    x, both = machines
    with pytest.raises(ValueError, match="expected whole numbers of at least 0"):
        shown(both)._machine_outputs(x, sizes)


def test_generator_follows_random_state():
    assert generator(3).random() == generator(3).random() != generator(4).random()
    state = np.random.RandomState(0)
    assert generator(state).random() != generator(state).random()


class TestHeldOutPoints:
    CODES = np.repeat([0, 1, 2], [40, 100, 7])

    def test_they_are_a_share_of_every_class(self):
        found = held_out_points(self.CODES, 0.25, np.random.default_rng(0))
        assert_array_equal(found, np.unique(found))
        assert_array_equal(np.bincount(self.CODES[found]), [10, 25, 1])

    def test_of_many_points_there_are_enough(self):
        codes = np.repeat([0, 1], [40_000, 10_000])
        counts = np.bincount(codes[held_out_points(codes, 0.25, np.random.default_rng(0))])
        assert counts.sum() in (1000, 2000)
        assert counts[0] == 4 * counts[1]

    @pytest.mark.parametrize("share", [0, 0.0, 0.1])
    def test_there_may_be_none(self, share):
        assert_array_equal(held_out_points(np.array([0, 1, 1, 0]), share, np.random.default_rng(0)), [])

    @pytest.mark.parametrize("share", [-0.1, 1, "all", None, np.nan])
    def test_impossible_shares_are_named(self, share):
        with pytest.raises(ParameterError, match="expected a number of at least 0 and below 1"):
            held_out_points(self.CODES, share, np.random.default_rng(0))
