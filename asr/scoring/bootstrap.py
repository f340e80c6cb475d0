"""How sure a word accuracy is: test sets drawn anew, with replacement, from the utterances of one.

This covers the choice of sentences, not that of speakers, training set or seed.
"""

import numpy as np

from asr.errors import ConfigError
from foundation.arrays import Floats, Longs

_RESAMPLES_PER_BLOCK = 500


def resample_accuracies(errors: Longs, words: Longs, n_resamples: int, seed: int) -> Floats:
    """Return the word accuracies of test sets drawn with replacement from the utterances of one.

    Parameters
    ----------
    errors : int64 array, shape (N, n_systems)
        Errors of each recogniser in each utterance; the recognisers share the draws.
    words : int64 array, shape (N,)
        Reference words of each utterance.
    n_resamples, seed : int

    Returns
    -------
    float64 array, shape (n_resamples, n_systems)
        In percent. A draw without any reference word has no accuracy and is left out.
    """
    if n_resamples < 1:
        raise ConfigError(f"n_resamples: expected at least 1, got {n_resamples}; 10000 is usual")
    # Utterances with the same counts are interchangeable: what matters is how many of each kind are drawn.
    kinds, n_alike = np.unique(np.column_stack([words, errors]), axis=0, return_counts=True)
    n_utterances = len(words)
    rng = np.random.default_rng(seed)
    block_sizes = np.diff([*range(0, n_resamples, _RESAMPLES_PER_BLOCK), n_resamples])
    totals = np.concatenate(
        [rng.multinomial(n_utterances, n_alike / n_utterances, size=n) @ kinds for n in block_sizes]
    )
    totals = totals[totals[:, 0] > 0]
    return np.asarray(100.0 - 100.0 * totals[:, 1:] / totals[:, :1])


def interval_of(values: Floats) -> tuple[float, float]:
    """Return the 95 % percentile interval of resampled values."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def two_sided_p_value(differences: Floats) -> float:
    """Return the p value of a difference from its resampled values, shape (n_resamples,)."""
    # One is added on both sides of the fraction, so that a finite number of draws never claims p = 0.
    n_smaller_side = min(np.sum(differences <= 0), np.sum(differences >= 0))
    return float(min(1.0, 2 * (n_smaller_side + 1) / (len(differences) + 1)))
