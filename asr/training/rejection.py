"""Learning which words were spoken from words that a search has found, right and wrong ones.

The log odds are a linear function of the evidence, fitted by logistic regression with a term for each word.
Thresholds must not be chosen by odds of the words that the function was fitted to; so each group of words,
such as those of a speaker, is judged by a function fitted to the others, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from asr.decoding.evidence import Evidence
from asr.decoding.rejection import Rejection
from foundation.arrays import Flags, Floats
from foundation.threads import single_threaded_libraries

LEAST_OF_A_KIND = 10  # right and wrong words to learn from
N_GROUPS = 5  # at least, of which each is judged by rules learned from the others
_STRENGTH = 1.0  # of the penalty on weights of evidence of variance 1


@dataclass(frozen=True)
class Candidate:
    """A word that a search has found.

    Attributes
    ----------
    word : the word
    evidence : how well it fits; None where it has too few frames
    is_spoken : whether it was spoken there
    group : speaker, or the recording of an unknown one
    is_counted : whether thresholds are chosen by it, too
    """

    word: str
    evidence: Evidence | None
    is_spoken: bool
    group: str
    is_counted: bool = True


def learn_rejection(
    candidates: Sequence[Candidate], words: Sequence[str], fallback: Rejection
) -> tuple[Rejection, Floats]:
    """Return the rule learned, with threshold 0, and each candidate's log odds (N,) as if it were new.

    Where there are too few candidates of a kind, the rule is the one to fall back to.

    Parameters
    ----------
    candidates : right and wrong words
    words : those that get a term of their own
    fallback : the rule of who has too few
    """
    usable = [c for c in candidates if c.evidence is not None]
    targets = np.array([c.is_spoken for c in usable], dtype=bool)
    groups = np.array([c.group for c in usable])
    if not _are_enough(targets) or len(set(groups)) < N_GROUPS:
        return fallback, log_odds_of(fallback, candidates)
    odds = np.full(len(candidates), -np.inf)
    places = np.flatnonzero([c.evidence is not None for c in candidates])
    for inner, outer in GroupKFold(N_GROUPS).split(targets, groups=groups):
        rule = fallback
        if _are_enough(targets[inner]):
            rule = _fitted([usable[n] for n in inner], targets[inner], words)
        odds[places[outer]] = log_odds_of(rule, [usable[n] for n in outer])
    return _fitted(usable, targets, words), odds


def log_odds_of(rule: Rejection, candidates: Sequence[Candidate]) -> Floats:
    """Return the log odds (N,) that a rule gives to each candidate."""
    return np.array([rule.log_odds(c.word, c.evidence) for c in candidates], dtype=np.float64)


def _are_enough(targets: Flags) -> bool:
    return min(int(targets.sum()), int((~targets).sum())) >= LEAST_OF_A_KIND


def _fitted(usable: Sequence[Candidate], targets: Flags, words: Sequence[str]) -> Rejection:
    """Return the rule that fits candidates best, each of which has evidence."""
    evidence = np.array([c.evidence for c in usable], dtype=np.float64)
    is_word = np.array([[c.word == word for word in words] for c in usable], dtype=np.float64)
    mean, scale = evidence.mean(axis=0), np.maximum(evidence.std(axis=0), 1e-9)
    model = LogisticRegression(C=1 / _STRENGTH, max_iter=5000)
    with single_threaded_libraries():  # the last digits must not depend on the number of cores
        model.fit(np.hstack([(evidence - mean) / scale, is_word]), targets)
    weights, of_words = np.split(model.coef_[0], [evidence.shape[1]])
    weights = weights / scale
    offset = float(model.intercept_[0] - weights @ mean)
    return Rejection(
        0.0, Evidence(*weights.tolist()), offset, dict(zip(words, of_words.tolist(), strict=True))
    )
