"""Forward selection of centres by the leave-one-out misclassification rate (Hong, Chen, Harris 2006, LOO
slides).

At every step each candidate column, kept orthogonal to the selected ones (modified Gram-Schmidt), is
tried: the outputs of the models with it that leave one point out follow from α and β in O(M). That is time
O(M L) a step and memory O(M L) for L candidates.

A sample's weight counts copies of it: leaving out means one copy of several, or all there is of a weight
below 1. With w̃ = √weight · w the columns of the weighted problem, f_i = Σ γ w̃(i)/√weight_i.

Axes: M training points, D features, L candidates, R machines, C centres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from acoustic.discriminants.basis import OrthogonalBasis
from acoustic.discriminants.expansion import (
    ExpansionClassifier,
    Floats,
    gram_block,
    gram_diagonal,
    single_threaded,
)
from acoustic.discriminants.kernels import Kernel, KernelName
from acoustic.errors import ModelError

LooStopping = Literal["loo", "loo_error", "size"]

_LEAST_BETA = 1e-10  # 1 − h of a point that the model fits whatever its label
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
        if not (np.isfinite(self.ridge) and self.ridge >= 0):
            raise ModelError(f"ridge is {self.ridge}, expected a finite number of at least 0")
        if self.stopping not in get_args(LooStopping):
            known = ", ".join(get_args(LooStopping))
            raise ModelError(f'stopping is "{self.stopping}", expected one of: {known}')
        if self.patience < 1:
            raise ModelError(f"patience is {self.patience}, expected at least 1")


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

    indices: NDArray[np.int64]
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
        self.share = np.minimum(weight, 1.0) / weight  # of its square: what is left out of the leverage
        self.alpha, self.beta = np.zeros(len(y)), np.ones(len(y))

    def add(self, column: Floats) -> None:
        """Take a step with an orthogonal column (M,)."""
        damped = column @ column + self.ridge
        gamma = column @ (self.root * self.y) / damped
        self.alpha += gamma * column * self.signed - self.share * column**2 / damped  # LOO slides, α_k
        self.beta -= self.share * column**2 / damped  # LOO slides, β_k

    def decision(self) -> Floats:
        """Return y_i f^(−i), (M,)."""
        return np.asarray(self.alpha / np.maximum(self.beta, _LEAST_BETA))

    def errors(self) -> tuple[float, float]:
        """Return the leave-one-out misclassification rate and mean squared error."""
        total = self.weight.sum()
        squared = self.weight @ (1.0 - self.decision()) ** 2
        return float(self.weight @ (self.alpha <= 0.0) / total), float(squared / total)


def loo_forward_selection(
    x: Floats,
    y: Floats,
    kernel: Kernel,
    candidates: NDArray[np.int64],
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
    best, best_size, best_decision = (np.inf, np.inf), 0, state.decision()
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
            best, best_size, best_decision = now, len(indices), state.decision()
        elif len(indices) - best_size >= config.patience:
            break
    n = n_first + best_size
    gamma = basis.q[:, :n].T @ (state.root * y) / (basis.kappa[:n] + config.ridge)  # LOO slides, γ_j
    theta = solve_triangular(basis.u[:n, :n], gamma, unit_diagonal=True) if n else gamma  # θ = A⁻¹γ
    return LooModel(
        np.array(indices[:best_size], dtype=np.int64),
        theta[n_first:],
        float(theta[:n_first].sum()),
        y * best_decision,
        np.array(path),
    )


def _choose(columns: Floats, newest: Floats, floor: Floats, state: _Recursion) -> int:
    """Return the candidate of fewest leave-one-out errors, among equals of least squared error; −1 if none
    is left.

    The candidates (L, M) are made orthogonal to the newest column (M,) on the way.
    """
    target = state.root * state.y
    gamma, damped, wrong = _try_candidates(
        columns, newest, floor, target, state.signed, state.share, state.weight, state.ridge, state.alpha
    )
    tied = np.flatnonzero(wrong <= wrong.min() * (1.0 + 1e-12))
    if not np.isfinite(wrong.min()):
        return -1
    if len(tied) == 1:
        return int(tied[0])
    squared = _squared_errors(
        columns, tied, gamma, damped, state.signed, state.share, state.weight, state.alpha, state.beta
    )
    return int(tied[squared.argmin()])


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _try_candidates(
    columns: Floats,
    newest: Floats,
    floor: Floats,
    target: Floats,
    signed: Floats,
    share: Floats,
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
            value = alpha[i] + w[i] * (g * signed[i] - h * share[i] * w[i])
            n_wrong += weight[i] if value <= 0.0 else 0.0
        gamma[c], damped[c], wrong[c] = g, d, n_wrong
    return gamma, damped, wrong


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _squared_errors(
    columns: Floats,
    tied: NDArray[np.int64],
    gamma: Floats,
    damped: Floats,
    signed: Floats,
    share: Floats,
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
            left_out = h * share[i] * w[i] * w[i]
            numerator = alpha[i] + g * signed[i] * w[i] - left_out
            error = 1.0 - numerator / max(beta[i] - left_out, 1e-10)
            found[t] += weight[i] * error * error
    return found


class LOOForwardClassifier(ExpansionClassifier):
    """Sparse kernel classifier, each centre chosen to leave the fewest points wrong that are left out.

    Several classes are told apart one-vs-rest, each machine with its own centres.

    Parameters
    ----------
    sigma : width of the kernel
    max_centers : of a machine, at most
    ridge : λ, regularises the orthogonal weights
    stopping : ``loo``: when the leave-one-out misclassification rate no longer falls, as the slides do;
        very sparse. ``loo_error``: when neither it nor, at the same rate, the leave-one-out squared error
        falls: more centres. ``size``: at max_centers
    patience : centres without improvement before stopping; the model goes back to the best size
    n_candidates : size of a random subset of the points that may become centres; all by default, whose
        columns take M² numbers
    fit_intercept : begin with a bias, which the slides do not have
    kernel, theta, degree, radius : see `Kernel`
    random_state : of the candidates

    Attributes
    ----------
    classes_ : labels
    center_indices_ : (C,) rows of the distinct centres of all machines
    centers_ : (C, D)
    dual_coef_ : (R, C) θ, 0 where a machine has not that centre; R is 1 for two classes
    intercept_ : (R,) 0 unless ``fit_intercept``
    machine_center_indices_ : R arrays, the centres of each machine in the order of their selection
    loo_decision_ : (M, R) leave-one-out outputs, the centres kept, which ``predict_proba`` rests on
    loo_errors_ : R arrays (steps, 2), leave-one-out misclassification rate and mean squared error with 0,
        1, … centres, up to the last step tried
    """

    def __init__(
        self,
        sigma: float = 1.0,
        max_centers: int = 100,
        *,
        ridge: float = 1e-3,
        stopping: LooStopping = "loo",
        patience: int = 1,
        n_candidates: int | None = None,
        fit_intercept: bool = False,
        kernel: KernelName = "gaussian",
        theta: float = 1.0,
        degree: int = 3,
        radius: float = 3.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.ridge = ridge
        self.stopping = stopping
        self.patience = patience
        self.n_candidates = n_candidates
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.theta = theta
        self.degree = degree
        self.radius = radius
        self.random_state = random_state

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        x, kernel, rng = X.astype(np.float64), self._make_kernel(), check_random_state(self.random_state)
        config = LooConfig(
            self._capacity(len(x)), self.ridge, self.stopping, self.patience, self.fit_intercept
        )
        with single_threaded():
            machines = [
                loo_forward_selection(x, y, kernel, self._candidates(len(x), rng), config, sample_weight)
                for y in targets.T.copy()
            ]
        self._store(x, machines)
        self.loo_decision_ = np.column_stack([m.leave_one_out for m in machines])
        return self.loo_decision_

    def _candidates(self, n_points: int, rng: np.random.RandomState) -> NDArray[np.int64]:
        if self.n_candidates is None:
            return np.arange(n_points)
        if self.n_candidates < 1:
            raise ModelError(
                f"n_candidates is {self.n_candidates}, expected at least 1, or None for all points"
            )
        return np.sort(rng.choice(n_points, size=min(self.n_candidates, n_points), replace=False))

    def _store(self, x: Floats, machines: list[LooModel]) -> None:
        every = np.concatenate([m.indices for m in machines])
        order = np.sort(np.unique(every, return_index=True)[1])
        distinct = every[order]  # in the order of their selection
        place = {int(index): c for c, index in enumerate(distinct)}
        self.dual_coef_ = np.zeros((len(machines), len(distinct)))
        for weights, machine in zip(self.dual_coef_, machines, strict=True):
            weights[[place[int(index)] for index in machine.indices]] = machine.alpha
        self.intercept_ = np.array([m.bias for m in machines])
        self.centers_, self.center_indices_ = x[distinct], self._rows[distinct]
        self.machine_center_indices_ = [self._rows[m.indices] for m in machines]
        self.loo_errors_ = [m.errors for m in machines]
