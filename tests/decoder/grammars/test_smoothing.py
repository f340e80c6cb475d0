"""Estimates by hand, and probabilities that sum to one in every context."""

import itertools

import numpy as np
import pytest

from decoder import GrammarError, NGram

SMOOTHINGS = ("witten-bell", "absolute", "kneser-ney")


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_probabilities_sum_to_one_in_every_context(order, smoothing, oracle):
    words = list("ABCDE")  # E never occurs in the text
    text = oracle.random_sentences(np.random.default_rng(order), words[:4], 12)
    model = NGram.estimate(text, order, vocabulary=words, smoothing=smoothing)
    for n in range(order + 1):
        for history in itertools.product(["<s>", *words], repeat=n):
            total = sum(np.exp(model.log_prob(word, history)) for word in [*words, "</s>"])
            np.testing.assert_allclose(total, 1.0, rtol=0, atol=1e-12)
    assert min(np.exp(model.log_prob(w, ["A"])) for w in [*words, "</s>"]) > 0


def test_witten_bell_by_hand():
    model = NGram.estimate([["A", "B"], ["A"]], 2, vocabulary=["A", "B", "C"])
    # Events A B C </s>; counts A 2, B 1, </s> 2 of 5 with 3 kinds: (c + 3 / 4) / 8.
    unigram = {"A": 2.75 / 8, "B": 1.75 / 8, "C": 0.75 / 8, "</s>": 2.75 / 8}
    for word, p in unigram.items():
        np.testing.assert_allclose(np.exp(model.log_prob(word)), p, rtol=1e-12, atol=0)
    # After A once B, once </s>: (c + 2 P(w)) / 4.
    for word, count in {"A": 0, "B": 1, "C": 0, "</s>": 1}.items():
        expected = (count + 2 * unigram[word]) / 4
        np.testing.assert_allclose(np.exp(model.log_prob(word, ["A"])), expected, rtol=1e-12, atol=0)


def test_kneser_ney_unigrams_count_left_contexts():
    # SAN FRANCISCO: frequent, but only ever after SAN; D is clipped to 0.9 (no count of two).
    text = [["SAN", "FRANCISCO"]] * 5 + [["A", "B"], ["B", "A"]]
    model = NGram.estimate(text, 2, smoothing="kneser-ney")
    assert model.log_prob("FRANCISCO") < model.log_prob("B")
    assert NGram.estimate(text, 2, smoothing="absolute").log_prob("FRANCISCO") > model.log_prob("FRANCISCO")


def test_words_outside_the_vocabulary_count_as_unknown():
    model = NGram.estimate([["A", "X"], ["Y"]], 2, vocabulary=["A"])
    assert model.words == ("A",)
    assert model.log_prob("Z", ["A"]) == model.log_prob("<unk>", ["A"]) > model.log_prob("A", ["A"])


@pytest.mark.parametrize(
    ("sentences", "order", "smoothing", "message"),
    [
        ([["A"]], 0, "absolute", "expected an order of at least 1, got 0"),
        ([], 2, "absolute", "expected at least one sentence, got none"),
        ([["A"]], 2, "good-turing", 'expected smoothing among .* got "good-turing"'),
        ([["A"], ["<s>", "A"]], 2, "absolute", "sentence 2: expected words only, got a sentence mark"),
    ],
)
def test_estimate_refuses(sentences, order, smoothing, message):
    with pytest.raises(GrammarError, match=message):
        NGram.estimate(sentences, order, smoothing=smoothing)


def test_absolute_discounting_by_hand():
    # Bigrams: <s> A 3, A B 2, A </s> 1, B </s> 2: n1 = 1, n2 = 2, D = 1 / 5.
    model = NGram.estimate([["A", "B"], ["A", "B"], ["A"]], 2, smoothing="absolute")
    # Unigrams: A 3, B 2, </s> 3 of 8; no count of one: D = 0.1, three kinds, uniform over three.
    unigram = {
        word: (count - 0.1) / 8 + 0.1 * 3 / 8 / 3 for word, count in {"A": 3, "B": 2, "</s>": 3}.items()
    }
    for word, count in {"A": 0, "B": 2, "</s>": 1}.items():
        expected = max(count - 0.2, 0.0) / 3 + 0.2 * 2 / 3 * unigram[word]
        np.testing.assert_allclose(np.exp(model.log_prob(word, ["A"])), expected, rtol=1e-12, atol=0)
