"""Forward selection by the leave-one-out misclassification rate, as a scikit-learn estimator.

The method is that of Hong, Chen, Harris 2006 (LOO slides). All candidate columns are kept orthogonal to the
selected ones (modified Gram-Schmidt). At every step each is tried: the leave-one-out outputs of the model
with this column follow from α and β in time O(M). For L candidates a step takes time O(M L), and memory is
O(M L).

A weighted point is left out with all its weight. With the columns w̃ = √weight · w of the weighted problem,
f_i = Σ γ w̃(i)/√weight_i and h_i = Σ w̃(i)²/(κ + λ).

Axes: M training points, D features, L candidates, R machines, C centres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from acoustic.discriminants.base import ExpansionClassifier, gram_block, gram_diagonal, warn_without_effect
from acoustic.errors import ParameterError
from acoustic.kernels.kernel import Kernel, KernelName, check_not_negative, check_whole
from acoustic.kernels.ridge import basis_left_out_residuals, within_reach
from acoustic.kernels.selection import OrthogonalBasis, select_greedily
from foundation.arrays import Flags, Floats, Longs
from foundation.compiled import njit
from foundation.threads import single_threaded_libraries

LooStopping = Literal["loo", "loo_error", "size"]

_LEAST_BETA = 1e-10  # least β = 1 − h in the choice of a candidate; below it α/β is rounding error (λ = 0)
_VANISHED = 1e-7  # share of its length below which a candidate lies in the span of the selected columns


class LOOForwardClassifier(ExpansionClassifier):
    """Sparse kernel classifier whose centres are selected for the fewest leave-one-out errors.

    More than two classes are told apart one-vs-rest, and each machine has its own centres.

    Parameters
    ----------
    sigma : width of the kernel
    max_centers : largest number of centres of a machine
    ridge : λ, which regularises the weights of the orthogonal columns
    stopping : ``loo`` stops when the leave-one-out misclassification rate no longer falls, as in the slides,
        which gives few centres; ``loo_error`` goes on while the rate stays the same and the leave-one-out
        squared error falls, which gives more centres; ``size`` stops at ``max_centers``
    patience : centres without improvement before stopping; the model goes back to the best size
    n_candidates : number of random points that may become centres; by default all points, whose columns take
        M² numbers
    fit_intercept : whether the model has a bias, which the slides do not have
    kernel, kernel_params : see `make_kernel`
    random_state : seed of the choice of candidates

    Attributes
    ----------
    classes_ : labels
    center_indices_ : (C,) rows of the distinct centres of all machines
    centers_ : (C, D)
    dual_coef_ : (R, C) θ, 0 where a machine does not have a centre; R is 1 for two classes
    intercept_ : (R,) 0 unless ``fit_intercept``
    machine_center_indices_ : R arrays, the centres of each machine in the order of their selection
    loo_decision_ : (M, R) leave-one-out outputs with the same centres, which ``predict_proba`` uses
    loo_errors_ : R arrays (number of steps, 2) of the leave-one-out misclassification rate and mean squared
        error with 0, 1, … centres, up to the last step tried
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
        kernel_params: dict[str, Any] | None = None,
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
        self.kernel_params = kernel_params
        self.random_state = random_state

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        x, kernel, rng = X.astype(np.float64), self._make_kernel(), check_random_state(self.random_state)
        if self.stopping == "size":
            warn_without_effect(self, ["patience"], 'stopping="size"')
        config = LooConfig(
            self._capacity(len(x)), self.ridge, self.stopping, self.patience, self.fit_intercept
        )
        with single_threaded_libraries():
            machines = [
                loo_forward_selection(x, y, kernel, self._candidates(len(x), rng), config, sample_weight)
                for y in targets.T.copy()
            ]
        self._store(x, machines)
        self.loo_decision_ = np.column_stack([m.leave_one_out for m in machines])
        return within_reach(self.loo_decision_, targets)

    def _candidates(self, n_points: int, rng: np.random.RandomState) -> Longs:
        if self.n_candidates is None:
            return np.arange(n_points)
        check_whole("n_candidates", self.n_candidates, ", or None for all points")
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


@dataclass(frozen=True)
class LooConfig:
    """How centres are selected.

    Attributes
    ----------
    max_centers : largest number C of centres
    ridge : λ of all weights of orthogonal columns
    stopping : ``loo`` stops when the leave-one-out misclassification rate has not fallen for ``patience``
        centres; ``loo_error`` counts a lower leave-one-out squared error at the same rate as an improvement,
        too; ``size`` stops at ``max_centers``
    patience : number of centres without improvement after which selection stops
    fit_intercept : whether the first column is a column of ones
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
            raise ParameterError(f'stopping is "{self.stopping}", expected one of: {known}')
        check_whole("patience", self.patience)


@dataclass(frozen=True)
class LooModel:
    """The model that a selection found.

    Attributes
    ----------
    indices : (C,) selected points in the order of their selection
    alpha : (C,) weights
    bias : intercept
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
    config : how centres are selected
    sample_weight : (M,) above 0
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    scorer = _LeaveOneOut(x, _Recursion(y, weight, config.ridge), kernel, candidates, config)
    indices = select_greedily(scorer, scorer.basis, min(config.max_centers, len(candidates)))
    return scorer.model(indices)


class _LeaveOneOut:
    """The scorer of the slides, which keeps the columns of all candidates orthogonal to the selected ones."""

    def __init__(
        self, x: Floats, state: _Recursion, kernel: Kernel, candidates: Longs, config: LooConfig
    ) -> None:
        self.x, self.state, self.kernel, self.candidates, self.config = x, state, kernel, candidates, config
        self.n_first = int(config.fit_intercept)
        n_most = self.n_first + min(config.max_centers, len(candidates))
        self.basis = OrthogonalBasis(len(x), n_most, np.dtype(np.float64))
        self.newest = np.zeros(len(x))  # the candidates are not yet orthogonal to it
        if config.fit_intercept:
            self.basis.append(state.root[:, None].copy())
            self._take_newest()
        rows = gram_block(kernel, x[candidates], x)  # (L, M): a candidate's column is a row here
        rows[np.arange(len(candidates)), candidates] = gram_diagonal(kernel, x[candidates])
        self.rows = rows * state.root
        self.floor = _VANISHED**2 * np.einsum("ij,ij->i", self.rows, self.rows)
        self.errors, self.best_errors, self.best_size = [state.errors()], (np.inf, np.inf), 0

    def choose(self) -> Longs:
        """Return the candidate of fewest leave-one-out errors; the squared error decides among equals."""
        chosen = _best_candidate(self.rows, self.newest, self.floor, self.state)
        self.floor[chosen] = np.inf
        return self.candidates[chosen]

    def columns(self, points: Longs) -> Floats:
        """Return the weighted column of a point."""
        return np.asarray(gram_block(self.kernel, self.x, self.x[points]) * self.state.root[:, None])

    def account(self, points: Longs, added: Flags) -> None:
        """Update α and β, and note whether this is the best size so far."""
        if not added[0]:
            self.newest = np.zeros(len(self.x))
            return
        self._take_newest()
        self.errors.append(self.state.errors())
        rate, squared = self.errors[-1]
        now = (rate, squared if self.config.stopping == "loo_error" else 0.0)
        if now < self.best_errors or self.config.stopping == "size":
            self.best_errors, self.best_size = now, self.n_selected

    def is_done(self) -> bool:
        """Return whether the error has not fallen for ``patience`` centres."""
        return self.n_selected - self.best_size >= self.config.patience

    @property
    def n_selected(self) -> int:
        """Number of centres so far."""
        return self.basis.size - self.n_first

    def model(self, indices: Longs) -> LooModel:
        """Return the model of the best size."""
        state, ridge, n = self.state, self.config.ridge, self.n_first + self.best_size
        q, kappa, target = self.basis.q[:, :n], self.basis.kappa[:n], (state.root * state.y)[:, None]
        products = q.T @ target
        gamma = products[:, 0] / (kappa + ridge)  # LOO slides, γ_j
        left_out = basis_left_out_residuals(q, kappa, products, ridge, target - q @ gamma[:, None])
        u = self.basis.u[:n, :n]
        theta = solve_triangular(u, gamma, unit_diagonal=True) if n else gamma  # θ = A⁻¹γ
        return LooModel(
            indices[: self.best_size],
            theta[self.n_first :],
            float(theta[: self.n_first].sum()),
            state.y - left_out[:, 0] / state.root,
            np.array(self.errors),
        )

    def _take_newest(self) -> None:
        self.newest = self.basis.q[:, -1].astype(np.float64)
        self.state.add(self.newest)


def _best_candidate(rows: Floats, newest: Floats, floor: Floats, state: _Recursion) -> Longs:
    """Return the candidate (1,) of fewest leave-one-out errors, or none (0,) if none is left.

    The candidates' columns, stored as rows (L, M), are made orthogonal to the newest column (M,) on the way.
    """
    target = state.root * state.y
    gamma, damped, wrong = _try_candidates(
        rows, newest, floor, target, state.signed, state.weight, state.ridge, state.alpha
    )
    if not np.isfinite(wrong.min()):
        return np.zeros(0, dtype=np.int64)
    tied = np.flatnonzero(wrong <= wrong.min() * (1.0 + 1e-12))
    if len(tied) == 1:
        return tied
    squared = _squared_errors(rows, tied, gamma, damped, state.signed, state.weight, state.alpha, state.beta)
    return tied[[squared.argmin()]]


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
    """Return γ, κ + λ and the summed weight of leave-one-out errors, inf if vanished, per candidate (L,)."""
    n_candidates, n_points = columns.shape
    gamma, damped, wrong = np.zeros(n_candidates), np.ones(n_candidates), np.full(n_candidates, np.inf)
    length = max(np.dot(newest, newest), 1e-300)
    for c in range(n_candidates):
        if np.isinf(floor[c]):
            continue
        w = columns[c]
        a = np.dot(newest, w) / length  # LOO slides, a_jk
        kappa, product = 0.0, 0.0
        for i in range(n_points):
            w[i] -= a * newest[i]
            kappa += w[i] * w[i]
            product += w[i] * target[i]
        if kappa <= floor[c]:
            floor[c] = np.inf
            continue
        d = kappa + ridge
        g, h = product / d, 1.0 / d
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
