"""The laws at their limits, and that more is never less."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from acoustic.hmm.topology import Context
from acoustic.hmm.tying import TyingConfig
from acoustic.pairs.train_pools import PoolsConfig
from asr.planning.amounts import PhoneCounts
from asr.planning.laws import (
    all_pairs,
    distinct_centers,
    frames_a_phone_state,
    frames_a_state,
    n_choices,
    rival_pairs,
    tied_states,
)

N_CONTEXTS = {"A": 20, "B": 10, "C": 1}
TOKENS = {"A": 600, "B": 300, "C": 100}
PHONES = PhoneCounts(
    TOKENS,
    {Context(str(k), p, "#"): TOKENS[p] // n for p, n in N_CONTEXTS.items() for k in range(n)},
)
N_MONOPHONE, N_SILENT = 12, 3


def states(n_frames: float, **options: float) -> int:
    return tied_states(PHONES, n_frames, TyingConfig(**options), N_MONOPHONE, N_SILENT)  # type: ignore[arg-type]


class TestTiedStates:
    def test_between_one_and_all_contexts_a_phone(self) -> None:
        assert states(1.0) == N_MONOPHONE
        assert states(1e12, max_states=1000) == N_SILENT + 3 * (20 + 10 + 1)
        assert states(1e12, max_states=50) == 50

    def test_contexts_that_are_too_few_share_leaves(self) -> None:
        # 3,000 frames are one a state of a token: 30 of each context of A and B, 100 of C's
        found = states(3000.0, min_frames=15)
        assert found == N_SILENT + 3 * (20 + 10 + 1)
        assert states(3000.0, min_frames=20) == N_SILENT + 3 * (600 // 40 + 300 // 40 + 1)

    def test_more_frames_are_never_fewer_states(self) -> None:
        counts = [states(n) for n in np.geomspace(1e2, 1e8, 40)]
        assert all(a <= b for a, b in pairwise(counts))
        assert counts[0] < counts[-1]

    def test_phones_that_are_never_said_keep_their_states(self) -> None:
        with_unsaid = tied_states(PHONES, 1e12, TyingConfig(max_states=1000), N_MONOPHONE + 3, N_SILENT)
        assert with_unsaid == states(1e12, max_states=1000) + 3

    def test_nothing_said(self) -> None:
        assert tied_states(PhoneCounts({}, {}), 1e6, TyingConfig(), 12, 3) == 12


class TestFramesAState:
    def test_against_drawn_states(self) -> None:
        drawn = np.random.default_rng(0).lognormal(sigma=0.5, size=400_000)
        drawn *= 3000.0 / drawn.mean()
        for most in (1000.0, 3000.0, 9000.0):
            mean = np.minimum(drawn, most).mean()
            assert_allclose(frames_a_state(3000.0 * 50, 50, most), mean, rtol=0.01, atol=0)

    def test_no_frames(self) -> None:
        assert frames_a_state(0.0, 10, 100.0) == 0.0
        assert frames_a_phone_state(PhoneCounts({}, {}), 100.0, 10.0) == 0.0

    def test_phones_share_the_frames_by_how_often_they_are_said(self) -> None:
        # 3,000 frames of 1,000 tokens are one a state of a token: 600, 300 and 100 of each state.
        assert_allclose(
            frames_a_phone_state(PHONES, 3000.0, 400.0), (400 + 300 + 100) / 3, rtol=1e-12, atol=0
        )


class TestPairs:
    def test_rivals_are_some_of_all_pairs(self) -> None:
        for n in (2, 5, 21, 100, 400, 2000):
            assert 0 < rival_pairs(n, PoolsConfig()) <= all_pairs(n)

    def test_a_larger_share_of_meetings_is_more_pairs(self) -> None:
        counts = [rival_pairs(200, PoolsConfig(rivals=share)) for share in (0.1, 0.5, 0.8, 0.9, 0.95, 0.99)]
        assert all(a < b for a, b in pairwise(counts))

    @pytest.mark.parametrize(("n_states", "real"), [(96, 1721), (225, 5742), (242, 6229), (400, 14062)])
    def test_the_models_it_was_fitted_on(self, n_states: int, real: int) -> None:
        assert_allclose(rival_pairs(n_states, PoolsConfig()), real, rtol=0.15, atol=0)

    def test_distinct_centres_are_at_most_all_frames_and_all_centres(self) -> None:
        for n_pairs in (10, 1000, 100_000):
            for n_frames in (100.0, 1e4, 1e6):
                found = distinct_centers(n_pairs, 100, n_frames)
                assert 0 < found <= n_frames
        assert distinct_centers(10, 100, 0.0) == 0
        counts = [distinct_centers(n, 100, 1e5) for n in (10, 100, 1000, 10_000)]
        assert all(a < b for a, b in pairwise(counts))


def test_each_value_is_tried_once() -> None:
    # the first values together, then the other one of a, then two others of b
    assert n_choices({"a": (1, 2), "b": (1, 2, 3)}) == 4
    assert n_choices(Counter()) == 0
