"""Whatever finite frames a model learns from or scores: its scores are numbers, and the right ones."""

from __future__ import annotations

import warnings
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from acoustic.emissions.aligned_frames import THESIS, AlignedFrames, HybridConfig, aligned_frames
from acoustic.emissions.emission_model import StatePriors
from acoustic.emissions.one_vs_rest import KrlsConfig
from acoustic.emissions.sklearn_model import SklearnModel
from acoustic.hmm.gmm import GmmModel
from acoustic.pairs.calibration import quadratics
from acoustic.pairs.coupling import coupled_log_posteriors
from acoustic.pairs.train_forward import PairForwardConfig
from acoustic.pairs.train_pools import PoolsConfig
from acoustic.pairs.train_svm import SvmConfig
from acoustic.ways import WAYS, train_emissions
from foundation.arrays import FARTHEST, bounded

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N_STATES, N_DIMS = 7, 4
COUNTS = (30, 25, 1, 40, 3)  # of the first states; the others are never seen
BEST = HybridConfig(warps=(), min_frames=1)
CONFIGS = {
    "best": BEST,
    "thesis": THESIS,
    "wu-lin-weng": HybridConfig(warps=(), coupling="wu-lin-weng"),
    "hastie-tibshirani": HybridConfig(warps=(), coupling="hastie-tibshirani"),
}
OWN = {
    "pools": PoolsConfig(n_centers=10),
    **dict.fromkeys(("npd", "orols"), PairForwardConfig(10)),
    "all pools": PoolsConfig(n_centers=10, rivals=1.0),
    "svm": SvmConfig(),
    "krls": KrlsConfig(),
}
TRAINED_ON = ("ordinary", "constant classes", "offset", "digital silence", "huge", "tiny", "dead columns")
EXTREME = np.array([0.0, 1e-40, -1e4, 1e10, 1e18, -1e20, 1e30, 3.4e38, -3.4e38], dtype=np.float32)
FRAMES = arrays(
    np.float32,
    array_shapes(min_dims=1, max_dims=1, max_side=5).map(lambda shape: (*shape, N_DIMS)),
    elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
)


def training_frames(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return frames (M, D) of a kind and their states (M,)."""
    rng = np.random.default_rng(1)
    states = np.repeat(np.arange(len(COUNTS)), COUNTS)
    x = rng.normal(size=(len(states), N_DIMS)) + states[:, None]
    if kind == "constant classes":
        x = 3.0 * np.eye(len(COUNTS), N_DIMS)[states]
    elif kind == "offset":
        x += 1000.0
    elif kind == "digital silence":
        x[:] = 0.0
    elif kind == "huge":
        x *= 1e15
    elif kind == "tiny":
        x *= 1e-20
    elif kind == "dead columns":
        x[:, 1], x[:, 2] = 0.0, x[:, 3]
    order = rng.permutation(len(x))
    return x[order].astype(np.float32), states[order].astype(np.int32)


def aligned(kind: str) -> AlignedFrames:
    """Return the frames of two utterances of two speakers."""
    x, states = training_frames(kind)
    pieces = [(0, x[:50]), (1, x[50:])]
    labels, folds = [states[:50], states[50:]], np.array([0, 1])
    return aligned_frames(lambda: pieces, labels, folds, N_STATES, max_frames=100, min_frames=1)


@cache
def hybrid(way: str, config: str = "best", kind: str = "ordinary"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if way.startswith("sklearn") else "error")
        return train_emissions(way.removeprefix("all "), aligned(kind), CONFIGS[config], OWN.get(way))


@cache
def mixture(variance: float = 1.0) -> GmmModel:
    rng = np.random.default_rng(0)
    shape = (N_STATES, 3, N_DIMS)
    log_weights = np.log(rng.dirichlet(np.ones(3), N_STATES))
    return GmmModel(log_weights, rng.normal(size=shape), rng.uniform(0.5, 2.0, shape) * variance)


def assert_scores(model, frames: np.ndarray) -> None:
    """Check shape and type of a model's scores, and that each is a number."""
    before = frames.copy()
    scores = model.log_likelihoods(frames)
    assert scores.shape == (len(frames), N_STATES)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    assert np.array_equal(frames, before)


SHIFTED = np.resize(EXTREME, (9, N_DIMS))
EXTREME_FRAMES = np.concatenate(
    [
        np.repeat(EXTREME[:, None], N_DIMS, axis=1),
        np.resize(EXTREME, (9, N_DIMS)),
        np.zeros((1, N_DIMS), np.float32),
    ]
)
WAYS_TRIED = [*WAYS, "sklearn:linear_model.LogisticRegression", "sklearn:naive_bayes.GaussianNB"]


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("way", WAYS_TRIED)
def test_extreme_frames_have_finite_scores(way: str, config: str) -> None:
    assert_scores(hybrid(way, config), EXTREME_FRAMES)
    assert_scores(hybrid(way, config), EXTREME_FRAMES[:0])


@pytest.mark.parametrize("kind", TRAINED_ON[1:])
@pytest.mark.parametrize("way", WAYS_TRIED)
def test_models_of_extreme_frames_have_finite_scores(way: str, kind: str) -> None:
    model = hybrid(way, kind=kind)
    assert_scores(model, EXTREME_FRAMES)
    assert_scores(model, training_frames(kind)[0])


@pytest.mark.parametrize("way", WAYS_TRIED)
@given(frames=FRAMES)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_any_finite_frames_have_finite_scores(way: str, frames: np.ndarray) -> None:
    assert_scores(hybrid(way), frames)


@pytest.mark.parametrize("variance", [1e-8, 1.0, 1e8])
@given(frames=FRAMES)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_mixtures_score_any_finite_frames(variance: float, frames: np.ndarray) -> None:
    assert_scores(mixture(variance), frames)
    assert_scores(mixture(variance), EXTREME_FRAMES)


def test_what_is_bounded_is_beyond_all_features() -> None:
    frames = np.array([-700.0, 3.5, 1e6], dtype=np.float32)
    assert np.array_equal(bounded(frames), frames)
    assert bounded(np.array([1e7, -np.float32(3e38)])).tolist() == [FARTHEST, -FARTHEST]


class Unsure:
    """A classifier without a number for one frame, and without a class for another."""

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.array([[0.9, 0.1], [np.nan, np.nan], [0.0, 0.0]])


def test_frames_of_which_a_classifier_says_nothing() -> None:
    states = StatePriors(np.array([0, 1], dtype=np.int32), np.log([0.5, 0.5]))
    found = SklearnModel(Unsure(), states).log_posteriors(np.zeros((3, 2), np.float32))
    assert_allclose(np.exp(found), [[0.9, 0.1], [0.5, 0.5], [0.5, 0.5]], rtol=1e-12, atol=0)


# --- single against double precision: outputs agree within 1e-4 of the largest, scores of models with a floor
# within 1e-3 nats, those of mixtures also within 2e-5 of their size. Measured were 2e-5, 2e-4, and of those
# of AN4 2e-4 nats of 800. Without a floor steep curves enlarge the difference of the outputs without a bound.


def ordinary(n: int = 200) -> np.ndarray:
    return (2.0 * np.random.default_rng(3).normal(size=(n, N_DIMS)) + 2.0).astype(np.float32)


def test_mixtures_in_double_precision() -> None:
    model, frames = mixture(), ordinary()
    x = frames.astype(np.float64)[:, None, None]
    logs = (x - model.means) ** 2 / model.variances + np.log(2 * np.pi * model.variances)
    expected = logsumexp(model.log_weights - 0.5 * logs.sum(axis=-1), axis=2)
    assert_allclose(model.log_likelihoods(frames), expected, rtol=2e-5, atol=1e-3)


def kernel_values(frames: np.ndarray, centers: np.ndarray, sigmas: np.ndarray | float) -> np.ndarray:
    distances = ((frames.astype(np.float64)[:, None] - centers.astype(np.float64)) ** 2).sum(axis=2)
    return np.asarray(np.exp(-distances / (2 * sigmas**2)))


def pools_reference(machines, frames: np.ndarray) -> np.ndarray:
    """Return the outputs (T, P) of machines with shared centres by definition."""
    kernel = kernel_values(frames, machines.centers, machines.sigma)
    sides = [kernel[:, a:b] @ machines.weights[a:b] for a, b in pairwise(machines.starts)]
    pairs = np.stack(np.triu_indices(machines.n_classes, 1), axis=1)
    return np.column_stack([sides[i][:, j] - sides[j][:, i] for i, j in pairs]) + machines.biases


def pairs_reference(machines, frames: np.ndarray) -> np.ndarray:
    """Return the outputs (T, P) of machines with centres of their own by definition."""
    kernel = kernel_values(frames, machines.centers, machines.sigmas)
    padded = np.column_stack([kernel, np.zeros(len(frames))])  # slot −1
    return np.asarray(np.einsum("tpc,pc->tp", padded[:, machines.slots], machines.weights) + machines.biases)


@pytest.mark.parametrize(
    ("way", "reference"),
    [
        ("all pools", pools_reference),
        ("npd", pairs_reference),
        ("orols", pairs_reference),
        ("svm", pairs_reference),
    ],
)
def test_discriminants_in_double_precision(way: str, reference) -> None:
    model, frames = hybrid(way), ordinary()
    outputs = reference(model.machines, frames)
    largest = np.abs(outputs).max()
    assert_allclose(model.machines.outputs(frames), outputs, rtol=0, atol=1e-4 * largest)
    posteriors = coupled_log_posteriors(quadratics(outputs, model.curves), model.machines.n_classes)
    posteriors -= np.logaddexp.reduce(posteriors, axis=1, keepdims=True)
    expected = model.states.scores(posteriors)
    assert_allclose(model.log_likelihoods(frames), expected, rtol=0, atol=1e-3)
