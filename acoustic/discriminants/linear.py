"""Linear classifiers: Fisher's discriminant (thesis 3.1), and the minimum-squared-error family.

Fisher's discriminant follows from the moments of the classes, which may be summed over batches. The
minimum-squared-error family (MSE lecture, 5.8–5.12) are pseudoinverse, LMS and Ho-Kashyap. They solve
Ya = b, where the rows of Y are [1 x]. With two classes the rows of the negative class are negated, so that
b > 0 means that a point is on the right side. With more classes a becomes a matrix A, each column of which
has the targets 1 for its class and 0 for the rest.

Axes: M training points, D features, R columns of outputs (1 for two classes), K classes.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import pinv
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import validate_data

from acoustic.discriminants.base import DTYPES, DiscriminantClassifier, class_targets, predicted_codes
from acoustic.errors import ParameterError
from acoustic.kernels.kernel import check_not_negative, check_whole
from acoustic.pairs.calibration import MonotoneGaussianCurve
from foundation.arrays import Floats, Longs, check_memory
from foundation.compiled import njit

Schedule = Literal["inverse", "constant"]

_EPS = float(np.finfo(np.float64).eps)
_MANY_FEATURES = 4096  # from here on fewer points are worked with in the span of themselves


class LinearClassifier(DiscriminantClassifier):
    """Base of the linear classifiers: outputs wᵀx + b, computed in float64.

    Attributes
    ----------
    coef_ : (R, D) w
    intercept_ : (R,) b
    """

    coef_: Floats
    intercept_: Floats

    def _store(self, weights: Floats) -> None:
        """Keep the weights a = (b, w) of all columns, (D + 1, R)."""
        if not np.isfinite(weights).all():
            raise ParameterError(
                f"{type(self).__name__}: the weights overflow, expected finite ones; standardise the features"
            )
        self.intercept_, self.coef_ = weights[0].copy(), weights[1:].T.copy()

    def _outputs(self, X: NDArray[Any]) -> Floats:
        return np.asarray(np.asarray(X, dtype=np.float64) @ self.coef_.T + self.intercept_)


class _Normals(NamedTuple):
    """Classes of one covariance: means (K, D), normals w (K, D) and biases b (K,)."""

    means: Floats
    w: Floats
    b: Floats


class LinearDiscriminant(LinearClassifier):
    """Fisher's linear discriminant with the Bayes threshold for normal classes of one covariance; thesis 3.1.

    For two classes the output is the log odds (3.17). For more classes there is one output for each class,
    and the differences of two outputs are these log odds. Σ is S_W/M, as in scikit-learn's
    ``LinearDiscriminantAnalysis`` ("lsqr").

    Parameters
    ----------
    shrinkage : share, 0 to 1, by which Σ is drawn towards (tr Σ/D)·I
    tol : least eigenvalue of Σ in units of the features' total variances; smaller ones are raised to it. This
        makes a Σ without full rank (M < D, collinear features) invertible: the discriminant then weighs most
        the directions in which the classes do not vary at all, as in the limit of vanishing shrinkage. A
        constant feature gets the weight 0

    Attributes
    ----------
    coef_, intercept_ : (R, D) and (R,)
    means_ : (K, D)
    covariance_ : (D, D) Σ after shrinkage; not there for more than 4,096 features of fewer points, for which
        no matrix of all pairs of features is made
    """

    means_: Floats
    covariance_: Floats

    def __init__(self, shrinkage: float = 0.0, tol: float = 1e-8) -> None:
        self.shrinkage = shrinkage
        self.tol = tol

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return P(class | x), (M, K): the logistic function of the log odds."""
        outputs = self._checked_outputs(X)
        if outputs.shape[1] > 1:
            return np.asarray(softmax(outputs, axis=1))
        positive = expit(outputs[:, 0])  # thesis (3.15)
        return np.column_stack([expit(-outputs[:, 0]), positive])

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        if not 0.0 <= self.shrinkage <= 1.0:
            raise ParameterError(f"shrinkage is {self.shrinkage}, expected a share from 0 to 1")
        if not self.tol > 0:
            raise ParameterError(f"tol is {self.tol}, expected a number above 0")
        x = np.asarray(X, dtype=np.float64)
        n_classes = max(targets.shape[1], 2)
        codes = predicted_codes(targets)
        if x.shape[1] > max(len(x), _MANY_FEATURES):
            self.means_, w, b = self._in_span(x, codes, n_classes, sample_weight)
            self.__dict__.pop("covariance_", None)
        else:
            self.means_, w, b = self._in_full(x, codes, n_classes, sample_weight)
        if n_classes == 2:
            w, b = w[1:] - w[:1], b[1:] - b[:1]
        self._store(np.vstack([b, w.T]))
        return self._outputs(x)

    def _in_full(self, x: Floats, codes: Longs, n_classes: int, weight: Floats | None) -> _Normals:
        """Return the discriminants by the matrix Σ of all features, which is kept."""
        with np.errstate(over="ignore", invalid="ignore"):
            counts, means, scatters = class_moments(x, codes, n_classes, weight)
        if not np.isfinite(scatters).all():
            raise ParameterError("the scatter overflows, expected finite features; standardise the features")
        n, n_features = counts.sum(), x.shape[1]
        covariance = scatters.sum(axis=0) / n  # S_W/M, thesis (3.7)
        target = np.trace(covariance) / n_features * np.eye(n_features)
        self.covariance_ = (1.0 - self.shrinkage) * covariance + self.shrinkage * target
        center = counts @ means / n
        between = (counts / n) @ (means - center) ** 2
        whitening = _whitening(
            self.covariance_, np.diag(covariance) + between, np.abs(x).max(axis=0), self.tol
        )
        white = (means - center) @ whitening  # so that Σ⁻¹ is the scalar product
        w = white @ whitening.T  # Σ⁻¹m, thesis (3.18)
        b = np.log(counts / n) - 0.5 * np.sum(white**2, axis=1) - w @ center  # thesis (3.19)
        return _Normals(means, w, b)

    def _in_span(self, x: Floats, codes: Longs, n_classes: int, weight: Floats | None) -> _Normals:
        """Return the same for fewer points than features, by the singular values of their deviations.

        Σ has one eigenvalue in all directions in which no point deviates: ``tol`` in units of the features'
        variances, or what shrinkage makes of it.
        """
        w_points = np.ones(len(x)) if weight is None else weight
        counts = np.bincount(codes, w_points, n_classes)
        means = np.array(
            [np.average(x[codes == c], axis=0, weights=w_points[codes == c]) for c in range(n_classes)]
        )
        n, center = counts.sum(), counts @ means / counts.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = (x - means[codes]) * np.sqrt(w_points / n)[:, None]
            variances = np.einsum("md,md->d", deviations, deviations)
        if not np.isfinite(variances.sum()):
            raise ParameterError("the scatter overflows, expected finite features; standardise the features")
        total = variances + (counts / n) @ (means - center) ** 2
        unit = _units(total, np.abs(x).max(axis=0))
        rest = self.shrinkage * float(variances.mean())  # (tr Σ/D), in the features' own units
        scale = np.where(np.isfinite(unit), 1.0, 0.0) if rest > 0 else 1.0 / unit
        _, lengths, directions = np.linalg.svd(deviations * scale, full_matrices=False)
        values, least = (1.0 - self.shrinkage) * lengths**2 + rest, rest if rest > 0 else self.tol
        kept = values > least
        moved = (means - center) * scale
        inside = moved @ directions[kept].T
        inverse = moved / least + inside * (1.0 / values[kept] - 1.0 / least) @ directions[kept]
        w = inverse * scale  # Σ⁻¹m, thesis (3.18)
        b = np.log(counts / n) - 0.5 * np.sum(moved * inverse, axis=1) - w @ center  # thesis (3.19)
        return _Normals(means, w, b)


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


class ClassMoments(NamedTuple):
    """Sum of weights (K,), mean (K, D) and scatter (K, D, D) of the points of each class."""

    counts: Floats
    means: Floats
    scatters: Floats


def class_moments(x: Floats, codes: Longs, n_classes: int, weight: Floats | None = None) -> ClassMoments:
    """Return the moments of points (M, D) of the classes ``codes`` (M,); thesis (3.1), (3.7)."""
    w, n_features = np.ones(len(x)) if weight is None else weight, x.shape[1]
    cure = "take fewer features, their principal components for example"
    check_memory("the scatters of the classes", (n_classes, n_features, n_features), ParameterError, cure)
    moments = ClassMoments(
        np.zeros(n_classes), np.zeros((n_classes, n_features)), np.zeros((n_classes, n_features, n_features))
    )
    for c in np.unique(codes):
        points, weights = x[codes == c], w[codes == c]
        moments.counts[c] = weights.sum()
        moments.means[c] = np.average(points, axis=0, weights=weights)
        deviations = points - moments.means[c]
        moments.scatters[c] = deviations.T @ (deviations * weights[:, None])
    return moments


def merged_moments(one: ClassMoments, other: ClassMoments) -> ClassMoments:
    """Return the moments of the points of both together."""
    counts = one.counts + other.counts
    share = np.divide(other.counts, counts, out=np.zeros_like(counts), where=counts > 0)[:, None]
    shift = other.means - one.means
    between = (one.counts[:, None] * share * shift)[:, :, None] * shift[:, None, :]
    return ClassMoments(counts, one.means + share * shift, one.scatters + other.scatters + between)


def linear_curves(moments: ClassMoments, coef: Floats, intercept: Floats) -> list[MonotoneGaussianCurve]:
    """Return the Gaussian curve of each output wᵀx + b, one class versus the rest, from moments."""
    counts, (n_columns, _) = moments.counts, coef.shape
    outputs = moments.means @ coef.T + intercept
    scatters = np.einsum("rd,cde,re->cr", coef, moments.scatters, coef, optimize=True)
    found = []
    for r in range(n_columns):
        is_positive = np.arange(len(counts)) == (1 if n_columns == 1 else r)
        shares = np.array([~is_positive, is_positive]) * counts
        totals = shares.sum(axis=1)
        divisor = np.maximum(totals, np.finfo(float).tiny)
        means = shares @ outputs[:, r] / divisor
        deviations = (outputs[:, r] - means[:, None]) ** 2
        inside = np.array([~is_positive, is_positive]) @ scatters[:, r]
        variances = (inside + np.sum(shares * deviations, axis=1)) / divisor
        found.append(MonotoneGaussianCurve.from_moments(means, variances, totals))
    return found


def _whitening(covariance: Floats, total: Floats, size: Floats, tol: float) -> Floats:
    """Return W (D, D) with Σ⁻¹ = WWᵀ, after raising eigenvalues of Σ below ``tol`` to ``tol``.

    Parameters
    ----------
    covariance : (D, D) Σ
    total : (D,) variances of the features over all classes, the units of the eigenvalues
    size : (D,) largest magnitudes of the features; a feature that varies by less than their rounding is
        constant
    tol : least eigenvalue
    """
    unit = _units(total, size)
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    return np.asarray(vectors / np.sqrt(np.maximum(values, tol)) / unit[:, None])


def _units(total: Floats, size: Floats) -> Floats:
    """Return the deviations (D,) of features, infinite for a constant one; arguments as of `_whitening`."""
    deviation = np.sqrt(total)
    return np.where(deviation > 8 * _EPS * size, deviation, np.inf)


class Separation(NamedTuple):
    """Result of the Ho-Kashyap procedure: a (D + 1,), number of steps, and separability, None if unknown."""

    weights: Floats
    n_iter: int
    is_separable: bool | None


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
