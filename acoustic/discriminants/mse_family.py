"""The minimum-squared-error family (MSE lecture, 5.8–5.12): pseudoinverse, LMS, Ho-Kashyap.

All solve Ya = b, where the rows of Y are [1 x]. With two classes the rows of the negative class are negated,
so that b > 0 means that a point is on the right side. With more classes a becomes a matrix A, each column of
which has the targets 1 for its class and 0 for the rest.

Axes: M training points, D features, R columns of outputs (1 for two classes), K classes.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import pinv
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import validate_data

from acoustic.discriminants.base import DTYPES, class_targets, predicted_codes
from acoustic.discriminants.linear import LinearClassifier
from acoustic.discriminants.moments import ClassMoments, class_moments, linear_curves, merged_moments
from acoustic.errors import ParameterError
from acoustic.kernels.parameters import check_not_negative, check_whole
from foundation.arrays import Floats, Longs
from foundation.compiled import njit

Schedule = Literal["inverse", "constant"]

_EPS = float(np.finfo(np.float64).eps)


class Separation(NamedTuple):
    """Result of the Ho-Kashyap procedure: a (D + 1,), number of steps, and separability, None if unknown."""

    weights: Floats
    n_iter: int
    is_separable: bool | None


class MSEClassifier(LinearClassifier):
    """Minimum-squared-error classifier by the pseudoinverse; MSE lecture 5.8, for more than two classes 5.12.

    The weights are a = Y⁺b with b = 1, and A = Y⁺B for more than two classes. Where Y does not have full rank
    (M ≤ D, constant or equal features) these are the least-squares weights of smallest length, where the
    length includes the bias.

    Attributes
    ----------
    coef_, intercept_ : (R, D) and (R,)
    """

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        rows, margins = normalized_rows(X, targets)
        root = np.ones(len(rows)) if sample_weight is None else np.sqrt(sample_weight)
        weights, *_ = np.linalg.lstsq(rows * root[:, None], margins * root[:, None], rcond=None)  # a = Y⁺b
        self._store(np.asarray(weights, dtype=np.float64))
        return self._outputs(X)


class LMSClassifier(LinearClassifier):
    """Widrow-Hoff, or LMS: the least squares of `MSEClassifier` by one small step a sample; MSE lecture 5.8.

    a ← a + η(k) (b_i − aᵀy_i) y_i, where k counts the passes: the epochs of ``fit``, the calls of
    ``partial_fit``. It need not find a separating vector even if there is one.

    Parameters
    ----------
    eta : size of the first step in units of 1/max‖y_i‖², above 0 and below 2 (from 2 on, single steps would
        diverge)
    schedule : ``inverse`` makes steps η/k, which converge to the least-squares solution; ``constant`` makes
        steps η, which stay in its neighbourhood and follow a drift of the data
    max_iter : epochs of ``fit``
    tol : ``fit`` stops when ‖∇J‖/2 = ‖Yᵀ(Ya − b)‖ is below this share of ‖Y‖‖b‖
    shuffle : visit the samples in another order each epoch of ``fit``
    random_state : seed of the order

    Attributes
    ----------
    coef_, intercept_ : (R, D) and (R,)
    n_iter_ : passes
    max_energy_ : largest ‖y_i‖² so far
    moments_ : `ClassMoments` of the samples so far, which ``predict_proba`` uses
    """

    n_iter_: int
    max_energy_: float
    moments_: ClassMoments

    def __init__(
        self,
        eta: float = 1.0,
        *,
        schedule: Schedule = "inverse",
        max_iter: int = 200,
        tol: float = 1e-3,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.eta = eta
        self.schedule = schedule
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Learn from points (M, D) and labels (M,).

        There are no sample weights, since a step of double length is not the same as two steps.
        """
        super().fit(X, y)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn points (M, D) and labels (M,), one after the other; the first call names all classes."""
        _check_partial_fit_first_call(self, classes)
        is_first = not hasattr(self, "moments_")  # a first call that failed does not count
        x, labels = validate_data(self, X, y, dtype=DTYPES, reset=is_first)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"{type(self).__name__}: {n_classes} class in classes, expected at least 2; name them all"
            )
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise ValueError(
                f"{type(self).__name__}: y has the class {unknown[0]!r}, expected one of classes_; "
                "name all classes in the first call"
            )
        self._check_parameters()
        codes = np.searchsorted(self.classes_, labels)
        rows, margins = normalized_rows(x, class_targets(codes, n_classes))
        if is_first:
            self._start(rows.shape[1], margins.shape[1])
        self._pass(rows, margins, np.arange(len(rows)))
        new = class_moments(np.asarray(x, dtype=np.float64), codes, n_classes)
        self.moments_ = new if is_first else merged_moments(self.moments_, new)
        self.curves_ = linear_curves(self.moments_, self.coef_, self.intercept_)
        return self

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        self._check_parameters()
        rows, margins = normalized_rows(X, targets)
        rng = check_random_state(self.random_state)
        scale = np.sqrt(_energies(rows).sum()) * np.linalg.norm(margins, axis=0)
        self._start(rows.shape[1], margins.shape[1])
        gradient = np.inf
        while gradient > self.tol and self.n_iter_ < self.max_iter:
            self._pass(rows, margins, rng.permutation(len(rows)) if self.shuffle else np.arange(len(rows)))
            error = margins - rows @ np.vstack([self.intercept_, self.coef_.T])
            gradient = float(np.max(np.linalg.norm(rows.T @ error, axis=0) / scale))
        if gradient > self.tol:
            warnings.warn(
                f"LMS did not converge in {self.max_iter} epochs: gradient {gradient:.2g}, expected below "
                f"tol = {self.tol:g}; standardise the features, or raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
        n_classes = max(targets.shape[1], 2)
        self.moments_ = class_moments(np.asarray(X, dtype=np.float64), predicted_codes(targets), n_classes)
        return self._outputs(X)

    def _check_parameters(self) -> None:
        if not 0.0 < self.eta < 2.0:
            raise ParameterError(f"eta is {self.eta}, expected a number above 0 and below 2")
        if self.schedule not in ("inverse", "constant"):
            raise ParameterError(f'schedule is "{self.schedule}", expected one of: inverse, constant')
        check_whole("max_iter", self.max_iter)
        check_not_negative("tol", self.tol)

    def _start(self, n_rows: int, n_columns: int) -> None:
        self.n_iter_, self.max_energy_ = 0, 0.0
        self._store(np.zeros((n_rows, n_columns)))

    def _pass(self, rows: Floats, margins: Floats, order: Longs) -> None:
        """Make one step for each sample."""
        self.n_iter_ += 1
        self.max_energy_ = max(self.max_energy_, float(_energies(rows).max()))
        k = self.n_iter_ if self.schedule == "inverse" else 1
        weights = np.vstack([self.intercept_, self.coef_.T])
        widrow_hoff_pass(rows, margins, order, self.eta / (k * self.max_energy_), weights)
        self._store(weights)


class HoKashyapClassifier(LinearClassifier):
    """Ho-Kashyap procedure: finds a separating vector or shows that there is none; MSE lecture 5.9.

    It minimises ‖Ya − b‖² over a and b > 0. More than two classes are told apart one-vs-rest.

    Parameters
    ----------
    eta : size of the steps of b, above 0 and below 1
    max_iter : largest number of steps
    tol : e = Ya − b counts as e ≤ 0 when Σe⁺ is below this share of Σe⁻. Since Yᵀe = 0, a separating vector
        would then have its nearest sample at less than this share of the distance of its farthest.

    Attributes
    ----------
    coef_, intercept_ : (R, D) and (R,)
    n_iter_ : number of steps taken, the largest over all columns
    is_separable_ : True if all columns separate their classes, False if one cannot, None if ``max_iter`` was
        reached before that was known
    separability_ : list of the same for each column
    """

    n_iter_: int
    is_separable_: bool | None
    separability_: list[bool | None]

    def __init__(self, eta: float = 0.5, *, max_iter: int = 10_000, tol: float = 1e-3) -> None:
        self.eta = eta
        self.max_iter = max_iter
        self.tol = tol

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        if not 0.0 < self.eta < 1.0:
            raise ParameterError(f"eta is {self.eta}, expected a number above 0 and below 1")
        check_whole("max_iter", self.max_iter)
        check_not_negative("tol", self.tol)
        root = np.ones(len(X)) if sample_weight is None else np.sqrt(sample_weight)
        found = []
        for column in np.hsplit(targets, targets.shape[1]):
            rows, _ = normalized_rows(X, column)
            found.append(ho_kashyap(rows * root[:, None], root, self.eta, self.max_iter, self.tol))
        self._store(np.column_stack([f.weights for f in found]))
        self.n_iter_ = max(f.n_iter for f in found)
        self.separability_ = [f.is_separable for f in found]
        self.is_separable_ = None
        if False in self.separability_:
            self.is_separable_ = False
        elif all(self.separability_):
            self.is_separable_ = True
        if None in self.separability_:
            warnings.warn(
                f"Ho-Kashyap did not decide in {self.max_iter} steps whether the classes are separable; "
                "standardise the features, or raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self._outputs(X)


def normalized_rows(x: NDArray[Any], targets: Floats) -> tuple[Floats, Floats]:
    """Return Y (M, D + 1) and b (M, R) from points (M, D) and ±1 targets (M, R)."""
    rows = np.hstack([np.ones((len(x), 1)), np.asarray(x, dtype=np.float64)])
    if targets.shape[1] == 1:
        return rows * targets, np.ones_like(targets)
    return rows, (targets + 1.0) / 2.0


def ho_kashyap(rows: Floats, margins: Floats, eta: float, max_iter: int, tol: float) -> Separation:
    """Return the Ho-Kashyap solution for normalised rows Y (M, D + 1) and first margins b (M,)."""
    inverse, b = pinv(rows), margins.copy()
    a = inverse @ b
    for step in range(1, max_iter + 1):
        sides = rows @ a
        if np.all(sides > 64 * _EPS * np.linalg.norm(b)):
            return Separation(a, step, True)
        e = sides - b
        positive = (e + np.abs(e)) / 2
        if positive.sum() <= tol * np.sum(positive - e):  # e ≤ 0, e ≠ 0
            return Separation(a, step, False)
        b += 2 * eta * positive  # b(k+1) = b(k) + 2η e⁺(k); the lecture's a(k) is an erratum
        a = inverse @ b
    return Separation(a, max_iter, None)


@njit(nogil=True, cache=True)
def widrow_hoff_pass(
    rows: Floats, margins: Floats, order: Longs, step: float, weights: Floats
) -> None:  # pragma: no cover
    """Make one step for each row of Y (M, D + 1) with its b (M, R), in this order, on weights (D + 1, R)."""
    for i in order:
        for r in range(margins.shape[1]):
            error = margins[i, r]
            for d in range(rows.shape[1]):
                error -= weights[d, r] * rows[i, d]
            for d in range(rows.shape[1]):
                weights[d, r] += step * error * rows[i, d]


def _energies(rows: Floats) -> Floats:
    """Return ‖y_i‖², (M,); raise an error if they overflow."""
    with np.errstate(over="ignore"):
        energies = np.einsum("ij,ij->i", rows, rows)
        if np.isfinite(energies.sum()):
            return np.asarray(energies)
    raise ParameterError("the features' squares overflow, expected finite ones; standardise the features")
