"""Counts are those of NIST sclite (`sclite -s`), live and from golden/sclite_counts.json."""

import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from asr.errors import ConfigError, ScoringError
from asr.formats.transcripts import format_transcripts
from asr.scoring.accuracy_table import format_accuracy, format_comparison, to_json
from asr.scoring.bootstrap import resample_accuracies
from asr.scoring.edit_distance import (
    GAP_COST,
    SUBSTITUTION_COST,
    Confusion,
    ErrorCounts,
    align_words,
    count_confusions,
    count_errors,
)
from asr.scoring.scoring import compare, score

GOLDEN = Path(__file__).parent / "golden" / "sclite_counts.json"

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


def random_pairs(n_pairs, seed, max_words=14):
    """Hypotheses are edits of their references, over so few words that ties are common."""
    rng = np.random.default_rng(seed)
    for _ in range(n_pairs):
        vocabulary = list("abcdefgh"[: rng.integers(1, 9)])
        reference = list(rng.choice(vocabulary, rng.integers(0, max_words + 1)))
        hypothesis = []
        for word in reference:
            kind = rng.choice(["keep", "substitute", "delete", "insert"], p=[0.5, 0.2, 0.15, 0.15])
            hypothesis += {
                "keep": [word],
                "substitute": [rng.choice(vocabulary)],
                "delete": [],
                "insert": [rng.choice(vocabulary), word],
            }[kind]
        if rng.random() < 0.3:
            hypothesis = list(rng.choice(vocabulary, rng.integers(0, max_words + 1)))
        yield [str(w) for w in reference], [str(w) for w in hypothesis]


def counts_of(reference, hypothesis):
    counts = count_errors(align_words(reference, hypothesis))
    return (counts.correct, counts.substitutions, counts.deletions, counts.insertions)


def align_words_reference(reference, hypothesis):
    """The alignment as a plain recursion over prefixes, with the same preference among equal costs."""
    table = {(0, 0): (0, ())}
    for i, j in itertools.product(range(len(reference) + 1), range(len(hypothesis) + 1)):
        options = []
        if i and j:
            cost, pairs = table[i - 1, j - 1]
            pair = (reference[i - 1], hypothesis[j - 1])
            options.append((cost + SUBSTITUTION_COST * (pair[0] != pair[1]), (*pairs, pair)))
        if j:
            cost, pairs = table[i, j - 1]
            options.append((cost + GAP_COST, (*pairs, (None, hypothesis[j - 1]))))
        if i:
            cost, pairs = table[i - 1, j]
            options.append((cost + GAP_COST, (*pairs, (reference[i - 1], None))))
        if options:
            table[i, j] = min(options, key=lambda option: option[0])  # the first of the cheapest
    return table[len(reference), len(hypothesis)][1]


def minimum_cost(reference, hypothesis):
    """The cheapest of all alignments: choose which words of both sides stand opposite each other."""
    costs = []
    for n in range(min(len(reference), len(hypothesis)) + 1):
        gaps = GAP_COST * (len(reference) + len(hypothesis) - 2 * n)
        for mine in itertools.combinations(reference, n):
            for theirs in itertools.combinations(hypothesis, n):
                costs.append(
                    gaps + SUBSTITUTION_COST * sum(a != b for a, b in zip(mine, theirs, strict=True))
                )
    return min(costs)


def sclite_counts(pairs, directory):
    """The counts (correct, substituted, deleted, inserted) that sclite prints for each pair."""
    names = [f"s{i % 7}-u{i:05d}" for i in range(len(pairs))]
    for side, file in enumerate(("ref.trn", "hyp.trn")):
        transcripts = {name: pair[side] for name, pair in zip(names, pairs, strict=True)}
        (directory / file).write_text(format_transcripts(transcripts, "trn"))
    command = "sctk sclite -s -r ref.trn trn -h hyp.trn trn -i rm -o pra stdout"
    output = subprocess.run(command.split(), cwd=directory, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"id: \((\S+)\)\nScores: \(#C #S #D #I\) (\d+) (\d+) (\d+) (\d+)", output)
    counts = {name: tuple(map(int, numbers)) for name, *numbers in found}
    return [counts[name] for name in names]


@pytest.mark.skipif(shutil.which("sctk") is None, reason="sctk (NIST sclite) is not installed")
def test_counts_are_those_of_sclite(tmp_path):
    pairs = list(random_pairs(2000, seed=0))
    expected = sclite_counts(pairs, tmp_path)
    assert [counts_of(*pair) for pair in pairs] == expected


def test_counts_are_the_golden_ones_of_sclite():
    golden = json.loads(GOLDEN.read_text())
    assert len(golden["cases"]) >= 60
    for case in golden["cases"]:
        counts = counts_of(case["reference"].split(), case["hypothesis"].split())
        assert list(counts) == case["correct_sub_del_ins"], case


def test_alignment_equals_the_plain_one():
    for reference, hypothesis in random_pairs(300, seed=1, max_words=9):
        assert align_words(reference, hypothesis) == align_words_reference(reference, hypothesis)


def test_alignment_is_as_cheap_as_any():
    for reference, hypothesis in random_pairs(150, seed=2, max_words=6):
        counts = count_errors(align_words(reference, hypothesis))
        cost = SUBSTITUTION_COST * counts.substitutions + GAP_COST * (counts.deletions + counts.insertions)
        assert cost == minimum_cost(reference, hypothesis)


def test_alignment_keeps_every_word_in_order():
    for reference, hypothesis in random_pairs(200, seed=3):
        pairs = align_words(reference, hypothesis)
        assert [r for r, _ in pairs if r is not None] == reference
        assert [h for _, h in pairs if h is not None] == hypothesis
        counts = count_errors(pairs)
        assert counts.words == len(reference)
        assert counts.correct + counts.substitutions + counts.insertions == len(hypothesis)


def test_exchanging_the_sides_exchanges_deletions_and_insertions():
    for reference, hypothesis in random_pairs(200, seed=4):
        forward = count_errors(align_words(reference, hypothesis))
        backward = count_errors(align_words(hypothesis, reference))
        difference = len(reference) - len(hypothesis)
        assert (
            forward.deletions - forward.insertions == difference == backward.insertions - backward.deletions
        )


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("", "", (0, 0, 0, 0)),
        ("a", "", (0, 0, 1, 0)),
        ("", "a b", (0, 0, 0, 2)),
        ("a b c", "a b c", (3, 0, 0, 0)),
        ("a b c", "x y z", (0, 3, 0, 0)),
        ("Zero", "zero", (0, 1, 0, 0)),
        # Three substitutions cost as much as one word kept, two deleted and two inserted: the diagonal wins.
        ("a b c", "c d e", (0, 3, 0, 0)),
        ("a b c d", "c d e f", (2, 0, 2, 2)),
    ],
)
def test_counts_by_hand(reference, hypothesis, expected):
    assert counts_of(reference.split(), hypothesis.split()) == expected


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


def test_confusions_are_sorted_by_frequency_then_words():
    pairs = [("a", "b"), ("a", "b"), ("c", None), (None, "d"), ("e", "e"), ("a", "c")]
    assert count_confusions(pairs) == (
        Confusion("a", "b", 2),
        Confusion(None, "d", 1),
        Confusion("a", "c", 1),
        Confusion("c", None, 1),
    )


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


def random_counts(rng, n_utterances):
    """Errors (N,) and words (N,) of utterances whose difficulty varies, true accuracy 80 %."""
    words = rng.integers(1, 12, n_utterances)
    return rng.binomial(words, rng.beta(1, 4, n_utterances)), words


def test_bootstrap_equals_drawing_utterances_one_by_one():
    errors, words = random_counts(np.random.default_rng(0), 40)
    drawn = np.random.default_rng(1).integers(0, 40, (20_000, 40))
    expected = 100 - 100 * errors[drawn].sum(1) / words[drawn].sum(1)
    ours = resample_accuracies(errors[:, None], words, 20_000, seed=2)[:, 0]
    # Standard error of a quantile of 20,000 draws: about 0.1 points here.
    assert_allclose(
        np.quantile(ours, [0.025, 0.25, 0.5, 0.75, 0.975]),
        np.quantile(expected, [0.025, 0.25, 0.5, 0.75, 0.975]),
        rtol=0,
        atol=0.4,
    )


def test_interval_covers_the_true_accuracy():
    rng = np.random.default_rng(0)
    n_covered = 0
    for trial in range(400):
        errors, words = random_counts(rng, 120)
        low, high = np.quantile(resample_accuracies(errors[:, None], words, 500, trial), [0.025, 0.975])
        n_covered += low <= 80 <= high
    # 95 % of 400 with a standard error of 1.1 %, and a percentile interval runs a little narrow.
    assert 0.91 <= n_covered / 400 <= 0.98


def test_draws_without_words_are_left_out():
    accuracies = resample_accuracies(np.array([[1], [0]]), np.array([2, 0]), 1000, seed=0)
    assert 700 < len(accuracies) < 800
    assert_allclose(accuracies, 50, rtol=0, atol=0)


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
    assert (result.difference, result.interval, result.p_value, result.sign_test_p_value) == (0, (0, 0), 1, 1)
    assert result.missing_a == result.missing_b == ("ben-2",)


def test_sign_test_by_hand():
    reference = {f"u{i}": ["a"] for i in range(5)}
    wrong, right = {k: ["b"] for k in reference}, reference
    assert_allclose(compare(reference, wrong, right).sign_test_p_value, 2 / 2**5, rtol=1e-12, atol=0)


def test_p_values_of_equal_systems_are_not_small_too_often():
    p_values = [
        compare(*simulated_systems(60, 0.2, 0.2, seed), n_resamples=500).p_value for seed in range(200)
    ]
    # Expected 5 %, standard error 1.5 %.
    assert np.mean(np.array(p_values) < 0.05) < 0.11


def test_score_as_text():
    assert format_accuracy(score(REFERENCE, HYPOTHESIS, speakers=SPEAKERS), n_confusions=2).split("\n")[
        1:
    ] == [
        "10 words, 1 substituted, 2 deleted, 1 inserted",
        "sentence accuracy 25.00 %, 4 utterances",
        "no hypothesis for 1 utterances, counted as deleted: ben-2",
        "",
        "speaker  accuracy  words  sub  del  ins  correct utterances",
        "anna        66.67      6    1    1    0                 1/2",
        "ben         50.00      4    0    1    1                 0/2",
        "",
        "errors  reference   recognised",
        "     1  (inserted)  the",
        "     1  left        lift",
        "(2 more kinds of error)",
    ]


def test_comparison_as_text():
    text = format_comparison(compare(REFERENCE, HYPOTHESIS, REFERENCE))
    assert text.startswith("word accuracy A 60.00 %, B 100.00 %\nB − A +40.00 points [")
    assert "fewer errors in 0 utterances with A, 3 with B, as many in 1, p = 0.25 (sign test)" in text
    assert text.endswith("no hypothesis of A for 1 utterances, counted as deleted: ben-2")


def test_score_as_json_survives_strict_json():
    reference, speakers = {**REFERENCE, "carl-1": []}, {**SPEAKERS, "carl-1": "carl"}
    result = to_json(score(reference, HYPOTHESIS, speakers=speakers))
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert {k: result[k] for k in ("words", "substitutions", "deletions", "insertions", "missing")} == {
        "words": 10,
        "substitutions": 1,
        "deletions": 2,
        "insertions": 1,
        "missing": ["ben-2", "carl-1"],
    }
    assert result["speakers"]["carl"]["word_accuracy"] is None
    assert result["confusions"][0] == {"reference": None, "hypothesis": "the", "count": 1}
