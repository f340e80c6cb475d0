"""One discriminant for each pair of classes over shared frames, and the log odds of their outputs.

Axes: M training frames, T frames, D features, P pairs, C centres of a pair, N distinct centres, K classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from acoustic.discriminants.calibration import CalibrationName, bayes_curves, logistic_moments, quadratics
from acoustic.discriminants.class_frames import ClassFrames
from acoustic.discriminants.coupling import add_odds, log_posteriors_of_sums
from acoustic.discriminants.forward import ForwardConfig, forward_selection
from acoustic.discriminants.kernels import Kernel, inverse_square
from acoustic.discriminants.leave_one_out import FARTHEST
from acoustic.discriminants.pair_selection import fit_pair
from acoustic.discriminants.projection import GaussianProjection
from acoustic.parallel import parallel_map

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]
Calibration = Literal["fitted", "loo"]

_STEEPEST = np.float32(1e25)  # 1/σ² of compiled kernels: finite when multiplied by squared distances
_PAIRS_AT_ONCE = 16  # of one task of a thread
_FRAMES_AT_ONCE = 128
_CENTERS_AT_ONCE = 1024  # with the frames above, a kernel block of 0.5 MB: a core's cache holds it


class CenterBlock(NamedTuple):
    """Some of the distinct centres and the pairs' weights on them, by rows of a sparse matrix."""

    first: int
    last: int
    pairs: Ints
    starts: Ints
    slots: Ints
    weights: Singles


@dataclass(frozen=True)
class PairwiseMachines:
    """The discriminants q_ij(x) = Σ α_n k(x, x_n) + b of pairs of classes, positive for i; thesis (4.6).

    Attributes
    ----------
    kernel : kernel function
    pairs : (P, 2) int32 classes (i, j)
    centers : (N, D) float32 distinct centres of all pairs
    sigmas : (N,) width of each
    center_rows : (N,) int32 where they lie in the training frames
    slots : (P, C) int32 which of ``centers`` each pair has, −1 behind the last
    weights : (P, C) their weights, 0 behind the last
    biases : (P,)
    means, variances : (P, 2) of the pair's outputs on its training frames of class i and of class j, or of
        the Gaussians whose log odds are those of a logistic calibration
    class_counts : (K,) training frames of each class, weighted
    """

    kernel: Kernel
    pairs: Ints
    centers: Singles
    sigmas: Floats
    center_rows: Ints
    slots: Ints
    weights: Floats
    biases: Floats
    means: Floats
    variances: Floats
    class_counts: Floats

    @property
    def center_indices(self) -> Ints:
        """The centres of each pair as rows of the training frames, (P, C), −1 behind the last."""
        return np.append(self.center_rows, np.int32(-1))[self.slots]

    @cached_property
    def center_blocks(self) -> tuple[CenterBlock, ...]:
        """The weights turned round: for every block of distinct centres, the pairs that use it."""
        pair, place = np.nonzero(self.slots >= 0)
        slots, weights = self.slots[pair, place], self.weights[pair, place].astype(np.float32)
        order = np.argsort(slots // _CENTERS_AT_ONCE, kind="stable")  # pairs stay ascending within a block
        pair, slots, weights = pair[order], slots[order], weights[order]
        firsts = range(0, len(self.centers), _CENTERS_AT_ONCE)
        bounds = np.searchsorted(slots // _CENTERS_AT_ONCE, np.arange(len(firsts) + 1))
        blocks = []
        for first, a, b in zip(firsts, bounds[:-1], bounds[1:], strict=True):
            users, places = np.unique(pair[a:b], return_index=True)
            starts: Ints = np.append(places, b - a).astype(np.int32)
            last = min(first + _CENTERS_AT_ONCE, len(self.centers))
            local = np.asarray(slots[a:b] - first, dtype=np.int32)
            blocks.append(CenterBlock(first, last, users.astype(np.int32), starts, local, weights[a:b]))
        return tuple(blocks)


def fit_pairs(
    x: NDArray[np.floating],
    codes: ArrayLike,
    n_classes: int,
    config: ForwardConfig,
    pairs: ArrayLike | None = None,
    n_workers: int | None = None,
    *,
    calibration: Calibration = "loo",
    coupling: CalibrationName = "gaussian",
    sample_weight: Floats | None = None,
    seed: int = 0,
) -> PairwiseMachines:
    """Return a discriminant for every pair of classes, by forward selection among the frames of the two.

    A pair's frames are taken class by class, in single precision; of equal residuals the earlier is
    taken. The papers' algorithms (Gaussian kernel of one width, selection by residual, blocks of one,
    stopping by size or tol) run compiled, the rest through `forward_selection`: here larger blocks
    are slower. The result is the same for any number of workers.

    Parameters
    ----------
    x : (M, D) frames
    codes : (M,) their classes, 0 … K − 1
    n_classes : K
    config : how centres are selected
    pairs : (P, 2) classes; all i < j by default
    n_workers : threads; one a core by default
    calibration : outputs that means and variances are taken from, fitted or leave-one-out
    coupling : what gives the log odds of a pair, two Gaussians (thesis) or Platt's logistic function
    sample_weight : (M,) weights of the squared errors
    seed : of selection by chance
    """
    frames = ClassFrames(x, codes, n_classes, sample_weight)
    asked = frames.checked_pairs(pairs)
    parts = [asked[a : a + _PAIRS_AT_ONCE] for a in range(0, len(asked), _PAIRS_AT_ONCE)]
    fit = _fit_fast if _is_fast(config) else _fit_general
    after = _Calibrator(0 if calibration == "fitted" else 1, coupling)
    done = list(parallel_map(lambda part: fit(frames, part, config, after, seed), parts, n_workers))
    return _gather(frames, asked, config, _Fitted(*map(np.concatenate, zip(*done, strict=True))))


def pair_outputs(
    machines: PairwiseMachines, x: NDArray[np.floating], n_workers: int | None = None
) -> Singles:
    """Return q_ij of all pairs at frames (T, D), (T, P) float32.

    The kernel is evaluated once for every distinct centre, block by block; each block is multiplied by the
    sparse weights of the pairs that use it while it is in the cache.
    """
    outputs = np.empty((len(x), len(machines.pairs)), dtype=np.float32)

    def fill(rows: slice, found: Singles) -> None:
        outputs[rows] = found.T

    _on_blocks(fill, machines, x, n_workers)
    return outputs


def pair_log_posteriors(
    machines: PairwiseMachines, curves: Floats, x: NDArray[np.floating], n_workers: int | None = None
) -> Singles:
    """Return log P(class | frame) by Price's coupling, (T, K) float32, of machines for all pairs.

    Parameters
    ----------
    machines : of all pairs i < j
    curves : (P, 3) from their outputs to log odds
    x : (T, D) frames
    n_workers : threads; one a core by default
    """
    n_classes = len(machines.class_counts)
    posteriors = np.empty((len(x), n_classes), dtype=np.float32)
    singles = curves.astype(np.float32)

    def fill(rows: slice, found: Singles) -> None:
        sums = np.zeros((n_classes, found.shape[1]), dtype=np.float32)
        _couple(found, machines.pairs, singles, sums)
        posteriors[rows] = log_posteriors_of_sums(sums)

    _on_blocks(fill, machines, x, n_workers)
    return posteriors


def _on_blocks(
    fill: Callable[[slice, Singles], None],
    machines: PairwiseMachines,
    x: NDArray[np.floating],
    n_workers: int | None,
) -> None:
    """Call ``fill`` with some frames' rows and the outputs of all pairs there (P, T)."""
    frames = np.ascontiguousarray(x, dtype=np.float32)
    blocks, biases = machines.center_blocks, machines.biases.astype(np.float32)
    widths = machines.sigmas if len(np.unique(machines.sigmas)) > 1 else None

    def work(start: int) -> None:
        chosen = slice(start, min(start + _FRAMES_AT_ONCE, len(frames)))
        rows = frames[chosen]
        found = np.repeat(biases[:, None], len(rows), axis=1)
        for block in blocks:
            centers = machines.centers[block.first : block.last]
            if widths is None:
                values = machines.kernel.block(centers, rows)
            else:
                values = np.ascontiguousarray(
                    machines.kernel.block(rows, centers, widths[block.first : block.last]).T
                )
            _accumulate(values, block.pairs, block.starts, block.slots, block.weights, found)
        fill(chosen, found)

    for _ in parallel_map(work, range(0, len(frames), _FRAMES_AT_ONCE), n_workers):
        pass


def pair_log_odds(machines: PairwiseMachines, outputs: NDArray[np.floating]) -> Floats:
    """Return d_ij = log N(q; μ_i, σ_i²) − log N(q; μ_j, σ_j²) + log(N_i/N_j), (T, P), of outputs (T, P).

    Where μ_i ≤ μ_j the outputs tell nothing, and d_ij is log(N_i/N_j).
    """
    return quadratics(np.ascontiguousarray(outputs), gaussian_curves(machines))


def gaussian_curves(machines: PairwiseMachines) -> Floats:
    """Return the log odds of each pair as a quadratic in its output, (P, 3), see `bayes_curves`."""
    return bayes_curves(machines.means, machines.variances, machines.class_counts[machines.pairs])


class _Fitted(NamedTuple):
    """What is left of some pairs' fits; centres as rows of the ordered frames."""

    rows: NDArray[np.int64]
    sigmas: Floats
    weights: Floats
    biases: Floats
    means: Floats
    variances: Floats


def _empty_fitted(n_pairs: int, n_centers: int) -> _Fitted:
    shape = (n_pairs, n_centers)
    moments = np.empty((n_pairs, 2)), np.empty((n_pairs, 2))
    return _Fitted(np.full(shape, -1), np.zeros(shape), np.zeros(shape), np.empty(n_pairs), *moments)


def _is_fast(config: ForwardConfig) -> bool:
    """Return whether the compiled selection does what is asked."""
    return (
        config.kernel.name == "gaussian"
        and len(config.sigmas) == 1
        and config.selection == "residual"
        and config.block_size == 1
        and config.stopping in ("size", "tol")
    )


def _fit_fast(
    frames: ClassFrames, pairs: Ints, config: ForwardConfig, after: _Calibrator, seed: int
) -> _Fitted:
    """Return the fits of some pairs by the compiled selection."""
    sizes = frames.counts[pairs]
    largest = int(sizes.sum(axis=1).max())
    found = _empty_fitted(len(pairs), frames.most_centers(config))
    room = np.empty((1 + min(config.max_centers, largest)) * largest, dtype=np.float32)
    chosen = np.empty(found.rows.shape[1], dtype=np.int32)
    scale = np.float32(-0.5) * np.minimum(inverse_square(config.sigmas, np.float32), _STEEPEST)[0]
    for p, pair in enumerate(pairs):
        n, n_first = int(sizes[p].sum()), int(sizes[p, 0])
        capacity = 1 + min(config.max_centers, n)
        rows = frames.rows(pair)
        weight = frames.weight[rows]
        root = np.sqrt(weight / weight.mean()).astype(np.float32)
        targets = np.where(np.arange(n) < n_first, root, -root)
        outputs = np.empty((2, n), dtype=np.float32)
        n_centers, found.biases[p] = fit_pair(
            np.ascontiguousarray(frames.x[rows].T),
            root,
            targets,
            scale,
            np.float32(config.epsilon),
            np.float32(config.tol if config.stopping == "tol" else -1.0),
            config.regularize,
            room[: capacity * n].reshape(capacity, n),
            chosen,
            found.weights[p],
            outputs,
        )
        found.rows[p, :n_centers] = rows[chosen[:n_centers]]
        found.means[p], found.variances[p] = after.moments(outputs, weight, n_first)
    found.sigmas[:] = config.sigmas[0]
    return found


def _fit_general(
    frames: ClassFrames, pairs: Ints, config: ForwardConfig, after: _Calibrator, seed: int
) -> _Fitted:
    """Return the fits of some pairs by `forward_selection`."""
    found = _empty_fitted(len(pairs), frames.most_centers(config))
    for p, pair in enumerate(pairs):
        rows, n_first = frames.rows(pair), int(frames.counts[pair[0]])
        targets = np.where(np.arange(len(rows)) < n_first, 1.0, -1.0)[:, None]
        weight = frames.weight[rows]
        rng = np.random.default_rng((seed, *map(int, pair)))
        path = forward_selection(
            frames.x[rows], targets, config, sample_weight=weight if frames.is_weighted else None, rng=rng
        )
        alpha, bias = path.weights()
        found.rows[p, : path.size] = rows[path.indices[: path.size]]
        found.sigmas[p, : path.size] = path.sigmas[: path.size]
        found.weights[p, : path.size], found.biases[p] = alpha[:, 0], bias[0]
        outputs = path.fitted[:, 0], path.leave_one_out[:, 0]
        found.means[p], found.variances[p] = after.moments(outputs, weight, n_first)
    return found


class _Calibrator(NamedTuple):
    """Which outputs of a pair its means and variances rest on (0 fitted, 1 leave-one-out), and how."""

    which: int
    coupling: CalibrationName

    def moments(
        self, outputs: Sequence[NDArray[np.floating]] | NDArray[np.floating], weight: Floats, n_first: int
    ) -> tuple[Floats, Floats]:
        """Return means and variances (2,) for class i and class j of fitted and leave-one-out outputs."""
        if self.coupling == "logistic":
            return logistic_moments(outputs[self.which], n_first, weight)
        return _gaussian_moments(outputs[self.which], weight, n_first)


def _gaussian_moments(outputs: NDArray[np.floating], weight: Floats, n_first: int) -> tuple[Floats, Floats]:
    """Return the weighted mean and variance of each class's outputs as `GaussianProjection` has them."""
    # A centre almost all of whose column is its own may be missed by thousands once it is left out.
    values = np.clip(outputs, -FARTHEST, FARTHEST, dtype=np.float64)
    means, variances, counts = np.empty(2), np.empty(2), np.empty(2)
    for k, rows in enumerate((slice(n_first, None), slice(n_first))):  # the negative class comes first there
        counts[k] = weight[rows].sum()
        means[k] = weight[rows] @ values[rows] / counts[k]
        variances[k] = weight[rows] @ (values[rows] - means[k]) ** 2 / counts[k]
    projection = GaussianProjection.from_moments(means, variances, counts)
    return projection.means_[::-1], projection.variances_[::-1]


def _gather(frames: ClassFrames, pairs: Ints, config: ForwardConfig, fitted: _Fitted) -> PairwiseMachines:
    """Return the machines over their distinct centres, which lie class by class."""
    used = fitted.rows >= 0
    keys = np.stack([fitted.rows[used].astype(np.float64), fitted.sigmas[used]])
    distinct, inverse = np.unique(keys, axis=1, return_inverse=True)
    rows = distinct[0].astype(np.int64)
    slots = np.full(used.shape, -1, dtype=np.int32)
    slots[used] = inverse
    return PairwiseMachines(
        config.kernel,
        pairs,
        frames.x[rows],
        distinct[1],
        frames.order[rows].astype(np.int32),
        slots,
        fitted.weights,
        fitted.biases,
        fitted.means,
        fitted.variances,
        frames.weighted_counts,
    )


@njit(nogil=True, cache=True, fastmath=True)
def _accumulate(
    values: Singles, pairs: Ints, starts: Ints, slots: Ints, weights: Singles, outputs: Singles
) -> None:
    """Add sparse weights (pairs, centres) times values (centres, T) to outputs (P, T), four at a time."""
    n_frames = values.shape[1]
    for row in range(pairs.size):
        out, entry, end = outputs[pairs[row]], starts[row], starts[row + 1]
        while entry + 4 <= end:
            a, b = values[slots[entry]], values[slots[entry + 1]]
            c, d = values[slots[entry + 2]], values[slots[entry + 3]]
            wa, wb, wc, wd = weights[entry], weights[entry + 1], weights[entry + 2], weights[entry + 3]
            for t in range(n_frames):
                out[t] += wa * a[t] + wb * b[t] + wc * c[t] + wd * d[t]
            entry += 4
        while entry < end:
            a, wa = values[slots[entry]], weights[entry]
            for t in range(n_frames):
                out[t] += wa * a[t]
            entry += 1


@njit(nogil=True, cache=True)
def _couple(outputs: Singles, pairs: Ints, curves: Singles, sums: Singles) -> None:
    """Add e^{−d_ij} of all pairs' outputs (P, T) to their classes' sums (K, T); outputs are overwritten."""
    for p in range(len(pairs)):
        add_odds(outputs[p], curves[p], sums[pairs[p, 0]], sums[pairs[p, 1]])
