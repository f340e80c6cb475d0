"""A residual-sampled subset of regressors: least squares on centres drawn in a few large blocks.

The centres are drawn in blocks, each about as large as what came before, with probability ∝ residual² of the
model on the centres so far; the next block so follows the largest residuals without taking neighbours of each
other only. All else is matrix products, for all targets at once. With the columns K_m = [1 k_1 … k_m] the
weights solve (KᵀK + 2ε P) α = Kᵀy, where P is the Gram matrix of the centres, with zeros for the bias
(`NormalEquations`): kernel ridge regression restricted to the centres (Smola and Bartlett 2001; Poggio and
Girosi 1990). To first order this is what adding ε to the diagonal of the Gram matrix does (thesis, K + εI).

Some of the points may be held out from candidacy: they count in the least squares but never become centres,
so that their leave-one-out errors tell what new points meet. These errors choose the width and ε when the
model has half of its centres, whether more centres are worth while, and the size of the model at the end. The
triangular factor RᵀR = KᵀK + 2εP gives all that an orthogonal basis gives: R = D^½ U with the U of K_m =
Q_m U_m, thesis (3.76), and Q_m D^-½ = K_m R⁻¹ by one matrix product. The result so has the form of the
papers' algorithms, `forward.ForwardPath`, with the models of all sizes.

Axes: M training points, R targets, C centres, m = C + 1 columns with the bias, n rows that scores look at.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from acoustic.errors import ParameterError
from acoustic.kernels.forward import ForwardPath
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.ridge import left_out_residuals
from foundation.arrays import Flags, Floats, Longs, Reals, check_memory
from foundation.threads import single_threaded_libraries

_JITTER = 1e-11  # added to the diagonal, in units of its mean
_TRIES = 5  # with a hundred times the jitter each; by feel
_IN_SPAN = 1e-9  # share of its squared length that a column must have outside the span of those before
GROWTH = (0.25, 0.5, 1.0)  # shares of the centres that there are after each block; by feel
_SMALL = 256  # so many centres or fewer are drawn in two blocks; by feel
_WORTH_THREADS = 1e9  # M C² from which matrix products are worth more than one thread
_ENOUGH_HELD_OUT = 300  # points for their errors to decide; with fewer, those of all points do; by feel
_SCORED = 400  # rows whose leave-one-out errors decide, of those held out or of all; by feel
_CHECKPOINTS = 12  # sizes whose leave-one-out error is computed; by feel
_ENOUGH = 1.002  # the smallest model whose leave-one-out error is at most this many times the least; by feel
_WORTH_MORE = 0.99  # share to which twice the centres must bring the error down; by feel
STILL_FALLING = 0.9  # share below which the last centres have brought the error down markedly; by feel
_LEAST_SLACK = 1e-6  # least value of 1 − h where errors are compared


@dataclass(frozen=True)
class SamplingConfig:
    """How centres are drawn, and what the left-out errors choose on the way.

    Attributes
    ----------
    sigma : width of the Gaussian kernel
    epsilon : ε
    max_centers : number of centres
    most_centers : number that they may be raised to, each time to twice as many, while the error falls
    widths, epsilons : factors of σ and ε that are compared
    chooses_size : whether the smallest size with about the least error is taken, of twelve, or all centres
    selection : ``residual`` draws with probability ∝ residual², ``random`` uniformly
    """

    sigma: float
    epsilon: float
    max_centers: int
    most_centers: int
    widths: tuple[float, ...] = (1.0,)
    epsilons: tuple[float, ...] = (1.0,)
    chooses_size: bool = True
    selection: Literal["residual", "random"] = "residual"

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to choose on the way but centres."""
        return len(self.widths) * len(self.epsilons) == 1 and self.max_centers >= self.most_centers

    @property
    def kernel(self) -> Kernel:
        """The Gaussian kernel."""
        return Kernel("gaussian", self.sigma)


class Sampled(NamedTuple):
    """The models of all sizes, and what was chosen on the way.

    Attributes
    ----------
    path : models of all sizes
    sigma, epsilon : what the models were computed with
    left_out : (n, R) leave-one-out outputs at the points held out, of the model before any of them became
        centres
    last_gain : error with all centres in units of that before the last were added; 1 if nothing was compared
    """

    path: ForwardPath
    sigma: float
    epsilon: float
    left_out: Floats
    last_gain: float


def sample_regressors(
    x: Reals,
    targets: Floats,
    config: SamplingConfig,
    *,
    held_out: Longs,
    sample_weight: Floats | None = None,
    rng: np.random.Generator,
) -> Sampled:
    """Return the models on centres drawn in a few large blocks.

    Parameters
    ----------
    x : (M, D) training points; kernel values are computed in their precision, all else in float64
    targets : (M, R)
    config : how centres are drawn
    held_out : (n,) points that do not become centres before ``left_out`` is known. Where more than half of
        the other points are centres, some of them become centres then, so that small sets are not deprived of
        them; the size is chosen once more
    sample_weight : (M,) weights of the squared errors, above 0; only their ratios count
    rng : generator of the draws
    """
    small = len(x) * min(config.most_centers, len(x)) ** 2 < _WORTH_THREADS
    with single_threaded_libraries() if small else nullcontext():
        return _Sampler(x, targets, config, held_out, sample_weight, rng).sampled()


class Factor(NamedTuple):
    """The triangular factor R (m, m) and R⁻ᵀKᵀy (m, R)."""

    r: Floats
    products: Floats

    @property
    def weights(self) -> Floats:
        """α (m, R)."""
        return np.asarray(dtrtrs(self.r, self.products, lower=0)[0])

    def first(self, n_columns: int) -> Factor:
        """Return the factor of the model of the first columns."""
        corner = np.asfortranarray(self.r[:n_columns, :n_columns])
        return Factor(corner, self.products[:n_columns])

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

    Attributes
    ----------
    centers : (m − 1,) points that are centres
    columns : (M, m) the bias and the centres' columns, times the roots of the weights, float64
    targets : (M, R) times the roots of the weights
    """

    def __init__(self, x: Reals, targets: Floats, root: Floats, kernel: Kernel) -> None:
        self.x, self.root, self.kernel = x, root, kernel
        self.targets = targets * root[:, None]
        self.centers: Longs = np.empty(0, dtype=np.int64)
        self.columns = np.array(root[:, None], order="F")
        self._gram = np.array([[root @ root]])
        self._penalty = np.zeros((1, 1))  # P
        self._products = root[None] @ self.targets  # Kᵀy

    def add(self, points: Longs) -> None:
        """Make points (b,) centres."""
        old = 1 + len(self.centers)
        self.centers = np.concatenate([self.centers, points])
        size = 1 + len(self.centers)
        cure = "take fewer points, or fewer centres"
        check_memory("the columns of the centres", (len(self.x), size), ParameterError, cure)
        block = np.asarray(self.kernel.block(self.x[points], self.x), dtype=np.float64)  # symmetric
        penalty = _bordered(self._penalty, size)
        penalty[old:, 1:] = block[:, self.centers]
        penalty[1:old, old:] = penalty[old:, 1:old].T
        block *= self.root
        columns = np.empty((len(self.x), size), order="F")
        columns[:, :old], columns[:, old:] = self.columns, block.T
        with np.errstate(over="ignore", invalid="ignore"):
            products = columns.T @ columns[:, old:]
        if not np.isfinite(products).all():
            raise ParameterError(
                "kernel columns are not finite, expected numbers that can be squared; "
                "standardise the features or change sigma"
            )
        gram = _bordered(self._gram, size)
        gram[:, old:] = products
        gram[old:, :old] = products[:old].T
        self.columns, self._gram, self._penalty = columns, gram, penalty
        self._products = np.concatenate([self._products, block @ self.targets])

    def of_width(self, sigma: float) -> NormalEquations:
        """Return the equations of the same centres with another width."""
        kernel = replace(self.kernel, sigma=sigma)
        found = NormalEquations(self.x, self.targets / self.root[:, None], self.root, kernel)
        found.add(self.centers)
        return found

    def drop(self, is_kept: Flags) -> None:
        """Keep only some of the centres, (m − 1,)."""
        kept = np.append(0, 1 + np.flatnonzero(is_kept))
        self.centers = self.centers[is_kept]
        self.columns = np.asfortranarray(self.columns[:, kept])
        self._products = self._products[kept]
        self._gram, self._penalty = (square[np.ix_(kept, kept)] for square in (self._gram, self._penalty))

    def factor(self, epsilon: float) -> Factor:
        """Return the factor of KᵀK + 2εP."""
        n = 1 + len(self.centers)
        gram = np.add(self._gram, 2.0 * epsilon * self._penalty, order="F")
        jitter = _JITTER * float(np.trace(gram)) / n
        for _ in range(_TRIES):
            gram[np.diag_indices(n)] += jitter
            r, failed = dpotrf(gram, lower=0, clean=1)
            if not failed:
                break
            jitter *= 100.0
        return Factor(r, np.asarray(dtrtrs(r, self._products, lower=0, trans=1)[0]))

    def left_out(self, factor: Factor, rows: Longs) -> Floats:
        """Return the outputs (n, R) at rows (n,) of the model without each of them; the centres are kept.

        The model may have the first columns only.
        """
        return np.asarray((self.targets[rows] - self.misses(factor, rows)) / self.root[rows, None])

    def misses(self, factor: Factor, rows: Longs) -> Floats:
        """Return by how much these outputs miss the targets, (n, R), times the roots of the weights."""
        q, targets = factor.orthonormal(self.columns[rows, : len(factor.r)]), self.targets[rows]
        kappa = np.square(factor.r.diagonal())

        def limit(points: Longs) -> tuple[Floats, Floats]:
            return q[points] @ (factor.products / kappa[:, None]), np.square(q[points]) @ (1.0 / kappa)

        leverages = np.einsum("ij,ij->i", q, q)
        return left_out_residuals(targets - q @ factor.products, leverages, limit)

    def outside_the_span(self, factor: Factor) -> Flags:
        """Return which centres' columns do not lie in the span of the columns before them, (m − 1,)."""
        lengths = self._gram.diagonal()
        return np.asarray(np.square(factor.r.diagonal()) > _IN_SPAN * lengths)[1:]


def _bordered(square: Floats, size: int) -> Floats:
    """Return a larger matrix (size, size) of zeros with a square matrix in its corner."""
    found = np.zeros((size, size))
    found[: len(square), : len(square)] = square
    return found


class _Sampler:
    """The state of one draw of centres."""

    def __init__(
        self,
        x: Reals,
        targets: Floats,
        config: SamplingConfig,
        held_out: Longs,
        sample_weight: Floats | None,
        rng: np.random.Generator,
    ) -> None:
        n = len(x)
        root = np.ones(n) if sample_weight is None else np.sqrt(sample_weight / np.mean(sample_weight))
        self.config, self.held_out, self.rng = config, held_out, rng
        self.equations = NormalEquations(x, targets, root, config.kernel)
        self.epsilon = config.epsilon
        self.is_free = np.ones(n, dtype=bool)
        self.is_free[held_out] = False
        self.n_candidates = n - len(held_out)
        deciding = held_out if len(held_out) >= _ENOUGH_HELD_OUT else np.arange(n)
        self.rows = deciding
        if len(deciding) > _SCORED:
            self.rows = np.sort(rng.choice(deciding, _SCORED, replace=False))

    def sampled(self) -> Sampled:
        """Draw the centres and return the models."""
        error = self._draw_the_first()
        last_gain = self._draw_more(error)
        factor = self._finished()
        size = self._size(factor)
        left_out = self.equations.left_out(factor.first(1 + size), self.held_out)
        if 2 * len(self.equations.centers) > self.n_candidates and self._admit_the_held_out():
            factor = self._finished()
            size = self._size(factor)
        path = self._path(factor, size)
        return Sampled(path, self.equations.kernel.sigma, self.epsilon, left_out, last_gain)

    def _draw_the_first(self) -> float:
        """Draw ``max_centers``, choosing width and ε on the way; return the error with half of them."""
        wanted, error = min(self.config.max_centers, self.n_candidates), np.inf
        if wanted == self.n_candidates and self.config.is_settled:
            self._draw(wanted)
            return error
        for size in _sizes(wanted):
            n_now = len(self.equations.centers)
            if n_now and 2 * n_now >= wanted:
                error = self._refine()
            self._draw(size - n_now)
        return error

    def _refine(self) -> float:
        """Take the width and the ε of the least error; return the error."""
        found = []
        for factor in self.config.widths:
            equations = self.equations
            if factor != 1.0:
                equations = equations.of_width(factor * equations.kernel.sigma)
            for share in self.config.epsilons:
                epsilon = share * self.epsilon
                found.append((self._error(equations, equations.factor(epsilon)), equations, epsilon))
        error, self.equations, self.epsilon = min(found, key=lambda one: one[0])
        return error

    def _draw_more(self, error: float) -> float:
        """Double the centres while the error falls; return its share of that with half of the centres."""
        most = min(self.config.most_centers, self.n_candidates)
        if self.config.max_centers >= most:
            return 1.0
        while True:
            before, error = error, self._error(self.equations, self.equations.factor(self.epsilon))
            n_now = len(self.equations.centers)
            if n_now >= most or error > _WORTH_MORE * before:
                return error / before if n_now >= most else 1.0
            self._draw(min(n_now, most - n_now))

    def _draw(self, n_wanted: int) -> None:
        """Make points centres, drawn among the free ones with probability ∝ residual² or uniformly."""
        equations, free = self.equations, np.flatnonzero(self.is_free)
        if self.config.selection == "random" or n_wanted >= len(free):
            chosen = self.rng.permutation(free)[:n_wanted]
        else:
            if len(equations.centers):
                residual = equations.targets - equations.columns @ equations.factor(self.epsilon).weights
            else:
                root = equations.root
                residual = equations.targets - root[:, None] * (root @ equations.targets / len(root))
            squares = np.einsum("ij,ij->i", residual, residual)[free]
            # Gumbel noise on the logarithms draws without replacement, with probability ∝ residual².
            keys = np.log(np.maximum(squares, np.finfo(np.float64).tiny)) + self.rng.gumbel(size=len(free))
            chosen = free[np.argpartition(-keys, n_wanted)[:n_wanted]]
        self.is_free[chosen] = False
        equations.add(chosen)

    def _admit_the_held_out(self) -> bool:
        """Draw centres among the points held out, in proportion; return whether there is room for any."""
        n_now, n_held = len(self.equations.centers), len(self.held_out)
        wanted = min(round(n_now * n_held / max(self.n_candidates, 1)), n_held)
        wanted = min(wanted, max(self.config.most_centers, self.config.max_centers) - n_now)
        if wanted <= 0:
            return False
        self.is_free[:] = False
        self.is_free[self.held_out] = True
        self._draw(wanted)
        return True

    def _finished(self) -> Factor:
        """Return the factor without columns that others span."""
        factor = self.equations.factor(self.epsilon)
        if not (is_kept := self.equations.outside_the_span(factor)).all():
            self.equations.drop(is_kept)
            factor = self.equations.factor(self.epsilon)
        return factor

    def _error(self, equations: NormalEquations, factor: Factor) -> float:
        """Return the squared leave-one-out error at the rows that decide."""
        return float(np.sum(np.square(equations.misses(factor, self.rows))))

    def _size(self, factor: Factor) -> int:
        """Return the number of centres of the chosen model."""
        n_centers = len(self.equations.centers)
        if not (self.config.chooses_size and n_centers):
            return n_centers
        q = factor.orthonormal(self.equations.columns[self.rows])
        return _best_size(q, factor.products, self.equations.targets[self.rows])

    def _path(self, factor: Factor, size: int) -> ForwardPath:
        """Return the models of all sizes, of which one is chosen."""
        equations, chosen = self.equations, factor.first(1 + size)
        diagonal = factor.r.diagonal().copy()
        return ForwardPath(
            equations.centers,
            np.full(len(equations.centers), equations.kernel.sigma),
            factor.r / diagonal[:, None],
            np.square(diagonal),
            factor.products * diagonal[:, None],
            np.zeros(len(diagonal)),
            np.full(len(diagonal), np.nan),
            size,
            equations.columns[:, : 1 + size] @ chosen.weights / equations.root[:, None],
            equations.left_out(chosen, np.arange(len(equations.root))),
        )


def _sizes(n_most: int) -> Longs:
    """Return the numbers of centres after each block."""
    growth = GROWTH if n_most > _SMALL else GROWTH[1:]
    return np.unique(np.ceil(np.array(growth) * n_most).astype(int))


def _best_size(q: Floats, products: Floats, targets: Floats) -> int:
    """Return the smallest number of centres whose leave-one-out error at the rows (n,) is about the least."""
    ends = np.unique(np.linspace(1, q.shape[1], _CHECKPOINTS + 1).astype(int))
    residual, leverages = targets.copy(), np.zeros(len(q))
    errors, first = [], 0
    for end in ends:
        block = q[:, first:end]
        residual -= block @ products[first:end]
        leverages += np.einsum("ij,ij->i", block, block)
        errors.append(float(np.sum(np.square(residual / np.maximum(1.0 - leverages, _LEAST_SLACK)[:, None]))))
        first = end
    is_enough = np.array(errors) <= _ENOUGH * min(errors)
    return int(ends[int(np.argmax(is_enough))]) - 1
