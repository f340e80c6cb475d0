"""How well frames tell phones: posteriors, which phone is taken for which, how far pairs are apart.

Axes: T frames, S states, P phones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.special import logsumexp
from scipy.stats import rankdata

from acoustic.hmm.topology import SHORT_PAUSE, Topology, base_phone
from acoustic.model import AcousticModel
from foundation.arrays import Floats, Integers, Ints, Longs, Reals

FEWEST_FRAMES = 20  # of a phone, to say anything of it


@dataclass(frozen=True)
class StatePhones:
    """The phones without context that states stand for.

    Attributes
    ----------
    names : (P,) names; a short pause is a silence
    of_state : (S,) int32 number of each state's phone
    """

    names: tuple[str, ...]
    of_state: Ints

    @classmethod
    def of(cls, topology: Topology) -> StatePhones:
        """Return the phones of a topology."""
        found = dict[int, str]()
        for phone, states in zip(topology.phones, topology.phone_states, strict=True):
            if phone != SHORT_PAUSE:
                found |= {state: found.get(state, base_phone(phone)) for state in states}
        names = tuple(dict.fromkeys(found.values()))
        numbers = {name: n for n, name in enumerate(names)}
        own = [numbers[found[state]] for state in range(topology.n_states)]
        return cls(names, np.array(own, dtype=np.int32))

    def log_posteriors(self, scores: Reals, model: AcousticModel) -> Floats:
        """Return log P(phone | frame), (T, P), from scores (T, S).

        Scores are log-likelihoods of states up to a constant of the frame; Bayes' rule with the share of each
        state in the training frames makes posteriors of them.
        """
        joint = np.asarray(scores, dtype=np.float64) + np.log(np.maximum(model.occupancy, 1.0))
        joint -= logsumexp(joint, axis=1, keepdims=True)
        return np.column_stack(
            [logsumexp(joint[:, self.of_state == phone], axis=1) for phone in range(len(self.names))]
        )

    def labels(self, states: Integers) -> Ints:
        """Return the phone of each frame (T,) from its state, −1 where that is unknown (−1)."""
        return np.where(states >= 0, self.of_state[states], -1).astype(np.int32)


def confusions(labels: Integers, log_posteriors: Reals) -> Longs:
    """Return how many frames of each phone (row) are most probably which phone (column), (P, P).

    Parameters
    ----------
    labels : (T,) phone of each frame, −1 for none
    log_posteriors : (T, P)
    """
    n_phones, known = log_posteriors.shape[1], labels >= 0
    cells = labels[known].astype(np.int64) * n_phones + np.argmax(log_posteriors[known], axis=1)
    return np.bincount(cells, minlength=n_phones**2).reshape(n_phones, n_phones)


def separability(labels: Integers, log_posteriors: Reals) -> Floats:
    """Return for each pair of phones the area under the ROC curve of their log odds, (P, P).

    It is the probability that of one frame of each phone the right one has the larger log odds
    (ties count half): 1 is told apart without fault, 1/2 not at all. NaN on the diagonal, and for phones
    with fewer than `FEWEST_FRAMES` frames. The parameters are those of `confusions`.
    """
    n_phones = log_posteriors.shape[1]
    # Phones of no probability at all have log odds still: those of the smallest numbers.
    finite = np.maximum(log_posteriors, -1e4)
    frames = [finite[labels == phone] for phone in range(n_phones)]
    found = np.full((n_phones, n_phones), np.nan)
    for a in range(n_phones):
        for b in range(a):
            if min(len(frames[a]), len(frames[b])) >= FEWEST_FRAMES:
                odds = [frames[phone][:, a] - frames[phone][:, b] for phone in (a, b)]
                found[a, b] = found[b, a] = area_under_curve(*odds)
    return found


def area_under_curve(positive: Reals, negative: Reals) -> float:
    """Return P(a positive value is larger than a negative one), ties counting half.

    >>> area_under_curve(np.array([3.0, 2.0]), np.array([1.0, 2.0]))
    0.875
    """
    ranks = rankdata(np.concatenate([positive, negative]))[: len(positive)]
    n = len(positive)
    return float((ranks.sum() - n * (n + 1) / 2) / (n * len(negative)))


def order_by_likeness(counts: Longs) -> list[int]:
    """Return the phones with `FEWEST_FRAMES` frames or more, those that are often confused beside each other.

    Parameters
    ----------
    counts : (P, P) confusions
    """
    used = np.flatnonzero(counts.sum(axis=1) >= FEWEST_FRAMES)
    if len(used) < 3:
        return [int(phone) for phone in used]
    shares = counts[np.ix_(used, used)] / np.maximum(counts[used].sum(axis=1, keepdims=True), 1)
    likeness = (shares + shares.T)[np.triu_indices(len(used), 1)]
    tree = linkage(likeness.max(initial=0.0) - likeness, "average", optimal_ordering=True)
    return [int(phone) for phone in used[leaves_list(tree)]]


def worst_pairs(areas: Floats, names: Sequence[str], most: int) -> list[tuple[str, str, float]]:
    """Return the pairs of phones that are told apart worst, with the area under their curve."""
    rows, columns = np.tril_indices(len(areas), -1)
    values = areas[rows, columns]
    order = [n for n in np.argsort(values, kind="stable") if np.isfinite(values[n])]
    return [(names[columns[n]], names[rows[n]], float(values[n])) for n in order[:most]]
