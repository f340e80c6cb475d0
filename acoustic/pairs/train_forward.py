"""One discriminant for each pair of classes over shared frames, by forward selection.

Axes: M training frames, D features, P pairs, K classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from acoustic.errors import ModelError
from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import inverse_square
from acoustic.pairs.calibration import CurveName, fit_curve
from acoustic.pairs.class_frames import ClassFrames
from acoustic.pairs.compiled_forward import fit_pair
from acoustic.pairs.sparse import PairwiseMachines
from foundation.arrays import Floats, Ints, Longs, Reals
from foundation.threads import Watch, parallel_map, unwatched

Calibration = Literal["fitted", "loo"]

_STEEPEST = np.float32(1e25)  # 1/σ² of compiled kernels: finite when multiplied by squared distances
_PAIRS_AT_ONCE = 16  # of one task of a thread


def fit_pairs(
    x: Reals,
    codes: ArrayLike,
    n_classes: int,
    config: ForwardConfig,
    pairs: ArrayLike | None = None,
    n_workers: int | None = None,
    *,
    calibration: Calibration = "loo",
    coupling: CurveName = "gaussian",
    sample_weight: Floats | None = None,
    counts: ArrayLike | None = None,
    seed: int = 0,
    watch: Watch = unwatched,
) -> tuple[PairwiseMachines, Floats]:
    """Return a discriminant for every pair of classes, and the curves (P, 3) from outputs to log odds.

    Centres are selected forward among the frames of the two classes, taken class by class, in single
    precision; of equal residuals the earlier is taken. The papers' algorithms (Gaussian kernel of one width,
    selection by residual, blocks of one, stopping by size or tol) run compiled, the rest through
    `forward_selection`: here larger blocks are slower. The result is the same for any number of workers.

    Parameters
    ----------
    x : (M, D) frames
    codes : (M,) their classes, 0 … K − 1
    n_classes : K
    config : how centres are selected
    pairs : (P, 2) classes; all i < j by default
    n_workers : threads; one a core by default
    calibration : outputs that the curves rest on, fitted or leave-one-out
    coupling : what gives the log odds of a pair, two Gaussians (thesis) or Platt's logistic function
    sample_weight : (M,) weights of the squared errors, and of the outputs in the curves
    counts : (K,) from which prior odds are taken; the weights of each class's frames by default
    seed : of selection by chance
    watch : shows how many groups of pairs are done
    """
    frames = ClassFrames(x, codes, n_classes, sample_weight)
    asked = frames.checked_pairs(pairs)
    parts = [asked[a : a + _PAIRS_AT_ONCE] for a in range(0, len(asked), _PAIRS_AT_ONCE)]
    fit = _fit_fast if _is_fast(config) else _fit_general
    frequencies = _checked_counts(counts, frames, asked)
    after = _Calibrator(0 if calibration == "fitted" else 1, coupling, frequencies)
    fits = parallel_map(lambda part: fit(frames, part, config, after, seed), parts, n_workers)
    done = watch(fits, len(parts))
    fitted = _Fitted(*map(np.concatenate, zip(*done, strict=True)))
    return _gather(frames, asked, config, fitted), fitted.curves


def _checked_counts(counts: ArrayLike | None, frames: ClassFrames, pairs: Ints) -> Floats:
    """Return the numbers (K,) from which prior odds are taken."""
    if counts is None:
        return frames.weighted_counts
    found = np.asarray(counts, dtype=np.float64)
    expected = frames.counts.shape
    if found.shape != expected or not (np.isfinite(found[pairs]) & (found[pairs] > 0)).all():
        raise ModelError(
            f"counts has shape {found.shape}, expected {expected} and finite numbers above 0 for the classes "
            "of pairs; give each class its number of frames"
        )
    return found


class _Fitted(NamedTuple):
    """What is left of some pairs' fits; centres as rows of the ordered frames."""

    rows: Longs
    sigmas: Floats
    weights: Floats
    biases: Floats
    curves: Floats


def _empty_fitted(n_pairs: int, n_centers: int) -> _Fitted:
    shape = (n_pairs, n_centers)
    biases, curves = np.empty(n_pairs), np.empty((n_pairs, 3))
    return _Fitted(np.full(shape, -1), np.zeros(shape), np.zeros(shape), biases, curves)


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
        found.curves[p] = after.curve(pair, outputs, weight, n_first)
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
        found.curves[p] = after.curve(pair, outputs, weight, n_first)
    return found


class _Calibrator(NamedTuple):
    """Which outputs of a pair its curve rests on (0 fitted, 1 leave-one-out), and how."""

    which: int
    coupling: CurveName
    counts: Floats

    def curve(
        self,
        pair: Ints,
        outputs: Sequence[Reals] | Reals,
        weight: Floats,
        n_first: int,
    ) -> Floats:
        """Return the curve (3,) of fitted and leave-one-out outputs (M,) and the frames' weights (M,)."""
        first, second = self.counts[pair]
        return fit_curve(outputs[self.which], n_first, (first, second), self.coupling, weight)


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
    )
