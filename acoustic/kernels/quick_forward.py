"""Forward selection in few large blocks by normal equations: fast NPD and OROLS for all targets at once.

The centres are drawn in blocks, each twice as large as what came before, with probability ∝ residual² of the
model on the centres so far; the next block so follows the largest residuals without taking neighbours of
each other only. All else is matrix products. ε may be left to the leave-one-out error: it is moved by up to
a decade while the model has half its centres. OROLS gets its λ by the leave-one-out error, which costs one
product for all λ, since leverages are Σ_k q_k(i)²/(κ_k + λ).

The result has the form of the papers' algorithm, `forward.ForwardPath`, with the models of all sizes.

Axes: M training points, R targets, C centres, m = C + 1 columns with the bias, n rows that scores look at.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from acoustic.kernels.forward import ForwardConfig, ForwardPath
from acoustic.kernels.leave_one_out import basis_leverages, left_out_residuals
from acoustic.kernels.normal_equations import Factor, NormalEquations
from foundation.arrays import Floats, Longs, Reals
from foundation.threads import single_threaded_libraries

GROWTH = (0.25, 0.5, 1.0)  # shares of the centres that there are after each block
_SMALL = 256  # so many centres or fewer are drawn in two blocks
_RIDGES = (0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
_WORTH_THREADS = 1e9  # M C² from which matrix products are worth more than one thread
_SCORED = 600  # rows whose leave-one-out errors choose ε and λ
_CHECKPOINTS = 12  # sizes whose leave-one-out error is computed
_ENOUGH = 1.002  # the smallest model whose leave-one-out error is at most this many times the least
_QUICK_KERNELS = ("gaussian",)  # of the compact kernel the papers' algorithm uses the sparsity


class Quick(NamedTuple):
    """A path, and the width and the ε it was computed with."""

    path: ForwardPath
    sigma: float
    epsilon: float


@dataclass(frozen=True)
class Refinement:
    """What the leave-one-out error may still change while the model has half its centres.

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
