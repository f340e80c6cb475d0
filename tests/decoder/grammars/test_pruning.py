"""Pruned models sum to one; what an n-gram is worth is compared with the relative entropy itself."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from decoder import NGram
from decoder.grammars.smoothing import count_levels, interpolated, names_of, normalized, relative_entropies

WORDS = list("ABCD")


def text_of(oracle, seed, n_sentences=25):
    return oracle.random_sentences(np.random.default_rng(seed), WORDS, n_sentences)


@pytest.mark.parametrize("threshold", [1e-4, 1e-3, 3e-3, 0.1])
@pytest.mark.parametrize("smoothing", ["witten-bell", "modified-kneser-ney"])
def test_pruned_probabilities_sum_to_one_after_every_history(threshold, smoothing, oracle):
    for seed in range(3):
        model = NGram.estimate(
            text_of(oracle, seed), 3, vocabulary=[*WORDS, "E"], smoothing=smoothing, threshold=threshold
        )
        for n in range(3):
            for history in itertools.product(["<s>", *WORDS, "E"], repeat=n):
                total = sum(np.exp(model.log_prob(word, history)) for word in [*WORDS, "E", "</s>"])
                assert_allclose(total, 1.0, rtol=0, atol=1e-9)


def test_more_is_pruned_by_a_higher_threshold_and_what_stays_keeps_its_probability(oracle):
    text = text_of(oracle, 1)
    whole = NGram.estimate(text, 3, smoothing="modified-kneser-ney")
    sizes = []
    for threshold in (0.0, 1e-3, 1e-2, 1e9):
        model = NGram.estimate(text, 3, smoothing="modified-kneser-ney", threshold=threshold)
        sizes.append(sum(map(len, model.log10_probs)))
        for table, original in zip(model.log10_probs, whole.log10_probs, strict=True):
            assert table.items() <= original.items()
        listed = set().union(*model.log10_probs)
        assert all(ngram[:-1] in listed for ngram in listed if len(ngram) > 1)
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3] == len(whole.log10_probs[0])
    assert NGram.estimate(text, 3, smoothing="modified-kneser-ney", threshold=0.0) == whole


def relative_entropy_reference(whole, pruned, history, share):
    """Return P(h) times the relative entropy in nats after one history, word by word."""
    total = 0.0
    for word in [*whole.words, "</s>"]:
        before, after = whole.log_prob(word, history), pruned.log_prob(word, history)
        total += np.exp(before) * (before - after)
    return share * total


@pytest.mark.parametrize("smoothing", ["witten-bell", "modified-kneser-ney"])
def test_entropy_is_that_between_the_models_with_and_without_the_n_gram(smoothing, oracle):
    text = [tuple(sentence) for sentence in text_of(oracle, 2, 12)]
    words = sorted([*WORDS, "<s>", "</s>"])
    levels = count_levels(text, words, 3)
    probs, weights = interpolated(levels, words.index("<s>"), smoothing)
    names = names_of(levels, words)
    whole = NGram.estimate(text, 3, vocabulary=WORDS, smoothing=smoothing)
    shares = levels[2].counts / levels[0].counts[0]
    found = relative_entropies(levels, probs, weights, 3)
    for row, ngram in enumerate(names[3]):
        kept = [np.ones(len(level.words), dtype=bool) for level in levels]
        kept[3][row] = False
        without = normalized(levels, probs, weights, kept)
        pruned = NGram(
            (*whole.log10_probs[:2], {g: p for g, p in whole.log10_probs[2].items() if g != ngram}),
            whole.log10_backoffs
            | {h: float(np.log10(w)) for h, w in zip(names[2], without[2], strict=True) if h[-1] != "</s>"},
        )
        share = shares[levels[3].prefixes[row]]
        expected = relative_entropy_reference(whole, pruned, ngram[:-1], share)
        assert_allclose(found[row], expected, rtol=1e-7, atol=1e-13)


def test_n_grams_that_say_nothing_new_go_first():
    # After "A" as after "B" follow C and D in halves, and P(C) = P(D): these bigrams say little.
    text = [["A", "C"], ["A", "D"], ["B", "C"], ["B", "D"], ["X", "Y"], ["X", "Y"], ["X", "Y"], ["X", "Y"]]
    model = NGram.estimate(text, 2, threshold=0.06)
    assert ("X", "Y") in model.log10_probs[1]
    assert ("A", "C") not in model.log10_probs[1]
