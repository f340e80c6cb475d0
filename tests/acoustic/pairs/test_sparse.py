"""Outputs and posteriors of pairwise machines against loops."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.kernels.forward import ForwardConfig
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.calibration import quadratics
from acoustic.pairs.coupling import coupled_log_posteriors
from acoustic.pairs.machines import SparseMachines
from acoustic.pairs.train_forward import fit_pairs

SIGMA = 2.5
CONFIG = ForwardConfig(Kernel("gaussian", SIGMA), (SIGMA,), max_centers=20)


@pytest.mark.parametrize("n_frames", [1, 127, 300])
def test_outputs_are_those_of_a_loop(overlapping, n_frames):
    x, codes = overlapping([200] * 8, n_dims=7)
    machines, _ = fit_pairs(x, codes, 8, replace(CONFIG, max_centers=100))
    assert len(machines.center_blocks) > 1
    frames = overlapping([n_frames], n_dims=7, seed=1)[0]
    found = machines.outputs(frames)
    for p in range(len(machines.pairs)):
        centers = x[machines.center_indices[p]].astype(np.float64)
        squared = ((frames[:, None].astype(np.float64) - centers) ** 2).sum(axis=2)
        expected = np.exp(-squared / (2 * SIGMA**2)) @ machines.weights[p] + machines.biases[p]
        assert_allclose(found[:, p], expected, rtol=0, atol=1e-3)


def test_all_centres_of_a_width_that_is_not_the_first(overlapping):
    x, codes = overlapping([60] * 3)
    config = ForwardConfig(Kernel("gaussian", 1e4), (1e4, SIGMA), max_centers=8)
    machines, _ = fit_pairs(x, codes, 3, config)
    assert set(machines.sigmas) == {SIGMA}
    squared = ((x[:, None].astype(np.float64) - machines.centers) ** 2).sum(axis=2)
    kernel = np.exp(-squared / (2 * SIGMA**2))
    for p, own in enumerate(machines.slots):
        expected = kernel[:, own] @ machines.weights[p] + machines.biases[p]
        assert_allclose(machines.outputs(x)[:, p], expected, rtol=0, atol=1e-3)


def test_many_blocks_of_centres(overlapping, monkeypatch):
    x, codes = overlapping([40] * 6)
    whole, _ = fit_pairs(x, codes, 6, CONFIG)
    expected = whole.outputs(x)
    monkeypatch.setattr("acoustic.pairs.machines._CENTERS_AT_ONCE", 7)
    monkeypatch.setattr("acoustic.pairs.machines.FRAMES_AT_ONCE", 11)
    parts = replace(whole)  # makes its blocks anew
    assert len(parts.center_blocks) > 10
    assert_allclose(parts.outputs(x), expected, rtol=0, atol=1e-4)


def test_posteriors_are_the_coupled_log_odds(overlapping):
    x, codes = overlapping([40, 25, 60, 30])
    machines, curves = fit_pairs(x, codes, 4, CONFIG)
    assert machines.n_classes == 4
    expected = coupled_log_posteriors(quadratics(machines.outputs(x), curves), 4)
    expected -= np.logaddexp.reduce(expected, axis=1, keepdims=True)
    found = machines.log_posteriors(curves, x, n_workers=1)
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert_array_equal(found, machines.log_posteriors(curves, x, n_workers=2))


def test_tensors_hold_all_that_evaluates(overlapping):
    x, codes = overlapping([30, 25, 20])
    machines, _ = fit_pairs(x, codes, 3, CONFIG)
    again = SparseMachines.from_tensors(machines.tensors(), machines.sigma)
    assert (again.n_classes, again.n_pairs, again.n_centers) == (3, 3, len(machines.centers))
    assert_array_equal(again.outputs(x), machines.outputs(x))
