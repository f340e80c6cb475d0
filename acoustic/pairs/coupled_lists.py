"""Coupling of the few classes that a frame's list holds, machines evaluated as they are asked for.

Axes: T frames, P pairs that have machines, K classes, N classes of a list.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from acoustic.pairs.coupling import FARTHEST, single_exp
from foundation.arrays import Ints, Longs, Singles

_ONE = np.float32(1)
_FAR = np.float32(17)  # from here on log(1 + e^d) is d in single precision


@njit(nogil=True, cache=True)
def couple_lists(
    lists: Ints,
    scores: Singles,
    values: tuple[Singles, Longs],
    sizes: Ints,
    machines: tuple[Ints, Longs, Singles, Singles, Singles],
    sums: Singles,
) -> None:
    """Add e^{−d_ij} of all pairs of classes of each frame's list to the sums (T, N) of the listed classes.

    Parameters
    ----------
    lists : (T, N) classes of each frame, ascending
    scores : (T, K) scores of all classes, whose difference is d_ij where a pair has no machine
    values : kernel values at the centres of the listed classes, and where those of each entry begin, (T, N)
    sizes : (K,) number of centres of each class
    machines : the pair of two classes (K, K), −1 for none; where the weights of each pair begin, (P + 1,);
        the weights; biases (P,); curves (P, 3) from outputs to log odds
    sums : (T, N) added to
    """
    kernel, places = values
    pair_of, weight_starts, weights, biases, curves = machines
    for t in range(lists.shape[0]):
        for a in range(lists.shape[1]):
            i = lists[t, a]
            for b in range(a + 1, lists.shape[1]):
                j = lists[t, b]
                p = pair_of[i, j]
                if p < 0:
                    d = scores[t, i] - scores[t, j]
                else:
                    first = weight_starts[p]
                    middle = first + sizes[i]
                    q = biases[p]
                    q += _product(weights[first:middle], kernel[places[t, a] :])
                    q += _product(weights[middle : weight_starts[p + 1]], kernel[places[t, b] :])
                    d = (curves[p, 0] * q + curves[p, 1]) * q + curves[p, 2]
                odds = single_exp(min(max(d, -FARTHEST), FARTHEST))
                sums[t, b] += odds
                sums[t, a] += _ONE / odds


@njit(nogil=True, cache=True, fastmath=True)
def _product(weights: Singles, values: Singles) -> np.float32:
    """Return the inner product of the weights and as many values."""
    total = np.float32(0)
    for c in range(len(weights)):
        total += weights[c] * values[c]
    return total


@njit(nogil=True, cache=True)
def fill_posteriors(lists: Ints, scores: Singles, sums: Singles, found: Singles) -> None:
    """Fill in log P(class | frame), normalised over the lists, (T, K).

    A class that is not in a frame's list is coupled to those that are by the differences of the scores.

    Parameters
    ----------
    lists, scores : as of `couple_lists`
    sums : (T, N) Σ e^{−d} of each listed class
    found : (T, K) filled
    """
    for t in range(lists.shape[0]):
        highest = scores[t, lists[t, 0]]
        for k in lists[t]:
            highest = max(highest, scores[t, k])
        others, total = 0.0, 0.0
        for n in range(lists.shape[1]):
            others += np.exp(scores[t, lists[t, n]] - highest)
            total += 1.0 / (1.0 + sums[t, n])
        behind, norm = np.float32(highest + np.log(others)), np.float32(np.log(total))
        for k in range(found.shape[1]):
            d = max(behind - scores[t, k], -FARTHEST)
            found[t, k] = -(d if d > _FAR else np.log1p(single_exp(d))) - norm
        for n in range(lists.shape[1]):
            found[t, lists[t, n]] = -np.log1p(sums[t, n]) - norm
