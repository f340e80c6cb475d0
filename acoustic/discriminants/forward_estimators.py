"""NPD and OROLS as scikit-learn estimators over `forward.forward_selection`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from acoustic.discriminants.base import DTYPES, DiscriminantClassifier, checked_weight, predicted_codes
from acoustic.discriminants.forward_machine import PREDICT_BLOCK, ForwardMachines, generator, part_of
from acoustic.discriminants.state import State, packed_labels, unpacked_labels
from acoustic.errors import ModelError
from acoustic.kernels.forward import Selection, Stopping
from acoustic.kernels.kernel import KernelName
from acoustic.kernels.leave_one_out import within_reach
from acoustic.pairs.calibration import Calibration as Rule
from acoustic.pairs.calibration import CurveName, quadratics
from acoustic.pairs.coupling import coupled_log_posteriors
from acoustic.pairs.gaussian_outputs import MonotoneProjection
from acoustic.pairs.sparse import SparseMachines
from acoustic.pairs.train_forward import fit_pairs
from foundation.arrays import Floats, Longs

Multiclass = Literal["shared", "ovr", "ovo"]
Calibration = Literal["fitted", "loo"]

_MOMENTS = ("means_", "variances_", "log_priors_")


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
        patience: int = 20,
        kernel: KernelName = "gaussian",
        theta: float = 1.0,
        degree: int = 3,
        radius: float = 3.0,
        block_size: int = 1,
        n_candidates: int = 60,
        multiclass: Multiclass = "shared",
        calibration: Calibration = "loo",
        coupling: CurveName = "gaussian",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.epsilon = epsilon
        self.selection = selection
        self.stopping = stopping
        self.tol = tol
        self.patience = patience
        self.kernel = kernel
        self.theta = theta
        self.degree = degree
        self.radius = radius
        self.block_size = block_size
        self.n_candidates = n_candidates
        self.multiclass = multiclass
        self.calibration = calibration
        self.coupling = coupling
        self.random_state = random_state

    def path_predict(self, X: ArrayLike, sizes: Sequence[int]) -> NDArray[Any]:
        """Return the labels (len(sizes), M) by the models with so many centres (or all there are)."""
        check_is_fitted(self)
        if self._is_pairwise():
            raise ValueError(
                f'{type(self).__name__}: path_predict knows multiclass "shared" and "ovr", got "ovo"; '
                "use one of them"
            )
        outputs = self._machine_outputs(validate_data(self, X, dtype=DTYPES, reset=False), sizes)
        return self.classes_[predicted_codes(outputs)]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return P(class | x), (M, n_classes), by Bayes' rule on the Gaussians of the outputs.

        One-vs-one posteriors are coupled; the rest is said in `DiscriminantClassifier.predict_proba`.
        """
        outputs = self._checked_outputs(X)
        return softmax(outputs, axis=1) if self._is_pairwise() else super().predict_proba(X)

    def _is_pairwise(self) -> bool:
        """Return whether there is a machine for each pair of classes; of two classes there is one anyway."""
        return self.multiclass == "ovo" and len(self.classes_) > 2

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats | None:
        choices = {"multiclass": Multiclass, "calibration": Calibration, "coupling": CurveName}
        for name, kind in choices.items():
            if (value := getattr(self, name)) not in (allowed := get_args(kind)):
                raise ModelError(f'{name} is "{value}", expected one of: {", ".join(allowed)}')
        rng = generator(self.random_state)
        if self._is_pairwise():
            self._fit_pairs(X, targets.argmax(axis=1), sample_weight, int(rng.integers(2**31)))
            return None
        columns = [targets] if self.multiclass == "shared" else np.hsplit(targets, targets.shape[1])
        paths = [self._select(X, column, sample_weight, rng) for column in columns]
        self._keep(X, paths, self._rows)
        if self.calibration == "loo":
            return within_reach(self.loo_decision_, targets)
        return np.concatenate([path.fitted for path in paths], axis=1)

    def _fit_pairs(self, X: NDArray[Any], codes: Longs, sample_weight: Floats | None, seed: int) -> None:
        """Learn a machine for each pair of classes; ``centers_`` are then the distinct ones of all pairs."""
        machines, curves = fit_pairs(
            X,
            codes,
            len(self.classes_),
            self._config(),
            calibration=Rule(self.calibration, self.coupling),
            sample_weight=sample_weight,
            seed=seed,
        )
        rows = self._rows[machines.center_rows].astype(np.int32)
        self._store_pairs(replace(machines, center_rows=rows), curves)

    def _store_pairs(self, machines: SparseMachines, curves: Floats) -> None:
        """Keep the machines and their curves, and what scikit-learn users look for."""
        self.pairwise_, self.curves_ = machines, curves
        self.center_indices_ = [row[row >= 0] for row in machines.center_indices]
        self.centers_ = machines.centers
        self.dual_coef_, self.intercept_ = machines.weights, machines.biases
        self.n_distinct_centers_ = len(np.unique(machines.center_rows))

    def _outputs(self, X: NDArray[Any]) -> Floats:
        """Return the outputs (M, R); of pairs the coupled log posteriors (M, n_classes)."""
        if not self._is_pairwise():
            return np.asarray(self._machine_outputs(X)[0])
        found = np.empty((len(X), len(self.classes_)))
        for start in range(0, len(X), PREDICT_BLOCK):
            rows = slice(start, start + PREDICT_BLOCK)
            odds = quadratics(self.pairwise_.outputs(X[rows]), self.curves_)
            found[rows] = coupled_log_posteriors(odds, len(self.classes_))
        return found

    def _save(self, header: dict[str, Any], state: State) -> None:
        header["classes"] = packed_labels(self.classes_)
        if self._is_pairwise():
            state |= {
                f"pairs.{field.name}": getattr(self.pairwise_, field.name)
                for field in fields(SparseMachines)
                if field.name != "kernel"
            }
            state["curves"] = self.curves_
            return
        super()._save(header, state)
        for name in _MOMENTS:
            state[f"projections.{name}"] = np.array([getattr(p, name) for p in self.projections_])

    def _restore(self, header: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> None:
        self.classes_ = unpacked_labels(header["classes"])
        if self._is_pairwise():
            machines = SparseMachines(kernel=self._config().kernel, **part_of(state, "pairs"))
            self._store_pairs(machines, np.asarray(state["curves"]))
            return
        super()._restore(header, state)
        moments = part_of(state, "projections")
        self.projections_ = [
            _projection(*row) for row in zip(*(moments[name] for name in _MOMENTS), strict=True)
        ]


def _projection(means: Floats, variances: Floats, log_priors: Floats) -> MonotoneProjection:
    """Return a projection with these values."""
    projection = MonotoneProjection()
    projection.means_, projection.variances_, projection.log_priors_ = means, variances, log_priors
    return projection


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
        patience: int = 20,
        kernel: KernelName = "gaussian",
        theta: float = 1.0,
        degree: int = 3,
        radius: float = 3.0,
        block_size: int = 1,
        n_candidates: int = 60,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.epsilon = epsilon
        self.selection = selection
        self.stopping = stopping
        self.tol = tol
        self.patience = patience
        self.kernel = kernel
        self.theta = theta
        self.degree = degree
        self.radius = radius
        self.block_size = block_size
        self.n_candidates = n_candidates
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
        path = self._select(x[rows], targets[rows], used, generator(self.random_state))
        self._keep(x[rows], [path], rows)
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

    def _save(self, header: dict[str, Any], state: State) -> None:
        super()._save(header, state)
        header["is_flat"] = self._is_flat

    def _restore(self, header: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(header, state)
        self._is_flat = header["is_flat"]


class NPDClassifier(_ForwardClassifier):
    """Nonlinear pseudodiscriminant: sparse least squares in feature space on ±1 targets, thesis Algorithm 1.

    Parameters
    ----------
    sigma : width of the kernel, or several, of which each centre takes the one that reduces the error most
    max_centers : number of centres at most (of each machine)
    epsilon : added to the diagonal of the Gram matrix
    selection : ``residual`` takes the training point with the largest |residual| (thesis);
        ``error_reduction`` the one of ``n_candidates`` random ones that reduces the squared error most;
        ``random`` any
    stopping : ``size`` at max_centers; ``tol`` when no |residual| exceeds tol; ``gcv`` and ``loo`` when the
        generalised cross-validation score or the leave-one-out squared error has not fallen for ``patience``
        centres, and the best size is taken; ``lambda`` (OROLS) when λ changed by less than a share of tol for
        ``patience`` centres
    tol, patience : see stopping
    kernel : ``gaussian``, ``polynomial``, ``sigmoid`` or ``compact``, see `Kernel`
    theta, degree, radius : of the kernel
    block_size : centres added at once; 1 is the thesis's algorithm, 32 some five times faster on large sets
        at the same error. A block is what the algorithm would take from points drawn with probability ∝
        residual²
    n_candidates : of ``error_reduction``
    multiclass : ``shared`` is one set of centres for all classes; ``ovr``: one a class against the rest;
        ``ovo``: one for each pair of classes. Two classes need one machine anyway
    calibration : ``predict_proba`` (and ``predict`` of ``ovo``) rests on the ``loo`` outputs of the training
        points, or the ``fitted`` ones
    coupling : of ``ovo``, what gives the log odds of a pair that are coupled: ``gaussian``, Bayes' rule on
        Gaussians of its outputs (thesis), or ``logistic``, Platt's function of them. On the four sets of
        ``benchmarks/discriminants_tables.py`` the second errs less in most settings
    random_state : of what is drawn

    Attributes
    ----------
    classes_ : (n_classes,)
    center_indices_ : (C,) rows of X, in the order of their selection; a list of such of several machines
    centers_ : (C, D)
    dual_coef_ : (R, C) weights
    intercept_ : (R,)
    loo_decision_ : (M, R) outputs at each training point of the model without it; the centres, their basis
        and λ are kept. R is 1 for two classes; M counts the points with a weight above 0
    n_distinct_centers_ : kernel evaluations a prediction costs
    pairwise_, curves_ : of ``ovo`` the machines, and (P, 3) quadratics from their outputs to log odds

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
