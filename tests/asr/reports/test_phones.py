"""Posteriors of phones, confusions and separability against loops over frames."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from acoustic.hmm.topology import Topology
from asr.reports.phones import (
    FEWEST_FRAMES,
    StatePhones,
    area_under_curve,
    confusions,
    order_by_likeness,
    separability,
    worst_pairs,
)

RNG = np.random.default_rng(0)
LABELS = RNG.integers(-1, 3, size=300).astype(np.int32)
LOG_POSTERIORS = np.log(RNG.dirichlet(np.ones(3), size=300) + 0.3 * np.eye(4)[LABELS][:, :3])


class TestStatePhones:
    def test_a_short_pause_is_a_silence(self) -> None:
        topology = Topology.monophones("ab", n_states=2)
        found = StatePhones.of(topology)
        assert found.names == ("sil", "a", "b")
        assert found.of_state.tolist() == [0, 0, 1, 1, 2, 2]
        assert found.labels(np.array([-1, 0, 3, 4])).tolist() == [-1, 0, 1, 2]

    def test_contexts_are_left_out(self) -> None:
        names = ("sil", "#-a+b", "a-b+#", "#-a+#")
        topology = Topology(names, ((0,), (1,), (2,), (3,)), ((0.5,),) * 4, is_contextual=True)
        found = StatePhones.of(topology)
        assert found.names == ("sil", "a", "b")
        assert found.of_state.tolist() == [0, 1, 2, 1]

    def test_posteriors_are_those_of_bayes(self) -> None:
        topology = Topology.monophones("ab", n_states=2)
        counts = np.array([10.0, 0.0, 5.0, 4.0, 3.0, 2.0])
        scores = RNG.normal(size=(7, 6))
        model = SimpleNamespace(occupancy=counts)
        found = StatePhones.of(topology).log_posteriors(scores, model)  # type: ignore[arg-type]
        for row, own in zip(found, scores, strict=True):
            weights = [np.exp(score) * max(count, 1.0) for score, count in zip(own, counts, strict=True)]
            pairs = [sum(weights[k : k + 2]) / sum(weights) for k in (0, 2, 4)]
            assert_allclose(np.exp(row), pairs, rtol=1e-12, atol=0)

    def test_scores_may_be_far_apart(self) -> None:
        topology = Topology.monophones("a", n_states=1)
        model = SimpleNamespace(occupancy=np.ones(2))
        scores = np.array([[0.0, -2000.0]], dtype=np.float32)
        found = StatePhones.of(topology).log_posteriors(scores, model)  # type: ignore[arg-type]
        assert_allclose(found, [[0.0, -2000.0]], rtol=1e-12, atol=1e-12)


class TestConfusions:
    def test_each_frame_is_counted_once(self) -> None:
        counted = np.zeros((3, 3), dtype=int)
        for label, row in zip(LABELS, LOG_POSTERIORS, strict=True):
            if label >= 0:
                counted[label, max(range(3), key=lambda k: row[k])] += 1
        assert_array_equal(confusions(LABELS, LOG_POSTERIORS), counted)

    def test_no_frames(self) -> None:
        assert confusions(np.zeros(0, int), np.zeros((0, 2))).tolist() == [[0, 0], [0, 0]]


class TestSeparability:
    def test_it_is_the_area_under_the_curve_of_the_log_odds(self) -> None:
        found = separability(LABELS, LOG_POSTERIORS)
        for a, b in [(0, 1), (0, 2), (1, 2)]:
            used = (a == LABELS) | (b == LABELS)
            odds = LOG_POSTERIORS[used, a] - LOG_POSTERIORS[used, b]
            expected = roc_auc_score(LABELS[used] == a, odds)
            assert found[a, b] == pytest.approx(expected, abs=1e-12)
            assert found[b, a] == found[a, b]
        assert np.isnan(np.diag(found)).all()

    def test_phones_with_few_frames_are_left_out(self) -> None:
        labels = np.array([0] * FEWEST_FRAMES + [1] * (FEWEST_FRAMES - 1))
        assert np.isnan(separability(labels, LOG_POSTERIORS[: len(labels)])).all()

    def test_impossible_phones_have_odds(self) -> None:
        labels = np.repeat([0, 1], FEWEST_FRAMES)
        log_posteriors = np.where(np.eye(2)[labels] > 0, 0.0, -np.inf)
        assert separability(labels, log_posteriors)[0, 1] == 1.0

    def test_ties_count_half(self) -> None:
        positive, negative = RNG.integers(0, 4, 30), RNG.integers(0, 4, 20)
        wins = np.mean([(p > n) + 0.5 * (p == n) for p in positive for n in negative])
        assert area_under_curve(positive, negative) == pytest.approx(wins, abs=1e-12)

    def test_worst_pairs_come_first(self) -> None:
        areas = np.array([[np.nan, 0.9, 0.7], [0.9, np.nan, np.nan], [0.7, np.nan, np.nan]])
        assert worst_pairs(areas, "abc", 5) == [("a", "c", 0.7), ("a", "b", 0.9)]


class TestOrder:
    def test_confused_phones_are_neighbours(self) -> None:
        counts = 100 * np.eye(5, dtype=np.int64)
        for a, b in [(0, 3), (1, 4)]:
            counts[a, b] = counts[b, a] = 60
        counts[2, 2] = FEWEST_FRAMES - 1
        order = order_by_likeness(counts)
        assert sorted(order) == [0, 1, 3, 4]
        assert abs(order.index(0) - order.index(3)) == abs(order.index(1) - order.index(4)) == 1

    def test_two_phones_need_no_order(self) -> None:
        assert order_by_likeness(np.diag([50, 0, 60])) == [0, 2]
