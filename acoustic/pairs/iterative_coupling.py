"""Couplings of pairwise posteriors that iterate: Hastie and Tibshirani 1998, Wu, Lin and Weng 2004.

Both are run over the best classes of each frame by Price's coupling. The sum of the posteriors of these
classes is shared out anew among them; the other classes keep their posteriors.

Axes: T frames, P pairs, K classes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from foundation.arrays import Floats, Longs, Reals
from foundation.compiled import njit

CouplingName = Literal["price", "wu-lin-weng", "hastie-tibshirani"]

_SWEEPS = 100
_ENOUGH = 1e-7  # largest change of a posterior in a sweep at which the iteration ends
_LEAST = 1e-12  # pairwise posteriors are clipped to [_LEAST, 1 − _LEAST]


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
