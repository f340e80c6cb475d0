"""Support vector machines of all pairs of classes as `SparseMachines`, for comparison on equal terms.

Axes: M training frames, D features, P pairs, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from acoustic.errors import ModelError, ParameterError
from acoustic.kernels.kernel import Kernel, check_positive
from acoustic.pairs.calibration import Calibration, fit_curve
from acoustic.pairs.class_frames import PAIRS_AT_ONCE, ClassFrames, LabelledFrames, pair_name
from acoustic.pairs.machines import SparseMachines
from foundation.arrays import Floats, Integers, Ints, Longs
from foundation.blocks import block_map
from foundation.records import check_highest
from foundation.threads import Watch, unwatched

_CACHE_MB = 100.0  # size of each thread's cache of kernel values; by feel


@dataclass(frozen=True)
class SvmConfig:
    """How support vector machines are fitted.

    Attributes
    ----------
    cost : penalty C on margin violations of the support vector machines
    """

    cost: float = 10.0

    def __post_init__(self) -> None:
        check_positive("cost", self.cost)
        check_highest(self, {"cost": 1e9}, ParameterError)


def fit(
    frames: LabelledFrames,
    sigma: float,
    config: SvmConfig,
    calibration: Calibration,
    *,
    n_workers: int | None = None,
    watch: Watch = unwatched,
) -> tuple[SparseMachines, Floats]:
    """Return the machines of all pairs and the curves (P, 3) from their outputs to log odds.

    Parameters
    ----------
    frames : training frames of known class
    sigma : width of the Gaussian kernel
    config : how the machines are fitted
    calibration : how curves are fitted; ``loo`` is refused, since each leave-one-out output would cost a
        training
    n_workers : threads; one a core by default
    watch : shows how many pairs are done
    """
    from sklearn.svm import SVC  # a large package, and only for training

    def machine() -> SVC:
        return SVC(C=config.cost, gamma=0.5 / sigma**2, cache_size=_CACHE_MB)

    check_calibration(calibration)
    ordered = ClassFrames(frames.x, frames.codes, frames.n_classes, folds=frames.folds)
    pairs = ordered.checked_pairs(None)

    def fit_one(pair: Ints) -> tuple[Longs, Floats, float, Floats]:
        rows, n_first = ordered.rows(pair), int(ordered.counts[pair[0]])
        # libsvm's positive class is the second of the sorted labels.
        targets = np.where(np.arange(len(rows)) < n_first, 1, -1)
        points = ordered.x[rows].astype(np.float64)
        fitted = machine().fit(points, targets)
        outputs = fitted.decision_function(points)
        if calibration.outputs == "held-out":
            _hold_out(outputs, points, targets, ordered.folds[rows], machine())
        first, second = frames.counts[pair]
        curve = fit_curve(outputs, n_first, (first, second), calibration.curve, reach=np.inf)
        return rows[fitted.support_], fitted.dual_coef_[0], float(fitted.intercept_[0]), curve

    done = block_map(fit_one, list(pairs), PAIRS_AT_ONCE, label="pairs", names=pair_name, n_workers=n_workers)
    found = list(watch(done, len(pairs)))
    most = max(len(rows) for rows, *_ in found)
    slots, weights = np.full((len(pairs), most), -1, np.int32), np.zeros((len(pairs), most))
    used = np.unique(np.concatenate([rows for rows, *_ in found]))
    for p, (rows, alpha, _, _) in enumerate(found):
        slots[p, : len(rows)], weights[p, : len(rows)] = np.searchsorted(used, rows), alpha
    machines = SparseMachines(
        Kernel("gaussian", sigma),
        pairs,
        ordered.x[used],
        np.full(len(used), sigma),
        ordered.order[used].astype(np.int32),
        slots,
        weights,
        np.array([bias for _, _, bias, _ in found]),
    )
    return machines, np.stack([curve for *_, curve in found])


def check_calibration(calibration: Calibration) -> None:
    """Raise ModelError if there are no such outputs of support vector machines."""
    if calibration.outputs == "loo":
        raise ModelError(
            'calibration.outputs is "loo", expected fitted or held-out: a support vector machine would be '
            "trained once for each frame left out; choose held-out"
        )


def _hold_out(outputs: Floats, points: Floats, targets: Longs, folds: Integers, machine: Any) -> None:
    """Replace the outputs at the frames of each fold by outputs of a machine trained on the other folds.

    A fold keeps its outputs if the other folds lack one of the two classes.
    """
    for fold in np.unique(folds):
        rest = folds != fold
        if len(np.unique(targets[rest])) == 2:
            machine.fit(points[rest], targets[rest])
            outputs[~rest] = machine.decision_function(points[~rest])
