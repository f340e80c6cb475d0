"""Word accuracy by hand, and comparisons of recognisers that are better or not."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from asr.corpora.corpus import Corpus, Utterance
from asr.errors import ConfigError, ScoringError
from asr.scoring.edit_distance import ErrorCounts
from asr.scoring.scoring import accuracy_of, compare, score
from decoder import Hypothesis, HypothesisWord

REFERENCE = {
    "anna-1": ["go", "to", "the", "left"],
    "anna-2": ["stop", "now"],
    "ben-1": ["open", "the", "door"],
    "ben-2": ["yes"],
}
HYPOTHESIS = {
    "anna-1": ["go", "the", "lift"],
    "anna-2": ["stop", "now"],
    "ben-1": ["open", "the", "the", "door"],
}
SPEAKERS = {"anna-1": "anna", "anna-2": "anna", "ben-1": "ben", "ben-2": "ben"}


def test_score_by_hand():
    result = score(REFERENCE, HYPOTHESIS, speakers=SPEAKERS)
    assert result.counts == ErrorCounts(correct=7, substitutions=1, deletions=2, insertions=1)
    assert (result.words, result.substitutions, result.deletions, result.insertions) == (10, 1, 2, 1)
    assert_allclose(result.word_accuracy, 60.0, rtol=0, atol=1e-12)
    assert_allclose(result.sentence_accuracy, 25.0, rtol=0, atol=1e-12)
    anna, ben = result.speakers
    assert (anna.speaker, anna.n_utterances, anna.n_correct_utterances) == ("anna", 2, 1)
    assert_allclose(anna.counts.word_accuracy, 100 - 200 / 6, rtol=0, atol=1e-12)
    assert ben.counts == ErrorCounts(correct=3, substitutions=0, deletions=1, insertions=1)
    low, high = result.interval
    assert low <= result.word_accuracy <= high


def test_missing_hypothesis_is_deleted_and_named():
    result = score(REFERENCE, HYPOTHESIS)
    assert result.missing == ("ben-2",)
    assert result.utterances[-1].is_missing
    assert result.utterances[-1].pairs == (("yes", None),)


def test_missing_hypothesis_of_an_empty_reference_is_not_correct():
    result = score({"u1": ["a"], "u2": []}, {"u1": ["a"]})
    assert result.missing == ("u2",)
    assert_allclose([result.word_accuracy, result.sentence_accuracy], [100, 50], rtol=0, atol=0)


def test_accuracy_may_be_negative():
    assert_allclose(score({"u": ["a"]}, {"u": ["b", "c", "d"]}).word_accuracy, -200, rtol=0, atol=0)


def test_case_counts_unless_it_is_normalised():
    reference, hypothesis = {"u": ["Straße", "Zero"]}, {"u": ["STRASSE", "zero"]}
    assert score(reference, hypothesis).substitutions == 2
    assert score(reference, hypothesis, normalize_case=True).substitutions == 0


def test_order_of_utterances_does_not_change_the_result():
    backwards = dict(reversed(REFERENCE.items()))
    first, second = score(REFERENCE, HYPOTHESIS), score(backwards, HYPOTHESIS)
    assert (first.counts, first.interval, first.confusions) == (
        second.counts,
        second.interval,
        second.confusions,
    )


def test_same_seed_same_interval():
    intervals = [score(REFERENCE, HYPOTHESIS, seed=seed, n_resamples=777).interval for seed in (5, 5)]
    assert intervals[0] == intervals[1]


@pytest.mark.parametrize(
    ("reference", "hypothesis", "message"),
    [
        ({"anna-1": ["a"]}, {"ana-1": ["a"]}, r'1 hypotheses .*"ana-1" \(did you mean "anna-1"\?\)'),
        ({"u": ["a"]}, {f"x{i}": [] for i in range(9)}, r'9 hypotheses .*"x0", "x1", "x2" and 6 more'),
        ({"u": []}, {"u": ["a"]}, "expected at least one word, got none in 1 utterances"),
        ({}, {}, "expected at least one word, got none in 0 utterances"),
        ({"u": "a b"}, {}, 'reference: expected a sequence of words, got one string in "u"'),
        ({"u": ["a"]}, {"u": "a b"}, 'hypothesis: expected a sequence of words, got one string in "u"'),
    ],
)
def test_transcripts_that_do_not_fit_together(reference, hypothesis, message):
    with pytest.raises(ScoringError, match=message):
        score(reference, hypothesis)


def test_utterance_without_speaker():
    with pytest.raises(ScoringError, match='1 utterances are not in the speakers: "ben-2"'):
        score(REFERENCE, HYPOTHESIS, speakers={k: v for k, v in SPEAKERS.items() if k != "ben-2"})


def test_number_of_resamples_is_checked():
    with pytest.raises(ConfigError, match="n_resamples: expected at least 1, got 0"):
        score(REFERENCE, HYPOTHESIS, n_resamples=0)


def simulated_systems(n_utterances, error_rate_a, error_rate_b, seed):
    rng = np.random.default_rng(seed)
    reference = {f"u{i}": list(rng.choice(list("abcdefgh"), 6)) for i in range(n_utterances)}

    def recognise(error_rate):
        return {k: [w if rng.random() > error_rate else "x" for w in v] for k, v in reference.items()}

    return reference, recognise(error_rate_a), recognise(error_rate_b)


def test_compare_finds_the_better_system():
    result = compare(*simulated_systems(150, 0.3, 0.1, seed=0))
    assert result.difference > 10
    assert result.interval[0] > 0
    assert result.p_value < 0.001
    assert result.sign_test_p_value < 0.001
    assert result.n_better_a + result.n_better_b + result.n_equal == 150


def test_exchanging_the_systems_mirrors_the_comparison():
    reference, a, b = simulated_systems(50, 0.2, 0.15, seed=1)
    forward, backward = compare(reference, a, b), compare(reference, b, a)
    assert_allclose(forward.difference, -backward.difference, rtol=0, atol=1e-12)
    # The draws differ: kinds of utterances are sorted by the errors of the first system.
    assert_allclose(forward.interval, [-x for x in reversed(backward.interval)], rtol=0, atol=0.5)
    assert forward.sign_test_p_value == backward.sign_test_p_value


def test_a_system_is_no_better_than_itself():
    result = compare(REFERENCE, HYPOTHESIS, HYPOTHESIS)
    assert (result.difference, result.p_value, result.sign_test_p_value) == (0, 1, 1)
    assert (
        -result.interval[0] == result.interval[1] > 25
    )  # a few words may not show a difference that there is
    assert result.missing_a == result.missing_b == ("ben-2",)


def test_sign_test_by_hand():
    reference = {f"u{i}": ["a"] for i in range(5)}
    wrong, right = {k: ["b"] for k in reference}, reference
    assert_allclose(compare(reference, wrong, right).sign_test_p_value, 2 / 2**5, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("n", "p_value"), [(1, 1.0), (3, 0.25), (5, 0.0625)])
def test_few_utterances_prove_little(n, p_value):
    reference = {f"u{i}": ["a", "b", "c"] for i in range(n)}
    wrong = {k: ["b", "b", "c"] for k in reference}
    found = compare(reference, wrong, reference)
    # All exchanges of the two in single utterances: only all or none give as large a difference.
    assert_allclose(found.p_value, p_value, rtol=1e-12, atol=0)
    assert found.interval[0] < found.difference < found.interval[1]
    assert n == 5 or found.interval[0] < 0


def test_a_difference_has_a_finite_interval_with_more_errors_than_words():
    found = compare({"u": ["a"]}, {"u": ["b", "c", "d", "e", "f"]}, {"u": ["a"]})
    assert found.difference == 500.0
    assert found.interval[0] < 500.0 == found.interval[1]


def test_p_values_of_equal_systems_are_not_small_too_often():
    p_values = [
        compare(*simulated_systems(60, 0.2, 0.2, seed), n_resamples=500).p_value for seed in range(200)
    ]
    # Expected 5 %, standard error 1.5 %.
    assert np.mean(np.array(p_values) < 0.05) < 0.11


def test_scores_of_hypotheses_know_the_speakers() -> None:
    spoken = [("AB", "BA"), ("BA",), ("AB", "AB", "BA")]
    utterances = [
        Utterance(f"u{n}", Path(f"/u{n}.wav"), words, speaker)
        for n, (words, speaker) in enumerate(zip(spoken, "sts", strict=True))
    ]
    heard = [("AB", "BA"), ("AB",), ("AB", "BA")]  # right; a substitution; a deletion
    timed = [tuple(HypothesisWord(word, 0.0, 0.1, 0.0) for word in words) for words in heard]
    decoded = [Hypothesis(words, 0.0, True) for words in timed]
    found = accuracy_of(Corpus(tuple(utterances)), decoded)
    assert (found.counts.substitutions, found.counts.deletions, found.counts.insertions) == (1, 1, 0)
    by_speaker = {s.speaker: s.counts for s in found.speakers}
    assert (by_speaker["s"].deletions, by_speaker["t"].substitutions) == (1, 1)
