"""Counts are those of NIST sclite (`sclite -s`) and of HTK's HResults, live and from golden files.

`golden/hresults_counts.json` was made with HResults 3.4.1, as its head says.
"""

import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from asr.errors import ScoringError
from asr.formats.transcripts import format_transcripts
from asr.scoring import edit_distance
from asr.scoring.edit_distance import (
    WEIGHTS,
    Confusion,
    ErrorCounts,
    Rule,
    align_words,
    count_confusions,
    count_errors,
)
from asr.scoring.results import hresults_lines
from asr.scoring.scoring import score

GOLDEN = Path(__file__).parent / "golden"
RULES: tuple[Rule, ...] = ("nist", "htk")


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


def counts_of(reference, hypothesis, rule="nist"):
    counts = count_errors(align_words(reference, hypothesis, rule))
    return (counts.correct, counts.substitutions, counts.deletions, counts.insertions)


def align_words_reference(reference, hypothesis, rule):
    """The alignment as a plain recursion over prefixes, with the same preference among equal costs."""
    substitution, gap, prefers_deletion = WEIGHTS[rule]
    table = {(0, 0): (0, ())}
    for i, j in itertools.product(range(len(reference) + 1), range(len(hypothesis) + 1)):
        options = []
        if i and j:
            cost, pairs = table[i - 1, j - 1]
            pair = (reference[i - 1], hypothesis[j - 1])
            options.append((cost + substitution * (pair[0] != pair[1]), (*pairs, pair)))
        gaps = []
        if j:
            cost, pairs = table[i, j - 1]
            gaps.append((cost + gap, (*pairs, (None, hypothesis[j - 1]))))
        if i:
            cost, pairs = table[i - 1, j]
            gaps.append((cost + gap, (*pairs, (reference[i - 1], None))))
        options += reversed(gaps) if prefers_deletion else gaps
        if options:
            table[i, j] = min(options, key=lambda option: option[0])  # the first of the cheapest
    return table[len(reference), len(hypothesis)][1]


def minimum_cost(reference, hypothesis, rule):
    """The cheapest of all alignments: choose which words of both sides stand opposite each other."""
    costs, (substitution, gap, _) = [], WEIGHTS[rule]
    for n in range(min(len(reference), len(hypothesis)) + 1):
        gaps = gap * (len(reference) + len(hypothesis) - 2 * n)
        for mine in itertools.combinations(reference, n):
            for theirs in itertools.combinations(hypothesis, n):
                costs.append(gaps + substitution * sum(a != b for a, b in zip(mine, theirs, strict=True)))
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
    golden = json.loads((GOLDEN / "sclite_counts.json").read_text())
    assert len(golden["cases"]) >= 60
    for case in golden["cases"]:
        counts = counts_of(case["reference"].split(), case["hypothesis"].split())
        assert list(counts) == case["correct_sub_del_ins"], case


def hresults_counts(pairs, directory):
    """The counts (correct, substituted, deleted, inserted) that HResults prints for each pair, and sums."""
    names = [f"u{i:05d}" for i in range(len(pairs))]
    for side, (file, ending) in enumerate((("ref.mlf", "lab"), ("rec.mlf", "rec"))):
        parts = [
            f'"*/{name}.{ending}"\n' + "".join(f"{word}\n" for word in pair[side]) + ".\n"
            for name, pair in zip(names, pairs, strict=True)
        ]
        (directory / file).write_text("#!MLF!#\n" + "".join(parts))
    (directory / "words").write_text(
        "".join(f"{w}\n" for w in sorted({w for p in pairs for s in p for w in s}))
    )
    command = "HResults -f -I ref.mlf words rec.mlf"
    output = subprocess.run(command.split(), cwd=directory, capture_output=True, text=True, check=True).stdout
    form = r"(u\d+)\S*:\s.*\[H=\s*(\d+), D=\s*(\d+), S=\s*(\d+), I=\s*(\d+), N=\s*\d+\]"
    found = {name: (int(h), int(s), int(d), int(i)) for name, h, d, s, i in re.findall(form, output)}
    return [found[name] for name in names], re.findall(r"^(?:SENT|WORD): .*$", output, re.MULTILINE)


def pairs_with_words(n_pairs, seed):
    """HResults leaves out what has no recognised words."""
    return [pair for pair in random_pairs(n_pairs, seed) if all(pair)]


@pytest.mark.skipif(shutil.which("HResults") is None, reason="HResults of HTK is not installed")
def test_counts_are_those_of_hresults(tmp_path):
    pairs = pairs_with_words(2000, seed=0)
    expected, sums = hresults_counts(pairs, tmp_path)
    assert [counts_of(*pair, rule="htk") for pair in pairs] == expected
    sides = [{f"u{n}": pair[side] for n, pair in enumerate(pairs)} for side in (0, 1)]
    assert list(hresults_lines(score(*sides, rule="htk"))) == sums


def test_counts_are_the_golden_ones_of_hresults():
    golden = json.loads((GOLDEN / "hresults_counts.json").read_text())
    cases = [(case["reference"].split(), case["hypothesis"].split()) for case in golden["cases"]]
    expected = [case["correct_sub_del_ins"] for case in golden["cases"]]
    assert len(cases) >= 60
    assert [list(counts_of(*case, rule="htk")) for case in cases] == expected
    n_others = sum(list(counts_of(*case)) != counts for case, counts in zip(cases, expected, strict=True))
    assert n_others >= 20  # by sclite's weights they are others
    sides = [{f"u{n}": case[side] for n, case in enumerate(cases)} for side in (0, 1)]
    assert list(hresults_lines(score(*sides, rule="htk"))) == golden["sums"]


@pytest.mark.parametrize("rule", RULES)
def test_alignment_equals_the_plain_one(rule):
    for reference, hypothesis in random_pairs(300, seed=1, max_words=9):
        found = align_words(reference, hypothesis, rule)
        assert found == align_words_reference(reference, hypothesis, rule)


@pytest.mark.parametrize("rule", RULES)
def test_alignment_is_as_cheap_as_any(rule):
    substitution, gap, _ = WEIGHTS[rule]
    for reference, hypothesis in random_pairs(150, seed=2, max_words=6):
        counts = count_errors(align_words(reference, hypothesis, rule))
        cost = substitution * counts.substitutions + gap * (counts.deletions + counts.insertions)
        assert cost == minimum_cost(reference, hypothesis, rule)


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


@pytest.mark.parametrize(
    ("reference", "hypothesis", "nist", "htk"),
    [
        # Three substitutions cost 12 and 30; a word kept, two deleted and two inserted 12 and 28.
        ("a b c", "c d e", (0, 3, 0, 0), (1, 0, 2, 2)),
        ("a b c x", "c d e x", (1, 3, 0, 0), (2, 0, 2, 2)),
        # Both have two substitutions: 8 and 20 against 6 + 6 and 14 + 14.
        ("a b", "c d", (0, 2, 0, 0), (0, 2, 0, 0)),
    ],
)
def test_weights_by_hand(reference, hypothesis, nist, htk):
    assert counts_of(reference.split(), hypothesis.split()) == nist
    assert counts_of(reference.split(), hypothesis.split(), "htk") == htk


def test_confusions_are_sorted_by_frequency_then_words():
    pairs = [("a", "b"), ("a", "b"), ("c", None), (None, "d"), ("e", "e"), ("a", "c")]
    assert count_confusions(pairs) == (
        Confusion("a", "b", 2),
        Confusion(None, "d", 1),
        Confusion("a", "c", 1),
        Confusion("c", None, 1),
    )


@pytest.mark.parametrize("rule", WEIGHTS)
def test_blocks_of_rows_find_the_same_alignment(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    texts = [[str(word) for word in rng.integers(0, 4, rng.integers(0, 30))] for _ in range(200)]
    at_once = [align_words(a, b, rule) for a, b in itertools.pairwise(texts)]
    monkeypatch.setattr("asr.scoring.edit_distance._CELLS_AT_ONCE", 0)
    assert [align_words(a, b, rule) for a, b in itertools.pairwise(texts)] == at_once


def test_long_texts_need_no_table_of_all_pairs_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [str(n % 50) for n in range(4000)]
    shapes: list[tuple[int, int]] = []
    monkeypatch.setattr("asr.scoring.edit_distance._CELLS_AT_ONCE", 1 << 20)

    def noted(reference, hypothesis, *weights):  # type: ignore[no-untyped-def]
        shapes.append((weights[-1], len(hypothesis)))
        return steps(reference, hypothesis, *weights)

    steps = edit_distance._alignment_steps
    monkeypatch.setattr(edit_distance, "_alignment_steps", noted)
    pairs = align_words(words, words[1:])
    assert count_errors(pairs) == ErrorCounts(3999, 0, 1, 0)
    ((n_rows, n_columns),) = shapes
    assert n_rows * n_columns < 300_000  # of sixteen million


def test_texts_that_would_take_hours_are_refused_at_once() -> None:
    with pytest.raises(ScoringError, match=r"^1,000,000 words against 1,000,000, expected texts of 200,000"):
        align_words(["a"] * 1_000_000, ["b"] * 1_000_000)
