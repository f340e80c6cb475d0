"""NPD and OROLS as scikit-learn estimators over `forward_selection` and `quick_selection`.

With ``multiclass="ovo"`` a classifier has one machine for each pair of classes (`fit_one_vs_one`): machines,
the models of every size, curves and leave-one-out outputs then come from `fit_pairs`.

Axes: M training points, D features, P pairs, K classes, C centres.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from acoustic.discriminants.base import (
    DTYPES,
    Curve,
    DiscriminantClassifier,
    QuadraticCurve,
    checked_weight,
    coefficients_of,
    logistic_curve,
    predicted_codes,
    quadratic_curves,
)
from acoustic.discriminants.forward_machine import (
    MANY_CLASSES,
    PREDICT_BLOCK,
    ForwardMachines,
    Machine,
    SigmaName,
    generator,
    machine_of,
    selected_paths,
)
from acoustic.errors import ParameterError
from acoustic.kernels.forward import ForwardConfig, ForwardPath, Selection, Stopping
from acoustic.kernels.kernel import KernelName
from acoustic.kernels.ridge import FARTHEST, within_reach
from acoustic.pairs.calibration import Calibration, quadratics
from acoustic.pairs.coupling import coupled_log_posteriors
from acoustic.pairs.machines import SparseMachines
from acoustic.pairs.train_forward import fit_pairs
from foundation.arrays import Flags, Floats, Longs, Reals, Singles

Multiclass = Literal["auto", "shared", "ovr", "ovo"]
Auto = Literal["auto"]
EpsilonName = Literal["auto", "loo"]


class _ForwardClassifier(ForwardMachines, DiscriminantClassifier):
    def __init__(
        self,
        sigma: float | Sequence[float] | SigmaName = "loo",
        max_centers: int | Auto = "auto",
        *,
        epsilon: float | EpsilonName = "auto",
        selection: Selection = "residual",
        stopping: Stopping | Auto = "auto",
        tol: float = 1e-3,
        block_size: int | Auto = "auto",
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
        multiclass: Multiclass = "auto",
        calibration: Calibration | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.epsilon = epsilon
        self.selection = selection
        self.stopping = stopping
        self.tol = tol
        self.block_size = block_size
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.multiclass = multiclass
        self.calibration = calibration
        self.random_state = random_state

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
        if self.multiclass == "auto":
            return len(self.classes_) > MANY_CLASSES and self.block_size == "auto"
        return self.multiclass == "ovo" and len(self.classes_) > 2

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats | None:
        if self.multiclass not in get_args(Multiclass):
            allowed = ", ".join(get_args(Multiclass))
            raise ParameterError(f'multiclass is "{self.multiclass}", expected one of: {allowed}')
        calibration = self._checked_calibration()
        plan = self._plan(X, targets, sample_weight, is_pairwise=self._is_pairwise())
        if self._is_pairwise():
            self._fit_pairs(X, targets.argmax(axis=1), sample_weight, plan.config)
            return None
        columns = np.hsplit(targets, targets.shape[1]) if self.multiclass == "ovr" else [targets]
        paths, config = selected_paths(X, columns, plan, sample_weight, self.random_state)
        self._keep_setting(config)
        machines = [machine_of(path, X, config.kernel, self._rows) for path in paths]
        self._keep(machines, np.concatenate([path.leave_one_out for path in paths], axis=1))
        if calibration.outputs == "loo":
            return within_reach(self.loo_decision_, targets)
        return np.concatenate([path.fitted for path in paths], axis=1)

    def _fit_curve(self, outputs: Floats, is_positive: Flags, weight: Floats | None) -> Curve:
        if self._checked_calibration().curve == "logistic":
            return logistic_curve(outputs, is_positive, weight)
        return super()._fit_curve(outputs, is_positive, weight)

    def _fit_pairs(
        self, X: NDArray[Any], codes: Longs, sample_weight: Floats | None, config: ForwardConfig
    ) -> None:
        """Learn a machine for each pair of classes."""
        found = fit_one_vs_one(
            X,
            codes,
            self._rows,
            len(self.classes_),
            config,
            self._checked_calibration(),
            sample_weight,
            int(generator(self.random_state).integers(2**31)),
        )
        self._keep(found.machines, found.left_out)
        self.pairwise_, self.curves_ = found.pairwise, list(found.curves)

    def _outputs(self, X: NDArray[Any]) -> Floats:
        """Return the outputs (M, R), or the coupled log posteriors (M, K) of pairs."""
        if not self._is_pairwise():
            return np.asarray(self._machine_outputs(X)[0])
        found = np.empty((len(X), len(self.classes_)))
        for start in range(0, len(X), PREDICT_BLOCK):
            rows = slice(start, start + PREDICT_BLOCK)
            found[rows] = coupled(self.pairwise_.outputs(X[rows]), self.curves_, len(self.classes_))  # type: ignore[arg-type]
        return found

    def _checked_calibration(self) -> Calibration:
        """Return the rule by which curves are fitted."""
        # Pairs by default, unlike those that were asked for, get the curves of fewer errors.
        is_own = self.multiclass == "auto" and self._is_pairwise()
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


class _ForwardRegressor(ForwardMachines, MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    def __init__(
        self,
        sigma: float | Sequence[float] | SigmaName = "loo",
        max_centers: int | Auto = "auto",
        *,
        epsilon: float | EpsilonName = "auto",
        selection: Selection = "residual",
        stopping: Stopping | Auto = "auto",
        tol: float = 1e-3,
        block_size: int | Auto = "auto",
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.epsilon = epsilon
        self.selection = selection
        self.stopping = stopping
        self.tol = tol
        self.block_size = block_size
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from points (M, D) and values (M,) or (M, R)."""
        x, values = validate_data(self, X, y, dtype=DTYPES, multi_output=True, y_numeric=True)
        weight = checked_weight(sample_weight, x)
        # Points of weight 0 are left out.
        rows = np.arange(len(x)) if weight is None else np.flatnonzero(weight)
        targets = np.asarray(values, dtype=np.float64).reshape(len(x), -1)
        self._is_flat = bool(values.ndim == 1)
        used = None if weight is None else weight[rows]
        points, values = x[rows], targets[rows]
        plan = self._plan(points, values, used)
        (path,), config = selected_paths(points, [values], plan, used, self.random_state)
        self._keep_setting(config)
        self._keep([machine_of(path, points, config.kernel, rows)], path.leave_one_out)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the values (M,) or (M, R)."""
        check_is_fitted(self)
        outputs = self._machine_outputs(validate_data(self, X, dtype=DTYPES, reset=False))[0]
        return np.asarray(outputs[:, 0] if self._is_flat else outputs)

    def path_predict(self, X: ArrayLike, sizes: Sequence[int]) -> Floats:
        """Return the values (len(sizes), M, R) by models of these sizes, at most of all centres."""
        check_is_fitted(self)
        return self._machine_outputs(validate_data(self, X, dtype=DTYPES, reset=False), sizes)


class NPDClassifier(_ForwardClassifier):
    """Nonlinear pseudodiscriminant: sparse least squares in feature space on ±1 targets, thesis Algorithm 1.

    Without arguments the width, ε and the number of centres come from leave-one-out errors. With a
    ``block_size`` it is the thesis's algorithm, and what is left out has the values ``epsilon`` 1e-6,
    ``max_centers`` 100, ``stopping`` ``size`` and ``multiclass`` ``shared``.

    Parameters
    ----------
    sigma : width of the kernel. ``loo`` takes, of ¼ to 2 times ``scale``, the width of the least
        leave-one-out error of small models, and half of it if that is better with half the centres;
        ``scale`` is √(D var(X)/2), the width that ``SVC(gamma="scale")`` has; ``median`` is the median
        distance of training points. Of several numbers each centre gets the one that reduces the error most
    max_centers : largest number of centres of each machine; ``auto`` is a third of the points, but at most
        500, or 6 √M if that is more; it is 150 for a pair of classes
    epsilon : number added to the diagonal of the Gram matrix; ``loo`` takes the one of the least
        leave-one-out error; ``auto`` is ``loo``, but 1e-6 with a given ``block_size``
    selection : rule for the next centre: ``residual`` takes the training point with the largest |residual|
        (thesis), ``error_reduction`` the one of `N_CANDIDATES` random points that reduces the squared error
        most, ``random`` a random point
    stopping : rule for the end: ``size`` stops at ``max_centers``; ``tol`` when no |residual| exceeds
        ``tol``; ``gcv`` and ``loo`` when the generalised cross-validation score or the leave-one-out squared
        error has not fallen for `PATIENCE` centres, and the best size is taken; ``lambda`` (only OROLS) when
        λ has changed by a share of less than ``tol`` for `PATIENCE` centres; ``auto`` is ``loo`` if
        ``max_centers`` is left to ``auto``, otherwise ``size``. The fast selection takes the smallest of 12
        sizes whose leave-one-out error is about the least
    tol : threshold of the stopping rules ``tol`` and ``lambda``
    block_size : number of centres added at once; 1 is the thesis's algorithm; larger blocks are selected by
        the thesis's algorithm among points drawn with probability ∝ residual². ``auto`` is 1 for up to 50
        given ``max_centers`` and for pairs of classes, which a compiled function selects for. Otherwise
        centres are drawn in two or three large blocks with probability ∝ residual², and all is matrix
        products, see `acoustic.kernels.quick_forward`
    kernel : ``gaussian``, ``polynomial``, ``sigmoid`` or ``compact``, see `Kernel`
    kernel_params : further parameters of the kernel, see `make_kernel`
    multiclass : how more than two classes are told apart: ``shared`` has one set of centres for all classes,
        ``ovr`` a machine for each class against the rest, ``ovo`` a machine for each pair of classes;
        ``auto`` is ``shared`` for up to 12 classes, ``ovo`` for more
    calibration : rule by which the curves from outputs to log odds are fitted, which ``predict_proba`` and,
        with ``ovo``, ``predict`` use; None is ``Calibration("loo", "gaussian")``, and with pairs that
        ``multiclass="auto"`` chose ``Calibration("loo", "logistic")``, which gives fewer errors in most
        settings of ``benchmarks/discriminants_tables.py``
    random_state : seed of the random choices; the fast selection draws the same in every fit if it is None

    Attributes
    ----------
    classes_ : (K,)
    sigma_ : width of the kernel, or a tuple of several
    epsilon_ : ε
    center_indices_ : (C,) rows of X, the distinct centres of all machines in the order of their selection
    centers_ : (C, D)
    center_sigmas_ : (C,) widths of the centres; a point with two widths is two centres
    dual_coef_ : (R, C) weights, 0 where a machine does not have a centre. R is 1 for two classes; for more it
        is the number of classes, or with ``ovo`` the number of pairs i < j (positive: i)
    intercept_ : (R,)
    machine_center_indices_ : list of the centres of each machine; ``shared`` has one machine, the others have
        R
    ridge_ : (R,) λ (only OROLS)
    loo_decision_ : leave-one-out value of ``decision_function`` at each of the M training points of non-zero
        weight, (M, 1) for two classes, else (M, K). The centres, their basis, λ and the curves are kept
    curves_ : list of R curves from outputs to log odds
    n_distinct_centers_ : number of different points among the centres
    pairwise_ : with ``ovo`` all machines, ready to be evaluated together

    Notes
    -----
    With float32 data the papers' algorithm computes in float32, which is twice as fast; centres are then
    accepted up to a condition number of about 1e5. The fast selection takes only the kernel values in
    float32. ``ovo`` always computes in float32.
    """

    _regularize = False


class NPDRegressor(_ForwardRegressor):
    """NPD on real targets; several columns of targets share their centres.

    Parameters and attributes are those of `NPDClassifier` without those that concern classes.
    """

    _regularize = False


class OROLSClassifier(_ForwardClassifier):
    """Order-recursive orthogonal least squares, λ by generalised cross-validation, thesis Algorithm 2.

    Parameters and attributes are those of `NPDClassifier`.

    Notes
    -----
    Effect of the stopping rules with a ``max_centers`` so large that it does not matter: test error in %
    (RMSE for sinc) and number of centres, with σ chosen on a part of the training points
    (``benchmarks/stopping.py``)::

                  optdigits    satimage     banana     German       sinc
        size      1.06  2000   11.1  1281   12.2  399  28.1  699   0.052  49
        lambda    1.06  2000   11.1  1281   12.1  294  28.1  699   0.052  37
        gcv       1.06  2000    9.9   841   11.3  129  25.5  109   0.056   9
        loo       1.06  1261    9.8   282   11.7   41  25.3   22   0.056   8

    Where there is little noise, λ alone prevents the harm of too many centres. Where there is more noise,
    ``gcv`` and, with fewer centres, ``loo`` prevent it; ``lambda`` hardly ever stops, and takes nearly all
    points of a small set. These are the rules of the papers' algorithm (``block_size=1``), where ``loo``
    takes a third more time for each centre. The fast selection chooses λ, as ε, by the leave-one-out error.
    """

    _regularize = True


class OROLSRegressor(_ForwardRegressor):
    """OROLS on real targets; several columns of targets share their centres and λ.

    Parameters and attributes are those of `NPDClassifier` without those that concern classes. On 50 noisy
    points of sinc the RMSE of the papers' algorithm is 0.052 with ``stopping`` ``size`` (49 centres) or
    ``lambda`` (37), and 0.056 with ``gcv`` (9) or ``loo`` (8).
    """

    _regularize = True


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
