"""Forward selection of centres: the engine of NPD (thesis Algorithm 1) and OROLS (Algorithm 2).

Both grow an orthogonal basis of kernel columns and differ in the ridge λ: NPD has λ = 0 and only adds ε to
the diagonal of the Gram matrix; OROLS re-estimates λ by generalised cross-validation (GCV). Several columns
of targets share one basis: only the small products yᵀq_i are kept for each. The residual, the weights, the
GCV score and the leave-one-out outputs of every size follow from the basis, so one run gives the models of
all sizes.

Axes: M training points, D features, R targets, C centres; column 0 of the basis is the bias.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from acoustic.errors import ParameterError
from acoustic.kernels.kernel import Kernel, check_not_negative, check_whole, is_basis_better_sparse
from acoustic.kernels.ridge import (
    basis_left_out_residuals,
    evidence_ridge,
    gcv_score,
    log_evidence,
    printed_ridge,
    settled_ridge,
)
from acoustic.kernels.selection import OrthogonalBasis, error_reductions, greedy_order, select_greedily
from foundation.arrays import Flags, Floats, Longs, Reals
from foundation.records import check_choices

Selection = Literal["residual", "error_reduction", "random"]
Stopping = Literal["size", "tol", "gcv", "lambda", "loo"]
Algorithm = Literal["stable", "thesis"]

_CANDIDATES_PER_CENTER = 4  # candidates drawn for each centre of a block; by feel
_LEAST_ERROR = 1e-15  # share of ‖y‖² below which an error is rounding error
_GIVEN_AT_ONCE = 32  # block size where the centres are given and need not be selected; by feel


@dataclass(frozen=True)
class ForwardConfig:
    """How centres are selected.

    Attributes
    ----------
    kernel : kernel function
    sigmas : kernel widths from which the best is chosen for each centre
    max_centers : largest number C of centres
    selection : rule for the next centre: ``residual`` takes the point with the largest |residual| (thesis),
        ``error_reduction`` the point whose column reduces the squared error most among ``n_candidates``
        random points, ``random`` a random point
    stopping : rule for the end: ``size`` stops at ``max_centers``; ``tol`` when no |residual| exceeds
        ``tol``; ``gcv`` when the GCV score, and ``loo`` when the leave-one-out squared error, has not fallen
        for ``patience`` centres, and both return the model of the best size; ``lambda`` when λ > 0 has
        changed by a share of less than ``tol`` for ``patience`` centres
    tol : threshold of the stopping rules ``tol`` and ``lambda``
    patience : number of centres without improvement after which ``gcv``, ``loo`` and ``lambda`` stop
    epsilon : number added to the diagonal of the Gram matrix
    block_size : number of centres added at once; 1 is the papers' algorithm, larger blocks are faster. To
        fill a block, ``residual`` draws a few times as many points with probability ∝ residual² and runs the
        papers' algorithm on these. The points of the largest residuals would not do, as they are neighbours
        of each other
    n_candidates : number of random points that ``error_reduction`` compares for each centre
    regularize : whether λ is re-estimated (OROLS) or stays 0 (NPD)
    algorithm : ``thesis`` is Algorithm 1 or 2 as printed, for blocks of one; a column that vanishes ends it
    """

    kernel: Kernel
    sigmas: tuple[float, ...]
    max_centers: int
    selection: Selection = "residual"
    stopping: Stopping = "size"
    tol: float = 1e-3
    patience: int = 20
    epsilon: float = 1e-6
    block_size: int = 1
    n_candidates: int = 60
    regularize: bool = False
    algorithm: Algorithm = "stable"

    def __post_init__(self) -> None:
        check_choices(self, ParameterError)
        for name in ("max_centers", "patience", "block_size", "n_candidates"):
            check_whole(name, getattr(self, name))
        for name in ("tol", "epsilon"):
            check_not_negative(name, getattr(self, name))
        if self.stopping == "lambda" and not self.regularize:
            raise ParameterError(
                'stopping is "lambda", but NPD has no λ; use OROLS, or another of the stopping rules'
            )
        if self.algorithm == "thesis" and self.block_size > 1:
            raise ParameterError(
                f'block_size is {self.block_size}, expected 1 with algorithm="thesis", which adds one centre '
                'at a time; leave it out, or give algorithm="stable"'
            )


@dataclass(frozen=True)
class ForwardPath:
    """The models of all sizes 0 … C that one forward selection found, without its large matrix Q.

    Attributes
    ----------
    indices : (C,) selected points in the order of their selection
    sigmas : (C,) kernel width of each centre
    u : (C + 1, C + 1) unit upper triangular, K_m = Q_m U_m
    kappa : (C + 1,) κ_i = q_iᵀq_i
    products : (C + 1, R) q_iᵀy
    ridges : (C + 1,) λ of each size
    gcv : (C + 1,) GCV score of each size
    size : chosen number of centres
    fitted : (M, R) outputs of the model of the chosen size on the training points
    leave_one_out : (M, R) output at each training point of the same model fitted without this point; basis
        and λ are kept
    """

    indices: Longs
    sigmas: Floats
    u: Floats
    kappa: Floats
    products: Floats
    ridges: Floats
    gcv: Floats
    size: int
    fitted: Floats
    leave_one_out: Floats

    def weights(self, size: int | None = None) -> tuple[Floats, Floats]:
        """Return centre weights (C, R) and biases (R,) of the model with ``size`` centres."""
        n = 1 + (self.size if size is None else size)
        orthogonal = self.products[:n] / (self.kappa[:n] + self.ridges[n - 1])[:, None]  # thesis (3.83)
        alpha = solve_triangular(self.u[:n, :n], orthogonal, unit_diagonal=True)  # thesis (3.84)
        return alpha[1:], alpha[0]

    def without_points(self, rows: Longs) -> ForwardPath:
        """Return the same models without their outputs on the training points, in memory O(C²).

        ``rows`` (M,) are the positions of the training points in a larger set; ``indices`` then refer to that
        set.
        """
        nothing = np.empty((0, self.products.shape[1]))
        return replace(self, indices=rows[self.indices], fitted=nothing, leave_one_out=nothing)


def forward_selection(
    x: Reals,
    targets: Floats,
    config: ForwardConfig,
    *,
    sample_weight: Floats | None = None,
    rng: np.random.Generator | None = None,
    held_out: Longs | None = None,
) -> ForwardPath:
    """Return the path of models found by adding centres one block after the other.

    Parameters
    ----------
    x : (M, D) training points; the basis has the same precision
    targets : (M, R)
    config : how centres are selected
    sample_weight : (M,) weights of the squared errors, above 0; only their ratios count. The rows of the
        problem are scaled by the square roots of the weights, and so is the residual by which centres are
        selected
    rng : generator of the random choices
    held_out : (n,) points that never become centres; the leave-one-out outputs at these are not spoiled by
        the choice of the centres
    """
    scorer = _Forward(x, targets, config, sample_weight, rng or np.random.default_rng(0), held_out)
    return scorer.path(select_greedily(scorer, scorer.basis, scorer.n_most))


def path_of_centers(
    x: Reals,
    targets: Floats,
    indices: Longs,
    sigmas: Floats,
    config: ForwardConfig,
    sample_weight: Floats | None = None,
) -> ForwardPath:
    """Return the path of models on these centres in this order, as if they had been selected.

    Parameters
    ----------
    x, targets, config, sample_weight : see `forward_selection`; the rules of selection and stopping are not
        used
    indices : (C,) training points that become centres
    sigmas : (C,) kernel width of each centre
    """
    plain = replace(config, selection="residual", stopping="size", max_centers=max(len(indices), 1))
    scorer = _Forward(x, targets, plain, sample_weight, np.random.default_rng(0))
    return scorer.path(select_greedily(_Given(scorer, indices, sigmas), scorer.basis, len(indices)))


def has_sparse_columns(x: Reals, config: ForwardConfig) -> bool:
    """Return whether the basis is kept as sparse columns: less time and memory for the same models.

    Not for rules that need all of Q after every centre.
    """
    is_plain = config.selection != "error_reduction" and config.stopping != "loo" and len(config.sigmas) == 1
    reach = config.kernel.radius * config.sigmas[0]
    is_compact = config.kernel.name == "compact"
    return is_plain and is_compact and is_basis_better_sparse(x, reach, config.max_centers)


class _Given:
    """A scorer that takes given centres in their order and updates the models as NPD and OROLS do."""

    def __init__(self, forward: _Forward, indices: Longs, sigmas: Floats) -> None:
        self.forward, self.indices, self.sigmas, self.n_taken = forward, indices, sigmas, 0

    def choose(self) -> Longs:
        """Return the next points."""
        return self.indices[self.n_taken : self.n_taken + _GIVEN_AT_ONCE]

    def columns(self, points: Longs) -> Reals:
        """Return the weighted columns of K + εI of some points, each with its given width."""
        return self.forward.columns_of(points, self.sigmas[self.n_taken : self.n_taken + len(points)])

    def account(self, points: Longs, added: Flags) -> None:
        """Pass the points on to the scorer of NPD and OROLS."""
        self.n_taken += len(points)
        self.forward.account(points, added)

    def is_done(self) -> bool:
        """Return False: all given centres are taken."""
        return False


class _Forward:
    """The scorer of NPD and OROLS: residual, λ and scores of one forward selection."""

    def __init__(
        self,
        x: Reals,
        targets: Floats,
        config: ForwardConfig,
        sample_weight: Floats | None,
        rng: np.random.Generator,
        held_out: Longs | None = None,
    ) -> None:
        n = len(x)
        self.x, self.config, self.rng = x, config, rng
        self.is_thesis = config.algorithm == "thesis"
        self.is_ill_conditioned = False
        self.is_weighted = sample_weight is not None
        self.root = np.ones(n) if sample_weight is None else np.sqrt(sample_weight / np.mean(sample_weight))
        self.targets = (targets * self.root[:, None]).astype(x.dtype)
        self.unselected = np.ones(n, dtype=bool)
        if held_out is not None:
            self.unselected[held_out] = False
        self.n_most = min(config.max_centers, int(self.unselected.sum()))
        self.basis = OrthogonalBasis(
            n,
            1 + self.n_most,
            x.dtype,
            is_sparse=has_sparse_columns(x, config),
            reorthogonalizes=not self.is_thesis,
        )
        self.order = self.rng.permutation(n) if config.selection == "random" else np.arange(n)
        self.chosen_sigmas, self.sigmas = np.empty(0), np.empty(0)  # of the last block; of all
        self.ridge = 0.0
        self.ridges: list[float] = []
        self.gcv: list[float] = []
        self.press: list[float] = []
        self.products = np.zeros((1 + self.n_most, targets.shape[1]))
        self.unregularized = self.targets  # the residual for λ = 0: the recursion (3.64) holds for it always
        self.residual = self.targets
        self.basis.append(self.root[:, None].astype(x.dtype))  # the bias column, thesis Alg. 1
        self._update(0)

    def choose(self) -> Longs:
        """Return the points of the next block, the best first."""
        config = self.config
        free = self.order[self.unselected[self.order]]
        if config.selection == "random" or not len(free):
            return free[: config.block_size]
        if config.selection == "error_reduction":
            n = min(max(config.n_candidates, config.block_size), len(free))
            candidates = np.sort(self.rng.choice(free, size=n, replace=False))
            gains = self._gains(candidates).max(axis=0)
            return candidates[np.argsort(-gains, kind="stable")[: config.block_size]]
        squares = np.einsum("ij,ij->i", self.residual, self.residual)[free]
        return free[[np.argmax(squares)]] if config.block_size == 1 else self._drawn_block(free, squares)

    def columns(self, points: Longs) -> Reals:
        """Return the weighted columns of K + εI of some points, each with its best width."""
        sigmas = np.array(self.config.sigmas)
        best = np.zeros(len(points), dtype=int) if len(sigmas) == 1 else self._gains(points).argmax(axis=0)
        return self.columns_of(points, sigmas[best])

    def columns_of(self, points: Longs, sigmas: Floats) -> Reals:
        """Return the weighted columns of K + εI of some points in these widths; remember the widths."""
        self.chosen_sigmas = sigmas
        return self._columns_of_width(points, sigmas)

    def account(self, points: Longs, added: Flags) -> None:
        """Take note of the centres that were added; update residual, λ and the scores."""
        self.unselected[points] = False
        self.sigmas = np.append(self.sigmas, self.chosen_sigmas[added])
        if added.any():
            self._update(self.basis.size - int(added.sum()))
        elif self.is_thesis:
            self.is_ill_conditioned = True

    def is_done(self) -> bool:
        """Return whether the stopping rule ends the selection."""
        config = self.config
        if self.is_ill_conditioned:
            return True
        if config.stopping == "tol":
            return bool((np.abs(self.residual).max(axis=1) <= config.tol * self.root).all())
        if config.stopping == "lambda":
            recent = np.array(self.ridges[-1 - config.patience :])
            has_settled = recent.min() > 0 and np.ptp(recent) <= config.tol * recent.max()
            return len(recent) > config.patience and bool(has_settled)
        if config.stopping in ("gcv", "loo"):
            scores = self.gcv if config.stopping == "gcv" else self.press
            return len(scores) - 1 - int(np.argmin(scores)) >= config.patience
        return False

    def path(self, indices: Longs) -> ForwardPath:
        """Return the models of all sizes on the selected points (C,)."""
        size, basis = self._best_size(), self.basis
        n, ridge, residual = size + 1, self.ridges[size], self.residual
        if n < basis.size or self.is_thesis:
            residual = self._computed_anew(n, ridge)
        state = basis.kappa[:n], self.products[:n], ridge
        left_out = [basis_left_out_residuals(q, *state, residual[rows]) for rows, q in basis.columns.parts(n)]
        root = self.root[:, None]
        return ForwardPath(
            indices,
            self.sigmas,
            basis.u.copy(),
            basis.kappa.copy(),
            self.products[: basis.size].copy(),
            np.array(self.ridges),
            np.array(self.gcv),
            size,
            (self.targets - residual) / root,
            (self.targets - np.concatenate(left_out)) / root,
        )

    def _drawn_block(self, free: Longs, squares: Reals) -> Longs:
        """Return the points that Algorithm 1 selects among some of the free points.

        The free points (n,) are drawn with probability ∝ their squared residuals (n,).
        """
        # Gumbel noise on the logarithms draws without replacement, with probability ∝ residual².
        keys = np.log(np.maximum(squares, np.finfo(self.x.dtype).tiny)) + self.rng.gumbel(size=len(free))
        drawn = free[np.argsort(-keys)[: _CANDIDATES_PER_CENTER * self.config.block_size]]
        block = self.config.kernel.block(self.x[drawn], self.x[drawn])
        block = block * self.root[drawn, None].astype(self.x.dtype)
        return drawn[greedy_order(block, self.residual[drawn], self.config.block_size)]

    def _columns_of_width(self, points: Longs, sigmas: Floats) -> Reals:
        """Return the weighted columns of K + εI of some points with these widths."""
        kernel, centers = self.config.kernel, self.x[points]
        columns = kernel.block(self.x, centers, sigmas)
        columns[points, np.arange(len(points))] = kernel.diagonal(centers, sigmas) + self.config.epsilon
        if self.is_weighted:
            columns *= self.root[:, None].astype(columns.dtype)
        return columns

    def _gains(self, points: Longs) -> Floats:
        """Return how much the column of each of b points would reduce the error, (number of widths, b)."""
        blocks = (self._columns_of_width(points, np.full(len(points), s)) for s in self.config.sigmas)
        return np.array(
            [error_reductions(self.basis, block, self.unregularized, self.ridge) for block in blocks]
        )

    def _update(self, before: int) -> None:
        """Update products, λ, residual and the scores of each size for the columns from ``before`` on."""
        n, basis = self.basis.size, self.basis
        new, kappa = basis.columns.newest(before), basis.kappa
        # qᵀe equals qᵀy, since q is orthogonal to what earlier columns explain, and loses less to
        # cancellation.
        onto = self.targets if self.is_thesis else self.unregularized
        products = np.asarray(new.T @ onto, dtype=np.float64)
        self.products[before:n] = products
        step = products / kappa[before:, None]
        self.unregularized = self.unregularized - new @ step.astype(self.x.dtype)  # thesis (3.64)
        explained = np.append(np.sum(products * step, axis=1)[1:], 0.0)
        later = np.cumsum(explained[::-1])[::-1]  # error that the columns behind each one explain
        unexplained = float(np.sum(self.unregularized**2, dtype=np.float64)) + later
        for size, error in enumerate(unexplained, before + 1):
            self._score(size, float(error))
        if self.is_thesis:
            share = products / (kappa[before:, None] + self.ridge)
            self.residual = self.residual - new @ share.astype(self.x.dtype)  # thesis (3.82)
        else:
            self.residual = self._residual_of(n, self.ridge)
        if self.config.stopping == "loo":
            self.press += [np.inf] * (n - before - 1) + [self._press()]  # only whole blocks can be the best

    def _residual_of(self, n_columns: int, ridge: float) -> Reals:
        """Return the residual for a λ of the model of the first columns, which are all unless as printed."""
        if self.is_thesis:
            return self._computed_anew(n_columns, ridge)
        if not ridge:
            return self.unregularized
        # (3.82) holds only while λ is fixed, so the share of each column that λ holds back is added anew.
        kappa = self.basis.kappa[:, None]
        held = self.products[:n_columns] * (ridge / (kappa * (kappa + ridge)))
        return np.asarray(self.unregularized + self.basis.columns.combine(held))

    def _computed_anew(self, n_columns: int, ridge: float) -> Reals:
        """Return y − Qα̃ of the first columns for a λ, thesis (3.83)."""
        weights = self.products[:n_columns] / (self.basis.kappa[:n_columns] + ridge)[:, None]
        return np.asarray(self.targets - self.basis.columns.combine(weights))

    def _score(self, size: int, unexplained: float) -> None:
        """Note λ and the GCV score of the model with ``size`` columns."""
        state = self.basis.kappa[:size], self.products[:size], unexplained, len(self.x)
        if self.config.regularize and not self.is_thesis:
            self.ridge = settled_ridge(*state, self.ridge)
        elif self.config.regularize and size > 1:  # Algorithm 2 updates λ after a centre was added
            error = float(np.sum(self._residual_of(size, self.ridge) ** 2, dtype=np.float64))
            self.ridge = printed_ridge(*state[:2], error, len(self.x), self.ridge)
        self.ridges.append(self.ridge)
        self.gcv.append(gcv_score(*state, self.ridge))

    def _press(self) -> float:
        """Return the squared leave-one-out error of the present model."""
        basis = self.basis
        products = self.products[: basis.size]
        residual = self._residual_of(basis.size, self.ridge) if self.is_thesis else self.residual
        errors = basis_left_out_residuals(basis.q, basis.kappa, products, self.ridge, residual)
        return float(np.sum(errors**2))

    def _best_size(self) -> int:
        """Return the number of centres of the chosen model."""
        scores = {"gcv": self.gcv, "loo": self.press}.get(self.config.stopping)
        return self.basis.size - 1 if scores is None else int(np.argmin(scores))


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
