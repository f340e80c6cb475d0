"""Two models on columns of their own, by the definition."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.emissions.emission_model import CombinedModel, uncombined
from acoustic.errors import ModelError

STATES = np.array([1, 1, 0], dtype=np.int32)


@dataclass(frozen=True)
class Linear:
    """A model whose scores are linear in the frames."""

    matrix: np.ndarray

    @property
    def n_states(self):
        return self.matrix.shape[1]

    def log_likelihoods(self, frames):
        assert frames.flags.c_contiguous
        return np.asarray(frames @ self.matrix, dtype=np.float32)


FIRST = Linear(np.arange(6, dtype=np.float32).reshape(2, 3))
SECOND = Linear(np.arange(8, dtype=np.float32).reshape(4, 2)[::-1])


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_scores_are_a_sum_over_the_columns_of_each(weight):
    frames = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    model = CombinedModel(FIRST, SECOND, 2, 1, weight, STATES)
    assert model.n_states == 3
    found = model.log_likelihoods(frames)
    assert found.dtype == np.float32
    for t, frame in enumerate(frames.astype(np.float64)):
        for state in range(3):
            first = frame[:2] @ FIRST.matrix[:, state]
            second = frame[1:] @ SECOND.matrix[:, STATES[state]]
            assert_allclose(found[t, state], first + weight * second, rtol=1e-5, atol=1e-5)


def test_without_weight_the_first_decides_alone():
    frames = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    model = CombinedModel(FIRST, SECOND, 2, 1, 0.0, STATES)
    assert_array_equal(model.log_likelihoods(frames), FIRST.log_likelihoods(frames[:, :2].copy()))


def test_the_first_of_a_combination():
    model = CombinedModel(FIRST, SECOND, 2, 1, 0.5, STATES)
    assert uncombined(model) is FIRST
    assert uncombined(SECOND) is SECOND


@dataclass(frozen=True)
class Sized(Linear):
    """A model that says how many columns it sees."""

    @property
    def n_features(self):
        return len(self.matrix)


def test_a_first_model_need_not_say_what_it_sees():
    second = Sized(SECOND.matrix)
    silent, told = (CombinedModel(first, second, 2, 1, 0.5, STATES) for first in (FIRST, Sized(FIRST.matrix)))
    silent.check()
    told.check()
    assert silent.n_features == told.n_features == 5


@pytest.mark.parametrize(("first", "stop"), [(Sized(FIRST.matrix), 3), (FIRST, 6), (FIRST, 0)])
def test_columns_that_no_first_model_sees(first, stop):
    with pytest.raises(ModelError, match=f"first_stop: expected . columns.* of 5, got {stop}; train again"):
        CombinedModel(first, Sized(SECOND.matrix), stop, 1, 0.5, STATES).check()
