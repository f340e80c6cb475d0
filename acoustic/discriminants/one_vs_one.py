"""One machine for each pair of classes, with the models of every size that estimators offer.

The machines, the models of every size, the curves and the leave-one-out outputs come from `fit_pairs`.

Axes: M training points, D features, P pairs, K classes, C centres.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from acoustic.discriminants.curves import QuadraticCurve, coefficients_of, quadratic_curves
from acoustic.discriminants.forward_machine import PREDICT_BLOCK, Machine
from acoustic.kernels.forward import ForwardConfig, ForwardPath
from acoustic.kernels.leave_one_out import FARTHEST
from acoustic.pairs.calibration import Calibration, quadratics
from acoustic.pairs.coupling import coupled_log_posteriors
from acoustic.pairs.sparse import SparseMachines
from acoustic.pairs.train_forward import fit_pairs
from foundation.arrays import Floats, Longs, Reals, Singles


class OneVsOne(NamedTuple):
    """The machines of all pairs and their leave-one-out posteriors.

    Attributes
    ----------
    pairwise : the machines, ready to be evaluated together
    machines : a machine for each pair, with models of every size
    curves : a curve from outputs to log odds for each pair
    left_out : (M, K) coupled log posteriors at each training point, for which the pairs of the point's own
        class give their leave-one-out outputs
    """

    pairwise: SparseMachines
    machines: list[Machine]
    curves: list[QuadraticCurve]
    left_out: Floats


def fit_one_vs_one(
    x: Reals,
    codes: Longs,
    rows: Longs,
    n_classes: int,
    config: ForwardConfig,
    calibration: Calibration,
    sample_weight: Floats | None,
    seed: int,
) -> OneVsOne:
    """Return the machines of all pairs of classes.

    Parameters
    ----------
    x : (M, D) points
    codes : (M,) classes of the points, 0 … K − 1
    rows : (M,) rows of the points in the estimator's X
    n_classes : K
    config : how centres are selected
    calibration : how curves are fitted
    sample_weight : (M,) above 0
    seed : seed of random selection
    """
    left_out = np.full((len(x), n_classes * (n_classes - 1) // 2), np.nan, dtype=np.float32)
    paths: list[ForwardPath] = []
    pairwise, coefficients = fit_pairs(
        x,
        codes,
        n_classes,
        config,
        calibration=calibration,
        sample_weight=sample_weight,
        seed=seed,
        left_out=left_out,
        paths=paths,
    )
    singles = np.asarray(x, dtype=np.float32)
    machines = [
        Machine(
            replace(path, indices=rows[path.indices]),
            singles[path.indices],
            pairwise.kernel,
            pairwise.weights[p, : path.size, None],
            pairwise.biases[p : p + 1],
        )
        for p, path in enumerate(paths)
    ]
    decision = _left_out_decision(pairwise, coefficients, singles, left_out)
    named = replace(pairwise, center_rows=rows[pairwise.center_rows].astype(np.int32))
    return OneVsOne(named, machines, quadratic_curves(coefficients), decision)


def coupled(outputs: Reals, curves: list[QuadraticCurve], n_classes: int) -> Floats:
    """Return the coupled log posteriors (M, K) of outputs (M, P)."""
    return coupled_log_posteriors(quadratics(outputs, coefficients_of(curves)), n_classes)


def _left_out_decision(pairwise: SparseMachines, curves: Floats, x: Singles, left_out: Singles) -> Floats:
    """Return coupled log posteriors (M, K) that use the leave-one-out outputs ``left_out`` (M, P).

    These are NaN where a point is in neither class of a pair; there the pair's ordinary output is used. They
    are clipped to ±`FARTHEST`, as for the fit of curves.
    """
    found = np.empty((len(x), pairwise.n_classes))
    held = np.clip(left_out, -FARTHEST, FARTHEST)
    for start in range(0, len(x), PREDICT_BLOCK):
        rows = slice(start, start + PREDICT_BLOCK)
        outputs = np.where(np.isnan(held[rows]), pairwise.outputs(x[rows]), held[rows])
        found[rows] = coupled_log_posteriors(quadratics(outputs, curves), pairwise.n_classes)
    return found
