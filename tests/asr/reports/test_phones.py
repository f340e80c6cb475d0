"""Posteriors, confusions, separability against loops over frames; promises against what came true; charts."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from acoustic.hmm.topology import Topology
from asr.corpora.corpus import Utterance
from asr.reports.finished import Choice, Finished
from asr.reports.hearing import HeardUtterance, StatePhones
from asr.reports.phones import (
    FEWEST_FRAMES,
    N_SAMPLE,
    Sample,
    area_under_curve,
    confusions,
    confusions_chart,
    order_by_likeness,
    reliability,
    reliability_chart,
    sample_of,
    separability,
    separability_chart,
    worst_pairs,
)
from asr.scoring.scoring import accuracy_interval
from decoder.decoder import Hypothesis, HypothesisWord

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


COUNTS = np.array([[80, 20, 0], [30, 70, 0], [0, 5, 0]])


def test_rows_are_shares_of_what_was_said() -> None:
    found = confusions_chart(COUNTS, "abc")
    (heat,) = found.plot["data"]
    assert list(heat["x"]) == list(heat["y"]) == ["a", "b"]  # c has too few frames
    assert np.array(heat["z"]).tolist() == [[80.0, 20.0], [30.0, 70.0]]
    assert found.plot["layout"]["coloraxis"]["cmax"] == 30.0
    assert found.table.rows == (("b", "a", 30, "30.0"), ("a", "b", 20, "20.0"))
    assert found.spoken.startswith("Of all frames 73.2 percent have the right phone")


def test_pairs_show_how_often_the_odds_are_wrong() -> None:
    areas = np.full((3, 3), np.nan)
    areas[0, 1] = areas[1, 0] = 0.9
    found = separability_chart(areas, "abc", COUNTS)
    (heat,) = found.plot["data"]
    assert [list(row) for row in heat["z"]] == [[None, pytest.approx(10.0)], [pytest.approx(10.0), None]]
    assert found.table.rows == (("a", "b", "10.00"),)


def test_pairs_without_enough_frames() -> None:
    found = separability_chart(np.full((3, 3), np.nan), "abc", COUNTS)
    assert found.table.rows == ()


@pytest.mark.parametrize("with_intervals", [True, False])
def test_promises_are_drawn_against_what_was_kept(with_intervals: bool) -> None:
    kept = reliability(np.array([0.25, 0.25, 0.75]), np.array([True, False, True]))
    found = reliability_chart("x", "Confidences", kept, with_intervals=with_intervals)
    points, diagonal = found.plot["data"]
    assert (list(points["x"]), list(points["y"])) == ([25.0, 75.0], [50.0, 100.0])
    assert list(diagonal["x"]) == list(diagonal["y"]) == [0, 100]
    assert ("error_y" in points) == with_intervals
    assert [row[:3] for row in found.table.rows] == [("25.0 %", "50.0", 2), ("75.0 %", "100.0", 1)]
    assert {len(row) for row in found.table.rows} == {len(found.table.head)} == {3 + with_intervals}


def test_bins_of_few_are_only_in_the_numbers() -> None:
    sure = np.concatenate([np.full(9, 0.15), np.full(10, 0.45), np.full(30, 0.95)])
    found = reliability_chart("x", "Confidences", reliability(sure, sure > 0.4), 10, with_intervals=True)
    points = found.plot["data"][0]
    assert points["x"] == pytest.approx([45.0, 95.0])
    assert len(points["marker"]["size"]) == len(points["text"]) == len(points["error_y"]["array"]) == 2
    assert [row[2] for row in found.table.rows] == [9, 10, 30]
    assert "Points of fewer than 10 are left out" in found.caption


def test_bins_hold_what_falls_into_them() -> None:
    promised = np.array([0.05, 0.07, 0.55, 0.95, 1.0, 1.0])
    true = np.array([False, True, True, True, True, False])
    found = reliability(promised, true)
    assert [(b.count, b.kept) for b in found.bins] == [(2, 0.5), (1, 1.0), (3, pytest.approx(2 / 3))]
    assert [b.promised for b in found.bins] == pytest.approx([0.06, 0.55, 2.95 / 3])
    assert found.count == 6
    assert found.error == pytest.approx((2 * 0.44 + 0.45 + abs(2.95 - 2)) / 6)


@pytest.mark.parametrize(("k", "n"), [(0, 7), (7, 7), (3, 7)])
def test_intervals_are_the_exact_ones(k: int, n: int) -> None:
    (found,) = reliability(np.full(n, 0.5), np.arange(n) < k).bins
    exact = binomtest(k, n).proportion_ci(0.95, "exact")
    assert found.interval == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_words_of_one_utterance_are_worth_less() -> None:
    sure, right = np.full(15, 0.97), np.ones(15, dtype=bool)
    (apart,), (together,) = (
        reliability(sure, right, utterances).bins for utterances in (None, np.repeat([0, 1, 2], 5))
    )
    assert together.interval == pytest.approx((0.025 ** (1.4 / 15), 1.0))
    assert together.interval[0] < apart.interval[0] == pytest.approx(0.025 ** (1 / 15))
    as_accuracy = accuracy_interval(np.zeros(3, dtype=int), np.full(3, 5))
    assert tuple(100 * end for end in together.interval) == pytest.approx(as_accuracy)


def test_nothing_promises_nothing() -> None:
    found = reliability(np.zeros(0), np.zeros(0, dtype=bool))
    assert (found.bins, found.count) == ((), 0)
    assert np.isnan(found.error)


def test_the_last_grammar_is_looked_into(finished: Finished, chosen: Choice) -> None:
    assert (chosen.model, chosen.split, chosen.grammar) == ("gmm1", "test", "bigram")
    assert Choice.of(finished, None, None).model == finished.model(None)
    assert set(chosen.speakers) == set(chosen.corpus.ids)
    assert list(chosen.others) == ["gmm2"]
    assert chosen.accuracy is chosen.accuracies["gmm1"]


def heard(said: str, found: dict[str, float], posteriors: np.ndarray) -> HeardUtterance:  # type: ignore[type-arg]
    words = tuple(HypothesisWord(word, 0.0, 1.0, 0.0, sure) for word, sure in found.items())
    utterance = Utterance("u", Path("u.wav"), tuple(said.split()), "anna")
    return HeardUtterance(utterance, Hypothesis(words, 0.0, True), None, np.log(posteriors))


def test_a_sample_gathers_frames_and_words() -> None:
    sample = Sample(StatePhones.of(Topology.monophones("ab", n_states=1)))
    assert sample.phones.names == ("sil", "a", "b")
    rows = np.random.default_rng(0).dirichlet(np.ones(3), size=6)
    labels = np.array([0, 1, -1, 2, 1, 0], dtype=np.int32)
    sample.add(heard("go left", {"go": 0.95, "lift": 0.35}, rows[:4]), labels[:4])
    sample.add(heard("up", {"up": 0.85}, rows[4:]), labels[4:])
    sample.add(heard("no", {"yes": 0.15}, rows[:2]), None)
    assert sample.n_utterances == 3
    assert_array_equal(sample.confusions, confusions(labels, np.log(rows)))
    expected = [(0.15, 0.0), (0.35, 0.0), (0.85, 1.0), (0.95, 1.0)]
    assert [(b.promised, b.kept) for b in sample.of_words.bins] == [pytest.approx(pair) for pair in expected]
    known = labels >= 0
    right = np.mean(rows[known].argmax(axis=1) == labels[known])
    kept = sum(b.kept * b.count for b in sample.of_frames.bins) / sample.of_frames.count
    assert kept == pytest.approx(right)
    promised = sum(b.promised * b.count for b in sample.of_frames.bins) / sample.of_frames.count
    assert promised == pytest.approx(rows[known].max(axis=1).mean(), rel=1e-6)
    assert np.isnan(sample.separability).all()


def test_an_empty_sample() -> None:
    sample = Sample(StatePhones.of(Topology.monophones("ab", n_states=1)))
    assert (sample.confusions.sum(), sample.of_words.count, sample.of_frames.count) == (0, 0, 0)


def test_a_sample_is_the_same_each_time() -> None:
    ids = [f"u{n:04d}" for n in range(3 * N_SAMPLE)]
    found = sample_of(ids)
    assert len(found) == N_SAMPLE
    assert found == sample_of(ids[::-1])
    assert sample_of(ids[:5]) == set(ids[:5])
