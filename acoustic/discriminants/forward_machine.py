"""What estimators of forward selection share: their machines, and several classes in pairs.

`Machine` is one selected expansion; `ForwardMachines` are the attributes of an estimator that are made from
its machines. With ``multiclass="ovo"`` a classifier has one machine for each pair of classes
(`fit_one_vs_one`): machines, the models of every size, curves and leave-one-out outputs then come from
`fit_pairs`. NPD and OROLS (`npd_orols`) and the residual-sampled estimators (`residual_sampled`) say how
centres are chosen.

Axes: M training points, D features, R targets or rows of weights, C distinct centres of all machines, K
classes, P pairs.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from acoustic.discriminants.base import (
    DTYPES,
    Curve,
    DiscriminantClassifier,
    Estimator,
    QuadraticCurve,
    checked_weight,
    coefficients_of,
    logistic_curve,
    predicted_codes,
    quadratic_curves,
)
from acoustic.errors import ParameterError
from acoustic.kernels.forward import ForwardConfig, ForwardPath
from acoustic.kernels.kernel import Kernel, check_not_negative, check_whole, widths
from acoustic.kernels.residual_sampling import SamplingConfig
from acoustic.kernels.ridge import FARTHEST, within_reach
from acoustic.kernels.width import FACTORS, median_width, neighbours, scale_width
from acoustic.pairs.calibration import Calibration, quadratics
from acoustic.pairs.coupling import coupled_log_posteriors
from acoustic.pairs.machines import SparseMachines
from acoustic.pairs.train_forward import fit_pairs
from foundation.arrays import Flags, Floats, Integers, Longs, Reals, Singles, check_memory

Auto = Literal["auto"]
Multiclass = Literal["auto", "shared", "ovr", "ovo"]
SigmaName = Literal["loo", "scale", "median"]

PAIR_CENTERS = 150  # of each pair of classes with max_centers="auto"
PREDICT_BLOCK = 2048  # points whose kernel block is held at once
_MOST_HELD_OUT = 2000  # points; by feel
_FLAT = 1e-6  # kernel values below it count as 0, above 1 minus it as 1; by feel


@dataclass(frozen=True)
class Machine:
    """The models of one forward selection, ready to predict.

    Attributes
    ----------
    path : models of all sizes on (M, R) targets; ``indices`` are rows of the estimator's X
    centers : (C, D) selected points
    kernel : kernel function
    weights : (C', R) weights of the first C' centres, those of the chosen size
    biases : (R,)
    """

    path: ForwardPath
    centers: NDArray[Any]
    kernel: Kernel
    weights: Floats
    biases: Floats

    @property
    def chosen(self) -> Longs:
        """The rows of the centres of the model of the chosen size."""
        return self.path.indices[: len(self.weights)]

    def outputs(self, x: NDArray[Any], sizes: Sequence[int] | None = None) -> Floats:
        """Return the outputs (len(sizes), M, R) of the models of these sizes."""
        models = (
            [(self.weights, self.biases)] if sizes is None else [self.path.weights(size) for size in sizes]
        )
        n_centers = max((len(alpha) for alpha, _ in models), default=0)
        found = np.empty((len(models), len(x), len(self.biases)))
        for start in range(0, len(x), PREDICT_BLOCK):
            rows = slice(start, start + PREDICT_BLOCK)
            block = self.kernel.rows(x[rows], self.centers[:n_centers], self.path.sigmas[:n_centers])
            for model, (alpha, bias) in enumerate(models):
                found[model, rows] = block[:, : len(alpha)] @ alpha.astype(block.dtype) + bias
        return found


def machine_of(path: ForwardPath, x: NDArray[Any], kernel: Kernel, rows: Longs) -> Machine:
    """Return the machine of a path on points x (M, D), which are these ``rows`` (M,) of the estimator's X."""
    weights, biases = path.weights()
    return Machine(path.without_points(rows), x[path.indices], kernel, np.ascontiguousarray(weights), biases)


class ForwardMachines:
    """Parameters and learned values that classifiers and regressors have in common.

    However many machines there are, the attributes show one set of distinct centres and one row of weights
    for every output: one output for two classes, one for each class (``shared``, ``ovr``) or one for each
    pair of classes (``ovo``).

    Attributes
    ----------
    machines_ : list of the machines
    center_indices_ : (C,) rows of X, the distinct centres in the order of their selection, machine by machine
    centers_ : (C, D)
    center_sigmas_ : (C,) width of each; a point that has two widths is two centres
    machine_center_indices_ : list of the centres of each machine, in the order of their selection
    intercept_ : (R,)
    biased_loo_decision_ : leave-one-out value of ``decision_function`` at each training point of non-zero
        weight, always with a second axis; for regressors the leave-one-out values (M, R). The centres are
        kept, though the point left out may have been made one for its label's sake: errors counted from
        these values are biased, mostly too few. ``loo_decision_`` is their former name
    held_out_indices_ : (n,) rows of X that were held out from candidacy, if any
    left_out_decision_ : leave-one-out values at these rows, whose labels chose no centre; (n, ·)
    n_distinct_centers_ : number of different points among the centres
    sigma_ : width of the kernel, or a tuple of several
    epsilon_ : ε
    """

    sigma_: float | tuple[float, ...]
    epsilon_: float
    machines_: list[Machine]
    center_indices_: Longs
    centers_: NDArray[Any]
    center_sigmas_: Floats
    machine_center_indices_: list[Longs]
    intercept_: Floats
    biased_loo_decision_: Floats
    held_out_indices_: Longs
    left_out_decision_: Floats
    n_distinct_centers_: int

    @property
    def loo_decision_(self) -> Floats:
        """The former name of ``biased_loo_decision_``; pickles made before have it."""
        before: Floats | None = vars(self).get("loo_decision_")
        return self.biased_loo_decision_ if before is None else before

    @property
    def dual_coef_(self) -> Floats:
        """(R, C) weights of the centres, 0 where a machine does not have a centre."""
        place = {key: c for c, key in enumerate(zip(self.center_indices_, self.center_sigmas_, strict=True))}
        found = np.zeros((len(self.intercept_), len(place)))
        first = 0
        for machine in self.machines_:
            keys = zip(machine.chosen, machine.path.sigmas, strict=False)  # the path may be longer
            columns = [place[key] for key in keys]
            found[first : first + len(machine.biases), columns] = machine.weights.T
            first += len(machine.biases)
        return found

    def _keep(self, machines: list[Machine], loo_decision: Floats) -> None:
        """Set the attributes that are made from the machines."""
        self.machines_, self.biased_loo_decision_ = machines, loo_decision
        self.machine_center_indices_ = [m.chosen for m in machines]
        rows = np.concatenate(self.machine_center_indices_)
        sigmas = np.concatenate([m.path.sigmas[: len(m.chosen)] for m in machines])
        points = np.concatenate([m.centers[: len(m.chosen)] for m in machines])
        first: Longs = np.arange(len(rows))
        if len(machines) > 1:  # the centres of one machine are distinct
            first = np.sort(np.unique(np.stack([rows, sigmas]), axis=1, return_index=True)[1])
        self.center_indices_, self.center_sigmas_, self.centers_ = rows[first], sigmas[first], points[first]
        self.intercept_ = np.concatenate([m.biases for m in machines])
        self.n_distinct_centers_ = len(np.unique(rows))

    def _machine_outputs(self, x: NDArray[Any], sizes: Sequence[int] | None = None) -> Floats:
        """Return outputs (len(sizes), M, R) of all machines side by side; their chosen sizes by default."""
        if sizes is None:
            return np.concatenate([m.outputs(x) for m in self.machines_], axis=2)
        if not all(size >= 0 and size == int(size) for size in sizes):
            raise ValueError(f"sizes are {list(sizes)}, expected whole numbers of at least 0")
        asked = [[min(int(size), len(m.centers)) for size in sizes] for m in self.machines_]
        return np.concatenate([m.outputs(x, a) for m, a in zip(self.machines_, asked, strict=True)], axis=2)


class ForwardClassifier(ForwardMachines, DiscriminantClassifier):
    """Base of the classifiers: a subclass learns the machines in ``_fit_outputs``.

    Attributes
    ----------
    left_out_accuracy_ : weighted share of the points held out from candidacy that the model without each of
        them names rightly; only if some are
    pairwise_ : with ``ovo`` all machines, ready to be evaluated together
    """

    multiclass: Multiclass
    calibration: Calibration | None
    left_out_accuracy_: float
    _pairs_are_logistic = False
    pairwise_: SparseMachines

    def path_predict(self, X: ArrayLike, sizes: Sequence[int]) -> NDArray[Any]:
        """Return the labels (len(sizes), M) by models of these sizes, or of all centres if there are fewer.

        The curves by which ``ovo`` couples pairs are those of the chosen size.
        """
        check_is_fitted(self)
        outputs = self._machine_outputs(validate_data(self, X, dtype=DTYPES, reset=False), sizes)
        if self._is_pairwise():
            outputs = np.array([coupled(q, self.curves_, len(self.classes_)) for q in outputs])  # type: ignore[arg-type]
        return self.classes_[predicted_codes(outputs)]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return P(class | x), (M, K), by the curves from outputs to log odds.

        One-vs-one posteriors are coupled; all else is as in `DiscriminantClassifier.predict_proba`.
        """
        if self._is_pairwise():
            return softmax(self._checked_outputs(X), axis=1)
        return super().predict_proba(X)

    def _is_pairwise(self) -> bool:
        """Return whether there is a machine for each pair of more than two classes."""
        check_is_fitted(self, "classes_")
        return hasattr(self, "pairwise_")

    def _forget(self) -> None:
        """Delete what only some fits set, and an earlier one may have left."""
        for name in ("pairwise_", "held_out_indices_", "left_out_decision_", "left_out_accuracy_"):
            if name in vars(self):
                delattr(self, name)

    def _check_multiclass(self) -> None:
        if self.multiclass not in get_args(Multiclass):
            allowed = ", ".join(get_args(Multiclass))
            raise ParameterError(f'multiclass is "{self.multiclass}", expected one of: {allowed}')

    def _keep_shared(
        self,
        paths: Sequence[ForwardPath],
        x: NDArray[Any],
        kernels: Sequence[Kernel],
        targets: Floats,
        weight: Floats | None,
        held: HeldOut,
    ) -> None:
        """Set the machines of some paths, and the curves of their outputs."""
        machines = [machine_of(p, x, kernel, self._rows) for p, kernel in zip(paths, kernels, strict=True)]
        self._keep(machines, np.concatenate([path.leave_one_out for path in paths], axis=1))
        self._keep_held_out(held, targets, weight)
        outputs = np.concatenate([path.fitted for path in paths], axis=1)
        if self._checked_calibration().outputs == "loo":
            outputs = within_reach(self.biased_loo_decision_, targets)
        self.curves_ = [
            self._fit_curve(column, target > 0, weight)
            for column, target in zip(outputs.T, targets.T, strict=True)
        ]

    def _fit_curve(self, outputs: Floats, is_positive: Flags, weight: Floats | None) -> Curve:
        if self._checked_calibration().curve == "logistic":
            return logistic_curve(outputs, is_positive, weight)
        return super()._fit_curve(outputs, is_positive, weight)

    def _keep_pairs(self, found: OneVsOne, targets: Floats, weight: Floats | None, held_out: Longs) -> None:
        """Set the machines of pairs and their curves."""
        self._keep(found.machines, found.left_out)
        self.pairwise_, self.curves_ = found.pairwise, list(found.curves)
        self._keep_held_out(HeldOut(held_out, found.left_out[held_out]), targets, weight)

    def _keep_held_out(self, held: HeldOut, targets: Floats, weight: Floats | None) -> None:
        if len(held.points):
            self.held_out_indices_, self.left_out_decision_ = self._rows[held.points], held.decision
            self.left_out_accuracy_ = held.accuracy(targets, weight)

    def _outputs(self, X: NDArray[Any]) -> Floats:
        """Return the outputs (M, R), or the coupled log posteriors (M, K) of pairs."""
        if not self._is_pairwise():
            return np.asarray(self._machine_outputs(X)[0])
        found = np.empty((len(X), len(self.classes_)))
        for start in range(0, len(X), PREDICT_BLOCK):
            rows = slice(start, start + PREDICT_BLOCK)
            found[rows] = coupled(self.pairwise_.outputs(X[rows]), self.curves_, len(self.classes_))  # type: ignore[arg-type]
        return found

    def _checked_calibration(self, *, is_pairwise: bool = False) -> Calibration:
        """Return the rule by which curves are fitted."""
        # Of NPD and OROLS pairs by default, unlike those that were asked for, get the curves of fewer errors.
        is_own = is_pairwise and (self._pairs_are_logistic or self.multiclass == "auto")
        own = Calibration("loo", "logistic" if is_own else "gaussian")
        found = own if self.calibration is None else self.calibration
        if not isinstance(found, Calibration):
            raise ParameterError(
                f"calibration is {found!r}, expected a Calibration or None; give "
                'Calibration(outputs="loo", curve="logistic"), for example'
            )
        if found.outputs == "held-out":
            raise ParameterError(
                'calibration has outputs "held-out", expected "fitted" or "loo"; wrap the estimator in '
                'scikit-learn\'s CalibratedClassifierCV for held-out outputs, or take "loo"'
            )
        return found


class ForwardRegressor(ForwardMachines, MultiOutputMixin, RegressorMixin, Estimator):  # type: ignore[misc]
    """Base of the regressors: a subclass learns the machine in ``_fit_values``."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from points (M, D) and values (M,) or (M, R)."""
        x, values = validate_data(self, X, y, dtype=DTYPES, multi_output=True, y_numeric=True)
        weight = checked_weight(sample_weight, x)
        # Points of weight 0 are left out.
        rows = np.arange(len(x)) if weight is None else np.flatnonzero(weight)
        targets = np.asarray(values, dtype=np.float64).reshape(len(x), -1)
        self._is_flat = bool(values.ndim == 1)
        self._fit_values(x[rows], targets[rows], None if weight is None else weight[rows], rows)
        return self

    def _fit_values(self, x: NDArray[Any], targets: Floats, weight: Floats | None, rows: Longs) -> None:
        """Learn targets (M, R) of points, which are these rows of X."""
        raise NotImplementedError

    def predict(self, X: ArrayLike) -> Floats:
        """Return the values (M,) or (M, R)."""
        check_is_fitted(self)
        outputs = self._machine_outputs(validate_data(self, X, dtype=DTYPES, reset=False))[0]
        return np.asarray(outputs[:, 0] if self._is_flat else outputs)

    def path_predict(self, X: ArrayLike, sizes: Sequence[int]) -> Floats:
        """Return the values (len(sizes), M, R) by models of these sizes, at most of all centres."""
        check_is_fitted(self)
        return self._machine_outputs(validate_data(self, X, dtype=DTYPES, reset=False), sizes)


class HeldOut(NamedTuple):
    """Points that were held out from candidacy (n,), and the leave-one-out outputs (n, R) there."""

    points: Longs
    decision: Floats

    def accuracy(self, targets: Floats, weight: Floats | None) -> float:
        """Return the weighted share of the points that are named rightly, of ±1 targets (M, R)."""
        is_right = predicted_codes(self.decision) == predicted_codes(targets[self.points])
        return float(np.average(is_right, weights=None if weight is None else weight[self.points]))


def held_out_points(codes: Integers, share: Any, rng: np.random.Generator) -> Longs:
    """Return a share of the points of each class, by their codes (M,); at most two thousand in all."""
    if not isinstance(share, int | float | np.number) or not 0 <= share < 1:
        raise ParameterError(
            f"held_out is {share!r}, expected a number of at least 0 and below 1: the share of the points "
            "that do not become centres"
        )
    counts = np.bincount(codes)
    share = min(share, _MOST_HELD_OUT / max(len(codes), 1))
    # Rounded at random, so that small classes have their share on average; one point stays.
    wanted = np.minimum(np.floor(share * counts + rng.random(len(counts))), counts - 1).astype(int)
    wanted[counts == 0] = 0
    order = rng.permutation(len(codes))
    parts = [order[codes[order] == k][:n] for k, n in enumerate(wanted) if n]
    return np.sort(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)


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
    config: ForwardConfig | SamplingConfig,
    calibration: Calibration,
    sample_weight: Floats | None,
    seed: int,
    held_out: Longs | None = None,
) -> OneVsOne:
    """Return the machines of all pairs of classes.

    Parameters
    ----------
    x : (M, D) points
    codes : (M,) classes of the points, 0 … K − 1
    rows : (M,) rows of the points in the estimator's X
    n_classes : K
    config : how centres are selected, or drawn
    calibration : how curves are fitted
    sample_weight : (M,) above 0
    seed : seed of random selection
    held_out : (n,) points that become no centres
    """
    n_pairs = n_classes * (n_classes - 1) // 2
    cure = "check the labels, or take fewer classes"
    check_memory("outputs of each pair of classes", (len(x), n_pairs), ParameterError, cure)
    left_out = np.full((len(x), n_pairs), np.nan, dtype=np.float32)
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
        held_out=held_out,
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


def generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """Return a generator seeded as scikit-learn's ``random_state`` says."""
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def named(value: Any, word: str) -> bool:
    """Return whether an argument, which may be an array, is this word."""
    return isinstance(value, str) and value == word


def automatic_centers(n_points: int) -> int:
    """Return the number of centres that ``max_centers="auto"`` allows.

    It is a third of the points, 500 from 1,500 points on; above 7,000 it grows like the square root of their
    number.
    """
    return min(max(n_points // 3, 50), max(500, round(6 * math.sqrt(n_points))))


def given_widths(sigma: Any, x: NDArray[Any]) -> tuple[float, ...]:
    """Return the widths that an argument names; those to be searched where it is ``loo``."""
    if not (isinstance(sigma, str) and sigma in get_args(SigmaName)):
        return widths(sigma, get_args(SigmaName))
    if sigma == "median":
        return (median_width(x),)
    scale = scale_width(x)
    return (scale,) if sigma == "scale" else tuple(factor * scale for factor in FACTORS)


def number_of_centers(max_centers: Any, automatic: int) -> int:
    """Return the largest number of centres of a machine."""
    if named(max_centers, "auto"):
        return automatic
    check_whole("max_centers", max_centers, ', or "auto"')
    return int(max_centers)


def checked_epsilon(epsilon: Any) -> float:
    """Return ε, or 0 as long as it is to be searched."""
    if isinstance(epsilon, str):
        if epsilon != "loo":
            raise ParameterError(f'epsilon is "{epsilon}", expected a finite number of at least 0, or "loo"')
        return 0.0
    check_not_negative("epsilon", epsilon)
    return float(epsilon)


def warn_of_extreme_width(
    kernel: Kernel, sigmas: tuple[float, ...], x: NDArray[Any], stacklevel: int = 5
) -> None:
    """Warn of a kernel that is 0 between different points, or 1 between all of them."""
    if kernel.name not in ("gaussian", "compact") or len(x) < 2:
        return
    nearest = neighbours(x, kernel, max(sigmas))[:-1]
    least = neighbours(x, kernel, min(sigmas))[-1]
    if float(np.median(nearest)) < _FLAT:
        fault, cure = (
            "0 between a point and its nearest neighbours: it can only learn points by heart",
            "larger",
        )
    elif least > 1.0 - _FLAT:
        fault, cure = "1 between all points: it cannot tell them apart", "smaller"
    else:
        return
    warnings.warn(
        f"sigma is {sigmas[0] if len(sigmas) == 1 else sigmas}, for which the kernel is "
        f'nearly {fault}; expected something like {scale_width(x):.3g}; give sigma="loo", "scale" or a '
        f"{cure} number, or standardise the features",
        UserWarning,
        stacklevel=stacklevel,
    )
