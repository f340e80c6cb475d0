"""Interpolated n-gram estimates in backoff form.

All three methods have one form, with counts c, discount D ≤ c and the shortened history h':

    P(w | h) = max(c(hw) − D(h), 0) / Z(h) + γ(h) P(w | h')

For words never seen after h only the second term remains, so γ(h) is the backoff weight; for the other words
the whole sum is stored. The probabilities of each history sum to one exactly. Below the unigrams is
the uniform distribution over the vocabulary and ``</s>``. Witten-Bell has D = 0 and Z(h) = c(h) + number of
different words after h; the other two D = n1 / (n1 + 2 n2) and Z(h) = c(h). For all three see S. Chen and
J. Goodman, "An empirical study of smoothing techniques for language modeling", Harvard TR-10-98, 1998.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from decoder.errors import GrammarError
from decoder.grammars.arpa import Ngram
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START, UNKNOWN

Smoothing = Literal["witten-bell", "absolute", "kneser-ney"]
MIN_DISCOUNT, MAX_DISCOUNT = 0.1, 0.9  # where a text is too small for the estimate n1 / (n1 + 2 n2)


def estimate_backoff(
    sentences: Iterable[Sequence[str]],
    order: int,
    *,
    vocabulary: Iterable[str] | None,
    smoothing: Smoothing,
) -> tuple[tuple[dict[Ngram, float], ...], dict[Ngram, float]]:
    """Return log10 probabilities by order and log10 backoff weights, see :meth:`decoder.NGram.estimate`."""
    texts = [tuple(sentence) for sentence in sentences]
    _check(texts, order, smoothing)
    known = {word for text in texts for word in text} if vocabulary is None else set(vocabulary)
    texts = [tuple(word if word in known else UNKNOWN for word in text) for text in texts]
    events = sorted(known.union(*texts) - {SENTENCE_START} | {SENTENCE_END})
    counts = [_count(texts, n) for n in range(1, order + 1)]
    if smoothing == "kneser-ney":
        counts = [_left_contexts(counts[n], counts[n + 1]) for n in range(order - 1)] + counts[-1:]

    lower: dict[Ngram, float] = {(): 1.0 / len(events)}
    log_probs: list[dict[Ngram, float]] = []
    backoffs: dict[Ngram, float] = {}
    for n, table in enumerate(counts, start=1):
        listed = [(word,) for word in events] if n == 1 else sorted(table)
        probs, weights = _interpolate(table, listed, lower, smoothing)
        log_probs.append({ngram: float(np.log10(p)) for ngram, p in probs.items()})
        backoffs.update({h: float(np.log10(weight)) for h, weight in weights.items() if h})
        lower = probs
    log_probs[0][(SENTENCE_START,)] = -np.inf
    return tuple(log_probs), backoffs


def _check(texts: Sequence[Ngram], order: int, smoothing: str) -> None:
    """Raise a GrammarError if no model can be estimated from the text."""
    if order < 1:
        raise GrammarError(f"n-gram: expected an order of at least 1, got {order}; 2 is a bigram")
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


def _count(texts: Iterable[Ngram], n: int) -> Counter[Ngram]:
    """Return the counts of the n-grams that predict something; a sentence has one start however long n is."""
    counts: Counter[Ngram] = Counter()
    for text in texts:
        said = (SENTENCE_START, *text, SENTENCE_END)
        counts.update(said[i - n + 1 : i + 1] for i in range(max(1, n - 1), len(said)))
    return counts


def _left_contexts(counts: Counter[Ngram], longer: Counter[Ngram]) -> Counter[Ngram]:
    """Return how many different words precede each n-gram; those at the sentence start keep their counts."""
    preceding = Counter(ngram[1:] for ngram in longer)
    return Counter({g: c if g[0] == SENTENCE_START else preceding[g] for g, c in counts.items()})


def _interpolate(
    counts: Counter[Ngram], listed: Iterable[Ngram], lower: Mapping[Ngram, float], smoothing: Smoothing
) -> tuple[dict[Ngram, float], dict[Ngram, float]]:
    """Return P of the listed n-grams and γ of their histories, given P of the n-grams one shorter."""
    totals: Counter[Ngram] = Counter()
    kinds: Counter[Ngram] = Counter()
    for ngram, count in counts.items():
        totals[ngram[:-1]] += count
        kinds[ngram[:-1]] += 1
    discount = 0.0 if smoothing == "witten-bell" else _discount(counts)
    norms: dict[Ngram, float] = {}
    weights: defaultdict[Ngram, float] = defaultdict(lambda: 1.0)
    for history in totals:
        if smoothing == "witten-bell":
            norms[history] = totals[history] + kinds[history]
            weights[history] = kinds[history] / norms[history]
        else:
            norms[history] = totals[history]
            weights[history] = discount * kinds[history] / norms[history]
    probs = {}
    for ngram in listed:
        history = ngram[:-1]
        own = (counts[ngram] - discount) / norms[history] if counts[ngram] else 0.0
        probs[ngram] = own + weights[history] * lower[ngram[1:] if len(ngram) > 1 else ()]
    return probs, dict(weights)


def _discount(counts: Counter[Ngram]) -> float:
    """Return D = n1 / (n1 + 2 n2), kept away from 0 and 1."""
    of_counts = Counter(counts.values())
    n1, n2 = of_counts[1], of_counts[2]
    return float(np.clip(n1 / (n1 + 2 * n2) if n1 else 0.0, MIN_DISCOUNT, MAX_DISCOUNT))
