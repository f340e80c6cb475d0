"""Kernel functions k(x, x') and blocks of their Gram matrix.

A kernel is a small frozen record; ``block(x, centers)`` computes only those columns of the Gram matrix that
belong to the centres. Widths may differ from centre to centre. For emission scores the Gaussian kernel of one
width has a form of its own in single precision, `CenteredGaussian`: one matrix product and one exponential a
block. The compact kernel of the thesis's outlook (chapter 6) is 0 where points are farther apart than
``radius``·σ; where few pairs are nearer and there are few features, a k-d tree finds them.

Parameters of estimators are checked here, too: constructors store them unchecked, as scikit-learn demands.

Axes: M points, D features, C centres.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from acoustic.errors import ParameterError
from foundation.arrays import Reals, Singles

if TYPE_CHECKING:
    from scipy.sparse import csr_array

KernelName = Literal["gaussian", "polynomial", "sigmoid", "compact"]

_SAMPLE = 256  # points and centres from which the share of pairs within reach is estimated; by feel
_SPARSE = 0.05  # with a larger share of pairs within reach, dense blocks are as fast
_FEW_FEATURES = 8  # with more, a k-d tree finds neighbours no faster than all distances are computed
_MANY_POINTS, _POINTS_PER_CENTER = 8000, 16  # with fewer, a dense basis is as fast
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "gaussian": (),
    "polynomial": ("theta", "degree"),
    "sigmoid": ("theta",),
    "compact": ("radius",),
}
_ROUNDING = 8.0  # units in the last place of a squared distance
_PAIRS_AT_ONCE = 4096


@dataclass(frozen=True)
class Kernel:
    """A kernel function.

    Attributes
    ----------
    name : ``gaussian`` exp(−‖x−x'‖²/2σ²), thesis (5.1); ``polynomial`` (xᵀx'/σ² + θ)^d, (2.60); ``sigmoid``
        tanh(xᵀx'/σ² + θ), (2.61); ``compact`` the Gaussian times a polynomial that is 0 from the distance
        ``radius``·σ on, so that the kernel of distant points is exactly 0 (the thesis's outlook, chapter 6)
    sigma : width σ
    theta : constant θ of ``polynomial`` and ``sigmoid``
    degree : exponent d of ``polynomial``
    radius : distance, in units of σ, from which on ``compact`` is 0
    """

    name: KernelName = "gaussian"
    sigma: float = 1.0
    theta: float = 1.0
    degree: int = 3
    radius: float = 3.0

    def __post_init__(self) -> None:
        if self.name not in get_args(KernelName):
            raise ParameterError(
                f'kernel is "{self.name}", expected one of: {", ".join(get_args(KernelName))}'
            )
        check_positive("sigma", self.sigma)
        check_positive("radius", self.radius)
        check_whole("degree", self.degree)
        check_finite("theta", self.theta)

    def block(self, x: Reals, centers: Reals, sigma: Reals | None = None) -> Reals:
        """Return k(x_i, c_j), (M, D) and (C, D) -> (M, C), in the precision of ``x``.

        However small σ is, the Gaussian of a point with itself is 1 to at least half the digits.

        Parameters
        ----------
        x : (M, D) points
        centers : (C, D)
        sigma : (C,) width of each centre; the kernel's own by default
        """
        scale = inverse_square(np.full(len(centers), self.sigma) if sigma is None else sigma, x.dtype)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # points too far away have k = 0; callers check for infinities
            if self.name == "polynomial":
                return np.asarray(((x @ centers.T) * scale + self.theta) ** self.degree)
            if self.name == "sigmoid":
                return np.asarray(np.tanh((x @ centers.T) * scale + self.theta))
            scaled = _squared_distances(x, centers, scale)
            scaled *= scale
            if self.name == "gaussian":
                scaled *= -0.5
                return np.exp(scaled, out=scaled)
            return compact_values(scaled, self.radius, x.shape[1])

    def rows(self, x: Reals, centers: Reals, sigma: Reals | None = None) -> Reals | csr_array:
        """Return what `block` returns, as a sparse matrix where the compact kernel makes this faster."""
        if self.name == "compact" and len(centers):
            sigmas = np.full(len(centers), self.sigma) if sigma is None else np.asarray(sigma)
            if is_tree_faster(x, centers, self.radius * float(sigmas.max())):
                return sparse_compact_block(x, centers, self.radius, sigmas)
        return self.block(x, centers, sigma)

    def diagonal(self, x: Reals, sigma: Reals | None = None) -> Reals:
        """Return k(x_i, x_i), (M,)."""
        if self.name in ("gaussian", "compact"):
            return np.ones(len(x), dtype=x.dtype)
        width = np.full(len(x), self.sigma) if sigma is None else sigma
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.einsum("ij,ij->i", x, x) * inverse_square(width, x.dtype) + self.theta
            return np.asarray(norms**self.degree if self.name == "polynomial" else np.tanh(norms))


def make_kernel(name: KernelName, sigma: float, params: Mapping[str, Any] | None = None) -> Kernel:
    """Return the kernel of this name and width.

    Parameters
    ----------
    name, sigma : see `Kernel`
    params : further parameters of this kernel by name: ``theta`` and ``degree`` of
        ``polynomial``, ``theta`` of ``sigmoid``, ``radius`` of ``compact``, none of ``gaussian``
    """
    if not isinstance(params, Mapping | None):
        raise ParameterError(f"kernel_params is {params!r}, expected a dictionary or None")
    given = dict(params or {})
    known = _PARAMETERS[Kernel(name, sigma).name]
    if unknown := [key for key in given if key not in known]:
        raise ParameterError(
            f"kernel_params has {unknown[0]!r}, expected of the {name} kernel "
            f"{'only ' + ' and '.join(known) if known else 'none'}; leave it out"
        )
    return Kernel(name, sigma, **given)


def widths(sigma: float | Sequence[float], words: Sequence[str] = ()) -> tuple[float, ...]:
    """Return the widths an estimator may choose from, as floats; raise ParameterError for anything else.

    ``words`` are those that the estimator takes, too.
    """
    try:
        found = tuple(float(s) for s in np.atleast_1d(np.asarray(sigma, dtype=np.float64)))
    except (TypeError, ValueError):  # words, None, unequal lengths
        found = ()
    if not found or not all(np.isfinite(s) and s > 0 for s in found):
        or_word = f", or one of: {', '.join(words)}" if words else ""
        raise ParameterError(f"sigma is {sigma!r}, expected a finite number above 0, or several{or_word}")
    return found


@dataclass(frozen=True)
class CenteredGaussian:
    """exp(−‖x−c‖²/2σ²) of points near an origin.

    −‖x−c‖²/2 is the product of [x, −‖x‖²/2, 1] and [c, 1, −‖c‖²/2]; both are shifted by the origin and
    divided by σ first, so that distances are not lost to rounding however far from 0 the points lie.

    Axes: M points, D features, C centres.

    Attributes
    ----------
    sigma : width
    origin : (D,) float32, a point amid the data, for example the mean of the centres
    """

    sigma: float
    origin: Singles

    def left(self, x: Reals) -> Singles:
        """Return points (M, D) in the form that `values` multiplies, (M, D + 2)."""
        scaled, half = self._scaled(x)
        return np.column_stack([scaled, -half, np.ones_like(half)])

    def right(self, centers: Reals) -> Singles:
        """Return centres (C, D) in the form that `values` multiplies, (C, D + 2)."""
        scaled, half = self._scaled(centers)
        return np.column_stack([scaled, np.ones_like(half), -half])

    def values(self, left: Singles, right: Singles) -> Singles:
        """Return k(x, c), (M, C)."""
        return of_exponents(left @ right.T)

    def _scaled(self, x: Reals) -> tuple[Singles, Singles]:
        """Return the points, shifted and scaled, and half their squared lengths (M,)."""
        scaled = (np.asarray(x, dtype=np.float32) - self.origin) / np.float32(self.sigma)
        return scaled, np.float32(0.5) * np.einsum("ij,ij->i", scaled, scaled)


def of_exponents(exponents: Singles) -> Singles:
    """Return the kernel values of −‖x−c‖²/2σ², which rounding may leave above 0, in the same array."""
    np.minimum(exponents, 0.0, out=exponents)
    return np.asarray(np.exp(exponents, out=exponents))


def mean_point(points: Reals) -> Singles:
    """Return the mean (D,) of points (M, D), to serve as their origin."""
    return np.asarray(points.mean(axis=0, dtype=np.float64), dtype=np.float32)


def inverse_square(sigma: ArrayLike, dtype: DTypeLike) -> Reals:
    """Return 1/σ², kept finite in the given precision however small σ is."""
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1.0 / np.square(sigma, dtype=np.float64)
    return np.asarray(np.minimum(inverse, np.finfo(dtype).max).astype(dtype))


def _squared_distances(x: Reals, centers: Reals, scale: Reals) -> Reals:
    """Return ‖x−c‖² (M, C), precise enough for a kernel with 1/σ² = ``scale`` (C,).

    Points and centres are first shifted by the mean of the centres, so features far from 0 do not cost
    precision. Where the rounding of scalar products could be mistaken for a distance and would change the
    kernel, the distances are computed again from differences.
    """
    if not len(centers):
        return np.asarray(x @ centers.T)
    middle = centers.mean(axis=0)
    left, right = x - middle, centers - middle
    rows, columns = np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", right, right)
    products = left @ right.T
    products *= -2.0
    products += rows[:, None]
    products += columns
    rounding = _ROUNDING * np.finfo(x.dtype).eps * (rows.max(initial=0.0) + columns.max())
    if not rounding * scale.max() <= np.sqrt(np.finfo(x.dtype).eps):
        _measure_again(products, x, centers, rounding)
    return np.asarray(np.maximum(products, 0.0, out=products))


def _measure_again(distances: Reals, x: Reals, centers: Reals, rounding: float) -> None:
    """Replace squared distances (M, C) that are not above ``rounding`` by sums of squared differences."""
    pairs = np.flatnonzero(~(distances.ravel() > rounding))
    for first in range(0, len(pairs), _PAIRS_AT_ONCE):
        i, j = np.divmod(pairs[first : first + _PAIRS_AT_ONCE], len(centers))
        differences = x[i] - centers[j]
        distances[i, j] = np.einsum("ij,ij->i", differences, differences)


def compact_values(scaled: Reals, radius: float, n_features: int) -> Reals:
    """Return the Gaussian of ‖x−x'‖²/σ² times Wendland's (1 − d/R)₊^ν, definite for ν ≥ (D + 1)/2.

    Only pairs within reach cost an exponential.

    Parameters
    ----------
    scaled : squared distances in units of σ², of any shape
    radius : R, distance in units of σ from which on the kernel is 0
    n_features : D
    """
    found = np.zeros_like(scaled)
    inside = scaled < radius**2
    near = scaled[inside]
    found[inside] = np.exp(-0.5 * near) * (1.0 - np.sqrt(near) / radius) ** (n_features // 2 + 1)
    return found


def sparse_compact_block(x: Reals, centers: Reals, radius: float, sigmas: Reals) -> csr_array:
    """Return k(x_i, c_j) (M, C) of the pairs within reach, in the precision of ``x``.

    Parameters
    ----------
    x, centers : (M, D) and (C, D)
    radius : distance, in units of σ, from which on the kernel is 0
    sigmas : (C,) width of each centre
    """
    from scipy.sparse import csr_array  # large packages, and few models have compact kernels
    from scipy.spatial import cKDTree

    farthest = radius * sigmas.max(initial=0.0)
    pairs = cKDTree(x).sparse_distance_matrix(cKDTree(centers), farthest, output_type="ndarray")
    scaled = np.square(pairs["v"] / sigmas[pairs["j"]])
    values = compact_values(scaled, radius, x.shape[1]).astype(x.dtype)
    return csr_array((values, (pairs["i"], pairs["j"])), shape=(len(x), len(centers)))


def share_within_reach(x: Reals, centers: Reals, reach: float) -> float:
    """Return which share of the pairs of a point (M, D) and a centre (C, D) is nearer than ``reach``.

    It is estimated from some hundred points and centres.
    """
    from scipy.spatial import cKDTree

    left, right = (points[:: max(len(points) // _SAMPLE, 1)][:_SAMPLE] for points in (x, centers))
    neighbours = cKDTree(left).count_neighbors(cKDTree(right), reach)
    return float(neighbours) / max(len(left) * len(right), 1)


def is_tree_faster(x: Reals, centers: Reals, reach: float) -> bool:
    """Return whether neighbours (M, D), (C, D) are better found by a tree than among all distances."""
    return x.shape[1] <= _FEW_FEATURES and share_within_reach(x, centers, reach) <= _SPARSE


def is_basis_better_sparse(x: Reals, reach: float, n_centers: int) -> bool:
    """Return whether the columns of so many centres among points (M, D) are better kept sparse."""
    is_large = len(x) >= max(_MANY_POINTS, _POINTS_PER_CENTER * n_centers)
    return is_large and share_within_reach(x, x, reach) <= _SPARSE


def check_whole(name: str, value: Any, cure: str = "") -> None:
    """Raise ParameterError if a parameter is no whole number of at least 1; ``cure`` ends the message."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{name} is {value!r}, expected a whole number of at least 1{cure}")


def check_not_negative(name: str, value: Any) -> None:
    """Raise ParameterError if a parameter is no finite number of at least 0."""
    if not (isinstance(value, Real) and 0 <= float(value) < np.inf):
        raise ParameterError(f"{name} is {value!r}, expected a finite number of at least 0")


def check_positive(name: str, value: Any, cure: str = "") -> None:
    """Raise ParameterError if a parameter is no finite number above 0; ``cure`` ends the message."""
    if not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise ParameterError(f"{name} is {value!r}, expected a finite number above 0{cure}")


def check_finite(name: str, value: Any) -> None:
    """Raise ParameterError if a parameter is no finite number."""
    if not (isinstance(value, Real) and np.isfinite(float(value))):
        raise ParameterError(f"{name} is {value!r}, expected a finite number")
