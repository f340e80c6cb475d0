"""Linear projections of a window of frames: splicing and linear discriminant analysis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from features.errors import FeatureError
from features.normalization import check_frames
from foundation.arrays import Floats, Integers, Reals, Singles, check_array, check_memory
from foundation.threads import serial_product, single_threaded_libraries

# Share of the mean variance added to every direction: it decides only where classes have no variance.
RELATIVE_RIDGE = 1e-6


def splice(frames: Reals, context: int) -> Singles:
    """Return each frame with its neighbours, the earliest first, the edges replicated.

    Parameters
    ----------
    frames : (T, D) float
    context : int
        Neighbours on each side.

    Returns
    -------
    (T, D * (2 * context + 1)) float32

    Examples
    --------
    >>> splice(np.array([[1.0], [2.0], [3.0]]), 1).tolist()
    [[1.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 3.0]]
    """
    check_frames(frames)
    if context < 0:
        raise FeatureError(f"context: expected 0 or more frames on each side, got {context}; change it")
    n, n_dims = frames.shape
    check_memory("spliced frames", (n, n_dims * (2 * context + 1)), FeatureError, "take a smaller context")
    if n == 0:
        return np.empty((0, n_dims * (2 * context + 1)), dtype=np.float32)
    neighbours = np.arange(n)[:, None] + np.arange(-context, context + 1)
    spliced: Singles = frames.astype(np.float32, copy=False)[np.clip(neighbours, 0, n - 1)].reshape(n, -1)
    return spliced


@dataclass(frozen=True, eq=False)
class LinearProjection:
    """An affine map of spliced frames: ``splice(frames, context) @ matrix + offset``.

    Attributes
    ----------
    matrix : (D * (2 * context + 1), R) float32
    offset : (K,) float32
    context : int
        Neighbouring frames on each side.
    """

    matrix: Singles
    offset: Singles
    context: int = 0

    @property
    def n_components(self) -> int:
        """Columns of the result."""
        return int(self.matrix.shape[1])

    def check(self, n_static: int) -> None:
        """Raise FeatureError unless the map takes windows of frames of so many columns."""
        n_spliced = n_static * (2 * self.context + 1)
        check_array("projection.matrix", self.matrix, np.float32, (n_spliced, None), FeatureError)
        check_array("projection.offset", self.offset, np.float32, (self.n_components,), FeatureError)
        if not self.n_components:
            raise FeatureError("projection.matrix: expected columns, got none; train again")

    def then(self, other: LinearProjection) -> LinearProjection:
        """Return the projection that does this one and then another, which sees no neighbours."""
        return LinearProjection(
            self.matrix @ other.matrix, self.offset @ other.matrix + other.offset, self.context
        )

    def transform(self, frames: Reals) -> Singles:
        """Return projected frames, ``(T, R)`` float32, of ``(T, D)`` ones."""
        check_frames(frames, n_columns=self.matrix.shape[0] // (2 * self.context + 1))
        projected = serial_product(splice(frames, self.context), self.matrix)
        projected += self.offset
        return projected


def fit_lda(
    utterances: Iterable[Reals],
    labels: Iterable[Integers],
    *,
    context: int = 6,
    n_components: int = 60,
    n_classes: int,
    eigenvalue_exponent: float = 0.25,
) -> LinearProjection:
    """Return the directions of spliced frames that separate the classes best.

    The within-class covariance of the projected frames is the identity, but for the last factor: dimension k
    with eigenvalue e_k (between- over within-class variance) is multiplied by
    ``(e_k / (1 + e_k)) ** eigenvalue_exponent``: a distance gives less weight to dimensions which tell less.

    Parameters
    ----------
    utterances : iterable of (T, D) float
        Read once, one at a time.
    labels : iterable of (T,) int
        Class of each frame, -1 where it is to be left out.
    context : int
        Neighbouring frames on each side.
    n_components : int
        Columns of the projection, or one less than the classes with frames if that is fewer: no further
        direction separates them.
    n_classes : int
        Labels are below it. Classes without frames count for nothing.
    eigenvalue_exponent : float
        0 leaves the within-class covariance the identity.

    Returns
    -------
    LinearProjection
        Its offset takes the training mean to zero.
    """
    # One thread: an utterance's product is too small to share, and the result must not depend on the cores.
    with single_threaded_libraries():
        scatter = _accumulated(utterances, labels, context, n_classes)
        return _discriminants(scatter, context, n_components, eigenvalue_exponent)


def _discriminants(
    scatter: Scatter, context: int, n_components: int, eigenvalue_exponent: float
) -> LinearProjection:
    """Return the best directions of a scatter, scaled (see `fit_lda`)."""
    n_dims = scatter.mean.size
    if not 1 <= n_components <= n_dims:
        raise FeatureError(
            f"n_components: expected 1 to {n_dims} (the spliced columns), got {n_components}; change it"
        )
    eigenvalues, directions = eigh(scatter.between, scatter.within)
    best = np.argsort(-eigenvalues, kind="stable")[: min(n_components, scatter.n_present - 1)]
    eigenvalues, directions = np.maximum(eigenvalues[best], 0.0), _signed(directions[:, best])
    matrix = directions * (eigenvalues / (1.0 + eigenvalues)) ** eigenvalue_exponent
    return LinearProjection(matrix.astype(np.float32), (-scatter.mean @ matrix).astype(np.float32), context)


@dataclass(frozen=True, eq=False)
class Scatter:
    """The statistics of labelled frames that LDA needs.

    Attributes
    ----------
    mean : (D,) float64
    within : (D, D) float64
        Within-class covariance, the ridge included.
    between : (D, D) float64
        Covariance of the class means, weighted by their frames.
    n_present : int
        Classes with frames.
    """

    mean: Floats
    within: Floats
    between: Floats
    n_present: int


def _accumulated(
    utterances: Iterable[Reals], labels: Iterable[Integers], context: int, n_classes: int
) -> Scatter:
    """Return the scatter of the spliced frames, one utterance in memory at a time."""
    counts = np.zeros(n_classes)
    sums: Floats = np.zeros((n_classes, 0))
    second: Floats = np.zeros((0, 0))
    origin: Floats = np.zeros(0)
    for index, (frames, frame_labels) in enumerate(zip_longest(utterances, labels)):
        _check_labels(index, frames, frame_labels, n_classes)
        is_used = frame_labels >= 0
        if not is_used.any():
            continue
        spliced = splice(frames, context)[is_used].astype(np.float64)
        if origin.size == 0:
            origin = spliced.mean(axis=0)
            cure = "take a smaller context"
            check_memory("the scatter of spliced frames", (origin.size, origin.size), FeatureError, cure)
            sums, second = np.zeros((n_classes, origin.size)), np.zeros((origin.size, origin.size))
        spliced -= origin  # any point near the data: second moments about zero would cancel
        used_labels = frame_labels[is_used]
        present, order, starts = _class_runs(used_labels)
        sums[present] += np.add.reduceat(spliced[order], starts, axis=0)
        counts += np.bincount(used_labels, minlength=n_classes)
        second += spliced.T @ spliced
    return _scatter(counts, sums, second, origin)


def _class_runs(labels: Integers) -> tuple[Integers, NDArray[np.intp], NDArray[np.intp]]:
    """Return the classes present, an order that groups their frames, and each group's start in it."""
    order = np.argsort(labels, kind="stable")
    present, starts = np.unique(labels[order], return_index=True)
    return present, order, starts


def _scatter(counts: Floats, sums: Floats, second: Floats, origin: Floats) -> Scatter:
    n_frames = counts.sum()
    n_present = int(np.count_nonzero(counts))
    if n_present < 2:
        raise FeatureError(
            f"labels: expected frames of at least 2 classes, got {n_present}; check the alignment"
        )
    mean = sums.sum(axis=0) / n_frames
    class_means = sums / np.maximum(counts, 1.0)[:, None]
    within = (second - (class_means * counts[:, None]).T @ class_means) / n_frames
    deviation = (class_means - mean) * np.sqrt(counts / n_frames)[:, None]
    n_dims = mean.size
    between = deviation.T @ deviation
    mean_variance = (np.trace(within) + np.trace(between)) / n_dims
    ridge = RELATIVE_RIDGE * (mean_variance if mean_variance > 0 else 1.0)
    within = (within + within.T) / 2 + ridge * np.eye(n_dims)
    return Scatter(mean + origin, within, between, n_present)


def _signed(directions: Floats) -> Floats:
    """Return columns whose largest entry is positive: the same data give the same signs everywhere."""
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(directions.shape[1])])
    return directions * np.where(signs == 0, 1.0, signs)


def _check_labels(index: int, frames: Reals | None, labels: Integers | None, n_classes: int) -> None:
    if frames is None or labels is None:
        more = "labels" if frames is None else "utterances"
        raise FeatureError(
            f"utterances: expected as many as labels, got more {more} from {index} on; pair them"
        )
    check_frames(frames)
    if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "iu":
        got = labels.dtype if isinstance(labels, np.ndarray) else f"a {type(labels).__name__}"
        raise FeatureError(f"labels: utterance {index}: expected an array of integers, got {got}; convert it")
    if labels.shape != frames.shape[:1]:
        raise FeatureError(
            f"labels: utterance {index}: expected one for each of {frames.shape[0]} frames, got shape "
            f"{labels.shape}; align it again with these features"
        )
    if labels.size and not -1 <= labels.min() <= labels.max() < n_classes:
        raise FeatureError(
            f"labels: utterance {index}: expected -1 to {n_classes - 1}, got {labels.min()} to "
            f"{labels.max()}; check n_classes"
        )
