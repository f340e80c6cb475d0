"""Interpolated n-gram estimates in backoff form: the n-grams of a text are counted, smoothed and pruned.

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
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from decoder.errors import GrammarError
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START, UNKNOWN
from foundation.arrays import Flags, Floats, Longs
from foundation.records import check_words

Smoothing = Literal["witten-bell", "absolute", "kneser-ney", "modified-kneser-ney"]
Ngram = tuple[str, ...]
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
    if not isinstance(sentences, Iterable) or isinstance(sentences, str | np.ndarray):
        got = f"a {type(sentences).__name__}"
        raise GrammarError(f"n-gram: expected sentences, each a sequence of words, got {got}; give a list")
    given = list(sentences)
    for number, sentence in enumerate(given, start=1):
        check_words(f"n-gram: sentence {number}", sentence, GrammarError)
    texts = [tuple(sentence) for sentence in given]
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
    """Return the probability of each n-gram, and the backoff weight γ of each that is a history (else 1).

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


# The n-grams of a text as a tree of integers: the row of an n-gram points to those one word shorter.


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


# N-grams whose loss hardly changes a backoff model are left out, the others keep their probabilities.
#
# Without an n-gram hw the backoff weight of h rises from α to α', and the model, weighed by how often h
# occurs, moves away from what it was by the relative entropy
#
#     D = −P(h) {P(w | h) [log P(w | h') + log α' − log P(w | h)] + (log α' − log α) (1 − Σ_v P(v | h))}
#
# where the sum is over the words listed after h. The perplexity rises by exp(D) − 1 of itself; an n-gram goes
# if that is less than a threshold, unless it is the beginning of one that stays. A. Stolcke, "Entropy-based
# pruning of backoff language models", DARPA Broadcast News Transcription and Understanding Workshop, 1998.
#
# P(h) is the share of h among the n-grams of the text, not what the model makes of it: the shorter n-grams of
# Kneser-Ney models do not have the text's frequencies, and pruning by them costs perplexity. C. Chelba et
# al., "Study on interaction between entropy pruning and Kneser-Ney smoothing", Interspeech 2010.

_ALL_LISTED = 1e-9  # a history with less than this left for other words lists them all, but for rounding


def pruned(
    levels: Sequence[NgramLevel], probs: Sequence[Floats], weights: Sequence[Floats], threshold: float
) -> tuple[list[Flags], list[Floats]]:
    """Return which n-grams of each length stay, and new backoff weights so that probabilities sum to one.

    Parameters
    ----------
    levels : n-grams of each length from 0 on
    probs : their probabilities
    weights : backoff weights of those that are histories
    threshold : least rise of the perplexity, as a share of itself, for which an n-gram stays
    """
    kept = [np.ones(len(level.words), dtype=np.bool_) for level in levels]
    for n in range(len(levels) - 1, 1, -1):
        rises = np.expm1(relative_entropies(levels, probs, weights, n))
        kept[n] = rises >= threshold
        if n + 1 < len(levels):
            kept[n][levels[n + 1].prefixes[kept[n + 1]]] = True
    return kept, normalized(levels, probs, weights, kept)


def relative_entropies(
    levels: Sequence[NgramLevel], probs: Sequence[Floats], weights: Sequence[Floats], n: int
) -> Floats:
    """Return for each n-gram (N,) of length n the entropy D in nats of the model without it."""
    level, p, lower = levels[n], probs[n], probs[n - 1][levels[n].suffixes]
    alpha = weights[n - 1][level.prefixes]
    lower_left = np.maximum(1.0 - level.sums(lower, len(weights[n - 1])), 0.0)[level.prefixes]
    left = alpha * lower_left
    new_alpha = (left + p) / (lower_left + lower)
    changed: Floats = p * np.log(lower * new_alpha / p) + left * np.log(new_alpha / alpha)
    shares: Floats = levels[n - 1].counts[level.prefixes] / levels[0].counts[0]
    return -shares * changed


def normalized(
    levels: Sequence[NgramLevel], probs: Sequence[Floats], weights: Sequence[Floats], kept: Sequence[Flags]
) -> list[Floats]:
    """Return the backoff weights with which the probabilities that are kept sum to one."""
    current = probs[1]  # what the pruned model says of every n-gram, listed or not
    found = [weights[0]]
    for level, p, old, stays in zip(levels[2:], probs[2:], weights[1:], kept[2:], strict=True):
        lower = current[level.suffixes]
        left = 1.0 - level.sums(np.where(stays, p, 0.0), len(old))
        lower_left = 1.0 - level.sums(np.where(stays, lower, 0.0), len(old))
        can_change = lower_left > _ALL_LISTED
        found.append(np.where(can_change, left / np.where(can_change, lower_left, 1.0), old))
        current = np.where(stays, p, found[-1][level.prefixes] * lower)
    return found
