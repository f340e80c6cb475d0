"""The ridge λ of OROLS by generalised cross-validation or by the evidence, and leave-one-out outputs.

λ is thesis (3.81), (3.85) to (3.89). The thesis names the Bayesian evidence (MacKay 1992) as another way to λ
and gives no formula. Here the weights α̃ of the orthogonal columns are normal with variance s²/λ, and the
noise is normal with variance s². Then the targets have the covariance s²(I + QQᵀ/λ), with inverse P̃/s² and
determinant s²ᴹ Π(1 + κ_i/λ).

Leave-one-out outputs follow from residuals and leverages, without refitting. To leave a point out is to leave
out its row of the problem with all its weight; centres, basis and λ are kept.

Axes: M training points, m orthogonal columns, R targets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foundation.arrays import Floats, Longs, Reals

Limit = Callable[[Longs], tuple[Floats, Floats]]

_LEAST_TRACE = 1e-10  # share of M below which tr P̃ is rounding error
# Share of M: with more columns the GCV score cannot compare values of λ that lie far apart; by feel.
_JUDGED = 0.1
_SMALLEST, _N_GRID = 1e-12, 25  # of the evidence's grid: least λ as a share of the largest κ; points
_SETTLED = 1e-8  # relative error of λ of the evidence; by feel
_ROUNDS = 3  # fixed-point steps of (3.88) after each centre; more steps hardly change λ
FARTHEST = 3.0  # largest |output|, for targets ±1, that calibration uses unclipped; by feel
_CHUNK = 64  # columns of Q squared at once
_ALONE = 0.6  # 1 − h counts as 0 if it is below the machine epsilon to this power


def gcv_score(kappa: Floats, products: Floats, unexplained: float, n_points: int, ridge: float) -> float:
    """Return the generalised cross-validation score, thesis (3.85), summed over the targets.

    Parameters
    ----------
    kappa : (m,) κ_i = q_iᵀq_i
    products : (m, R) q_iᵀy
    unexplained : squared error for λ = 0, ‖y‖² − Σ (q_iᵀy)²/κ_i
    n_points : M
    ridge : λ
    """
    error, trace = _error_and_trace(kappa, _squares(products), unexplained, n_points, ridge)
    # With as many columns as points the trace is rounding error.
    return n_points * error / trace**2 if trace > n_points * _LEAST_TRACE else np.inf


def settled_ridge(kappa: Floats, products: Floats, unexplained: float, n_points: int, ridge: float) -> float:
    """Return λ after some fixed-point steps of (3.88) from the present λ.

    The parameters are those of `gcv_score`. The score may have two minima: with the first centres it may be
    best to shrink nearly everything away, and the steps do not find their way back from there. While there
    are few columns the steps are therefore also started from 0, and the λ of the better score is returned.
    With many columns the score cannot compare values of λ that lie far apart: the smaller one may score
    better by chance and would let noise in.
    """
    state = kappa, products, unexplained, n_points
    found = []
    is_judge = ridge > 0 and len(kappa) <= n_points * _JUDGED
    for start in (ridge, 0.0) if is_judge else (ridge,):
        settled = start
        for _ in range(_ROUNDS):
            settled = next_ridge(*state, settled)
        found.append(settled)
    return min(found, key=lambda value: gcv_score(*state, value))


def next_ridge(kappa: Floats, products: Floats, unexplained: float, n_points: int, ridge: float) -> float:
    """Return λ re-estimated once, thesis (3.88), or the old λ where the new one exceeds the largest κ.

    The parameters are those of `gcv_score`. λ would grow without bound when Σα̃² → 0.
    """
    squares = _squares(products)
    error, trace = _error_and_trace(kappa, squares, unexplained, n_points, ridge)
    total = kappa + ridge
    slope = float(np.sum(kappa / total**2))  # thesis (3.89)
    denominator = trace * float(np.sum(squares / total**3))  # α̃_i² / (κ_i + λ), with (3.83)
    if not (trace > n_points * _LEAST_TRACE and denominator > 0):
        return ridge
    new = slope * error / denominator
    return new if new <= kappa.max() else ridge


def printed_ridge(kappa: Floats, products: Floats, error: float, n_points: int, ridge: float) -> float:
    """Return λ re-estimated once as thesis (3.88) is printed, without any guard but against division by 0.

    Parameters
    ----------
    kappa, products, n_points, ridge : see `gcv_score`
    error : ‖P̃y‖², the squared error for the present λ
    """
    total = kappa + ridge
    trace = n_points - float(np.sum(kappa / total))
    denominator = trace * float(np.sum(_squares(products) / total**3))
    new = float(np.sum(kappa / total**2)) * error / denominator if denominator else np.inf
    return new if np.isfinite(new) else ridge


def log_evidence(kappa: Floats, products: Floats, unexplained: float, n_points: int, ridge: float) -> float:
    """Return log p(y | λ) with the noise variance s² that is best for this λ > 0; MacKay 1992.

    The parameters are those of `gcv_score`; the targets share λ and s².
    """
    n_targets, squares = products.shape[1], _squares(products)
    spread = float(np.log1p(kappa / ridge).sum())
    # yᵀP̃y = ‖y‖² − Σ p²/(κ + λ), and unexplained = ‖y‖² − Σ p²/κ.
    variance = unexplained + float(np.sum(squares / kappa * ridge / (kappa + ridge)))
    variance /= n_points * n_targets
    return float(-0.5 * n_targets * (n_points * (np.log(2 * np.pi * variance) + 1.0) + spread))


def next_evidence_ridge(
    kappa: Floats, products: Floats, unexplained: float, n_points: int, ridge: float
) -> float:
    """Return λ = γ‖e‖² / (M − γ)‖α̃‖² with γ = Σ κ_i/(κ_i + λ), one step of MacKay's iteration.

    The parameters are those of `gcv_score`. A fixed point is a stationary point of `log_evidence`.
    """
    squares = _squares(products)
    error, trace = _error_and_trace(kappa, squares, unexplained, n_points, ridge)
    weights = float(np.sum(squares / (kappa + ridge) ** 2))  # ‖α̃‖², thesis (3.83)
    if not (trace > n_points * _LEAST_TRACE and weights > 0):
        return ridge
    return (n_points - trace) * error / (trace * weights)


def evidence_ridge(kappa: Floats, products: Floats, unexplained: float, n_points: int) -> float:
    """Return the λ of the largest evidence, at most the largest κ.

    The parameters are those of `gcv_score`. The evidence may have several maxima: the best point of a grid is
    taken, and between its neighbours the λ that MacKay's step leaves as it is.
    """
    from scipy.optimize import brentq  # a large package, of which decoding needs nothing

    state = kappa, products, unexplained, n_points
    grid = np.log(kappa.max()) + np.log(_SMALLEST) * np.linspace(1, 0, _N_GRID)
    best = int(np.argmax([log_evidence(*state, ridge) for ridge in np.exp(grid)]))

    def rise(log_ridge: float) -> float:
        return float(np.log(next_evidence_ridge(*state, np.exp(log_ridge)))) - log_ridge

    low, high = grid[max(best - 1, 0)], grid[min(best + 1, _N_GRID - 1)]
    has_maximum = rise(low) > 0 > rise(high)
    return float(np.exp(brentq(rise, low, high, xtol=_SETTLED) if has_maximum else grid[best]))


def _squares(products: Floats) -> Floats:
    """Return Σ_r (q_iᵀy_r)², (m,)."""
    return np.asarray(np.einsum("ij,ij->i", products, products))


def _error_and_trace(
    kappa: Floats, squares: Floats, unexplained: float, n_points: int, ridge: float
) -> tuple[float, float]:
    """Return ‖P̃y‖² and tr P̃, thesis (3.81); the first as a sum without cancellation.

    With p = qᵀy, ‖P̃y‖² = ‖y‖² − Σ p²(κ + 2λ)/(κ + λ)² and unexplained = ‖y‖² − Σ p²/κ. Their difference is Σ
    p²λ²/(κ(κ + λ)²).
    """
    total = kappa + ridge
    held = float(np.sum(squares / kappa * np.square(ridge / total))) if ridge else 0.0
    return unexplained + held, n_points - float(np.sum(kappa / total))


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
