"""Margins by hand and against every path; curves against the odds they are to give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit

from acoustic import Topology, align, utterance_graph
from acoustic.alignment import FitCurve, Margins, fit_curve, loop_scores, margins
from acoustic.hmm.graph import loop_graph

TOPOLOGY = Topology.monophones("ab", n_states=1)
A, B = ("a",), ("b",)


def spoken(states, n_states=3, strength=20.0):
    scores = np.zeros((len(states), n_states))
    scores[np.arange(len(states)), states] = strength
    return scores


def test_the_loop_takes_the_best_phone_of_each_frame_where_that_is_cheap():
    scores = spoken([0, 1, 1, 2, 1, 0, 2])
    assert_allclose(loop_scores(scores, loop_graph(TOPOLOGY), TOPOLOGY), 20.0, rtol=0, atol=0)


@pytest.mark.parametrize("seed", range(5))
def test_the_loop_against_the_best_of_all_sequences(seed):
    topology = Topology.monophones("a", n_states=2, short_pause=False)
    scores = 3 * np.random.default_rng(seed).standard_normal((5, 4))
    stay, move, enter = np.log(0.6), np.log(0.4), -np.log(2)
    best, of_best = -np.inf, None
    for cuts in range(2**4):  # after which frames a unit ends
        bounds = [0, *(t + 1 for t in range(4) if cuts >> t & 1), 5]
        lengths = np.diff(bounds)
        if lengths.min() < 2:
            continue
        for units in np.ndindex(*[2] * len(lengths)):
            for firsts in np.ndindex(*(lengths - 1)):
                states = np.concatenate(
                    [[2 * u] * (f + 1) + [2 * u + 1] * (n - f - 1)
                     for u, f, n in zip(units, firsts, lengths, strict=True)]
                )  # fmt: skip
                emitted = scores[np.arange(5), states]
                score = emitted.sum() + len(units) * (enter + 2 * move) + (5 - 2 * len(units)) * stay
                if score > best:
                    best, of_best = score, emitted
    assert_allclose(loop_scores(scores, loop_graph(topology), topology), of_best, rtol=1e-12, atol=0)


def test_a_recording_shorter_than_a_phone():
    topology = Topology.monophones("a", n_states=3)
    scores = np.array([[1.0, 2.0, 3.0, 4.0, 9.0, 5.0], [7.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    assert loop_scores(scores, loop_graph(topology), topology).tolist() == [9.0, 7.0]


def test_margins_by_hand():
    # silence, "a" as spoken, "b" where "a" was spoken in one frame of two
    scores = spoken([0, 1, 1, 2, 1, 0])
    alignment = align(spoken([0, 1, 1, 2, 2, 0]), utterance_graph([[A], [B]], TOPOLOGY), TOPOLOGY)
    found = margins(scores, np.full(6, 20.0), alignment)
    assert found.words.tolist() == [0.0, -10.0]
    assert found.utterance == -5.0


def test_words_of_unknown_pronunciation_have_no_margin():
    scores = spoken([1, 1, 2, 2])
    alignment = align(scores, utterance_graph([[A], None], TOPOLOGY), TOPOLOGY)
    found = margins(scores, np.full(4, 21.0), alignment)
    assert_allclose(found.words, [-1.0, np.nan], rtol=0, atol=0)
    assert found.utterance == Margins(np.array([-1.0])).utterance == -1.0


def test_what_is_behind_the_words_heard_counts_for_the_utterance():
    assert Margins(np.array([-1.0, -3.0])).utterance == -2.0
    assert Margins(np.array([-1.0, -3.0]), behind=-7.5).utterance == -7.5


def drawn(n=300, n_errors=0, seed=0):
    rng = np.random.default_rng(seed)
    right, wrong = -rng.gamma(2.0, 0.3, n), -2.0 - rng.gamma(4.0, 2.0, n)
    right[:n_errors] = -2.0 - rng.gamma(4.0, 2.0, n_errors)
    return right, wrong


def test_a_curve_is_the_odds_of_overlapping_groups():
    # Two Gaussians with one variance: the log odds are a line, (m₁−m₂)x + (m₂²−m₁²)/2 and the prior's.
    rng = np.random.default_rng(0)
    right, wrong = rng.normal(-1.0, 1.0, 20000), rng.normal(-4.0, 1.0, 5000)
    errors = rng.random(len(right)) < 0.03
    right[errors] = rng.normal(-4.0, 1.0, errors.sum())
    curve = fit_curve(right, wrong, 0.03)
    assert_allclose(curve.slope, 3.0, rtol=0.1, atol=0)
    assert_allclose(curve.offset, 7.5 + logit(0.97), rtol=0.1, atol=0)


def test_planted_errors_are_found_and_nothing_else():
    right, wrong = drawn(n_errors=9)
    believed = fit_curve(right, wrong)(right)
    assert believed[9:].min() > 0.5
    assert np.count_nonzero(believed[:9] < 0.5) >= 7


def test_the_share_of_errors_is_learned_up_to_a_limit():
    # Where 16 % are wrong, the curve of an expected share of 3 % keeps more of them than one that learns it.
    right, wrong = drawn(n_errors=48)
    fixed, learned = (fit_curve(right, wrong, most_wrong=most)(right) for most in (0.0, 0.5))
    assert 1 - learned.mean() == pytest.approx(48 / 300, abs=0.03)
    assert np.count_nonzero(learned[:48] < 0.5) >= np.count_nonzero(fixed[:48] < 0.5) > 24
    assert learned[48:].min() > 0.5


def test_nothing_is_suspicious_where_nothing_is_wrong():
    right, wrong = drawn()
    assert fit_curve(right, wrong)(right).min() > 0.5


def test_margins_that_tell_nothing_leave_the_prior():
    rng = np.random.default_rng(0)
    curve = fit_curve(rng.normal(-4.0, 1.0, 400), rng.normal(-1.0, 1.0, 400), 0.03)
    assert curve.slope == 0
    assert curve(np.array([-9.0, 0.0])) == pytest.approx(0.97, abs=0.02)


@pytest.mark.parametrize(("n_right", "n_wrong"), [(9, 50), (50, 9), (0, 0)])
def test_too_few_to_tell(n_right, n_wrong):
    assert fit_curve(np.zeros(n_right), np.full(n_wrong, -5.0)) is None


def test_probabilities_of_a_curve():
    assert_allclose(FitCurve(2.0, 6.0)(np.array([-3.0, 0.0, np.nan])), [0.5, 0.99752738, np.nan], atol=1e-8)
