"""Kernel recursive least squares as scikit-learn estimators; thesis 3.4.3, Engel, Mannor, Meir 2004.

A dictionary of approximately independent points is grown without looking at the targets (Algorithm 3,
`Dictionary`); then the weights over it are found by least squares, point after point (Algorithm 4, `Filter`).
The kernel is k + 1, so that the bias is Σ α̃_n. Memory is O(C²), never O(M C).

The kernel matrix K̃ of the dictionary is kept as its Cholesky factor L, since its inverse (3.108) loses half
the digits. With z = L⁻¹k̃ we have δ = k_nn − zᵀz and r̃ = L⁻ᵀz. The recursion differs from the thesis in two
equivalent ways. Instead of α̃ it keeps β = K̃α̃, the weights of the reduced coefficients: k̃ᵀα̃ = r̃ᵀβ, so that
the recursion over rows r̃ does not need K̃. And samples are learned in blocks: (3.106) to (3.110) over b
samples are one step with a b × b matrix, whose Cholesky factor also gives the prediction of each sample just
before it was learned.

Axes: M training points, D features, R targets, C points of the dictionary, b points of a block.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import validate_data

from acoustic.discriminants.base import (
    DTYPES,
    ExpansionClassifier,
    ExpansionRegressor,
    KernelExpansion,
    checked_weight,
    class_targets,
    gram_block,
    gram_diagonal,
    predicted_codes,
)
from acoustic.errors import ParameterError
from acoustic.kernels.kernel import Kernel, KernelName, check_positive
from acoustic.kernels.ridge import left_out_residuals, within_reach
from acoustic.pairs.calibration import MonotoneGaussianCurve
from foundation.arrays import Floats, Longs
from foundation.threads import single_threaded_libraries

BLOCK = 256  # samples taken at once
_ROUNDING = 64 * np.finfo(np.float64).eps  # share of k_nn below which δ is rounding


class _KRLS(KernelExpansion):
    """Learning from a whole training set or sample by sample.

    Attributes
    ----------
    gram_factor_ : (C, C) L of K̃ = LLᵀ, the kernel matrix of the dictionary
    reduced_covariance_ : (C, C) P
    reduced_coef_ : (C, R) β = K̃α̃
    n_samples_seen_ : samples learned so far
    """

    nu: float
    gram_factor_: Floats
    reduced_covariance_: Floats
    reduced_coef_: Floats
    n_samples_seen_: int
    _n_given: int
    _rows: Longs

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        x, nu, max_size = np.asarray(X, dtype=np.float64), self._threshold(), self._capacity(len(X))
        root = np.ones(len(x)) if sample_weight is None else np.sqrt(sample_weight)
        with single_threaded_libraries():
            return self._fit_whole(x, targets, root, nu, max_size)

    def _fit_whole(self, x: Floats, targets: Floats, root: Floats, nu: float, max_size: int) -> Floats:
        dictionary, indices = build_dictionary(x, self._make_kernel(), nu, max_size)
        if not dictionary.size:
            raise ParameterError(
                f"k(x, x) + 1 is nowhere above nu = {self.nu:g}, expected somewhere; lower nu"
            )
        if dictionary.n_refused:
            seen = f"the first {indices[-1] + 1} of {len(x)} points"
            self._warn_full(dictionary, seen, self._coverage(targets[indices]))
        filtered, left_out = batch_filter(dictionary, indices, x, targets, root)
        self.n_samples_seen_ = self._n_given
        self._store(dictionary, filtered, self._rows[indices])
        return left_out

    def _start(self, n_features: int, n_targets: int) -> None:
        """Start with an empty dictionary."""
        self.n_samples_seen_ = 0
        empty = Filter(np.zeros((0, 0)), np.zeros((0, n_targets)))
        self._store(Dictionary(self._make_kernel(), n_features), empty, np.zeros(0, dtype=np.int64))

    def _continue(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        """Learn samples one after the other; return the outputs (M, R) for each just before it was learned.

        Samples of weight 0 are skipped; their rows are NaN.
        """
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        used = np.flatnonzero(weight)
        before = np.full(targets.shape, np.nan)
        dictionary = Dictionary.of(self._make_kernel(), self.centers_, self.gram_factor_)
        size_before, max_size = dictionary.size, self._capacity(dictionary.size + len(X))
        stream = Stream(
            dictionary,
            Filter(self.reduced_covariance_, self.reduced_coef_),
            self._threshold(),
            max(size_before, max_size),
        )
        added = []
        with single_threaded_libraries():
            for first in range(0, len(used), BLOCK):
                rows = used[first : first + BLOCK]
                before[rows], new = stream.learn(X[rows].astype(np.float64), targets[rows], weight[rows])
                added.append(self.n_samples_seen_ + rows[new])
        if dictionary.n_refused and size_before < max_size:
            self._warn_full(dictionary, f"{self.n_samples_seen_ + 1} samples or more")
        self.n_samples_seen_ += len(X)
        self._store(dictionary, stream.filter, np.concatenate([self.center_indices_, *added]))
        return before

    def _store(self, dictionary: Dictionary, state: Filter, indices: Longs) -> None:
        self.center_indices_ = indices
        self.centers_ = dictionary.points.copy()
        self.gram_factor_ = dictionary.factor.copy()
        self.reduced_covariance_, self.reduced_coef_ = state.p, state.beta
        alpha = cho_solve((self.gram_factor_, True), state.beta) if dictionary.size else state.beta  # (3.105)
        self.dual_coef_, self.intercept_ = alpha.T.copy(), alpha.sum(axis=0)  # Σ α̃(k + 1) = Σ α̃k + Σ α̃

    def _coverage(self, targets: Floats) -> str:
        """Return the part of a warning that describes the targets (C, R) of the dictionary's points."""
        return ""

    def _warn_full(self, dictionary: Dictionary, seen: str, coverage: str = "") -> None:
        """Warn that points were left out of the dictionary for want of room."""
        warnings.warn(
            f"{type(self).__name__}: the dictionary is full (max_centers={self.max_centers}) after {seen}, "
            f"and {dictionary.n_refused} later ones it does not describe are left out{coverage}; "
            "raise max_centers or nu, or shuffle the points",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _threshold(self) -> float:
        check_positive("nu", self.nu, ", about 1e-4 to 1e-1")
        return float(self.nu)


class KRLSClassifier(_KRLS, ExpansionClassifier):
    """Kernel recursive least squares on ±1 targets, thesis Algorithms 3 and 4; one-vs-rest over one
    dictionary.

    Parameters
    ----------
    sigma : width of the kernel
    max_centers : size of the dictionary at most
    nu : ν of (3.94): a point enters the dictionary when its squared distance in feature space from the
        span of the points there exceeds it. The larger, the sparser
    kernel, kernel_params : see `make_kernel`

    Attributes
    ----------
    classes_ : labels
    center_indices_ : (C,) rows of the dictionary, counted over all samples since ``fit`` or the first
        ``partial_fit``
    centers_ : (C, D) dictionary
    dual_coef_ : (R, C) α̃; R is 1 for two classes
    intercept_ : (R,) Σ α̃, the 1 of the kernel k + 1
    loo_decision_ : (M, R) leave-one-out outputs of ``fit`` with the same dictionary, which ``predict_proba``
        uses
    n_samples_seen_ : samples learned
    output_moments_ : (3, 2, R) counts, sums and sums of squares of the outputs of each class, which
        ``predict_proba`` uses after ``partial_fit``

    Notes
    -----
    ``fit`` solves the least squares over the final dictionary, (3.105); it does not start from P_{m,0} = P_m,
    which would count the data twice (``docs/papers.md``). ``partial_fit`` describes each sample over the
    dictionary of its time, as in Engel et al. (2004), and does not change that when the dictionary grows. Its
    model therefore differs from that of ``fit`` unless all points of the dictionary come first. It does not
    depend on how the samples are divided among calls. After it, ``predict_proba`` uses the output for each
    sample just before it was learned.
    """

    def __init__(
        self,
        sigma: float = 1.0,
        max_centers: int = 1000,
        *,
        nu: float = 1e-2,
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.nu = nu
        self.kernel = kernel
        self.kernel_params = kernel_params

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn points (M, D) and labels (M,) one after the other; the first call needs all ``classes``."""
        _check_partial_fit_first_call(self, classes)
        is_first = not hasattr(self, "centers_")
        x, labels = validate_data(self, X, y, dtype=DTYPES, reset=is_first)
        weight = checked_weight(sample_weight, x)
        if len(self.classes_) < 2:
            raise ValueError(
                "KRLSClassifier: classes has 1 class, expected at least 2; give all there will be"
            )
        unknown = np.setdiff1d(labels, self.classes_).tolist()
        if unknown:
            raise ValueError(
                f"y has labels {unknown}, expected only {self.classes_.tolist()}; fit anew for others"
            )
        targets = class_targets(np.searchsorted(self.classes_, labels), len(self.classes_))
        if is_first:
            self.output_moments_ = first_moments(targets.shape[1])
            self._start(x.shape[1], targets.shape[1])
        before = self._continue(x, targets, weight)
        learned = ~np.isnan(before[:, 0])
        self._count(before[learned], targets[learned], None if weight is None else weight[learned])
        counts, first, second = self.output_moments_.transpose(0, 2, 1)
        means = first / counts
        moments = zip(means, second / counts - means**2, counts, strict=True)
        self.curves_ = [MonotoneGaussianCurve.from_moments(*column) for column in moments]
        return self

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        self.loo_decision_ = super()._fit_outputs(X, targets, sample_weight)
        self.output_moments_ = first_moments(targets.shape[1])
        calibration = within_reach(self.loo_decision_, targets)
        self._count(calibration, targets, sample_weight)
        return calibration

    def _coverage(self, targets: Floats) -> str:
        n_covered = len(np.unique(predicted_codes(targets)))
        return f"; it has points of {n_covered} of {len(self.classes_)} classes"

    def _count(self, outputs: Floats, targets: Floats, sample_weight: Floats | None) -> None:
        self.output_moments_ = add_moments(self.output_moments_, outputs, targets, sample_weight)


class KRLSRegressor(_KRLS, ExpansionRegressor):
    """Kernel recursive least squares on real targets, thesis Algorithms 3 and 4; one dictionary for all.

    Parameters and attributes are those of `KRLSClassifier`; R is the number of columns of targets.
    """

    def __init__(
        self,
        sigma: float = 1.0,
        max_centers: int = 1000,
        *,
        nu: float = 1e-2,
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.nu = nu
        self.kernel = kernel
        self.kernel_params = kernel_params

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn points (M, D) and values (M,) or (M, R) one after the other."""
        is_first = not hasattr(self, "centers_")
        x, values = validate_data(self, X, y, dtype=DTYPES, multi_output=True, y_numeric=True, reset=is_first)
        weight = checked_weight(sample_weight, x)
        targets = np.asarray(values, dtype=np.float64).reshape(len(x), -1)
        if is_first:
            self._is_flat = values.ndim == 1
            self._start(x.shape[1], targets.shape[1])
        n_before = len(self.intercept_)
        if targets.shape[1] != n_before:
            raise ValueError(
                f"y has {targets.shape[1]} columns, expected {n_before} as before; fit anew to change"
            )
        self._continue(x, targets, weight)
        return self


class Dictionary:
    """Approximately linearly independent points, and the Cholesky factor of their kernel matrix K̃ = LLᵀ.

    Parameters
    ----------
    kernel : k, to which 1 is added
    n_features : D

    Attributes
    ----------
    n_refused : number of points that are not dependent on the dictionary, but for which there was no room
    """

    def __init__(self, kernel: Kernel, n_features: int) -> None:
        self.kernel = kernel
        self.size = self.n_refused = 0
        self._points = np.empty((16, n_features))
        self._factor = np.zeros((16, 16))

    @classmethod
    def of(cls, kernel: Kernel, points: Floats, factor: Floats) -> Dictionary:
        """Return the dictionary of these points (C, D) with this L (C, C)."""
        found = cls(kernel, points.shape[1])
        found.size, found._points, found._factor = len(points), points, factor
        return found

    @property
    def points(self) -> Floats:
        """The points (C, D)."""
        return self._points[: self.size]

    @property
    def factor(self) -> Floats:
        """L (C, C), lower triangular."""
        return self._factor[: self.size, : self.size]

    def columns(self, x: Floats) -> Floats:
        """Return k̃(x_n) of (3.98) for points (b, D), as columns (C, b)."""
        return gram_block(self.kernel, self.points, x) + 1.0

    def project(self, x: Floats) -> Floats:
        """Return z = L⁻¹k̃(x_n), columns (C, b)."""
        return solved(self.factor, self.columns(x))

    def reduce(self, z: Floats) -> Floats:
        """Return the coefficients r̃_n of (3.96) of projected points (C, b), as rows (b, C)."""
        return solved(self.factor, z, transposed=True).T

    def scan(self, x: Floats, nu: float, max_size: int) -> Iterator[tuple[int, int, Floats]]:
        """Grow by the points (b, D) that are not approximately dependent on those before: Algorithm 3.

        Yields (start, stop, z): the points from ``start`` up to ``stop`` are dependent on the dictionary
        of that moment; point ``stop``, if there is one, is added next. z holds L⁻¹k̃ of all these.
        """
        n = len(x)
        diagonal = gram_diagonal(self.kernel, x) + 1.0  # (3.99)
        z = np.empty((min(max_size, self.size + n), n))
        z[: self.size] = self.project(x)
        delta = diagonal - np.einsum("ij,ij->j", z[: self.size], z[: self.size])  # (3.95)
        threshold = np.maximum(nu, _ROUNDING * diagonal)
        start = 0
        while start < n:
            is_independent = (delta[start:] > threshold[start:]) & (self.size < max_size)  # (3.94)
            stop = start + int(is_independent.argmax()) if is_independent.any() else n
            if self.size >= max_size:
                self.n_refused += int(np.sum(delta[start:] > threshold[start:]))
            yield start, stop, z[: self.size, start : stop + 1]
            if stop < n:
                self._add(x, stop, z, delta)
            start = stop + 1

    def _add(self, x: Floats, n: int, z: Floats, delta: Floats) -> None:
        """Add point ``n``; update z and δ of the points behind it with the new row of the Cholesky factor."""
        m = self.size
        self._reserve(m + 1)
        self._points[m] = x[n]
        self._factor[m, :m] = z[:m, n]
        self._factor[m, m] = pivot = np.sqrt(delta[n])
        row = gram_block(self.kernel, x[n : n + 1], x[n + 1 :])[0] + 1.0
        z[m, : n + 1] = 0.0
        z[m, n + 1 :] = (row - z[:m, n] @ z[:m, n + 1 :]) / pivot
        delta[n + 1 :] -= z[m, n + 1 :] ** 2
        self.size = m + 1

    def _reserve(self, size: int) -> None:
        if size > len(self._points):
            room = max(16, 2 * len(self._points))
            points, factor = np.empty((room, self._points.shape[1])), np.zeros((room, room))
            points[: self.size], factor[: self.size, : self.size] = self.points, self.factor
            self._points, self._factor = points, factor


def build_dictionary(x: Floats, kernel: Kernel, nu: float, max_size: int) -> tuple[Dictionary, Longs]:
    """Return the dictionary of points (M, D) by Algorithm 3, and their rows (C,)."""
    dictionary, indices = Dictionary(kernel, x.shape[1]), []
    for first in range(0, len(x), BLOCK):
        block = x[first : first + BLOCK]
        indices += [first + n for _, n, _ in dictionary.scan(block, nu, max_size) if n < len(block)]
    return dictionary, np.array(indices, dtype=np.int64)


def solved(factor: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """Return L⁻¹ or L⁻ᵀ times the right-hand sides."""
    if not len(factor):
        return right
    found: Floats = solve_triangular(
        factor, right, lower=True, trans="T" if transposed else "N", check_finite=False
    )
    return found


@dataclass
class Filter:
    """Recursive least squares on rows r̃.

    Attributes
    ----------
    p : (C, C) P = (RᵀR)⁻¹
    beta : (C, R) PRᵀY; α̃ = K̃⁻¹β, (3.105)
    """

    p: Floats
    beta: Floats

    def add(self, targets: Floats, weight: float) -> None:
        """Learn the targets (R,) of a new point of the dictionary; its row is a unit vector, (3.107)."""
        m = len(self.p)
        p = np.zeros((m + 1, m + 1))
        p[:m, :m], p[m, m] = self.p, 1.0 / weight
        self.p, self.beta = p, np.vstack([self.beta, targets])

    def absorb(self, rows: Floats, targets: Floats, weight: Floats) -> Floats:
        """Learn rows (b, C) one after the other; return the error of each before it was learned, (b, R)."""
        root = np.sqrt(weight)[:, None]
        rows, errors = rows * root, (targets - rows @ self.beta) * root
        gains = rows @ self.p
        # The pivots of the factor are the roots of the denominators of (3.106), sample by sample.
        factor = cholesky(gains @ rows.T + np.eye(len(rows)), lower=True)
        gains, errors = solved(factor, gains), solved(factor, errors)
        self.beta = self.beta + gains.T @ errors  # (3.109), (3.110)
        self.p = self.p - gains.T @ gains  # (3.106)
        return np.asarray(errors * np.diag(factor)[:, None] / root)


@dataclass
class Stream:
    """Dictionary and filter grown together, Engel et al. (2004); each r̃ uses the dictionary of its time."""

    dictionary: Dictionary
    filter: Filter
    nu: float
    max_size: int

    def learn(self, x: Floats, targets: Floats, weight: Floats) -> tuple[Floats, Longs]:
        """Learn samples (b, D); return the output for each just before (b, R), and the new centres."""
        outputs, added = np.zeros_like(targets), []
        for start, stop, z in self.dictionary.scan(x, self.nu, self.max_size):
            rows, old = self.dictionary.reduce(z), slice(start, stop)
            if stop > start and self.dictionary.size:
                errors = self.filter.absorb(rows[: stop - start], targets[old], weight[old])
                outputs[old] = targets[old] - errors
            if stop < len(x):
                outputs[stop] = rows[-1] @ self.filter.beta  # k̃ᵀα̃ = r̃ᵀβ
                self.filter.add(targets[stop], float(weight[stop]))
                added.append(stop)
        return outputs, np.array(added, dtype=np.int64)


def batch_filter(
    dictionary: Dictionary, indices: Longs, x: Floats, targets: Floats, root: Floats
) -> tuple[Filter, Floats]:
    """Return the least squares (3.105) over a whole dictionary, and its leave-one-out outputs (M, R).

    This is Algorithm 4 without its start P_{m,0}: a triangular root of P⁻¹ is updated (QR), which can start
    from P⁻¹ = 0. P⁻¹ is not singular in the end, as R contains the rows of an identity matrix.

    Parameters
    ----------
    dictionary : C points
    indices : (C,) rows of these points in x
    x, targets : (M, D) and (M, R)
    root : (M,) square roots of the samples' weights
    """
    m, size = dictionary.size, max(BLOCK, dictionary.size)
    blocks = [np.arange(first, min(first + size, len(x))) for first in range(0, len(x), size)]
    triangle = np.zeros((0, m + targets.shape[1]))
    for rows in blocks:
        reduced = _reduced_rows(dictionary, indices, x, rows)
        augmented = np.hstack([reduced, targets[rows]]) * root[rows, None]
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, augmented]), mode="r"))
    inverse = solve_triangular(triangle[:m, :m], np.eye(m))
    filtered = Filter(inverse @ inverse.T, inverse @ triangle[:m, m:])
    residual, leverages = np.empty_like(targets), np.empty(len(x))
    for rows in blocks:
        reduced = _reduced_rows(dictionary, indices, x, rows)
        residual[rows] = targets[rows] - reduced @ filtered.beta
        leverages[rows] = np.sum((reduced @ inverse) ** 2, axis=1) * root[rows] ** 2

    def limit(points: Longs) -> tuple[Floats, Floats]:
        """Return the limits for a vanishing ridge on the squared length α̃ᵀK̃α̃ in feature space."""
        rows = solved(dictionary.factor, filtered.p @ _reduced_rows(dictionary, indices, x, points).T).T
        return rows @ solved(dictionary.factor, filtered.beta), np.sum(rows**2, axis=1) * root[points] ** 2

    return filtered, targets - left_out_residuals(residual, leverages, limit)


def _reduced_rows(dictionary: Dictionary, indices: Longs, x: Floats, rows: Longs) -> Floats:
    """Return r̃ (b, C) of b points; for points of the dictionary it is exactly a unit vector."""
    reduced = dictionary.reduce(dictionary.project(x[rows]))
    place = np.minimum(np.searchsorted(indices, rows), len(indices) - 1)
    inside = np.flatnonzero(indices[place] == rows)
    reduced[inside] = np.eye(dictionary.size)[place[inside]]
    return reduced


def first_moments(n_targets: int) -> Floats:
    """Return initial counts, sums and sums of squares of outputs per class and column, (3, 2, R).

    They are those of one imagined output per class, at its target with variance 1, since the first sample of
    a class may come late.
    """
    sides = np.array([[-1.0], [1.0]])
    return np.stack([np.broadcast_to(v, (2, n_targets)) for v in (1.0, sides, 2.0)])


def add_moments(sums: Floats, outputs: Floats, targets: Floats, sample_weight: Floats | None) -> Floats:
    """Return the moments (3, 2, R) with outputs (M, R) of targets (M, R) and weights (M,) counted in."""
    weight = np.ones((len(outputs), 1)) if sample_weight is None else sample_weight[:, None]
    shares = np.stack([weight * (targets < 0), weight * (targets > 0)])
    return np.asarray(sums + np.stack([(shares * outputs**power).sum(axis=1) for power in range(3)]))
