"""The n-grams of a text as a tree of integers: the row of an n-gram points to those one word shorter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decoder.grammars.arpa import Ngram
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START
from foundation.arrays import Floats, Longs


@dataclass(frozen=True, eq=False)
class NgramLevel:
    """The N different n-grams of one length, sorted by the ids of their words.

    Attributes
    ----------
    words : (N,) int64, id of the last word
    prefixes : (N,) int64, row of the n-gram without its last word among those one word shorter
    suffixes : (N,) int64, row of the n-gram without its first word among those one word shorter
    counts : (N,) int64, how often the n-gram occurs
    """

    words: Longs
    prefixes: Longs
    suffixes: Longs
    counts: Longs

    def sums(self, values: Floats, n_histories: int) -> Floats:
        """Return the sums (H,) of values (N,) over the n-grams with the same history."""
        return np.bincount(self.prefixes, values, minlength=n_histories).astype(np.float64, copy=False)


def count_levels(sentences: Sequence[Ngram], words: Sequence[str], order: int) -> list[NgramLevel]:
    """Return the n-grams of each length from 0 to an order; sentence marks are put around the sentences.

    The only n-gram of length 0 occurs once for every word that is predicted, ``<s>`` is not. Of length 1
    there is a row for every word, in their order, whether it occurs or not.

    Parameters
    ----------
    words : every word of the sentences, ``<s>`` and ``</s>``; the index is the id
    """
    ids = {word: i for i, word in enumerate(words)}
    lengths = np.array([len(sentence) + 2 for sentence in sentences], dtype=np.int64)
    said = np.array(
        [ids[word] for sentence in sentences for word in (SENTENCE_START, *sentence, SENTENCE_END)],
        dtype=np.int64,
    )
    stops = np.repeat(np.cumsum(lengths), lengths)
    nowhere, none = np.zeros(1, dtype=np.int64), np.zeros(len(words), dtype=np.int64)
    levels = [
        NgramLevel(nowhere, nowhere, nowhere, np.array([len(said) - len(lengths)])),
        NgramLevel(np.arange(len(words)), none, none, np.bincount(said, minlength=len(words))),
    ]
    rows, starts = said, np.arange(len(said))  # row of the n-gram that starts at each position
    for length in range(2, order + 1):
        starts = starts[starts + length <= stops[starts]]
        keys = rows[starts] * len(words) + said[starts + length - 1]
        unique, firsts, inverse, counts = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        suffixes = rows[starts[firsts] + 1]
        levels.append(NgramLevel(unique % len(words), unique // len(words), suffixes, counts))
        rows = np.full(len(said), -1, dtype=np.int64)
        rows[starts] = inverse
    return levels


def names_of(levels: Sequence[NgramLevel], words: Sequence[str]) -> list[list[Ngram]]:
    """Return the words of all n-grams of each length, in the order of their rows."""
    names: list[list[Ngram]] = [[()]]
    for level in levels[1:]:
        shorter, pairs = names[-1], zip(level.prefixes.tolist(), level.words.tolist(), strict=True)
        names.append([(*shorter[prefix], words[word]) for prefix, word in pairs])
    return names
