"""Estimates by hand and by KenLM, and probabilities that sum to one in every context."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from decoder import GrammarError, NGram

SMOOTHINGS = ("witten-bell", "absolute", "kneser-ney", "modified-kneser-ney")
GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_probabilities_sum_to_one_in_every_context(order, smoothing, oracle):
    words = list("ABCDE")  # E never occurs in the text
    text = oracle.random_sentences(np.random.default_rng(order), words[:4], 12)
    model = NGram.estimate(text, order, vocabulary=words, smoothing=smoothing)
    for n in range(order + 1):
        for history in itertools.product(["<s>", *words], repeat=n):
            total = sum(np.exp(model.log_prob(word, history)) for word in [*words, "</s>"])
            assert_allclose(total, 1.0, rtol=0, atol=1e-12)
    assert min(np.exp(model.log_prob(w, ["A"])) for w in [*words, "</s>"]) > 0


def test_witten_bell_by_hand():
    model = NGram.estimate([["A", "B"], ["A"]], 2, vocabulary=["A", "B", "C"])
    # Events A B C </s>; counts A 2, B 1, </s> 2 of 5 with 3 kinds: (c + 3 / 4) / 8.
    unigram = {"A": 2.75 / 8, "B": 1.75 / 8, "C": 0.75 / 8, "</s>": 2.75 / 8}
    for word, p in unigram.items():
        assert_allclose(np.exp(model.log_prob(word)), p, rtol=1e-12, atol=0)
    # After A once B, once </s>: (c + 2 P(w)) / 4.
    for word, count in {"A": 0, "B": 1, "C": 0, "</s>": 1}.items():
        expected = (count + 2 * unigram[word]) / 4
        assert_allclose(np.exp(model.log_prob(word, ["A"])), expected, rtol=1e-12, atol=0)


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
        ([["A"]], 10**9, "absolute", "expected an order of at most 20, got 1000000000"),
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
        assert_allclose(np.exp(model.log_prob(word, ["A"])), expected, rtol=1e-12, atol=0)


def harbour(n_lines=None):
    return [line.split() for line in (GOLDEN / "harbour.txt").read_text().splitlines()[:n_lines]]


@pytest.mark.parametrize(("name", "order", "n_lines"), [("harbour", 3, None), ("harbour_60", 2, 60)])
def test_modified_kneser_ney_has_the_values_of_kenlm(name, order, n_lines):
    """The first file says the tool, its version and its command; the second text has too few counts."""
    text, theirs = harbour(n_lines), NGram.read(GOLDEN / f"{name}.arpa")
    words = {word for sentence in text for word in sentence}
    ours = NGram.estimate(text, order, vocabulary=[*words, "<unk>"], smoothing="modified-kneser-ney")
    for mine, others in zip(ours.log10_probs, theirs.log10_probs, strict=True):
        assert mine.keys() == others.keys()
        for ngram in mine.keys() - {("<s>",)}:
            assert_allclose(mine[ngram], others[ngram], rtol=0, atol=3e-7)  # theirs are single precision
    for history in theirs.log10_backoffs:
        weights = (model.log10_backoffs.get(history, 0.0) for model in (ours, theirs))
        assert_allclose(*weights, rtol=0, atol=3e-7)


def modified_kneser_ney_reference(text, order, events, word, history):
    """Return P(word | history) by the definition, counting anew for every probability."""
    said = [("<s>", *sentence, "</s>") for sentence in text]

    def grams(n):
        return {s[i : i + n] for s in said for i in range(len(s) - n + 1)} - {("<s>",)}

    def count(gram):
        if len(gram) == order or gram[0] == "<s>":
            return sum(s[i : i + len(gram)] == gram for s in said for i in range(len(s)))
        return sum(longer[1:] == gram for longer in grams(len(gram) + 1))

    history = history[max(0, len(history) - order + 1) :]
    lower = 1 / len(events)
    if history:
        lower = modified_kneser_ney_reference(text, order, events, word, history[1:])
    counts = {gram: count(gram) for gram in grams(len(history) + 1)}
    n = [sum(c == k for c in counts.values()) for k in range(5)]
    discounts = {1: 0.5, 2: 1.0, 3: 1.5}
    if n[1] and n[2] and n[3]:
        y = n[1] / (n[1] + 2 * n[2])
        estimates = {k: k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)}
        discounts = estimates if min(estimates.values()) > 0 else discounts
    following = {gram[-1]: c for gram, c in counts.items() if gram[:-1] == history}
    if not following:
        return lower
    total = sum(following.values())
    gamma = sum(discounts[min(c, 3)] for c in following.values()) / total
    own = following[word] - discounts[min(following[word], 3)] if word in following else 0.0
    return own / total + gamma * lower


@pytest.mark.parametrize("order", [1, 2, 3])
def test_modified_kneser_ney_is_its_definition(order, oracle):
    rng = np.random.default_rng(order)
    for n_sentences in (3, 40):
        # Most words are A: there are n-grams of all counts from one to four.
        text = [tuple(s) for s in oracle.random_sentences(rng, list("AAAAABBC"), n_sentences)]
        model = NGram.estimate(text, order, vocabulary="ABCD", smoothing="modified-kneser-ney")
        for n in range(3):
            for history in itertools.product(["<s>", "A", "B", "C"], repeat=n):
                for word in ("A", "C", "D", "</s>"):
                    expected = modified_kneser_ney_reference(text, order, [*"ABCD", "</s>"], word, history)
                    assert_allclose(np.exp(model.log_prob(word, history)), expected, rtol=1e-10, atol=0)
