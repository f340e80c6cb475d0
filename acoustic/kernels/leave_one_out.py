"""Leave-one-out outputs of a least-squares model, computed without refitting from residuals and leverages.

To leave a point out is to leave out its row of the problem with all its weight; centres, basis and λ are
kept.

Axes: M training points, R targets, m columns of the basis.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foundation.arrays import Floats, Longs, Reals

Limit = Callable[[Longs], tuple[Floats, Floats]]

FARTHEST = 3.0  # largest |output|, for targets ±1, that calibration uses unclipped
_CHUNK = 64  # columns of Q squared at once
_ALONE = 0.6  # 1 − h counts as 0 if it is below the machine epsilon to this power


def left_out_residuals(residual: Reals, leverages: Reals, limit: Limit) -> Floats:
    """Return y_i − f^(−i)(x_i) = e_i/(1 − h_i), (M, R): how far the model fitted without point i misses it.

    Where h_i = 1 the point is fitted exactly by a column of its own: e_i and 1 − h_i are both 0. The model
    without the point is then the limit of a vanishing ridge, and e_i/(1 − h_i) the ratio of the rates at
    which numerator and denominator grow as the ridge rises from 0.

    Parameters
    ----------
    residual : (M, R) e, in the precision of the model
    leverages : (M,) h
    limit : function from some points (n,) with h = 1 to the rates of growth (n, R) of e and (n,) of 1 − h
    """
    slack = 1.0 - leverages
    alone = np.flatnonzero(slack < np.finfo(residual.dtype).eps ** _ALONE)
    slack[alone] = 1.0
    found = np.asarray(residual / slack[:, None], dtype=np.float64)
    if len(alone):
        errors, slacks = limit(alone)
        found[alone] = errors / slacks[:, None]
    return found


def basis_left_out_residuals(
    q: Reals, kappa: Floats, products: Floats, ridge: float, residual: Reals
) -> Floats:
    """Return the leave-one-out residuals (M, R) of a ridge regression on orthogonal columns.

    For a point that is fitted exactly by a column of its own, e and 1 − h grow with the ridge like Σ q_k(i)
    q_kᵀy / κ_k(κ_k + λ) and Σ q_k(i)² / κ_k(κ_k + λ).

    Parameters
    ----------
    q : (M, m) orthogonal columns
    kappa : (m,) κ_i = q_iᵀq_i
    products : (m, R) q_iᵀy
    ridge : λ
    residual : (M, R) e
    """

    def limit(points: Longs) -> tuple[Floats, Floats]:
        rows = q[points].astype(np.float64)
        shares = 1.0 / (kappa * (kappa + ridge))
        return rows @ (products * shares[:, None]), rows**2 @ shares

    return left_out_residuals(residual, basis_leverages(q, 1.0 / (kappa + ridge)), limit)


def basis_leverages(q: Reals, inverse: Floats) -> Floats:
    """Return h_i = Σ_k q_k(i)²/(κ_k + λ), (M,), from Q (M, m) and 1/(κ + λ) (m,)."""
    found = np.zeros(len(q))
    for first in range(0, q.shape[1], _CHUNK):  # in parts, to save a second array of the size of Q
        columns = slice(first, first + _CHUNK)
        found += np.square(q[:, columns]) @ inverse[columns].astype(q.dtype)
    return found


def within_reach(left_out: Floats, targets: Floats) -> Floats:
    """Return leave-one-out outputs (M, R) for calibration, clipped to `FARTHEST` times the reach of the
    targets.

    A centre whose column is almost 0 at all other points may be missed by thousands once it is left out.

    Parameters
    ----------
    left_out : (M, R) leave-one-out outputs
    targets : (M, R), the extremes of which give the middle and the reach
    """
    low, high = targets.min(axis=0), targets.max(axis=0)
    middle, reach = 0.5 * (low + high), 0.5 * FARTHEST * (high - low)
    return np.asarray(np.clip(left_out, middle - reach, middle + reach))
