"""One machine for each pair of classes, with what estimators offer beside predictions.

The machines and their curves are those of `fit_pairs`. Models of every size, λ and left-out outputs follow
from the selected centres again: the basis is made anew, which is cheap, as nothing need be selected.

Axes: M training points, D features, P pairs, K classes, C centres.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from acoustic.discriminants.curves import QuadraticCurve, coefficients_of, quadratic_curves
from acoustic.discriminants.forward_machine import PREDICT_BLOCK, Machine
from acoustic.kernels.forward import ForwardConfig, ForwardPath, path_of_centers
from acoustic.kernels.leave_one_out import FARTHEST
from acoustic.pairs.calibration import Calibration, quadratics
from acoustic.pairs.coupling import coupled_log_posteriors
from acoustic.pairs.sparse import PairwiseMachines, pair_outputs
from acoustic.pairs.train_forward import fit_pairs
from foundation.arrays import Floats, Longs, Reals, Singles
from foundation.threads import parallel_map


class OneVsOne(NamedTuple):
    """What was learned of all pairs.

    Attributes
    ----------
    pairwise : the machines, ready to be evaluated together
    machines : one a pair, with models of every size
    curves : one a pair, from outputs to log odds
    left_out : (M, K) coupled log posteriors at each training point, of which the outputs of its own class's
        pairs are those without it
    """

    pairwise: PairwiseMachines
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
    x, codes : (M, D) points and (M,) their classes, 0 … K − 1
    rows : (M,) which rows of the estimator's X the points are
    n_classes : K
    config : how centres are selected
    calibration : how curves are fitted
    sample_weight : (M,) above 0
    seed : of selection by chance
    """
    pairwise, coefficients = fit_pairs(
        x,
        codes,
        n_classes,
        config,
        calibration=calibration.outputs,  # type: ignore[arg-type]
        coupling=calibration.curve,
        sample_weight=sample_weight,
        seed=seed,
    )
    singles = np.asarray(x, dtype=np.float32)

    def replay(p: int) -> tuple[ForwardPath, Longs]:
        inside = np.concatenate([np.flatnonzero(codes == k) for k in pairwise.pairs[p]])
        weight = None if sample_weight is None else sample_weight[inside]
        targets = np.where(codes[inside] == pairwise.pairs[p, 0], 1.0, -1.0)[:, None]
        slots, order = pairwise.slots[p][pairwise.slots[p] >= 0], np.argsort(inside)
        places = order[np.searchsorted(inside, pairwise.center_rows[slots], sorter=order)]
        path = path_of_centers(singles[inside], targets, places, pairwise.sigmas[slots], config, weight)
        return path, inside

    replayed = list(parallel_map(replay, range(len(pairwise.pairs))))
    own = np.zeros((len(x), n_classes))  # output at a point of the pair of its class and each other
    for (path, inside), pair in zip(replayed, pairwise.pairs, strict=True):
        own[inside, pair.sum() - codes[inside]] = path.leave_one_out[:, 0]
    machines = [
        _machine(pairwise, p, path, singles[inside], rows[inside])
        for p, (path, inside) in enumerate(replayed)
    ]
    left_out = _left_out_decision(pairwise, coefficients, singles, codes, own)
    named = replace(pairwise, center_rows=rows[pairwise.center_rows].astype(np.int32))
    return OneVsOne(named, machines, quadratic_curves(coefficients), left_out)


def coupled(outputs: Reals, curves: list[QuadraticCurve], n_classes: int) -> Floats:
    """Return the coupled log posteriors (M, K) of outputs (M, P)."""
    return coupled_log_posteriors(quadratics(outputs, coefficients_of(curves)), n_classes)


def _machine(pairwise: PairwiseMachines, p: int, path: ForwardPath, x: Singles, rows: Longs) -> Machine:
    """Return the machine of a pair: its weights as they were trained, the path for all other sizes.

    Parameters
    ----------
    pairwise, p : machines of all pairs, and which of them
    path : its models on points x (M, D), which are these rows (M,) of the estimator's X
    """
    weights, biases = pairwise.weights[p, : len(path.indices), None], pairwise.biases[p : p + 1]
    if len(path.indices) < np.sum(
        pairwise.slots[p] >= 0
    ):  # a centre was in the span of the others, but for rounding
        weights, biases = path.weights()
    return Machine(path.without_points(rows), x[path.indices], pairwise.kernel, weights, biases)


def _left_out_decision(
    pairwise: PairwiseMachines, curves: Floats, x: Singles, codes: Longs, own: Floats
) -> Floats:
    """Return coupled log posteriors (M, K) with the left-out outputs (M, K) of each point's own pairs.

    Left-out outputs are held at `FARTHEST`, as where curves are fitted.
    """
    n_classes = own.shape[1]
    found = np.empty((len(x), n_classes))
    held = np.clip(own, -FARTHEST, FARTHEST)
    for start in range(0, len(x), PREDICT_BLOCK):
        block = slice(start, start + PREDICT_BLOCK)
        outputs = pair_outputs(pairwise, x[block])
        for k in range(n_classes):
            members = np.flatnonzero(codes[block] == k)
            pairs = np.flatnonzero((pairwise.pairs == k).any(axis=1))
            others = pairwise.pairs[pairs].sum(axis=1) - k
            outputs[np.ix_(members, pairs)] = held[block][np.ix_(members, others)]
        found[block] = coupled_log_posteriors(quadratics(outputs, curves), n_classes)
    return found
