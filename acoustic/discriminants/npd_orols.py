"""NPD and OROLS as scikit-learn estimators over `forward.forward_selection`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from acoustic.discriminants.base import DTYPES, DiscriminantClassifier, checked_weight, predicted_codes
from acoustic.discriminants.curves import Curve, logistic_curve
from acoustic.discriminants.forward_machine import (
    PREDICT_BLOCK,
    ForwardMachines,
    generator,
    machine_of,
    selected_paths,
)
from acoustic.discriminants.one_vs_one import coupled, fit_one_vs_one
from acoustic.errors import ParameterError
from acoustic.kernels.forward import Selection, Stopping
from acoustic.kernels.kernel import KernelName
from acoustic.kernels.leave_one_out import within_reach
from acoustic.pairs.calibration import Calibration
from foundation.arrays import Flags, Floats, Longs

Multiclass = Literal["shared", "ovr", "ovo"]


class _ForwardClassifier(ForwardMachines, DiscriminantClassifier):
    def __init__(
        self,
        sigma: float | Sequence[float] = 1.0,
        max_centers: int = 100,
        *,
        epsilon: float = 1e-6,
        selection: Selection = "residual",
        stopping: Stopping = "size",
        tol: float = 1e-3,
        block_size: int = 1,
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
        multiclass: Multiclass = "shared",
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
        """Return the labels (len(sizes), M) by the models with so many centres (or all there are).

        The curves of ``ovo``, by which pairs are coupled, are those of the chosen size.
        """
        check_is_fitted(self)
        outputs = self._machine_outputs(validate_data(self, X, dtype=DTYPES, reset=False), sizes)
        if self._is_pairwise():
            outputs = np.array([coupled(q, self.curves_, len(self.classes_)) for q in outputs])  # type: ignore[arg-type]
        return self.classes_[predicted_codes(outputs)]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return P(class | x), (M, n_classes), of the curves from outputs to log odds.

        One-vs-one posteriors are coupled; the rest is said in `DiscriminantClassifier.predict_proba`.
        """
        if self._is_pairwise():
            return softmax(self._checked_outputs(X), axis=1)
        return super().predict_proba(X)

    def _is_pairwise(self) -> bool:
        """Return whether there is a machine for each pair of classes; of two classes there is one anyway."""
        check_is_fitted(self, "classes_")
        return self.multiclass == "ovo" and len(self.classes_) > 2

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats | None:
        if self.multiclass not in get_args(Multiclass):
            allowed = ", ".join(get_args(Multiclass))
            raise ParameterError(f'multiclass is "{self.multiclass}", expected one of: {allowed}')
        calibration, rng = self._checked_calibration(), generator(self.random_state)
        if self._is_pairwise():
            self._fit_pairs(X, targets.argmax(axis=1), sample_weight, int(rng.integers(2**31)))
            return None
        columns = [targets] if self.multiclass == "shared" else np.hsplit(targets, targets.shape[1])
        config = self._config()
        paths = selected_paths(X, columns, config, sample_weight, rng)
        machines = [machine_of(path, X, config.kernel, self._rows) for path in paths]
        self._keep(machines, np.concatenate([path.leave_one_out for path in paths], axis=1))
        if calibration.outputs == "loo":
            return within_reach(self.loo_decision_, targets)
        return np.concatenate([path.fitted for path in paths], axis=1)

    def _fit_curve(self, outputs: Floats, is_positive: Flags, weight: Floats | None) -> Curve:
        if self._checked_calibration().curve == "logistic":
            return logistic_curve(outputs, is_positive, weight)
        return super()._fit_curve(outputs, is_positive, weight)

    def _fit_pairs(self, X: NDArray[Any], codes: Longs, sample_weight: Floats | None, seed: int) -> None:
        """Learn a machine for each pair of classes."""
        found = fit_one_vs_one(
            X,
            codes,
            self._rows,
            len(self.classes_),
            self._config(),
            self._checked_calibration(),
            sample_weight,
            seed,
        )
        self._keep(found.machines, found.left_out)
        self.pairwise_, self.curves_ = found.pairwise, list(found.curves)

    def _outputs(self, X: NDArray[Any]) -> Floats:
        """Return the outputs (M, R); of pairs the coupled log posteriors (M, n_classes)."""
        if not self._is_pairwise():
            return np.asarray(self._machine_outputs(X)[0])
        found = np.empty((len(X), len(self.classes_)))
        for start in range(0, len(X), PREDICT_BLOCK):
            rows = slice(start, start + PREDICT_BLOCK)
            found[rows] = coupled(self.pairwise_.outputs(X[rows]), self.curves_, len(self.classes_))  # type: ignore[arg-type]
        return found

    def _checked_calibration(self) -> Calibration:
        """Return the rule by which curves are fitted."""
        found = Calibration("loo", "gaussian") if self.calibration is None else self.calibration
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
        sigma: float | Sequence[float] = 1.0,
        max_centers: int = 100,
        *,
        epsilon: float = 1e-6,
        selection: Selection = "residual",
        stopping: Stopping = "size",
        tol: float = 1e-3,
        block_size: int = 1,
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
        # A point without weight is not there.
        rows = np.arange(len(x)) if weight is None else np.flatnonzero(weight)
        targets = np.asarray(values, dtype=np.float64).reshape(len(x), -1)
        self._is_flat = bool(values.ndim == 1)
        used = None if weight is None else weight[rows]
        config, rng = self._config(), generator(self.random_state)
        (path,) = selected_paths(x[rows], [targets[rows]], config, used, rng)
        self._keep([machine_of(path, x[rows], config.kernel, rows)], path.leave_one_out)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the values (M,) or (M, R)."""
        check_is_fitted(self)
        outputs = self._machine_outputs(validate_data(self, X, dtype=DTYPES, reset=False))[0]
        return np.asarray(outputs[:, 0] if self._is_flat else outputs)

    def path_predict(self, X: ArrayLike, sizes: Sequence[int]) -> Floats:
        """Return the values (len(sizes), M, R) by the models with so many centres (or all there are)."""
        check_is_fitted(self)
        return self._machine_outputs(validate_data(self, X, dtype=DTYPES, reset=False), sizes)


class NPDClassifier(_ForwardClassifier):
    """Nonlinear pseudodiscriminant: sparse least squares in feature space on ±1 targets, thesis Algorithm 1.

    Parameters
    ----------
    sigma : width of the kernel, or several, of which each centre takes the one that reduces the error most
    max_centers : number of centres at most (of each machine)
    epsilon : added to the diagonal of the Gram matrix
    selection : ``residual`` takes the training point with the largest |residual| (thesis);
        ``error_reduction`` the one of `N_CANDIDATES` random ones that reduces the squared error most;
        ``random`` any
    stopping : ``size`` at max_centers; ``tol`` when no |residual| exceeds tol; ``gcv`` and ``loo`` when the
        generalised cross-validation score or the leave-one-out squared error has not fallen for `PATIENCE`
        centres, and the best size is taken; ``lambda`` (OROLS) when λ changed by less than a share of tol for
        as many centres
    tol : of the stopping rules ``tol`` and ``lambda``
    block_size : centres added at once; 1 is the thesis's algorithm, 32 some five times faster on large sets
        at the same error. A block is what the algorithm would take from points drawn with probability ∝
        residual²
    kernel : ``gaussian``, ``polynomial``, ``sigmoid`` or ``compact``, see `Kernel`
    kernel_params : further parameters of the kernel, see `make_kernel`
    multiclass : ``shared`` is one set of centres for all classes; ``ovr``: one a class against the rest;
        ``ovo``: one for each pair of classes. Two classes need one machine anyway
    calibration : the rule by which curves from outputs to log odds are fitted, on which ``predict_proba``
        rests, and ``predict`` of ``ovo``; None is ``Calibration("loo", "gaussian")``. With
        ``curve="logistic"`` pairs are told apart with fewer errors in most settings of
        ``benchmarks/discriminants_tables.py``
    random_state : of what is drawn

    Attributes
    ----------
    classes_ : (n_classes,)
    center_indices_ : (C,) rows of X, the distinct centres of all machines as they were selected
    centers_, center_sigmas_ : (C, D) and (C,) their widths; a point with two widths is two centres
    dual_coef_ : (R, C) weights, 0 where a machine has not that centre. R is 1 for two classes, else the
        number of classes, of ``ovo`` that of pairs i < j (positive: i)
    intercept_ : (R,)
    machine_center_indices_ : list of the centres of each machine: one of ``shared``, else R
    ridge_ : (R,) λ (only OROLS)
    loo_decision_ : outputs at each training point of the model without it, as ``decision_function`` gives
        them: (M, 1) for two classes, else (M, n_classes). The centres, their basis, λ and the curves are
        kept; M counts the points with a weight above 0
    curves_ : list of R curves from outputs to log odds
    n_distinct_centers_ : points among the centres
    pairwise_ : of ``ovo`` all machines, ready to be evaluated together

    Notes
    -----
    Data in float32 are computed in float32: twice as fast, with centres accepted up to a condition number of
    about 1e5. ``ovo`` computes in float32 whatever it is given.
    """

    _regularize = False


class NPDRegressor(_ForwardRegressor):
    """NPD on real targets; several share their centres.

    Parameters and attributes are those of `NPDClassifier` but for classes.
    """

    _regularize = False


class OROLSClassifier(_ForwardClassifier):
    """Order-recursive orthogonal least squares, λ by generalised cross-validation, thesis Algorithm 2.

    Parameters and attributes are those of `NPDClassifier`.

    Notes
    -----
    What the stopping rules do when ``max_centers`` leaves them free: test error in % (of sinc RMSE) and
    centres, σ chosen on a part of the training points (``benchmarks/stopping.py``)::

                  optdigits    satimage     banana     German       sinc
        size      1.06  2000   11.1  1281   12.2  399  28.1  699   0.052  49
        lambda    1.06  2000   11.1  1281   12.1  294  28.1  699   0.052  37
        gcv       1.06  2000    9.9   841   11.3  129  25.5  109   0.056   9
        loo       1.06  1261    9.8   282   11.7   41  25.3   22   0.056   8

    λ alone keeps too many centres from harm where there is little noise; ``gcv`` and, with fewer centres,
    ``loo`` where there is more; ``lambda`` hardly ever stops. Within a budget of 100 centres no rule stops on
    the larger two sets, and on the others the errors differ by less than they scatter. Hence ``size`` by
    default, with ``max_centers`` as budget; give a large one to ``loo``, at a third more time a centre.
    """

    _regularize = True


class OROLSRegressor(_ForwardRegressor):
    """OROLS on real targets; several share their centres and λ.

    Parameters and attributes are those of `NPDClassifier` but for classes. On 50 noisy points of sinc the
    RMSE is 0.052 if ``stopping`` is ``size`` (49 centres) or ``lambda`` (37), 0.056 if it is ``gcv`` (9) or
    ``loo`` (8): hence ``size`` by default here too; see `OROLSClassifier`.
    """

    _regularize = True
