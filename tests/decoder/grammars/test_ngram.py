"""Backoff models by hand, and the same probabilities from their tables."""

import itertools

import numpy as np
import pytest

from decoder import GrammarError, NGram

LN10 = np.log(10.0)
ARPA = """\
A model by hand; what stands before the data is a comment.

\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-1.0\t</s>
-99\t<s>\t-0.2
-0.5\tA\t-0.3
-0.7\tB
-2.0\t<unk>

\\2-grams:
-0.1\t<s> A\t-0.4
-0.6 A B 0.05
-0.9\tB </s>

\\3-grams:
-0.05\t<s> A B

\\end\\
"""


@pytest.fixture
def by_hand(tmp_path):
    path = tmp_path / "hand.arpa"
    path.write_text(ARPA)
    return NGram.read(path)


@pytest.mark.parametrize(
    ("word", "history", "log10"),
    [
        ("A", [], -0.5),
        ("A", ["<s>"], -0.1),
        ("B", ["<s>"], -0.2 - 0.7),
        ("B", ["<s>", "A"], -0.05),
        ("A", ["<s>", "A"], -0.4 - 0.3 - 0.5),
        ("</s>", ["A", "B"], 0.05 - 0.9),
        ("A", ["A", "B"], 0.05 + 0.0 - 0.5),
        ("B", ["A", "A"], -0.6),
        ("B", ["B", "B", "B", "A"], -0.6),
        ("NEW", ["A"], -0.3 - 2.0),
        ("B", ["NEW"], -0.7),
    ],
)
def test_exact_values_of_a_model_by_hand(word, history, log10, by_hand):
    np.testing.assert_allclose(by_hand.log_prob(word, history), LN10 * log10, rtol=1e-14, atol=0)


def test_sentence_and_perplexity_of_a_model_by_hand(by_hand):
    log10 = -0.1 + -0.05 + (0.05 - 0.9)
    np.testing.assert_allclose(by_hand.sentence_log_prob(["A", "B"]), LN10 * log10, rtol=1e-14, atol=0)
    np.testing.assert_allclose(by_hand.perplexity([["A", "B"]]), 10 ** (-log10 / 3), rtol=1e-12, atol=0)
    with pytest.raises(GrammarError, match="expected at least one sentence"):
        by_hand.perplexity([])


def test_without_unknown_word_an_unknown_word_is_impossible():
    model = NGram.estimate([["A"]], 2)
    assert model.log_prob("B", ["A"]) == -np.inf
    assert model.perplexity([["B"]]) == np.inf


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_tables_give_the_same_probabilities(order, oracle):
    words = list("ABCD")
    rng = np.random.default_rng(order)
    model = NGram.estimate(oracle.random_sentences(rng, words, 10), order, vocabulary=words)
    tables = model.compile(set(words))
    for n in range(5):
        for sentence in itertools.product(words, repeat=n):
            np.testing.assert_allclose(
                tables.sentence_log_prob(sentence), model.sentence_log_prob(sentence), rtol=1e-12, atol=0
            )


def test_tables_are_exact_for_a_pruned_model_whose_prefixes_are_missing():
    model = NGram(
        (
            {("<s>",): -np.inf, ("A",): -0.4, ("B",): -0.5, ("</s>",): -0.6},
            {("<s>", "A"): -0.3},
            {("A", "B", "A"): -0.1, ("<s>", "B", "B"): -0.2},  # neither "A B" nor "<s> B" is listed
        ),
        {("<s>",): -0.7, ("A",): -0.2, ("A", "B"): -0.9},
    )
    tables = model.compile({"A", "B"})
    for n in range(6):
        for sentence in itertools.product("AB", repeat=n):
            np.testing.assert_allclose(
                tables.sentence_log_prob(sentence), model.sentence_log_prob(sentence), rtol=1e-12, atol=0
            )


def test_tables_of_fewer_words_keep_the_probabilities_of_the_rest(oracle):
    model = NGram.estimate(oracle.random_sentences(np.random.default_rng(1), list("ABCD"), 9), 3)
    tables = model.compile({"A", "C", "Z"})
    assert tables.dropped_words == ("B", "D")
    for sentence in itertools.product("AC", repeat=4):
        np.testing.assert_allclose(
            tables.sentence_log_prob(sentence), model.sentence_log_prob(sentence), rtol=1e-12, atol=0
        )


def test_words_that_become_one_have_the_more_probable_n_gram():
    model = NGram.estimate([["a", "b"], ["A", "b"], ["a", "a"]], order=2)
    renamed = model.renamed({"A": "a"})
    assert renamed.words == ("a", "b")
    assert renamed.log_prob("a") == pytest.approx(max(model.log_prob(w) for w in ("a", "A")), abs=1e-12)
    following = max(model.log_prob("b", [history]) for history in ("a", "A"))
    assert renamed.log_prob("b", ["a"]) == pytest.approx(following, abs=1e-12)
    assert model.renamed({}) == model
