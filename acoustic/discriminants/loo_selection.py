"""Forward selection of centres by the leave-one-out misclassification rate (Hong, Chen, Harris 2006, LOO
slides).

At every step each candidate column, kept orthogonal to the selected ones (modified Gram-Schmidt), is
tried: the outputs of the models with it that leave one point out follow from α and β in O(M). That is time
O(M L) a step and memory O(M L) for L candidates.

Leaving out a weighted point means all of it. With w̃ = √weight · w the columns of the weighted problem,
f_i = Σ γ w̃(i)/√weight_i and h_i = Σ w̃(i)²/(κ + λ).

Axes: M training points, D features, L candidates, R machines, C centres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numba import njit
from scipy.linalg import solve_triangular

from acoustic.discriminants.expansion import gram_block, gram_diagonal
from acoustic.errors import ModelError
from acoustic.kernels.basis import OrthogonalBasis
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.leave_one_out import basis_left_out_residuals
from acoustic.kernels.parameters import check_not_negative, check_whole
from foundation.arrays import Floats, Longs

LooStopping = Literal["loo", "loo_error", "size"]

_LEAST_BETA = 1e-10  # 1 − h, for the choice among candidates; below, rounding and λ = 0 have the word
_VANISHED = 1e-7  # share of its length below which a candidate lies in the span of the selected columns


@dataclass(frozen=True)
class LooConfig:
    """How centres are selected.

    Attributes
    ----------
    max_centers : C at most
    ridge : λ of all orthogonal weights
    stopping : ``loo`` when the misclassification rate has not fallen for ``patience`` centres,
        ``loo_error`` when neither it nor, at the same rate, the squared error has; ``size`` at max_centers
    patience : centres without improvement
    fit_intercept : begin with a column of ones
    """

    max_centers: int
    ridge: float
    stopping: LooStopping = "loo"
    patience: int = 1
    fit_intercept: bool = False

    def __post_init__(self) -> None:
        check_not_negative("ridge", self.ridge)
        if self.stopping not in get_args(LooStopping):
            known = ", ".join(get_args(LooStopping))
            raise ModelError(f'stopping is "{self.stopping}", expected one of: {known}')
        check_whole("patience", self.patience)


@dataclass(frozen=True)
class LooModel:
    """What a selection found.

    Attributes
    ----------
    indices : (C,) selected points in their order
    alpha, bias : (C,) weights and intercept
    leave_one_out : (M,) outputs f^(−i)
    errors : (steps, 2) leave-one-out misclassification rate and mean squared error after each step tried
    """

    indices: Longs
    alpha: Floats
    bias: float
    leave_one_out: Floats
    errors: Floats


class _Recursion:
    """α_k and β_k of all points: numerator and denominator of y_i f^(−i)."""

    def __init__(self, y: Floats, weight: Floats, ridge: float) -> None:
        self.y, self.weight, self.ridge = y, weight, ridge
        self.root = np.sqrt(weight)
        self.signed = y / self.root  # of a weighted column's value: y_i w_k(i)
        self.alpha, self.beta = np.zeros(len(y)), np.ones(len(y))

    def add(self, column: Floats) -> None:
        """Take a step with an orthogonal column (M,)."""
        damped = column @ column + self.ridge
        gamma = column @ (self.root * self.y) / damped
        self.alpha += gamma * column * self.signed - column**2 / damped  # LOO slides, α_k
        self.beta -= column**2 / damped  # LOO slides, β_k

    def errors(self) -> tuple[float, float]:
        """Return the leave-one-out misclassification rate and mean squared error."""
        total = self.weight.sum()
        squared = self.weight @ (1.0 - self.alpha / np.maximum(self.beta, _LEAST_BETA)) ** 2
        return float(self.weight @ (self.alpha <= 0.0) / total), float(squared / total)


def loo_forward_selection(
    x: Floats,
    y: Floats,
    kernel: Kernel,
    candidates: Longs,
    config: LooConfig,
    sample_weight: Floats | None = None,
) -> LooModel:
    """Return the model of one two-class problem.

    Parameters
    ----------
    x : (M, D) points
    y : (M,) labels ±1
    kernel : kernel function
    candidates : (L,) points that may become centres
    config : how
    sample_weight : (M,) above 0
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    state = _Recursion(y, weight, config.ridge)
    n_first = int(config.fit_intercept)
    basis = OrthogonalBasis(len(x), n_first + min(config.max_centers, len(candidates)), np.dtype(np.float64))
    if config.fit_intercept:
        basis.append(state.root[:, None].copy())
        state.add(basis.q[:, 0].astype(np.float64))
    columns = gram_block(kernel, x[candidates], x)  # (L, M): a candidate's column is a row here
    columns[np.arange(len(candidates)), candidates] = gram_diagonal(kernel, x[candidates])
    columns *= state.root
    floor = _VANISHED**2 * np.einsum("ij,ij->i", columns, columns)
    newest, path = basis.q[:, -1:].sum(axis=1).astype(np.float64), [state.errors()]
    indices: list[int] = []
    best, best_size = (np.inf, np.inf), 0
    while len(indices) < min(config.max_centers, len(candidates)):
        chosen = _choose(columns, newest, floor, state)
        if chosen < 0:
            break
        floor[chosen] = np.inf
        column = gram_block(kernel, x, x[candidates[chosen : chosen + 1]]) * state.root[:, None]
        if not basis.append(column)[0]:
            newest = np.zeros(len(x))
            continue
        newest = basis.q[:, -1].astype(np.float64)
        state.add(newest)
        indices.append(int(candidates[chosen]))
        path.append(state.errors())
        now = (path[-1][0], path[-1][1] if config.stopping == "loo_error" else 0.0)
        if now < best or config.stopping == "size":
            best, best_size = now, len(indices)
        elif len(indices) - best_size >= config.patience:
            break
    n = n_first + best_size
    q, kappa, target = basis.q[:, :n], basis.kappa[:n], (state.root * y)[:, None]
    projections = q.T @ target
    gamma = projections[:, 0] / (kappa + config.ridge)  # LOO slides, γ_j
    left_out = basis_left_out_residuals(q, kappa, projections, config.ridge, target - q @ gamma[:, None])
    theta = solve_triangular(basis.u[:n, :n], gamma, unit_diagonal=True) if n else gamma  # θ = A⁻¹γ
    return LooModel(
        np.array(indices[:best_size], dtype=np.int64),
        theta[n_first:],
        float(theta[:n_first].sum()),
        y - left_out[:, 0] / state.root,
        np.array(path),
    )


def _choose(columns: Floats, newest: Floats, floor: Floats, state: _Recursion) -> int:
    """Return the candidate of fewest leave-one-out errors, among equals of least squared error; −1 if none
    is left.

    The candidates (L, M) are made orthogonal to the newest column (M,) on the way.
    """
    target = state.root * state.y
    gamma, damped, wrong = _try_candidates(
        columns, newest, floor, target, state.signed, state.weight, state.ridge, state.alpha
    )
    tied = np.flatnonzero(wrong <= wrong.min() * (1.0 + 1e-12))
    if not np.isfinite(wrong.min()):
        return -1
    if len(tied) == 1:
        return int(tied[0])
    squared = _squared_errors(
        columns, tied, gamma, damped, state.signed, state.weight, state.alpha, state.beta
    )
    return int(tied[squared.argmin()])


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _try_candidates(
    columns: Floats,
    newest: Floats,
    floor: Floats,
    target: Floats,
    signed: Floats,
    weight: Floats,
    ridge: float,
    alpha: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Return γ, κ + λ and the weight of wrong left-out points for each candidate (L,), inf if vanished."""
    n_candidates, n_points = columns.shape
    gamma, damped, wrong = np.zeros(n_candidates), np.ones(n_candidates), np.full(n_candidates, np.inf)
    length = max(np.dot(newest, newest), 1e-300)
    for c in range(n_candidates):
        if np.isinf(floor[c]):
            continue
        w = columns[c]
        a = np.dot(newest, w) / length  # LOO slides, a_jk
        kappa, projection = 0.0, 0.0
        for i in range(n_points):
            w[i] -= a * newest[i]
            kappa += w[i] * w[i]
            projection += w[i] * target[i]
        if kappa <= floor[c]:
            floor[c] = np.inf
            continue
        d = kappa + ridge
        g, h = projection / d, 1.0 / d
        n_wrong = 0.0
        for i in range(n_points):
            value = alpha[i] + w[i] * (g * signed[i] - h * w[i])
            n_wrong += weight[i] if value <= 0.0 else 0.0
        gamma[c], damped[c], wrong[c] = g, d, n_wrong
    return gamma, damped, wrong


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _squared_errors(
    columns: Floats,
    tied: Longs,
    gamma: Floats,
    damped: Floats,
    signed: Floats,
    weight: Floats,
    alpha: Floats,
    beta: Floats,
) -> Floats:
    """Return the leave-one-out squared errors Σ (1 − α/β)² with each of some candidates."""
    found = np.zeros(len(tied))
    for t in range(len(tied)):
        c = tied[t]
        w, g, h = columns[c], gamma[c], 1.0 / damped[c]
        for i in range(len(alpha)):
            left_out = h * w[i] * w[i]
            numerator = alpha[i] + g * signed[i] * w[i] - left_out
            error = 1.0 - numerator / max(beta[i] - left_out, _LEAST_BETA)
            found[t] += weight[i] * error * error
    return found
