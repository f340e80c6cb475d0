"""Outputs of a least-squares model fitted without a point, for nothing, from its residual and leverage.

Leaving out means a row of X with all its weight. Centres, basis and λ are kept. Axes: M training points, R
targets, m columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foundation.arrays import Floats, Longs, Reals

Limit = Callable[[Longs], tuple[Floats, Floats]]

FARTHEST = 3.0  # output, for targets ±1, that calibration takes as it is
_CHUNK = 64  # columns of Q squared at once
_ALONE = 0.6  # 1 − h below this power of the rounding is taken as 0


def left_out_residuals(residual: Reals, leverages: Reals, limit: Limit) -> Floats:
    """Return y_i − f^(−i)(x_i) = e_i/(1 − h_i), (M, R): how far the model fitted without point i misses it.

    Where h_i = 1 the point has a column to itself and both vanish. Their ratio is then that of what they
    grow with as a ridge rises from 0: the model without the point is the limit of vanishing ridges.

    Parameters
    ----------
    residual : (M, R) e, in the precision of the model
    leverages : (M,) h
    limit : gives for some of the points (n,) what e and 1 − h grow with, (n, R) and (n,)
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
    """Return the residuals (M, R) of left-out points of a ridge regression on orthogonal columns.

    Of a point alone they are those of a ridge towards λ, or towards 0, with which e and 1 − h grow as
    Σ q_k(i) q_kᵀy / κ_k(κ_k + λ) and Σ q_k(i)² / κ_k(κ_k + λ).

    Parameters
    ----------
    q : (M, m)
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
    for first in range(0, q.shape[1], _CHUNK):  # never another array of the size of Q
        columns = slice(first, first + _CHUNK)
        found += np.square(q[:, columns]) @ inverse[columns].astype(q.dtype)
    return found


def within_reach(left_out: Floats, targets: Floats) -> Floats:
    """Return left-out outputs (M, R) for calibration, held at `FARTHEST` in units of the targets (M, R).

    A centre almost all of whose column is its own may be missed by thousands once it is left out.
    """
    low, high = targets.min(axis=0), targets.max(axis=0)
    middle, reach = 0.5 * (low + high), 0.5 * FARTHEST * (high - low)
    return np.asarray(np.clip(left_out, middle - reach, middle + reach))
