"""Support vector machines of all pairs of classes as `PairwiseMachines`: the peer, on equal terms.

Axes: M training frames, D features, P pairs, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.svm import SVC

from acoustic.kernels.kernel import Kernel
from acoustic.pairs.calibration import CurveName, fit_curve
from acoustic.pairs.class_frames import ClassFrames
from acoustic.pairs.sparse import PairwiseMachines
from foundation.arrays import Floats, Integers, Ints, Longs, Reals
from foundation.threads import Watch, parallel_map, unwatched


@dataclass(frozen=True)
class SvmConfig:
    """How the machines are fitted.

    Attributes
    ----------
    sigma : width of the Gaussian kernel
    cost : C of libsvm
    calibration : from outputs to log odds
    outputs : that calibration sees: of the frames fitted, or of each fold by a machine of the others
    cache_mb : of each thread's kernel cache
    """

    sigma: float = 5.0
    cost: float = 10.0
    calibration: CurveName = "logistic"
    outputs: Literal["fitted", "held-out"] = "held-out"
    cache_mb: float = 100.0

    def machine(self) -> SVC:
        """Return a machine to be fitted."""
        return SVC(C=self.cost, gamma=0.5 / self.sigma**2, cache_size=self.cache_mb)


def fit_svm_pairs(
    x: Reals,
    codes: ArrayLike,
    folds: ArrayLike,
    counts: ArrayLike,
    config: SvmConfig,
    n_workers: int | None = None,
    watch: Watch = unwatched,
) -> tuple[PairwiseMachines, Floats]:
    """Return the machines of all pairs and the curves (P, 3) from their outputs to log odds.

    Parameters
    ----------
    x : (M, D) frames
    codes : (M,) their classes, 0 … K − 1
    folds : (M,) int: frames of a fold are predicted by a machine that saw the others
    counts : (K,) from which prior odds are taken
    config : see there
    n_workers : threads; one a core by default
    watch : shows how many pairs are done
    """
    frequencies = np.asarray(counts, dtype=np.float64)
    frames = ClassFrames(x, codes, len(frequencies), None)
    fold_of = np.asarray(folds)[frames.order]
    pairs = frames.checked_pairs(None)

    def fit(pair: Ints) -> tuple[Longs, Floats, float, Floats]:
        rows, n_first = frames.rows(pair), int(frames.counts[pair[0]])
        # libsvm's positive class is the second of the sorted labels
        targets = np.where(np.arange(len(rows)) < n_first, 1, -1)
        points = frames.x[rows].astype(np.float64)
        machine = config.machine().fit(points, targets)
        outputs = machine.decision_function(points)
        if config.outputs == "held-out":
            _hold_out(outputs, points, targets, fold_of[rows], config)
        first, second = frequencies[pair]
        curve = fit_curve(outputs, n_first, (first, second), config.calibration)
        return rows[machine.support_], machine.dual_coef_[0], float(machine.intercept_[0]), curve

    found = list(watch(parallel_map(fit, list(pairs), n_workers), len(pairs)))
    most = max(len(rows) for rows, *_ in found)
    slots, weights = np.full((len(pairs), most), -1, np.int32), np.zeros((len(pairs), most))
    used = np.unique(np.concatenate([rows for rows, *_ in found]))
    for p, (rows, alpha, _, _) in enumerate(found):
        slots[p, : len(rows)], weights[p, : len(rows)] = np.searchsorted(used, rows), alpha
    machines = PairwiseMachines(
        Kernel("gaussian", config.sigma),
        pairs,
        frames.x[used],
        np.full(len(used), config.sigma),
        frames.order[used].astype(np.int32),
        slots,
        weights,
        np.array([bias for _, _, bias, _ in found]),
    )
    return machines, np.stack([curve for *_, curve in found])


def _hold_out(
    outputs: Floats,
    points: Floats,
    targets: Longs,
    folds: Integers,
    config: SvmConfig,
) -> None:
    """Replace the outputs of each fold by those of a machine of the others, where these have both classes."""
    for fold in np.unique(folds):
        rest = folds != fold
        if len(np.unique(targets[rest])) == 2:
            machine = config.machine().fit(points[rest], targets[rest])
            outputs[~rest] = machine.decision_function(points[~rest])
