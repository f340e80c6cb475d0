"""Forward selection in few large blocks by normal equations: fast NPD and OROLS for all targets at once.

The centres are drawn in blocks, each twice as large as what came before, with probability ∝ residual² of the
model on the centres so far; the next block so follows the largest residuals without taking neighbours of
each other only. All else is matrix products. ε may be left to the leave-one-out error: it is moved by up to
a decade while the model has half its centres. OROLS gets its λ by the leave-one-out error, which costs one
product for all λ, since leverages are Σ_k q_k(i)²/(κ_k + λ).

With the columns K_m = [1 k_1 … k_m] the weights solve (KᵀK + 2ε P) α = Kᵀy, where P is the Gram matrix of the
centres, with zeros for the bias (`NormalEquations`). That is what adding ε to the diagonal of the Gram matrix
does (thesis, K + εI) to first order: (K + εI)ᵀ(K + εI) = KᵀK + 2εP + ε²I on the columns of the centres. The
triangular factor RᵀR = KᵀK + 2εP gives all that an orthogonal basis gives: R = D^½ U with the U of
K_m = Q_m U_m, thesis (3.76), and Q_m D^-½ = K_m R⁻¹ by one matrix product. The result so has the form of the
papers' algorithm, `forward.ForwardPath`, with the models of all sizes.

Axes: M training points, R targets, C centres, m = C + 1 columns with the bias, n rows that scores look at.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs
from scipy.special import gammaln

from acoustic.errors import ParameterError
from acoustic.kernels.forward import ForwardConfig, ForwardPath
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.ridge import (
    basis_leverages,
    evidence_ridge,
    gcv_score,
    left_out_residuals,
    log_evidence,
)
from foundation.arrays import Flags, Floats, Longs, Reals
from foundation.threads import single_threaded_libraries

_JITTER = 1e-11  # added to the diagonal, in units of its mean
_TRIES = 5  # with a hundred times the jitter each; by feel
_IN_SPAN = 1e-9  # share of its squared length that a column must have outside the span of those before
GROWTH = (0.25, 0.5, 1.0)  # shares of the centres that there are after each block; by feel
_SMALL = 256  # so many centres or fewer are drawn in two blocks; by feel
_RIDGES = (0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0)  # values of λ that the leave-one-out error chooses from
_WORTH_THREADS = 1e9  # M C² from which matrix products are worth more than one thread
_SCORED = 600  # rows whose leave-one-out errors choose ε and λ; by feel
_CHECKPOINTS = 12  # sizes whose leave-one-out error is computed; by feel
_ENOUGH = 1.002  # the smallest model whose leave-one-out error is at most this many times the least; by feel
_QUICK_KERNELS = ("gaussian",)  # of the compact kernel the papers' algorithm uses the sparsity
_LEAST_ERROR = 1e-15  # share of ‖y‖² below which an error is rounding error


class Quick(NamedTuple):
    """A path, and the width and the ε it was computed with."""

    path: ForwardPath
    sigma: float
    epsilon: float


@dataclass(frozen=True)
class Refinement:
    """The changes of width and ε that are compared when the model has half of its centres.

    Attributes
    ----------
    widths : factors of the width that are compared
    epsilons : factors of ε that are compared
    """

    widths: tuple[float, ...] = (1.0,)
    epsilons: tuple[float, ...] = (1.0,)

    @property
    def is_trivial(self) -> bool:
        """Whether there is nothing to compare."""
        return len(self.widths) * len(self.epsilons) == 1


def is_quick(config: ForwardConfig) -> bool:
    """Return whether this module does what a configuration asks for, but for the size of blocks."""
    return (
        config.kernel.name in _QUICK_KERNELS
        and len(config.sigmas) == 1
        and config.selection in ("residual", "random")
        and config.stopping in ("size", "loo")
    )


def quick_selection(
    x: Reals,
    targets: Floats,
    config: ForwardConfig,
    *,
    sample_weight: Floats | None = None,
    rng: np.random.Generator,
    refinement: Refinement | None = None,
) -> Quick:
    """Return the path of models found in few large blocks.

    Parameters
    ----------
    x : (M, D) training points; kernel values are computed in their precision, all else in float64
    targets : (M, R)
    config : how centres are selected; see `is_quick`
    sample_weight : (M,) weights of the squared errors, above 0; only their ratios count
    rng : generator of the draws
    refinement : what is compared on the way; nothing by default
    """
    small = len(x) * min(config.max_centers, len(x)) ** 2 < _WORTH_THREADS
    with single_threaded_libraries() if small else nullcontext():
        return _selected(x, targets, config, sample_weight, rng, refinement)


class Factor(NamedTuple):
    """The triangular factor R (m, m) and R⁻ᵀKᵀy (m, R)."""

    r: Floats
    products: Floats

    @property
    def weights(self) -> Floats:
        """α (m, R)."""
        return np.asarray(dtrtrs(self.r, self.products, lower=0)[0])

    def orthonormal(self, columns: Floats) -> Floats:
        """Return rows of K_m R⁻¹ from rows of K_m, (n, m)."""
        inverse, _ = dtrtri(self.r, lower=0)
        return np.asarray(dtrmm(1.0, inverse, columns, side=1, lower=0))


class NormalEquations:
    """Kernel columns of some centres, weighted, their Gram matrix and their products with the targets.

    Parameters
    ----------
    x : (M, D) points
    targets : (M, R)
    root : (M,) roots of the points' weights
    kernel : kernel function
    capacity : largest number of centres

    Attributes
    ----------
    centers : (m − 1,) points that are centres
    columns : (M, m) the bias and the centres' columns, times the roots of the weights, float64
    targets : (M, R) times the roots of the weights
    """

    def __init__(self, x: Reals, targets: Floats, root: Floats, kernel: Kernel, capacity: int) -> None:
        self.x, self.root, self.kernel = x, root, kernel
        self.targets = targets * root[:, None]
        self.centers: Longs = np.empty(0, dtype=np.int64)
        self._columns = np.empty((len(x), 1 + capacity), order="F")
        self._gram = np.empty((1 + capacity, 1 + capacity))
        self._penalty = np.zeros((1 + capacity, 1 + capacity))  # P
        self._products = np.empty((1 + capacity, targets.shape[1]))  # Kᵀy
        self._columns[:, 0] = root
        self._gram[0, 0] = root @ root
        self._products[0] = root @ self.targets

    @property
    def columns(self) -> Floats:
        """The columns (M, m)."""
        return self._columns[:, : 1 + len(self.centers)]

    def add(self, points: Longs) -> None:
        """Make points (b,) centres."""
        old = 1 + len(self.centers)
        self.centers = np.concatenate([self.centers, points])
        new = slice(old, 1 + len(self.centers))
        block = np.asarray(self.kernel.block(self.x[points], self.x), dtype=np.float64)  # symmetric
        self._penalty[new, 1 : new.stop] = block[:, self.centers]
        self._penalty[1:old, new] = self._penalty[new, 1:old].T
        block *= self.root
        self._columns[:, new] = block.T
        with np.errstate(over="ignore", invalid="ignore"):
            products = self.columns.T @ self._columns[:, new]
        if not np.isfinite(products).all():
            raise ParameterError(
                "kernel columns are not finite, expected numbers that can be squared; "
                "standardise the features or change sigma or kernel_params"
            )
        self._gram[: new.stop, new] = products
        self._gram[new, :old] = products[:old].T
        self._products[new] = block @ self.targets

    def of_width(self, sigma: float) -> NormalEquations:
        """Return the equations of the same centres with another width."""
        kernel, capacity = replace(self.kernel, sigma=sigma), self._columns.shape[1] - 1
        found = NormalEquations(self.x, self.targets / self.root[:, None], self.root, kernel, capacity)
        found.add(self.centers)
        return found

    def drop(self, is_kept: Flags) -> None:
        """Keep only some of the centres, (m − 1,)."""
        kept = np.append(0, 1 + np.flatnonzero(is_kept))
        n = len(kept)
        self.centers = self.centers[is_kept]
        self._columns[:, :n] = self._columns[:, kept]
        self._products[:n] = self._products[kept]
        for square in (self._gram, self._penalty):
            square[:n, :n] = square[np.ix_(kept, kept)]

    def factor(self, epsilon: float) -> Factor:
        """Return the factor of KᵀK + 2εP."""
        n = 1 + len(self.centers)
        gram = np.add(self._gram[:n, :n], 2.0 * epsilon * self._penalty[:n, :n], order="F")
        jitter = _JITTER * float(np.trace(gram)) / n
        for _ in range(_TRIES):
            gram[np.diag_indices(n)] += jitter
            r, failed = dpotrf(gram, lower=0, clean=1)
            if not failed:
                break
            jitter *= 100.0
        return Factor(r, np.asarray(dtrtrs(r, self._products[:n], lower=0, trans=1)[0]))

    def outside_the_span(self, factor: Factor) -> Flags:
        """Return which centres' columns do not lie in the span of the columns before them, (m − 1,)."""
        n = len(factor.r)
        lengths = self._gram[:n, :n].diagonal()
        return np.asarray(np.square(factor.r.diagonal()) > _IN_SPAN * lengths)[1:]


def _selected(
    x: Reals,
    targets: Floats,
    config: ForwardConfig,
    sample_weight: Floats | None,
    rng: np.random.Generator,
    refinement: Refinement | None,
) -> Quick:
    """Return the path; see `quick_selection`."""
    n = len(x)
    root = np.ones(n) if sample_weight is None else np.sqrt(sample_weight / np.mean(sample_weight))
    kernel = replace(config.kernel, sigma=config.sigmas[0])
    n_most = min(config.max_centers, n)
    equations = NormalEquations(x, targets, root, kernel, n_most)
    rows = np.arange(n) if n <= _SCORED else np.sort(rng.choice(n, _SCORED, replace=False))
    epsilon = config.epsilon
    for size in _sizes(n_most):
        n_now = len(equations.centers)
        if refinement and not refinement.is_trivial and n_now and 2 * n_now >= n_most:
            equations, epsilon = _refined(equations, epsilon, refinement, rows)
        if n_now:
            residual = equations.targets - equations.columns @ equations.factor(epsilon).weights
        else:
            residual = equations.targets - root[:, None] * (root @ equations.targets / n)
        equations.add(_drawn(equations, residual, size - n_now, config, rng))
    factor = equations.factor(epsilon)
    if not (is_kept := equations.outside_the_span(factor)).all():
        equations.drop(is_kept)
        factor = equations.factor(epsilon)
    return Quick(_path(equations, factor, config, rows), equations.kernel.sigma, epsilon)


def _sizes(n_most: int) -> Longs:
    """Return the numbers of centres after each block."""
    growth = GROWTH if n_most > _SMALL else GROWTH[1:]
    return np.unique(np.ceil(np.array(growth) * n_most).astype(int))


def _drawn(
    equations: NormalEquations,
    residual: Floats,
    n_wanted: int,
    config: ForwardConfig,
    rng: np.random.Generator,
) -> Longs:
    """Return points that are not centres yet, drawn with probability ∝ residual² (M, R) or uniformly."""
    is_free = np.ones(len(residual), dtype=bool)
    is_free[equations.centers] = False
    free = np.flatnonzero(is_free)
    if config.selection == "random" or n_wanted >= len(free):
        return rng.permutation(free)[:n_wanted]
    squares = np.einsum("ij,ij->i", residual, residual)[free]
    # Gumbel noise on the logarithms draws without replacement, with probability ∝ residual².
    keys = np.log(np.maximum(squares, np.finfo(np.float64).tiny)) + rng.gumbel(size=len(free))
    return free[np.argpartition(-keys, n_wanted)[:n_wanted]]


def _refined(
    equations: NormalEquations, epsilon: float, refinement: Refinement, rows: Longs
) -> tuple[NormalEquations, float]:
    """Return the equations of the width, and the ε, with the least leave-one-out error at rows (n,)."""
    best, least = (equations, epsilon), np.inf
    for factor in refinement.widths:
        tried = equations if factor == 1.0 else equations.of_width(factor * equations.kernel.sigma)
        columns, targets = tried.columns[rows], tried.targets[rows]
        for share in refinement.epsilons:
            found = tried.factor(share * epsilon)
            q = found.orthonormal(columns)
            error = _press(targets - q @ found.products, np.einsum("ij,ij->i", q, q))
            if error < least:
                best, least = (tried, share * epsilon), error
    return best


def _press(residual: Floats, leverages: Floats) -> float:
    """Return the squared leave-one-out error of residuals (n, R); a leverage of 1 counts as just below 1."""
    slack = np.maximum(1.0 - leverages, 1e-6)
    return float(np.sum(np.square(residual / slack[:, None])))


def _path(equations: NormalEquations, factor: Factor, config: ForwardConfig, rows: Longs) -> ForwardPath:
    """Return the models of all sizes."""
    diagonal = factor.r.diagonal().copy()
    kappa = np.square(diagonal)
    q = factor.orthonormal(equations.columns)  # of unit length, but for ε
    ridge = _best_ridge(q[rows], factor, kappa, equations.targets[rows]) if config.regularize else 0.0
    kept = kappa / (kappa + ridge)  # the share of each column that λ leaves, thesis (3.83)
    parts = kept[:, None] * factor.products
    size = _best_size(q, kept, parts, equations.targets) if config.stopping == "loo" else len(kappa) - 1
    used = slice(1 + size)
    residual = equations.targets - q[:, used] @ parts[used]
    leverages = basis_leverages(q[:, used], kept[used])

    def limit(points: Longs) -> tuple[Floats, Floats]:
        inside, shares = q[points, used], 1.0 / (kappa[used] + ridge)
        return inside @ (shares[:, None] * factor.products[used]), np.square(inside) @ shares

    left_out = left_out_residuals(residual, leverages, limit)
    root = equations.root[:, None]
    return ForwardPath(
        equations.centers,
        np.full(len(equations.centers), equations.kernel.sigma),
        factor.r / diagonal[:, None],
        kappa,
        factor.products * diagonal[:, None],
        np.full(len(kappa), ridge),
        np.full(len(kappa), np.nan),
        size,
        (equations.targets - residual) / root,
        (equations.targets - left_out) / root,
    )


def _best_ridge(q: Floats, factor: Factor, kappa: Floats, targets: Floats) -> float:
    """Return the λ with the least leave-one-out error at some rows, q (n, m), targets (n, R)."""
    shares = kappa / (kappa + np.array(_RIDGES)[:, None])  # (number of λ, m)
    leverages = np.square(q) @ shares.T
    errors = [
        _press(targets - q @ (share[:, None] * factor.products), h)
        for share, h in zip(shares, leverages.T, strict=True)
    ]
    return _RIDGES[int(np.argmin(errors))]


def _best_size(q: Floats, kept: Floats, parts: Floats, targets: Floats) -> int:
    """Return the smallest number of centres whose leave-one-out error is about the least."""
    residual, leverages = targets.copy(), np.zeros(len(q))
    ends = np.unique(np.linspace(1, len(kept), _CHECKPOINTS + 1).astype(int))
    errors, first = [], 0
    for end in ends:
        block = q[:, first:end]
        residual -= block @ parts[first:end]
        leverages += np.square(block) @ kept[first:end]
        errors.append(_press(residual, leverages))
        first = end
    is_enough = np.array(errors) <= _ENOUGH * min(errors)
    return int(ends[int(np.argmax(is_enough))]) - 1


def unexplained_errors(path: ForwardPath, energy: float) -> Floats:
    """Return the squared errors of all sizes for λ = 0, ‖y‖² − Σ (q_iᵀy)²/κ_i, (C + 1,).

    Parameters
    ----------
    path : models of all sizes
    energy : ‖y‖², summed over the targets
    """
    explained = np.sum(path.products**2, axis=1) / path.kappa
    return np.asarray(np.maximum(energy - np.cumsum(explained), _LEAST_ERROR * energy))


def bayesian_information(path: ForwardPath, energy: float, n_points: int) -> Floats:
    """Return the Bayesian information criterion of all sizes, (C + 1,); the least is the best. Schwarz 1978.

    MR log(‖e‖²/MR) + γR log M, with the noise variance that fits best. γ = Σ κ_i/(κ_i + λ) is the number of
    weights of each target, less what λ holds back.

    Parameters
    ----------
    path : models of all sizes
    energy : ‖y‖², summed over the targets
    n_points : M
    """
    n_targets = path.products.shape[1]
    sizes = range(1, len(path.kappa) + 1)
    n_weights = np.array([np.sum(path.kappa[:n] / (path.kappa[:n] + path.ridges[n - 1])) for n in sizes])
    count = n_points * n_targets
    errors = _errors(path, energy)
    return np.asarray(count * np.log(errors / count) + n_weights * n_targets * np.log(n_points))


def description_length(path: ForwardPath, energy: float, n_points: int) -> Floats:
    """Return the description length of targets, weights and centres in nats, (C + 1,); Rissanen 1983.

    The first two parts are half of `bayesian_information`. The third, log(M over C), says which of the points
    are centres: without it the minimum description length would choose the same size as Schwarz.

    Parameters
    ----------
    path, energy, n_points : see `bayesian_information`
    """
    sizes = np.arange(len(path.kappa))
    naming = gammaln(n_points + 1) - gammaln(sizes + 1) - gammaln(n_points - sizes + 1)
    return np.asarray(0.5 * bayesian_information(path, energy, n_points) + naming)


def log_evidences(path: ForwardPath, energy: float, n_points: int) -> Floats:
    """Return log p(y | λ) of all sizes with their λ > 0, (C + 1,); the largest is the best.

    Parameters
    ----------
    path, energy, n_points : see `bayesian_information`
    """
    states = _states(path, energy, n_points)
    return np.array([log_evidence(*state, ridge) for state, ridge in zip(states, path.ridges, strict=True)])


def with_evidence_ridges(path: ForwardPath, energy: float, n_points: int) -> ForwardPath:
    """Return the models of the same centres with the λ of the largest evidence in place of GCV's.

    ``fitted`` and ``leave_one_out``, which belong to the old λ, are left out.

    Parameters
    ----------
    path, energy, n_points : see `bayesian_information`
    """
    states = _states(path, energy, n_points)
    ridges = np.array([evidence_ridge(*state) for state in states])
    gcv = np.array([gcv_score(*state, ridge) for state, ridge in zip(states, ridges, strict=True)])
    nothing = np.empty((0, path.products.shape[1]))
    return replace(path, ridges=ridges, gcv=gcv, fitted=nothing, leave_one_out=nothing)


def _states(path: ForwardPath, energy: float, n_points: int) -> list[tuple[Floats, Floats, float, int]]:
    """Return κ, products, error for λ = 0 and M of each size, as `gcv_score` takes them."""
    errors = unexplained_errors(path, energy)
    return [
        (path.kappa[:n], path.products[:n], float(error), n_points) for n, error in enumerate(errors, start=1)
    ]


def _errors(path: ForwardPath, energy: float) -> Floats:
    """Return the squared errors ‖y − Qα̃‖² of all sizes with their λ, (C + 1,)."""
    explained = np.sum(path.products**2, axis=1) / path.kappa
    shares = [path.ridges[n] / (path.kappa[: n + 1] + path.ridges[n]) for n in range(len(path.kappa))]
    held = np.array([explained[: len(share)] @ share**2 for share in shares])
    return np.asarray(unexplained_errors(path, energy) + held)
