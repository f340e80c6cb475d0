"""One discriminant for each pair of classes, each with centres of its own by forward selection.

Axes: M training frames, D features, P pairs, K classes, C centres of a pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from acoustic.errors import ModelError, ParameterError
from acoustic.kernels.forward import ForwardConfig, ForwardPath, Stopping, forward_selection
from acoustic.kernels.kernel import Kernel, check_not_negative, check_whole, inverse_square
from acoustic.kernels.residual_sampling import SamplingConfig, sample_regressors
from acoustic.kernels.ridge import FARTHEST
from acoustic.pairs.calibration import Calibration, fit_curve
from acoustic.pairs.class_frames import PAIRS_AT_ONCE, ClassFrames, LabelledFrames, pair_name
from acoustic.pairs.compiled_forward import fit_pair
from acoustic.pairs.machines import SparseMachines
from foundation.arrays import Flags, Floats, Integers, Ints, Longs, Reals, Singles
from foundation.blocks import block_map
from foundation.records import check_highest
from foundation.threads import Watch, unwatched

_STEEPEST = np.float32(1e25)  # largest 1/σ² of compiled kernels, finite times squared distances
_PATIENCE = 10  # centres for which λ must have changed little
_LEAVE_ONE_OUT = Calibration()
_ENOUGH_TO_JUDGE = 30  # frames of each class that are no centres; by feel


@dataclass(frozen=True)
class PairForwardConfig:
    """How each pair's centres are selected, by thesis Algorithm 1 or 2.

    Attributes
    ----------
    n_centers : largest number of centres of a pair
    epsilon : number added to the diagonal of a pair's Gram matrix
    tol : threshold that may end the selection before a pair has ``n_centers``, as in thesis 4.4.1: NPD ends
        when no absolute residual, of targets ±1, exceeds it, OROLS when λ has changed by no more than this
        share for ten centres; with 0 every pair has ``n_centers``
    """

    n_centers: int = 100
    epsilon: float = 1e-3
    tol: float = 0.2

    def __post_init__(self) -> None:
        check_whole("n_centers", self.n_centers)
        check_not_negative("epsilon", self.epsilon)
        check_not_negative("tol", self.tol)
        check_highest(self, {"n_centers": 1_000_000, "epsilon": 1e6, "tol": 1e6}, ParameterError)

    def selection(self, sigma: float, *, regularize: bool) -> ForwardConfig:
        """Return how OROLS (``regularize``) or NPD selects the centres of a pair."""
        rule: Stopping = "lambda" if regularize else "tol"
        return ForwardConfig(
            Kernel("gaussian", sigma),
            (sigma,),
            self.n_centers,
            epsilon=self.epsilon,
            stopping=rule if self.tol else "size",
            tol=self.tol,
            patience=_PATIENCE,
            regularize=regularize,
        )


def fit(
    frames: LabelledFrames,
    sigma: float,
    config: PairForwardConfig,
    calibration: Calibration,
    *,
    regularize: bool = False,
    n_workers: int | None = None,
    watch: Watch = unwatched,
) -> tuple[SparseMachines, Floats]:
    """Return the machines of all pairs and the curves (P, 3) from their outputs to log odds.

    Parameters
    ----------
    frames : training frames of known class
    sigma : width of the Gaussian kernel
    config : how centres are selected
    calibration : how curves are fitted
    regularize : whether λ is re-estimated (OROLS, Algorithm 2) or is 0 (NPD, Algorithm 1)
    n_workers : threads; one a core by default
    watch : shows how many groups of pairs are done
    """
    return fit_pairs(
        frames.x,
        frames.codes,
        frames.n_classes,
        config.selection(sigma, regularize=regularize),
        n_workers=n_workers,
        calibration=calibration,
        counts=frames.counts,
        folds=frames.folds,
        watch=watch,
    )


def fit_pairs(
    x: Reals,
    codes: ArrayLike,
    n_classes: int,
    config: ForwardConfig | SamplingConfig,
    pairs: ArrayLike | None = None,
    n_workers: int | None = None,
    *,
    calibration: Calibration = _LEAVE_ONE_OUT,
    sample_weight: Floats | None = None,
    counts: ArrayLike | None = None,
    folds: Integers | None = None,
    seed: int = 0,
    left_out: Reals | None = None,
    paths: list[ForwardPath] | None = None,
    held_out: Longs | None = None,
    watch: Watch = unwatched,
) -> tuple[SparseMachines, Floats]:
    """Return a discriminant for every pair of classes, and the curves (P, 3) from outputs to log odds.

    The centres of a pair are selected forward among the frames of its two classes, in single precision; of
    equal residuals the first in the order of classes is taken. The papers' algorithms (Gaussian kernel of one
    width, selection by residual, blocks of one, stopping by size, tol or lambda) run compiled. All others run
    through `forward_selection`, so that larger blocks are slower here, or `sample_regressors`. The result is
    the same for any number of workers.

    Parameters
    ----------
    x : (M, D) frames
    codes : (M,) class of each frame, 0 … K − 1
    n_classes : K
    config : how centres are selected, or drawn
    pairs : (P, 2) pairs of classes; all i < j by default
    n_workers : threads; one a core by default
    calibration : how curves are fitted; leave-one-out outputs and Gaussians by default
    sample_weight : (M,) weights of the squared errors, and of the outputs that curves are fitted to
    counts : (K,) numbers of frames whose ratios are the prior odds; the summed weights of each class's frames
        by default
    folds : (M,) fold of each frame, for held-out outputs
    seed : seed of random selection
    left_out : (M, P) array to fill with leave-one-out outputs; entries of frames of other classes stay as
        they are
    paths : list to fill with the models of all sizes of each pair; their ``indices`` are rows of x
    held_out : (n,) frames that become no centres, so that the choice of the centres does not spoil their
        leave-one-out outputs
    watch : shows how many groups of pairs are done
    """
    frames = ClassFrames(x, codes, n_classes, sample_weight, folds)
    asked = frames.checked_pairs(pairs)
    if calibration.outputs == "held-out" and folds is None:
        raise ModelError('calibration.outputs is "held-out", expected folds of the frames with it; give them')
    wanted = _Wanted(left_out is not None, paths is not None)
    is_open = np.ones(len(x), dtype=bool)
    if held_out is not None:
        is_open[held_out] = False
    is_open = is_open[frames.order]
    trainer = _Trainer(
        frames, config, calibration, _checked_counts(counts, frames, asked), seed, wanted, is_open
    )
    starts = range(0, len(asked), PAIRS_AT_ONCE)
    parts = [list(enumerate(asked))[a : a + PAIRS_AT_ONCE] for a in starts]

    def work(part: list[tuple[int, Ints]]) -> list[_FittedPair]:
        room = trainer.room([pair for _, pair in part])
        return [trainer.fit(pair, room) for _, pair in part]

    fits = block_map(work, parts, label="pairs", names=_part_name, n_workers=n_workers)
    done = watch(fits, len(parts))
    fitted = [pair for part in done for pair in part]
    if paths is not None:
        paths += [pair.path for pair in fitted if pair.path is not None]
    if left_out is not None:
        for p, pair in enumerate(fitted):
            left_out[frames.order[frames.rows(asked[p])], p] = pair.left_out
    return _gather(frames, asked, config, fitted), np.stack([f.curve for f in fitted])


def _part_name(part: list[tuple[int, Ints]]) -> str:
    return f"{pair_name(part[0][1])} to {pair_name(part[-1][1])}"


def _checked_counts(counts: ArrayLike | None, frames: ClassFrames, pairs: Ints) -> Floats:
    """Return the numbers of frames (K,) whose ratios are the prior odds."""
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


class _Machine(NamedTuple):
    """One pair's discriminant: centres as rows of the ordered frames, their widths and weights."""

    rows: Longs
    sigmas: Floats
    weights: Floats
    bias: float

    def outputs(self, frames: ClassFrames, rows: Longs, kernel: Kernel) -> Floats:
        """Return the outputs (n,) at the n frames ``rows``."""
        values = kernel.block(frames.x[rows], frames.x[self.rows], self.sigmas)
        return np.asarray(values.astype(np.float64) @ self.weights + self.bias)


class _FittedPair(NamedTuple):
    machine: _Machine
    curve: Floats
    left_out: Reals | None
    path: ForwardPath | None  # that of 100 centres has 80 KB, too much for all of ten thousand pairs


class _Wanted(NamedTuple):
    """What is returned beside machine and curve; it takes much more memory."""

    left_out: bool
    path: bool


@dataclass(frozen=True)
class _Trainer:
    """Fits pairs one after the other; threads may share it."""

    frames: ClassFrames
    config: ForwardConfig | SamplingConfig
    calibration: Calibration
    counts: Floats
    seed: int
    wanted: _Wanted
    is_open: Flags

    def room(self, pairs: list[Ints]) -> Singles:
        """Return the work space of the compiled selection for the largest of some pairs."""
        n = int(self.frames.counts[np.stack(pairs)].sum(axis=1).max()) if _is_fast(self.config) else 0
        return np.empty((1 + min(self.config.max_centers, n)) * n, dtype=np.float32)

    def fit(self, pair: Ints, room: Singles) -> _FittedPair:
        """Return the machine of a pair and its curve, and what else is wanted."""
        frames, rows = self.frames, self.frames.rows(pair)
        n_first = int(frames.counts[pair[0]])
        machine, path, fitted, loo = self._machine(pair, rows, n_first, room)
        outputs: Reals = {"fitted": fitted, "loo": loo}.get(self.calibration.outputs, fitted)
        if self.calibration.outputs == "held-out":
            outputs = self._held_out(pair, rows, n_first, fitted, room)
        first, second = self.counts[pair]
        weight, name = frames.weight[rows], self.calibration.curve
        reach = np.inf if self.calibration.outputs == "fitted" else FARTHEST  # the thesis clips nothing
        if self.calibration.outputs == "loo":
            is_judge = _judges(rows, machine.rows, n_first)
            outputs, weight = outputs[is_judge], weight[is_judge]
            n_first = int(is_judge[:n_first].sum())
        curve = fit_curve(outputs, n_first, (first, second), name, weight, reach=reach)
        return _FittedPair(
            machine, curve, loo if self.wanted.left_out else None, path if self.wanted.path else None
        )

    def _held_out(self, pair: Ints, rows: Longs, n_first: int, fitted: Reals, room: Singles) -> Floats:
        """Return the outputs (n,) at the frames of each fold of a machine trained on the other folds.

        If the other folds lack one of the two classes, the fold keeps its ``fitted`` outputs.
        """
        outputs = fitted.astype(np.float64)
        for is_own in self._folds(rows):
            n_first_left = int(np.sum(~is_own[:n_first]))
            if 0 < n_first_left < np.sum(~is_own):
                machine, *_ = self._machine(pair, rows[~is_own], n_first_left, room)
                outputs[is_own] = machine.outputs(self.frames, rows[is_own], self.config.kernel)
        return outputs

    def _folds(self, rows: Longs) -> Iterator[Flags]:
        folds = self.frames.folds[rows]
        return (folds == fold for fold in np.unique(folds))

    def _machine(
        self, pair: Ints, rows: Longs, n_first: int, room: Singles
    ) -> tuple[_Machine, ForwardPath, Reals, Reals]:
        """Return the machine trained on n frames, the models of all sizes, and outputs (n,) at the frames.

        These are the fitted outputs and the leave-one-out outputs.

        The first ``n_first`` frames belong to the first class of the pair, the others to the second. Fitted
        outputs are Kα + b, as the machine gives them in decoding, and not (K + εI)α + b, which is larger by
        εα at the centres.
        """
        if _is_fast(self.config):
            return _fit_compiled(self.frames, rows, n_first, self.is_open[rows], self.config, room)
        rng = np.random.default_rng((self.seed, *map(int, pair)))
        return _fit_general(self.frames, rows, n_first, self.is_open[rows], self.config, rng)


def _judges(rows: Longs, centers: Longs, n_first: int) -> Flags:
    """Return which frames (n,) the curve of leave-one-out outputs is fitted to.

    Centres may be missed by far once they are left out: where enough other frames of both classes are there,
    these judge alone.
    """
    others = ~np.isin(rows, centers)
    enough = min(others[:n_first].sum(), others[n_first:].sum()) >= _ENOUGH_TO_JUDGE
    return others if enough else np.ones(len(rows), dtype=bool)


def _is_fast(config: ForwardConfig | SamplingConfig) -> TypeGuard[ForwardConfig]:
    """Return whether the compiled selection implements this configuration."""
    return (
        isinstance(config, ForwardConfig)
        and config.kernel.name == "gaussian"
        and len(config.sigmas) == 1
        and config.selection == "residual"
        and config.block_size == 1
        and config.algorithm == "stable"
        and config.stopping in ("size", "tol", "lambda")
    )


def _fit_compiled(
    frames: ClassFrames, rows: Longs, n_first: int, is_open: Flags, config: ForwardConfig, room: Singles
) -> tuple[_Machine, ForwardPath, Singles, Singles]:
    """Return machine, models of all sizes, fitted and leave-one-out outputs by the compiled selection."""
    n = len(rows)
    weight = frames.weight[rows]
    root = np.sqrt(weight / weight.mean()).astype(np.float32)
    capacity = min(config.max_centers, int(is_open.sum()))
    chosen, weights = np.empty(capacity, dtype=np.int32), np.zeros(capacity)
    outputs = np.empty((2, n), dtype=np.float32)
    u = np.zeros((1 + capacity, 1 + capacity))
    kappa, products, ridges = np.empty(1 + capacity), np.empty(1 + capacity), np.zeros(1 + capacity)
    n_centers, bias = fit_pair(
        np.ascontiguousarray(frames.x[rows].T),
        root,
        np.where(np.arange(n) < n_first, root, -root),
        is_open,
        np.float32(-0.5) * np.minimum(inverse_square(config.sigmas, np.float32), _STEEPEST)[0],
        np.float32(config.epsilon),
        np.float32(config.tol if config.stopping == "tol" else -1.0),
        config.regularize,
        config.tol if config.stopping == "lambda" else -1.0,
        config.patience,
        room[: (1 + capacity) * n].reshape(1 + capacity, n),
        chosen,
        weights,
        outputs,
        u,
        kappa,
        products,
        ridges,
    )
    sigmas = np.full(n_centers, config.sigmas[0])
    machine = _Machine(rows[chosen[:n_centers]], sigmas, weights[:n_centers], float(bias))
    outputs[0, chosen[:n_centers]] -= config.epsilon * weights[:n_centers]
    used, nothing = slice(1 + n_centers), np.empty((0, 1))
    path = ForwardPath(
        frames.order[machine.rows],
        sigmas,
        u[used, used],
        kappa[used],
        products[used, None],
        ridges[used],
        np.full(1 + n_centers, np.nan),
        n_centers,
        nothing,
        nothing,
    )
    return machine, path, outputs[0], outputs[1]


def _fit_general(
    frames: ClassFrames,
    rows: Longs,
    n_first: int,
    is_open: Flags,
    config: ForwardConfig | SamplingConfig,
    rng: np.random.Generator,
) -> tuple[_Machine, ForwardPath, Floats, Floats]:
    """Return machine, models of all sizes, fitted and leave-one-out outputs in float64."""
    targets = np.where(np.arange(len(rows)) < n_first, 1.0, -1.0)[:, None]
    weight = frames.weight[rows] if frames.is_weighted else None
    held_out = np.flatnonzero(~is_open)
    if isinstance(config, SamplingConfig):
        found = sample_regressors(
            frames.x[rows], targets, config, held_out=held_out, sample_weight=weight, rng=rng
        )
        path = found.path
        path.leave_one_out[held_out] = found.left_out  # before some of them became centres
    else:
        path = forward_selection(
            frames.x[rows], targets, config, sample_weight=weight, rng=rng, held_out=held_out
        )
    alpha, bias = path.weights()
    chosen = slice(path.size)
    machine = _Machine(rows[path.indices[chosen]], path.sigmas[chosen], alpha[:, 0], float(bias[0]))
    fitted = path.fitted[:, 0].copy()
    if isinstance(config, ForwardConfig):
        fitted[path.indices[chosen]] -= config.epsilon * alpha[:, 0]
    return machine, path.without_points(frames.order[rows]), fitted, path.leave_one_out[:, 0]


def _gather(
    frames: ClassFrames, pairs: Ints, config: ForwardConfig | SamplingConfig, fitted: list[_FittedPair]
) -> SparseMachines:
    """Return the machines over their distinct centres, which are sorted class by class."""
    most = min(config.max_centers, int(np.sort(frames.counts)[-2:].sum()))  # centres of any pair
    slots, weights = np.full((len(pairs), most), -1, dtype=np.int32), np.zeros((len(pairs), most))
    keys = np.stack(
        [
            np.concatenate([f.machine.rows for f in fitted]).astype(np.float64),
            np.concatenate([f.machine.sigmas for f in fitted]),
        ]
    )
    distinct, inverse = np.unique(keys, axis=1, return_inverse=True)
    sizes = np.array([len(f.machine.rows) for f in fitted])
    used = np.arange(most) < sizes[:, None]
    slots[used] = inverse
    weights[used] = np.concatenate([f.machine.weights for f in fitted])
    rows = distinct[0].astype(np.int64)
    return SparseMachines(
        config.kernel,
        pairs,
        frames.x[rows],
        distinct[1],
        frames.order[rows].astype(np.int32),
        slots,
        weights,
        np.array([f.machine.bias for f in fitted]),
    )
