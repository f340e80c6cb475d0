"""Interpolated n-gram estimates in backoff form.

All four methods have one form, with counts c, discounts D(c) ≤ c and the shortened history h':

    P(w | h) = (c(hw) − D(c(hw))) / Z(h) + γ(h) P(w | h')

For words never seen after h only the second term remains, so γ(h) is the backoff weight; for the other words
the whole sum is stored. The probabilities of each history sum to one exactly. Below the unigrams is
the uniform distribution over the vocabulary and ``</s>``.

- Witten-Bell has D = 0 and Z(h) = c(h) + number of different words after h.
- Absolute discounting has one D = n1 / (n1 + 2 n2), where n_k is the number of n-grams seen k times.
- Kneser-Ney has the same D, and in all but the longest n-grams c is the number of different words before an
  n-gram; those at the start of a sentence, before which there is nothing, keep their counts.
- Modified Kneser-Ney has the same c, and D(k) = k − (k + 1) n1 / (n1 + 2 n2) n_{k+1} / n_k for k = 1, 2, 3;
  D(3) holds for all larger counts, too.

For all see S. Chen and J. Goodman, "An empirical study of smoothing techniques for language modeling",
Harvard TR-10-98, 1998; modified Kneser-Ney is their (26).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np

from decoder.errors import GrammarError
from decoder.grammars.arpa import Ngram
from decoder.grammars.counts import NgramLevel, count_levels, names_of
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START, UNKNOWN
from decoder.grammars.pruning import pruned
from foundation.arrays import Flags, Floats, Longs

Smoothing = Literal["witten-bell", "absolute", "kneser-ney", "modified-kneser-ney"]
MIN_DISCOUNT, MAX_DISCOUNT = 0.1, 0.9  # where a text is too small for the estimate n1 / (n1 + 2 n2)
FEW_DISCOUNTS = (0.5, 1.0, 1.5)  # of modified Kneser-Ney where a text is too small, as in KenLM's lmplz

_HIGHEST_ORDER = 20  # n-grams of that length are whole sentences


def estimate_backoff(
    sentences: Iterable[Sequence[str]],
    order: int,
    *,
    vocabulary: Iterable[str] | None,
    smoothing: Smoothing,
    threshold: float = 0.0,
) -> tuple[tuple[dict[Ngram, float], ...], dict[Ngram, float]]:
    """Return log10 probabilities by order and log10 backoff weights, see :meth:`decoder.NGram.estimate`."""
    texts = [tuple(sentence) for sentence in sentences]
    _check(texts, order, smoothing)
    said = {word for text in texts for word in text}
    known = said if vocabulary is None else set(vocabulary)
    if said - known:
        texts = [tuple(word if word in known else UNKNOWN for word in text) for text in texts]
        known = known | {UNKNOWN}
    words = sorted(known | {SENTENCE_START, SENTENCE_END})
    levels = count_levels(texts, words, order)
    probs, weights = interpolated(levels, words.index(SENTENCE_START), smoothing)
    kept = [np.ones(len(level.words), dtype=np.bool_) for level in levels]
    if threshold > 0:
        kept, weights = pruned(levels, probs, weights, threshold)
    return _tables(levels, words, probs, weights, kept)


def interpolated(
    levels: Sequence[NgramLevel], start: int, smoothing: Smoothing
) -> tuple[list[Floats], list[Floats]]:
    """Return P of the n-grams of each length, and γ of those that are histories (1 of those that are not).

    Parameters
    ----------
    levels : n-grams of each length from 0 on
    start : id of ``<s>``, which is never predicted
    """
    counts = [level.counts.astype(np.float64) for level in levels]
    if smoothing in ("kneser-ney", "modified-kneser-ney"):
        counts = _left_contexts(levels, counts, start)
    counts[1] = np.where(levels[1].words == start, 0.0, counts[1])
    probs, weights = [np.array([1.0 / (len(levels[1].words) - 1)])], []
    for n, level in enumerate(levels[1:], start=1):
        p, gamma = _interpolate(level, counts[n], probs[-1], smoothing)
        probs.append(p)
        weights.append(gamma)
    return probs, weights


def _check(texts: Sequence[Ngram], order: int, smoothing: str) -> None:
    """Raise a GrammarError if no model can be estimated from the text."""
    if order < 1:
        raise GrammarError(f"n-gram: expected an order of at least 1, got {order}; 2 is a bigram")
    if order > _HIGHEST_ORDER:
        raise GrammarError(f"n-gram: expected an order of at most {_HIGHEST_ORDER}, got {order}; 3 is usual")
    if smoothing not in get_args(Smoothing):
        choices = ", ".join(get_args(Smoothing))
        raise GrammarError(
            f'n-gram: expected smoothing among {choices}, got "{smoothing}"; choose one of them'
        )
    if not texts:
        raise GrammarError("n-gram: expected at least one sentence, got none; give a text")
    for number, text in enumerate(texts, start=1):
        if SENTENCE_START in text or SENTENCE_END in text:
            raise GrammarError(
                f"n-gram: sentence {number}: expected words only, got a sentence mark; "
                f"leave out {SENTENCE_START} and {SENTENCE_END}, they are added"
            )


def _left_contexts(levels: Sequence[NgramLevel], counts: Sequence[Floats], start: int) -> list[Floats]:
    """Return how many different words precede each n-gram; those at the sentence start keep their counts."""
    adjusted = [counts[0]]
    at_start = levels[1].words == start
    for level, longer, count in zip(levels[1:], levels[2:], counts[1:], strict=False):
        preceding = np.bincount(longer.suffixes, minlength=len(level.words))
        adjusted.append(np.where(at_start, count, preceding))
        at_start = at_start[longer.prefixes]
    return [*adjusted, counts[-1]]


def _interpolate(
    level: NgramLevel, counts: Floats, lower: Floats, smoothing: Smoothing
) -> tuple[Floats, Floats]:
    """Return P (N,) of n-grams and γ (H,) of their histories, given P (H,) of those one word shorter."""
    discounts = _discounts(counts, smoothing)[np.minimum(counts, 3).astype(np.int64)]
    norms = level.sums(counts, len(lower))
    freed = level.sums(discounts, len(lower))
    if smoothing == "witten-bell":
        freed = level.sums((counts > 0).astype(np.float64), len(lower))
        norms = norms + freed
    is_history = norms > 0
    norms = np.where(is_history, norms, 1.0)
    weights = np.where(is_history, freed / norms, 1.0)
    probs = (counts - discounts) / norms[level.prefixes] + weights[level.prefixes] * lower[level.suffixes]
    return probs, weights


def _discounts(counts: Floats, smoothing: Smoothing) -> Floats:
    """Return D (4,) of n-grams seen never, once, twice, and three times or more."""
    n = np.array([np.count_nonzero(counts == k) for k in range(5)], dtype=np.float64)
    share = n[1] / (n[1] + 2 * n[2]) if n[1] else 0.0
    if smoothing == "witten-bell":
        return np.zeros(4)
    if smoothing != "modified-kneser-ney":
        return np.array([0.0] + 3 * [np.clip(share, MIN_DISCOUNT, MAX_DISCOUNT)])
    if n[1:4].all():
        k = np.arange(1, 4)
        estimate = k - (k + 1) * share * n[2:5] / n[1:4]  # Chen and Goodman (26)
        if (estimate > 0).all():
            return np.array([0.0, *estimate])
    return np.array([0.0, *FEW_DISCOUNTS])


def _tables(
    levels: Sequence[NgramLevel],
    words: Sequence[str],
    probs: Sequence[Floats],
    weights: Sequence[Floats],
    kept: Sequence[Flags],
) -> tuple[tuple[dict[Ngram, float], ...], dict[Ngram, float]]:
    """Return the n-grams that are kept, and the weights of those that are histories, by their words."""
    names = names_of(levels, words)
    log_probs: list[dict[Ngram, float]] = []
    backoffs: dict[Ngram, float] = {}
    for n in range(1, len(levels)):
        rows = np.flatnonzero(kept[n])
        log_probs.append(_chosen(names[n], rows, np.log10(probs[n])))
        if n < len(weights):
            histories = np.unique(levels[n + 1].prefixes[kept[n + 1]])
            backoffs |= _chosen(names[n], histories, np.log10(weights[n]))
    log_probs[0][(SENTENCE_START,)] = -np.inf
    return tuple(log_probs), backoffs


def _chosen(names: Sequence[Ngram], rows: Longs, values: Floats) -> dict[Ngram, float]:
    """Return the values of some rows by their names."""
    return {names[row]: value for row, value in zip(rows.tolist(), values[rows].tolist(), strict=True)}
