"""N-grams whose loss hardly changes a backoff model are left out, the others keep their probabilities.

Without an n-gram hw the backoff weight of h rises from α to α', and the model, weighed by how often h occurs,
moves away from what it was by the relative entropy

    D = −P(h) {P(w | h) [log P(w | h') + log α' − log P(w | h)] + (log α' − log α) (1 − Σ_v P(v | h))}

where the sum is over the words listed after h. The perplexity rises by exp(D) − 1 of itself; an n-gram goes
if that is less than a threshold, unless it is the beginning of one that stays. A. Stolcke, "Entropy-based
pruning of backoff language models", DARPA Broadcast News Transcription and Understanding Workshop, 1998.

P(h) is the share of h among the n-grams of the text, not what the model makes of it: the shorter n-grams of
Kneser-Ney models do not have the text's frequencies, and pruning by them costs perplexity. C. Chelba et al.,
"Study on interaction between entropy pruning and Kneser-Ney smoothing", Interspeech 2010.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from decoder.grammars.counts import NgramLevel
from foundation.arrays import Flags, Floats

_ALL_LISTED = 1e-9  # a history with less than this left for other words lists them all, but for rounding


def pruned(
    levels: Sequence[NgramLevel], probs: Sequence[Floats], weights: Sequence[Floats], threshold: float
) -> tuple[list[Flags], list[Floats]]:
    """Return which n-grams of each length stay, and the backoff weights with which all sums are one again.

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
