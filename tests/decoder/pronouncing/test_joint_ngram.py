"""Kneser-Ney on arrays: by hand, and against the grammars of words."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from decoder.grammars.ngram import NGram
from decoder.pronouncing.joint_ngram import (
    JointNgram,
    count_ngrams,
    discounts_of,
    estimate,
    graph,
    interpolate,
    smoothed_counts,
)

TEXTS = [[0, 1, 2], [0, 1], [2, 0, 1, 2], [1], [3, 0], [0, 1, 2, 2]]
N_UNITS = 4
END, START = N_UNITS, N_UNITS + 1


def arrays(texts: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return sequences end to end, and their offsets."""
    return np.concatenate([np.array(t, dtype=np.int64) for t in texts]), np.cumsum([0, *map(len, texts)])


def prob(model: JointNgram, history: list[int], unit: int) -> float:
    """Return P(unit | start, history) by the rule of backoff, arc by arc."""
    node = START + 1 if len(model.suffixes) > 1 else 0
    for said in history:
        node = step(model, node, said)[1]
    return step(model, node, unit)[0]


def step(model: JointNgram, node: int, unit: int) -> tuple[float, int]:
    """Return P(unit | node) and the node that follows."""
    n_inner = len(model.arc_units) - len(model.last_nodes)
    for arc in range(model.first_arcs[node], model.first_arcs[node + 1]):
        if model.arc_units[arc] == unit:
            target = arc + 1 if arc < n_inner else model.last_nodes[arc - n_inner]
            return float(model.arc_probs[arc]), int(target)
    p, target = step(model, int(model.suffixes[node]), unit)
    return float(model.backoffs[node]) * p, target


def test_by_hand() -> None:
    # "a b", "a": bigrams <s>a 2, ab 1, b</s> 1, a</s> 1; one discount of 1/2 for all counts.
    units, offsets = arrays([[0, 1], [0]])
    orders = count_ngrams(units, offsets, 2, 2)
    counts = smoothed_counts(orders)
    assert counts[0].tolist() == [1, 1, 2, 0]  # before a: <s>; before b: a; before </s>: b, a; never <s>
    half = np.array([0.0, 0.5, 0.5, 0.5])
    model = graph(orders, interpolate(orders, counts, [half, half]))
    # unigrams: Z = 4, γ = 1.5 / 4, below 1 / 3
    p_a, p_b, p_end = 0.5 / 4 + 0.375 / 3, 0.5 / 4 + 0.375 / 3, 1.5 / 4 + 0.375 / 3
    assert_allclose(model.arc_probs[:4], [p_a, p_b, p_end, 0.0], rtol=1e-14, atol=0)
    start = 3 + 1  # <s> is unit 3
    assert_allclose(step(model, start, 0)[0], 1.5 / 2 + 0.25 * p_a, rtol=1e-14, atol=0)
    assert_allclose(step(model, start, 1)[0], 0.25 * p_b, rtol=1e-14, atol=0)
    after_a = step(model, start, 0)[1]
    assert_allclose(step(model, after_a, 2)[0], 0.5 / 2 + 0.5 * p_end, rtol=1e-14, atol=0)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_is_the_grammar_of_words_where_the_discounts_are(order: int) -> None:
    words = [[str(unit) for unit in text] for text in TEXTS]
    grammar = NGram.estimate(words, order, smoothing="kneser-ney")
    orders = count_ngrams(*arrays(TEXTS), N_UNITS, order)
    counts = smoothed_counts(orders)
    plain = []
    for found in counts:
        n1, n2 = np.sum(found == 1), np.sum(found == 2)
        plain.append(np.array([0.0, *[np.clip(n1 / (n1 + 2 * n2), 0.1, 0.9)] * 3]))
    model = graph(orders, interpolate(orders, counts, plain))
    for history in [list(h) for n in range(4) for h in product(range(N_UNITS), repeat=n)]:
        said = ["<s>", *map(str, history)]
        for unit in range(N_UNITS + 1):
            expected = np.exp(grammar.log_prob("</s>" if unit == END else str(unit), said))
            assert_allclose(prob(model, history, unit), expected, rtol=1e-10, atol=0)


@pytest.mark.parametrize("order", [1, 2, 4, 8])
def test_probabilities_after_any_history_sum_to_one(order: int) -> None:
    model = estimate(*arrays(TEXTS), N_UNITS, order)
    for history in [list(h) for n in range(5) for h in product(range(N_UNITS), repeat=n)]:
        total = sum(prob(model, history, unit) for unit in range(N_UNITS + 1))
        assert_allclose(total, 1.0, rtol=1e-12, atol=0)


def test_discounts_of_chen_and_goodman() -> None:
    # n1 … n4 = 8, 4, 2, 1: Y = 8 / 16; D1 = 1 − 2Y·4/8, D2 = 2 − 3Y·2/4, D3 = 3 − 4Y·1/2
    counts = np.repeat([1, 2, 3, 4, 9], [8, 4, 2, 1, 5])
    assert_allclose(discounts_of(counts), [0.0, 0.5, 1.25, 2.0], rtol=1e-14, atol=0)
    assert_allclose(discounts_of(np.array([1, 1, 2])), [0.0, 0.5, 0.5, 0.5], rtol=1e-14, atol=0)


def test_empty_sequences_are_passed_over() -> None:
    units, offsets = arrays(TEXTS)
    with_empty = np.insert(offsets, 2, offsets[2])
    assert_allclose(
        estimate(units, with_empty, N_UNITS, 3).arc_probs,
        estimate(units, offsets, N_UNITS, 3).arc_probs,
        rtol=0,
        atol=0,
    )
