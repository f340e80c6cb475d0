"""Choosing options on dev frames: which values are tried, on which classes, and what they cost."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.emissions.aligned_frames import THESIS, AlignedFrames, aligned_frames, halves
from acoustic.pairs.train_forward import PairForwardConfig
from acoustic.ways import SIGMAS, WAYS, train_emissions
from asr.config import ExperimentConfig
from asr.training import choice
from asr.training.choice import (
    DevFrames,
    choose,
    chosen_config,
    said_values,
    values_of,
    with_classes,
)

MEANS = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5], [2.5, 2.5]])
CONFIG = ExperimentConfig(
    hybrid=replace(THESIS, sigma=2.0, min_frames=2),
    forward=PairForwardConfig(5),
    chosen_on_dev=("hybrid.sigma", "svm.cost"),
)


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return frames (240, 2) and their states."""
    rng = np.random.default_rng(seed)
    states = np.tile(np.arange(4, dtype=np.int32), 60)
    return (MEANS[states] + rng.normal(size=(240, 2))).astype(np.float32), states


@pytest.fixture(scope="module")
def data() -> AlignedFrames:
    x, states = drawn(0)
    return aligned_frames(
        lambda: enumerate(np.split(x, 4)), np.split(states, 4), halves("abcd"), 4, max_frames=99, min_frames=2
    )


def test_the_value_whose_posteriors_of_the_right_classes_are_largest(
    data: AlignedFrames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "SIGMAS", (0.3, 2.0, 5.0))
    x, states = drawn(1)
    unknown = np.arange(len(x)) % 5 == 0
    found = choose("npd", data, DevFrames(x, np.where(unknown, -1, states)), CONFIG)
    costs = []
    for sigma in (0.3, 2.0, 5.0):
        model = train_emissions("npd", data, replace(CONFIG.hybrid, sigma=sigma), CONFIG.forward)
        posteriors = model.log_posteriors(x[~unknown])
        costs.append(-np.mean([posteriors[n, state] for n, state in enumerate(states[~unknown])]))
    assert [values for values, _ in found.trials] == [{"hybrid.sigma": s} for s in (0.3, 2.0, 5.0)]
    assert_allclose([cost for _, cost in found.trials], costs, rtol=1e-6, atol=1e-6)
    assert found.weights == {"hybrid.sigma": (0.3, 2.0, 5.0)[int(np.argmin(costs))]}
    assert costs[0] > 1.2 * min(costs)


def test_some_classes_alone(data: AlignedFrames) -> None:
    few = with_classes(data, np.array([1, 3]))
    assert_array_equal(few.class_of_state, [-1, 0, -1, 1])
    assert_array_equal(few.counts, data.counts[[1, 3]])
    for new, old in ((0, 1), (1, 3)):
        assert_array_equal(few.x[few.codes == new], data.x[data.codes == old])
        assert_array_equal(few.folds[few.codes == new], data.folds[data.codes == old])
    assert_array_equal(with_classes(data, np.arange(4)).x, data.x)


def test_a_way_of_training_tries_its_own_options() -> None:
    config = replace(CONFIG, chosen_on_dev=("hybrid.sigma", "forward.tol", "forward.epsilon", "krls.nu"))
    sigmas, pairs, orols = SIGMAS, WAYS["npd"].values, WAYS["orols"].values
    npd = {"hybrid.sigma": sigmas, "forward.tol": pairs["tol"], "forward.epsilon": pairs["epsilon"]}
    assert values_of("npd", config) == npd
    assert values_of("orols", config) == {**npd, "forward.tol": orols["tol"]}
    assert min(pairs["tol"]) > max(orols["tol"])  # one of residuals, the other of λ
    assert values_of("krls", config) == {"hybrid.sigma": sigmas, "krls.nu": WAYS["krls"].values["nu"]}
    assert values_of("svm", config) == {"hybrid.sigma": sigmas}
    assert values_of("sklearn:naive_bayes.GaussianNB", config) == {}


def test_values_keep_the_types_of_their_options() -> None:
    found = chosen_config(CONFIG, {"hybrid.sigma": 3, "forward.n_centers": 20.0})
    assert (found.hybrid.sigma, found.forward.n_centers) == (3.0, 20)
    assert isinstance(found.forward.n_centers, int)
    assert found == replace(
        CONFIG, hybrid=replace(CONFIG.hybrid, sigma=3.0), forward=replace(CONFIG.forward, n_centers=20)
    )
    assert said_values({"hybrid.sigma": 6.5, "forward.n_centers": 200}) == "sigma 6.5, n_centers 200"
