"""Posteriors of classes from the log odds of pairs.

Price's coupling is a sum: over the pairs of all classes, or of the few that a frame's list holds. The
couplings of Hastie and Tibshirani (1998) and of Wu, Lin and Weng (2004) iterate (`recoupled`): they are run
over the best classes of each frame by Price's coupling, and the sum of the posteriors of these classes is
shared out anew among them.

Axes: T frames, P pairs, K classes, N classes of a frame's list.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from acoustic.errors import ModelError
from foundation.arrays import Floats, Ints, Longs, Reals, Singles
from foundation.compiled import njit, single_exp

CouplingName = Literal["price", "wu-lin-weng", "hastie-tibshirani"]

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LEAST_EXPONENT = -700.0
_EXPONENT_BIAS, _MANTISSA_BITS = np.int64(1023), np.int64(52)
_FARTHEST = np.float32(80)  # log odds; a thousand e^80 are finite in single precision
_ONE = np.float32(1)
_SWEEPS = 100  # of an iterative coupling at most, by feel: it ends earlier
_ENOUGH = 1e-7  # largest change of a posterior in a sweep at which the iteration ends; by feel
_LEAST = 1e-12  # pairwise posteriors are clipped to [_LEAST, 1 − _LEAST]; by feel


def all_pairs(n_classes: int) -> Ints:
    """Return the pairs i < j of classes, (K(K−1)/2, 2), sorted by i, then by j."""
    return np.stack(np.triu_indices(n_classes, 1), axis=1).astype(np.int32)


def coupled_log_posteriors(log_odds: Reals, n_classes: int) -> Floats:
    """Return log P(i|x) by Price's coupling, (T, K), not normalised over i, from log odds (T, P).

    The log odds d_ij are given for all pairs i < j. This is thesis (4.8) with the number of classes K for the
    T that stands there: since 1/ν_ij = 1 + e^{−d_ij}, P(i|x) = 1 / (1 + Σ_{j≠i} e^{−d_ij}). Its logarithm is
    a log-sum-exp, and unlike the form in the thesis it cannot become negative by rounding.
    """
    n_pairs = n_classes * (n_classes - 1) // 2
    if log_odds.ndim != 2 or log_odds.shape[1] != n_pairs:
        raise ModelError(
            f"log_odds has shape {log_odds.shape}, expected (frames, {n_pairs}) for {n_classes} classes; "
            "give all pairs i < j in the order of all_pairs"
        )
    found: Floats = _couple(np.ascontiguousarray(log_odds, dtype=np.float64), n_classes)
    return found


@njit(nogil=True, cache=True, fastmath=True, inline="always")
def _exp(v):  # type: ignore[no-untyped-def]  # inlined: numba types it where it stands
    """Return e^v of v ≤ 0 in double precision by Taylor's series, in operations that processors vectorise."""
    bounded = max(v, _LEAST_EXPONENT)
    n = np.floor(bounded * _LOG2_E + 0.5)
    g = bounded - n * _LN2_HIGH - n * _LN2_LOW
    p = g / 479001600.0 + 1.0 / 39916800.0
    p = ((p * g + 1.0 / 3628800.0) * g + 1.0 / 362880.0) * g + 1.0 / 40320.0
    p = ((p * g + 1.0 / 5040.0) * g + 1.0 / 720.0) * g + 1.0 / 120.0
    p = ((p * g + 1.0 / 24.0) * g + 1.0 / 6.0) * g + 0.5
    power = np.int64((np.int64(n) + _EXPONENT_BIAS) << _MANTISSA_BITS).view(np.float64)
    return (p * g * g + g + 1.0) * power


@njit(nogil=True, cache=True, fastmath=True)
def _couple(log_odds: Floats, n_classes: int) -> Floats:
    """Return −log Σ_j e^{−d_ij} with d_ii = 0, (T, K)."""
    found = np.empty((len(log_odds), n_classes))
    negated = np.zeros((n_classes, n_classes))
    for t in range(len(log_odds)):
        pair = 0
        for i in range(n_classes):
            for j in range(i + 1, n_classes):
                negated[i, j], negated[j, i] = -log_odds[t, pair], log_odds[t, pair]
                pair += 1
        for i in range(n_classes):
            row, largest, total = negated[i], 0.0, 0.0
            for j in range(n_classes):
                largest = max(largest, row[j])
            for j in range(n_classes):
                total += _exp(row[j] - largest)
            found[t, i] = -largest - np.log(total)
    return found


@njit(nogil=True, cache=True, fastmath=True, forceinline=True)
def _add_odds(outputs: Singles, curve: Singles, first: Singles, second: Singles) -> None:
    """Add a pair's e^{−d} to the sums of its first class and e^d to those of its second, (T,) each.

    The log odds d are clipped to ±80, and the outputs are overwritten. Each array has a loop of its own, so
    that the compiler need not expect them to overlap and can vectorise the loops.

    Parameters
    ----------
    outputs : (T,) outputs of the pair's discriminant
    curve : (3,) curve from the outputs to the log odds d
    first, second : (T,) sums over the pairs of the first and of the second class
    """
    square, slope, constant = curve[0], curve[1], curve[2]
    for t in range(len(outputs)):
        d = (square * outputs[t] + slope) * outputs[t] + constant
        outputs[t] = single_exp(min(max(d, -_FARTHEST), _FARTHEST))
    for t in range(len(outputs)):
        second[t] += outputs[t]
    for t in range(len(outputs)):
        first[t] += _ONE / outputs[t]


@njit(nogil=True, cache=True)
def couple_outputs(outputs: Singles, pairs: Ints, curves: Singles, sums: Singles) -> None:
    """Add e^{−d_ij} of all pairs to the sums (K, T) of their classes; the outputs (P, T) are overwritten."""
    for p in range(len(pairs)):
        _add_odds(outputs[p], curves[p], sums[pairs[p, 0]], sums[pairs[p, 1]])


@njit(nogil=True, cache=True)
def couple_sides(sides: Singles, biases: Singles, curves: Singles, sums: Singles) -> None:
    """Add e^{−d_ij} of all pairs with outputs q_ij = side_ij − side_ji + b_ij to the sums of their classes.

    Parameters
    ----------
    sides : (K, K, T) share of each class i in the output of its pair with each class j
    biases : (P,)
    curves : (P, 3) from outputs to log odds
    sums : (K, T) sums of the classes, which are added to
    """
    n_classes = len(sides)
    outputs = np.empty(sums.shape[1], dtype=np.float32)
    pair = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            for t in range(len(outputs)):
                outputs[t] = sides[i, j, t] - sides[j, i, t] + biases[pair]
            _add_odds(outputs, curves[pair], sums[i], sums[j])
            pair += 1


def log_posteriors_of_sums(sums: Singles) -> Singles:
    """Return log P(i|x), normalised over i, (T, K), from the sums Σ_{j≠i} e^{−d_ij}, (K, T)."""
    found = -np.log1p(sums)
    found -= np.log(np.exp(found).sum(axis=0))
    return np.asarray(found.T)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
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
    odds = np.empty(lists.shape[1], dtype=np.float32)
    for t in range(lists.shape[0]):
        for a in range(lists.shape[1]):
            i = lists[t, a]
            for b in range(a + 1, lists.shape[1]):
                j = lists[t, b]
                p = pair_of[i, j]
                if p < 0:
                    odds[b] = scores[t, i] - scores[t, j]
                    continue
                q = biases[p]
                q += _product(weights, weight_starts[p], kernel, places[t, a], sizes[i])
                q += _product(weights, weight_starts[p] + sizes[i], kernel, places[t, b], sizes[j])
                odds[b] = (curves[p, 0] * q + curves[p, 1]) * q + curves[p, 2]
            total = np.float32(0)
            for b in range(a + 1, lists.shape[1]):
                odds[b] = single_exp(min(max(odds[b], -_FARTHEST), _FARTHEST))
                total += _ONE / odds[b]
            sums[t, a] += total
            for b in range(a + 1, lists.shape[1]):
                sums[t, b] += odds[b]


@njit(nogil=True, cache=True, fastmath=True, inline="always")
def _product(left, i, right, j, n):  # type: ignore[no-untyped-def]  # as _exp
    """Return the inner product of n numbers of two arrays from their places i and j on.

    Places without a sign need no look at whether they count from the end, and no slices, which cost more.
    """
    total, first, second = np.float32(0), np.uintp(i), np.uintp(j)
    for c in range(np.uintp(n)):
        total += left[first + c] * right[second + c]
    return total


def fill_posteriors(lists: Ints, scores: Singles, sums: Singles, found: Singles) -> None:
    """Fill in log P(class | frame), normalised over the lists, (T, K).

    A class that is not in a frame's list is coupled to those that are by the differences of the scores.

    Parameters
    ----------
    lists, scores : as of `couple_lists`
    sums : (T, N) Σ e^{−d} of each listed class
    found : (T, K) filled
    """
    listed = np.take_along_axis(scores, lists, axis=1)
    highest = listed.max(axis=1, keepdims=True)
    behind = highest + np.log(np.exp(listed - highest).sum(axis=1, keepdims=True))
    beyond = _ONE + sums
    norm = np.log((_ONE / beyond).sum(axis=1, keepdims=True))
    # log(1 + e^d) = max(d, 0) + log(1 + e^{-|d|}), in operations that numpy vectorises
    np.subtract(behind, scores, out=found)
    tails = np.log(_ONE + np.exp(-np.abs(found)))
    np.maximum(found, 0.0, out=found)
    found += tails
    found += norm
    np.negative(found, out=found)
    np.put_along_axis(found, lists, -np.log(beyond) - norm, axis=1)


def recoupled(log_posteriors: Reals, log_odds: Floats, name: CouplingName, n_best: int) -> Floats:
    """Return log posteriors (T, K) with the ``n_best`` of each frame coupled anew.

    Parameters
    ----------
    log_posteriors : (T, K) by Price's coupling, normalised
    log_odds : (T, P) of all pairs i < j
    name : name of the coupling; note that ``price`` over the best classes alone differs from ``price`` over
        all
    n_best : number of best classes of each frame, 0 for all
    """
    n_classes = log_posteriors.shape[1]
    n = n_classes if n_best == 0 else min(n_best, n_classes)
    if n < 2 or (name == "price" and n == n_classes):
        return log_posteriors.astype(np.float64)
    best = np.sort(np.argsort(-log_posteriors, axis=1, kind="stable")[:, :n], axis=1)
    method = {"price": 0, "wu-lin-weng": 1, "hastie-tibshirani": 2}[name]
    found = log_posteriors.astype(np.float64)
    _recouple(found, np.ascontiguousarray(log_odds), best, method)
    return found


@njit(nogil=True, cache=True)
def _recouple(found: Floats, log_odds: Floats, best: Longs, method: int) -> None:
    n_frames, n_classes = found.shape
    n = best.shape[1]
    r = np.empty((n, n))
    p = np.empty(n)
    for t in range(n_frames):
        for a in range(n):
            r[a, a] = 0.5
            for b in range(a + 1, n):
                i, j = best[t, a], best[t, b]
                pair = i * n_classes - i * (i + 1) // 2 + j - i - 1
                nu = 1.0 / (1.0 + np.exp(-min(max(log_odds[t, pair], -500.0), 500.0)))
                r[a, b] = min(max(nu, _LEAST), 1.0 - _LEAST)
                r[b, a] = 1.0 - r[a, b]
        mass = 0.0
        for a in range(n):
            mass += np.exp(found[t, best[t, a]])
        _price(r, p)
        if method == 1:
            _wu_lin_weng(r, p)
        elif method == 2:
            _hastie_tibshirani(r, p)
        for a in range(n):
            found[t, best[t, a]] = np.log(max(p[a], _LEAST**2)) + np.log(mass)


@njit(nogil=True, cache=True)
def _price(r: Floats, p: Floats) -> None:
    """Fill P(i) = 1 / (Σ_{j≠i} 1/r_ij − (n − 2)), thesis (4.8), normalised."""
    n = len(p)
    for i in range(n):
        total = 0.0
        for j in range(n):
            if j != i:
                total += 1.0 / r[i, j]
        p[i] = 1.0 / (total - (n - 2))
    p /= p.sum()


@njit(nogil=True, cache=True)
def _wu_lin_weng(r: Floats, p: Floats) -> None:
    """Minimise Σ_i Σ_{j≠i} (r_ji p_i − r_ij p_j)²; Wu, Lin, Weng 2004, their algorithm 2."""
    n = len(p)
    q = np.empty((n, n))
    for i in range(n):
        q[i, i] = 0.0
        for j in range(n):
            if j != i:
                q[i, i] += r[j, i] * r[j, i]
                q[i, j] = -r[j, i] * r[i, j]
    for _ in range(_SWEEPS):
        change = 0.0
        for i in range(n):
            products = q @ p
            quadratic = p @ products
            new = (-(products[i] - q[i, i] * p[i]) + quadratic) / q[i, i]
            change = max(change, abs(new - p[i]))
            p[i] = new
            p /= p.sum()
        if change < _ENOUGH:
            break


@njit(nogil=True, cache=True)
def _hastie_tibshirani(r: Floats, p: Floats) -> None:
    """Scale p_i by Σ_j r_ij / Σ_j μ_ij, μ_ij = p_i/(p_i + p_j), until the two sums agree."""
    n = len(p)
    for _ in range(_SWEEPS):
        change = 0.0
        for i in range(n):
            given, modelled = 0.0, 0.0
            for j in range(n):
                if j != i:
                    given += r[i, j]
                    modelled += p[i] / (p[i] + p[j])
            new = p[i] * given / modelled
            change = max(change, abs(new - p[i]))
            p[i] = new
            p /= p.sum()
        if change < _ENOUGH:
            break
