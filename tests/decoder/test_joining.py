"""Hypotheses of stretches, joined."""

import itertools

import pytest

from decoder import Hypothesis, HypothesisWord
from decoder.stream import joined

SHIFT_S = 0.01


def sentence(text: str, log_score: float, *others: Hypothesis, complete: bool = True) -> Hypothesis:
    words = tuple(
        HypothesisWord(w, 10 * n * SHIFT_S, (10 * n + 7) * SHIFT_S, -1.0, 0.5)
        for n, w in enumerate(text.split())
    )
    return Hypothesis(words, log_score, complete, others)


def test_words_follow_each_other_with_times_of_the_whole() -> None:
    found = joined([sentence("A B", -3.0), sentence("", -1.0), sentence("C", -5.0)], [0, 2000, 4321], SHIFT_S)
    assert found.text == ("A", "B", "C")
    assert [(w.start_s, w.end_s) for w in found.words] == [
        (first * SHIFT_S, last * SHIFT_S) for first, last in ((0, 7), (10, 17), (4321, 4328))
    ]
    assert found.log_score == -9.0
    assert found.complete
    assert found.alternatives == ()
    assert {w.confidence for w in found.words} == {0.5}


def test_one_stretch_is_the_recording() -> None:
    one = sentence("A B", -3.0, sentence("B", -4.0))
    assert joined([one], [0], SHIFT_S, 2) is one


def test_a_stretch_without_a_path_makes_the_whole_incomplete() -> None:
    assert not joined([sentence("A", -3.0, complete=False), sentence("B", -1.0)], [0, 50], SHIFT_S).complete


@pytest.mark.parametrize("n_best", [1, 2, 4, 10, 100])
def test_next_best_are_the_best_of_all_combinations(n_best: int) -> None:
    stretches = [
        sentence("A", -1.0, sentence("B", -1.5), sentence("C", -7.0)),
        sentence("D", -2.0),
        sentence("E F", -3.0, sentence("G", -3.25), sentence("", -4.0)),
    ]
    found = joined(stretches, [0, 30, 60], SHIFT_S, n_best)
    choices = itertools.product(*((s, *s.alternatives) for s in stretches))
    expected = sorted(
        ((sum(s.log_score for s in c), tuple(w for s in c for w in s.text)) for c in choices), reverse=True
    )[:n_best]
    assert [(h.log_score, h.text) for h in (found, *found.alternatives)] == expected


def test_the_same_words_come_once() -> None:
    stretches = [
        sentence("A", -1.0, sentence("A B", -1.5)),
        sentence("B C", -1.0, sentence("C", -2.0)),
    ]
    found = joined(stretches, [0, 30], SHIFT_S, 4)
    assert [h.text for h in found.alternatives] == [tuple("ABBC"), tuple("AC")]


def test_a_recording_has_no_speech_if_none_of_its_stretches_has_any() -> None:
    silent = Hypothesis((), -1.0, True, no_speech="it is quiet")
    assert joined([silent, silent], [0, 50], SHIFT_S).no_speech == "it is quiet"
    assert joined([silent, sentence("A", -1.0)], [0, 50], SHIFT_S).no_speech == ""
