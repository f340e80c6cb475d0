"""NPD and OROLS as scikit-learn estimators over `forward.forward_selection`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from acoustic.discriminants.base import DTYPES, DiscriminantClassifier, predicted_codes
from acoustic.discriminants.coupling import coupled_log_posteriors
from acoustic.discriminants.expansion import MonotoneProjection
from acoustic.discriminants.forward import ForwardConfig, ForwardPath, Selection, Stopping, forward_selection
from acoustic.discriminants.kernels import Kernel, KernelName, widths
from acoustic.discriminants.pairwise import FARTHEST, PairwiseMachines, fit_pairs, pair_log_odds, pair_outputs
from acoustic.discriminants.state import (
    HEADER,
    State,
    packed_header,
    packed_labels,
    unpacked_header,
    unpacked_labels,
)
from acoustic.errors import ModelError

Floats = NDArray[np.float64]
Multiclass = Literal["shared", "ovr", "ovo"]
Calibration = Literal["fitted", "loo"]

_MOMENTS = ("means_", "variances_", "log_priors_")
_PREDICT_BLOCK = 2048  # points whose kernel block is held at once


class Machine:
    """The models of one forward selection on (M, R) targets, ready to predict.

    Parameters
    ----------
    path : models of all sizes; ``indices`` are rows of the estimator's X
    centers : (C, D) selected points
    kernel : kernel function
    """

    def __init__(self, path: ForwardPath, centers: NDArray[Any], kernel: Kernel) -> None:
        self.path, self.centers, self.kernel = path, centers, kernel

    @cached_property
    def model(self) -> tuple[Floats, Floats]:
        """Weights (C, R) and biases (R,) of the chosen size."""
        return self.path.weights()

    def outputs(self, x: NDArray[Any], sizes: Sequence[int] | None = None) -> Floats:
        """Return the outputs (len(sizes), M, R) of the models with so many centres."""
        models = [self.model] if sizes is None else [self.path.weights(size) for size in sizes]
        n_centers = max((len(alpha) for alpha, _ in models), default=0)
        found = np.empty((len(models), len(x), self.path.projections.shape[1]))
        for start in range(0, len(x), _PREDICT_BLOCK):
            rows = slice(start, start + _PREDICT_BLOCK)
            block = self.kernel.block(x[rows], self.centers[:n_centers], self.path.sigmas[:n_centers])
            for model, (alpha, bias) in enumerate(models):
                found[model, rows] = block[:, : len(alpha)] @ alpha.astype(block.dtype) + bias
        return found

    def arrays(self) -> State:
        """Return all but the kernel as arrays."""
        path = {field.name: np.asarray(getattr(self.path, field.name)) for field in fields(ForwardPath)}
        return {"centers": self.centers, **path}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], kernel: Kernel) -> Self:
        """Return the machine again."""
        values: dict[str, Any] = {field.name: arrays[field.name] for field in fields(ForwardPath)}
        return cls(ForwardPath(**{**values, "size": int(values["size"])}), arrays["centers"], kernel)


class _ForwardMixin:
    """Parameters and learned values that classifiers and regressors have in common."""

    _regularize: bool
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    machines_: list[Machine]

    def _config(self) -> ForwardConfig:
        """Return how centres are selected, from the estimator's parameters."""
        parameters: dict[str, Any] = self.get_params()  # type: ignore[attr-defined]
        sigmas = widths(parameters["sigma"])
        kernel = Kernel(
            parameters["kernel"], sigmas[0], parameters["theta"], parameters["degree"], parameters["radius"]
        )
        shared = (
            "max_centers",
            "selection",
            "stopping",
            "tol",
            "patience",
            "epsilon",
            "block_size",
            "n_candidates",
        )
        return ForwardConfig(
            kernel, sigmas, regularize=self._regularize, **{name: parameters[name] for name in shared}
        )

    def _select(
        self, x: NDArray[Any], targets: Floats, sample_weight: Floats | None, seed: Any
    ) -> ForwardPath:
        """Return one forward selection with the estimator's parameters."""
        return forward_selection(x, targets, self._config(), sample_weight=sample_weight, rng=seed)

    def _keep(self, x: NDArray[Any], paths: list[ForwardPath], used: NDArray[np.int64]) -> None:
        """Keep machines, without what is as large as the training set; ``used`` rows of X took part."""
        kernel = self._config().kernel
        self._store([Machine(path.without_points(used), x[path.indices], kernel) for path in paths])
        self.loo_decision_ = np.concatenate([path.leave_one_out for path in paths], axis=1)

    def _store(self, machines: list[Machine]) -> None:
        """Keep the machines, and what scikit-learn users look for."""
        self.machines_ = machines
        chosen = [m.path.indices[: m.path.size] for m in machines]
        self.center_indices_ = chosen[0] if len(machines) == 1 else chosen
        centers = [m.centers[: m.path.size] for m in machines]
        self.centers_ = centers[0] if len(machines) == 1 else centers
        weights = [m.model for m in machines]
        self.dual_coef_ = weights[0][0].T if len(machines) == 1 else [alpha.T for alpha, _ in weights]
        self.intercept_ = np.concatenate([bias for _, bias in weights])
        self.n_distinct_centers_ = len(np.unique(np.concatenate(chosen)))

    def _machine_outputs(self, x: NDArray[Any], sizes: Sequence[int] | None = None) -> Floats:
        """Return outputs (len(sizes), M, R) of all machines side by side; their chosen sizes by default."""
        if sizes is None:
            return np.concatenate([m.outputs(x) for m in self.machines_], axis=2)
        if not all(size >= 0 and size == int(size) for size in sizes):
            raise ValueError(f"sizes are {list(sizes)}, expected whole numbers of at least 0")
        asked = [[min(int(size), len(m.centers)) for size in sizes] for m in self.machines_]
        return np.concatenate([m.outputs(x, a) for m, a in zip(self.machines_, asked, strict=True)], axis=2)

    def state_dict(self) -> State:
        """Return the fitted estimator as arrays, for example for safetensors; ``from_state`` makes it again.

        All that predicts is there, for every size; ``loo_decision_``, as large as the training set, is not.
        """
        check_is_fitted(self)
        header: dict[str, Any] = {"parameters": self.get_params()}  # type: ignore[attr-defined]
        header["n_features"] = self.n_features_in_
        header["feature_names"] = getattr(self, "feature_names_in_", None)
        state: State = {}
        self._save(header, state)
        state[HEADER] = packed_header(type(self).__name__, header)
        return {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in state.items()}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """Return the estimator that gave this ``state_dict``; it predicts the same bits."""
        header = unpacked_header(state, cls.__name__)
        estimator = cls(**header["parameters"])
        estimator.n_features_in_ = header["n_features"]
        if header["feature_names"] is not None:
            estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        estimator._restore(header, state)
        return estimator

    def _save(self, header: dict[str, Any], state: State) -> None:
        """Add the machines to a state."""
        header["n_machines"] = len(self.machines_)
        for i, machine in enumerate(self.machines_):
            state |= {f"machine{i}.{name}": array for name, array in machine.arrays().items()}

    def _restore(self, header: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> None:
        """Take the machines from a state."""
        kernel = self._config().kernel
        self._store(
            [Machine.from_arrays(_part(state, f"machine{i}"), kernel) for i in range(header["n_machines"])]
        )


def _part(state: Mapping[str, NDArray[Any]], prefix: str) -> State:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {
        name.partition(".")[2]: array for name, array in state.items() if name.partition(".")[0] == prefix
    }


class _ForwardClassifier(_ForwardMixin, DiscriminantClassifier):
    projections_: list[MonotoneProjection]  # type: ignore[assignment]

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
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from points (M, D) and labels (M,)."""
        super().fit(X, y, sample_weight)
        if not self._is_pairwise():
            self.projections_ = [
                _projection(p.means_, p.variances_, p.log_priors_) for p in self.projections_
            ]
            self._see_to_sign()
        return self

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
        for name, allowed in (("multiclass", get_args(Multiclass)), ("calibration", get_args(Calibration))):
            if (value := getattr(self, name)) not in allowed:
                raise ModelError(f'{name} is "{value}", expected one of: {", ".join(allowed)}')
        rng = generator(self.random_state)
        if self._is_pairwise():
            self._fit_pairs(X, targets.argmax(axis=1), sample_weight, int(rng.integers(2**31)))
            return None
        columns = [targets] if self.multiclass == "shared" else np.hsplit(targets, targets.shape[1])
        paths = [self._select(X, column, sample_weight, rng) for column in columns]
        self._keep(X, paths, self._rows)
        if self.calibration == "loo":
            # A centre almost all of whose column is its own may be missed by thousands once it is left out.
            return np.asarray(np.clip(self.loo_decision_, -FARTHEST, FARTHEST))
        return np.concatenate([path.fitted for path in paths], axis=1)

    def _fit_pairs(
        self, X: NDArray[Any], codes: NDArray[np.int64], sample_weight: Floats | None, seed: int
    ) -> None:
        """Learn a machine for each pair of classes; ``centers_`` are then the distinct ones of all pairs."""
        machines = fit_pairs(
            X,
            codes,
            len(self.classes_),
            self._config(),
            calibration=self.calibration,
            sample_weight=sample_weight,
            seed=seed,
        )
        self._store_pairs(replace(machines, center_rows=self._rows[machines.center_rows].astype(np.int32)))

    def _store_pairs(self, machines: PairwiseMachines) -> None:
        """Keep the machines, and what scikit-learn users look for."""
        self.pairwise_ = machines
        self.center_indices_ = [row[row >= 0] for row in machines.center_indices]
        self.centers_ = machines.centers
        self.dual_coef_, self.intercept_ = machines.weights, machines.biases
        self.n_distinct_centers_ = len(np.unique(machines.center_rows))

    def _outputs(self, X: NDArray[Any]) -> Floats:
        """Return the outputs (M, R); of pairs the coupled log posteriors (M, n_classes)."""
        if not self._is_pairwise():
            return np.asarray(self._machine_outputs(X)[0])
        found = np.empty((len(X), len(self.classes_)))
        for start in range(0, len(X), _PREDICT_BLOCK):
            rows = slice(start, start + _PREDICT_BLOCK)
            odds = pair_log_odds(self.pairwise_, pair_outputs(self.pairwise_, X[rows]))
            found[rows] = coupled_log_posteriors(odds, len(self.classes_))
        return found

    def _save(self, header: dict[str, Any], state: State) -> None:
        header["classes"] = packed_labels(self.classes_)
        if self._is_pairwise():
            state |= {
                f"pairs.{field.name}": getattr(self.pairwise_, field.name)
                for field in fields(PairwiseMachines)
                if field.name != "kernel"
            }
            return
        super()._save(header, state)
        for name in _MOMENTS:
            state[f"projections.{name}"] = np.array([getattr(p, name) for p in self.projections_])

    def _restore(self, header: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> None:
        self.classes_ = unpacked_labels(header["classes"])
        if self._is_pairwise():
            self._store_pairs(PairwiseMachines(kernel=self._config().kernel, **_part(state, "pairs")))
            return
        super()._restore(header, state)
        moments = _part(state, "projections")
        self.projections_ = [
            _projection(*row) for row in zip(*(moments[name] for name in _MOMENTS), strict=True)
        ]
        self._see_to_sign()

    def _see_to_sign(self) -> None:
        """With two classes the sign of the output is the class: the probabilities shall say the same."""
        for projection in self.projections_:
            projection.cuts_at_zero = len(self.projections_) == 1


def _projection(means: Floats, variances: Floats, log_priors: Floats) -> MonotoneProjection:
    """Return a projection with these values."""
    projection = MonotoneProjection()
    projection.means_, projection.variances_, projection.log_priors_ = means, variances, log_priors
    return projection


class _ForwardRegressor(_ForwardMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
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
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
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


def generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """Return a generator seeded as scikit-learn's ``random_state`` says."""
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))


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
    calibration : ``predict_proba`` rests on the ``loo`` outputs of the training points, or the ``fitted``
        ones
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

    Notes
    -----
    Data in float32 are computed in float32: twice as fast, with centres accepted up to a condition number of
    about 1e5.
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
    """

    _regularize = True


class OROLSRegressor(_ForwardRegressor):
    """OROLS on real targets; several share their centres and λ.

    Parameters and attributes are those of `NPDClassifier` but for classes.
    """

    _regularize = True
