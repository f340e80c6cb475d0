"""Coupling only the pairs of those classes that survive an elimination, instead of all pairs.

Platt's decision graph (DAGSVM, 2000) finds one class by K − 1 duels: the loser of each leaves the list. A
decoder needs posteriors, so the elimination stops at k survivors here, and the pairs among these are coupled:
K − k + k(k − 1)/2 pairs of a frame instead of K(K − 1)/2. Each class meets an opponent once a round (a
tournament); on Platt's list the classes in the middle would survive without a duel.

Axes: T frames, P pairs, K classes, k survivors.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from acoustic.pairs.coupling import coupled_log_posteriors
from foundation.arrays import Floats, Ints, Reals, Singles


def share_of_pairs(n_classes: int, n_survivors: int) -> float:
    """Return the largest share of all pairs that an elimination down to so many survivors evaluates."""
    duels = n_classes - n_survivors
    return (duels + n_survivors * (n_survivors - 1) / 2) / (n_classes * (n_classes - 1) / 2)


@njit(nogil=True, cache=True)
def odds(log_odds: Reals, i: int, j: int, n_classes: int) -> float:
    """Return the log odds of class i against class j at one frame, from those of all pairs i < j, (P,)."""
    if i < j:
        return log_odds[i * n_classes - i * (i + 1) // 2 + j - i - 1]
    return -log_odds[j * n_classes - j * (j + 1) // 2 + i - j - 1]


@njit(nogil=True, cache=True)
def winners_of_graph(log_odds: Reals, order: Ints) -> Ints:
    """Return the class (T,) that Platt's graph arrives at: first against last of a list, the loser leaves."""
    n_classes = len(order)
    found = np.empty(len(log_odds), dtype=np.int32)
    for t in range(len(log_odds)):
        first, last = 0, n_classes - 1
        while first < last:
            if odds(log_odds[t], order[first], order[last], n_classes) >= 0:
                last -= 1
            else:
                first += 1
        found[t] = order[first]
    return found


@njit(nogil=True, cache=True)
def survivors(log_odds: Reals, order: Ints, n_survivors: int) -> Ints:
    """Return the classes (T, k) that a tournament leaves.

    In each round the first of the list plays against the last, the second against the last but one, and so
    on; a last round of fewer duels leaves exactly ``n_survivors``.
    """
    n_classes = len(order)
    found = np.empty((len(log_odds), n_survivors), dtype=np.int32)
    for t in range(len(log_odds)):
        alive, n = order.copy(), n_classes
        while n > n_survivors:
            n_duels = min(n // 2, n - n_survivors)
            for a in range(n_duels):
                if odds(log_odds[t], alive[a], alive[n - 1 - a], n_classes) < 0:
                    alive[a] = alive[n - 1 - a]
            n -= n_duels
        found[t] = alive[:n_survivors]
    return found


def pruned_log_posteriors(log_odds: Reals, order: Ints, n_survivors: int, floor: float) -> Floats:
    """Return log P(class | frame), (T, P) -> (T, K), with Price's coupling of the survivors' pairs.

    Parameters
    ----------
    log_odds : (T, P) log odds of all pairs i < j; those that the elimination does not ask for are not used
    order : (K,) the list in which the classes stand
    n_survivors : k, 2 at least
    floor : log posterior of the classes that are eliminated, before normalisation
    """
    n_classes, rows = len(order), np.arange(len(log_odds))[:, None]
    left = np.sort(survivors(log_odds, order, n_survivors), axis=1)
    first, second = np.triu_indices(n_survivors, 1)
    i, j = left[:, first].astype(np.int64), left[:, second].astype(np.int64)
    among = log_odds[rows, i * n_classes - i * (i + 1) // 2 + j - i - 1]
    return posteriors_of_survivors(left, among, n_classes, floor)


def posteriors_of_survivors(left: Ints, among: Reals, n_classes: int, floor: float) -> Floats:
    """Return log P(class | frame), (T, K), from survivors (T, k) and the log odds of their pairs."""
    rows = np.arange(len(left))[:, None]
    found = np.full((len(left), n_classes), floor)
    coupled = coupled_log_posteriors(among, left.shape[1])
    found[rows, left] = coupled - np.logaddexp.reduce(coupled, axis=1, keepdims=True)
    return np.asarray(found - np.logaddexp.reduce(found, axis=1, keepdims=True))


@njit(nogil=True, cache=True, fastmath=True)
def lazy_survivors(
    frames: Singles,
    centers: Singles,
    scale: np.float32,
    slots: Ints,
    weights: Singles,
    biases: Singles,
    curves: Singles,
    order: Ints,
    n_survivors: int,
) -> tuple[Ints, Singles]:
    """Return the survivors (T, k), sorted, and the log odds of their pairs, from only the pairs they need.

    Each kernel value is computed when its pair is asked for; values that two pairs of a frame share are
    computed twice. Parameters are those of `acoustic.pairs.machines.SparseMachines` in single precision, with
    ``scale`` −1/2σ².
    """
    n_classes = len(order)
    found = np.empty((len(frames), n_survivors), dtype=np.int32)
    among = np.empty((len(frames), n_survivors * (n_survivors - 1) // 2), dtype=np.float32)
    for t in range(len(frames)):
        alive, n = order.copy(), n_classes
        while n > n_survivors:
            n_duels = min(n // 2, n - n_survivors)
            for a in range(n_duels):
                i, j = min(alive[a], alive[n - 1 - a]), max(alive[a], alive[n - 1 - a])
                p = i * n_classes - i * (i + 1) // 2 + j - i - 1
                q = _output(frames[t], centers, scale, slots[p], weights[p]) + biases[p]
                alive[a] = i if (curves[p, 0] * q + curves[p, 1]) * q + curves[p, 2] >= 0 else j
            n -= n_duels
        found[t] = np.sort(alive[:n_survivors])
        place = 0
        for a in range(n_survivors):
            for b in range(a + 1, n_survivors):
                i, j = found[t, a], found[t, b]
                p = i * n_classes - i * (i + 1) // 2 + j - i - 1
                q = _output(frames[t], centers, scale, slots[p], weights[p]) + biases[p]
                among[t, place] = (curves[p, 0] * q + curves[p, 1]) * q + curves[p, 2]
                place += 1
    return found, among


@njit(nogil=True, cache=True, fastmath=True)
def _output(x: Singles, centers: Singles, scale: np.float32, slots: Ints, weights: Singles) -> np.float32:
    """Return Σ w k(x, c) over a pair's centres."""
    total = np.float32(0)
    for n in range(len(slots)):
        if slots[n] < 0:
            break
        distance = np.float32(0)
        center = centers[slots[n]]
        for d in range(len(x)):
            distance += (x[d] - center[d]) ** 2
        total += weights[n] * np.exp(scale * distance)
    return total
