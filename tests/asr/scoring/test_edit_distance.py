"""Counts are those of NIST sclite (`sclite -s`), live and from golden/sclite_counts.json."""

import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from asr.formats.transcripts import format_transcripts
from asr.scoring.edit_distance import (
    GAP_COST,
    SUBSTITUTION_COST,
    Confusion,
    align_words,
    count_confusions,
    count_errors,
)

GOLDEN = Path(__file__).parent / "golden" / "sclite_counts.json"


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


def test_confusions_are_sorted_by_frequency_then_words():
    pairs = [("a", "b"), ("a", "b"), ("c", None), (None, "d"), ("e", "e"), ("a", "c")]
    assert count_confusions(pairs) == (
        Confusion("a", "b", 2),
        Confusion(None, "d", 1),
        Confusion("a", "c", 1),
        Confusion("c", None, 1),
    )
