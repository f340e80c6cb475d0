"""N-grams counted on integers, beside those counted on words."""

from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from decoder.grammars.smoothing import count_levels, names_of

WORDS = sorted([*"ABCDE", "<s>", "</s>"])


@pytest.mark.parametrize("seed", range(5))
def test_counts_and_rows_are_those_of_the_words(seed, oracle):
    text = [*map(tuple, oracle.random_sentences(np.random.default_rng(seed), list("ABCD"), 20)), ()]
    levels = count_levels(text, WORDS, 4)
    names = names_of(levels, WORDS)
    said = [("<s>", *sentence, "</s>") for sentence in text]
    for n in range(2, 5):
        expected = Counter(s[i : i + n] for s in said for i in range(len(s) - n + 1))
        assert dict(zip(names[n], levels[n].counts.tolist(), strict=True)) == expected
        assert [names[n - 1][row] for row in levels[n].prefixes] == [name[:-1] for name in names[n]]
        assert [names[n - 1][row] for row in levels[n].suffixes] == [name[1:] for name in names[n]]
        assert names[n] == sorted(names[n])


def test_unigrams_are_all_words_and_the_empty_n_gram_is_every_prediction():
    levels = count_levels([("A", "B"), ("A",)], WORDS, 1)
    assert names_of(levels, WORDS) == [[()], [(word,) for word in WORDS]]
    assert dict(zip(WORDS, levels[1].counts.tolist(), strict=True)) == {
        **dict.fromkeys("CDE", 0),
        "A": 2,
        "B": 1,
        "<s>": 2,
        "</s>": 2,
    }
    assert_array_equal(levels[0].counts, [5])


def test_sums_over_histories():
    bigrams = count_levels([("A", "B"), ("A", "A")], ["</s>", "<s>", "A", "B"], 2)[2]
    assert_array_equal(bigrams.sums(bigrams.counts.astype(float), 4), [0, 2, 3, 1])  # by first word
