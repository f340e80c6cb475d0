"""A cheap stage before the machines of pairs: each class as a few points, its prototypes.

It tells which classes a frame may belong to at all, and decides between those that have no machine.

Axes: T frames, M training frames, D features, K classes, R prototypes of a class, N classes of a frame's
list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from acoustic.errors import ModelError
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.pool_centers import drawn
from foundation.arrays import Floats, Ints, Reals, Singles, check_array, half_precision
from foundation.blocks import block_map

_N_PROTOTYPES = 8  # of a class; with 4, half as many again of a frame's classes are missing from its list
_FRAMES = 1000  # of a class at most that are clustered
_BROADER = 2.0  # factor on variances: Gaussians around few points are too sure of themselves
_MEETING_FRAMES = 200  # of each class at most, whose lists tell which classes meet
_LEAST_SCALE = 1e-6  # of a model file: what is divided by its square stays finite
_N_MEETING = 10  # classes of such a list


@dataclass(frozen=True)
class Prototypes:
    """Classes as Gaussians around their prototypes, all of the same width.

    The score of class k is log P(k) + max_r −‖(x − μ_kr) / s‖²/2, up to a constant a frame.

    Attributes
    ----------
    means : (K, R, D) float32 prototypes μ; a class with fewer has some of them several times
    scale : (D,) float32 deviations s of the Gaussians
    log_priors : (K,) log P(k)
    """

    means: Singles
    scale: Singles
    log_priors: Floats

    @property
    def n_classes(self) -> int:
        """Number K of classes."""
        return len(self.means)

    def check(self, n_classes: int, n_features: int) -> None:
        """Raise ModelError unless these are prototypes of so many classes and columns."""
        shape = n_classes, None, n_features
        check_array("prototypes.means", self.means, np.float32, shape, ModelError)
        if not self.means.shape[1]:
            raise ModelError("prototypes.means: expected a prototype of each class, got none; train again")
        check_array(
            "prototypes.scale", self.scale, np.float32, (n_features,), ModelError, lowest=_LEAST_SCALE
        )
        check_array("prototypes.log_priors", self.log_priors, np.float64, (n_classes,), ModelError)

    @cached_property
    def _rows(self) -> tuple[Singles, Singles]:
        """What frames are multiplied by, (R K, D), all classes' first prototypes first, and what is added."""
        means = self.means.transpose(1, 0, 2).reshape(-1, self.means.shape[2]) / self.scale
        offsets = np.tile(self.log_priors, self.means.shape[1]) - 0.5 * np.einsum("ij,ij->i", means, means)
        return means / self.scale, offsets.astype(np.float32)

    def scores(self, frames: Reals) -> Singles:
        """Return the scores of all classes, (T, D) -> (T, K) float32."""
        means, offsets = self._rows
        products = np.asarray(frames, dtype=np.float32) @ means.T
        products += offsets
        return np.asarray(products.reshape(len(products), -1, self.n_classes).max(axis=1))


def fit_prototypes(frames: LabelledFrames, seed: int, n_workers: int | None = None) -> Prototypes:
    """Return prototypes of each class, the means of clusters of its frames.

    Parameters
    ----------
    frames : frames of known class; every class has at least one
    seed : seed of the clustering
    n_workers : threads; one a core by default. The result does not depend on it.
    """

    def one(k: int) -> Singles:
        own = frames.x[drawn(np.flatnonzero(frames.codes == k), _FRAMES, np.random.default_rng((seed, k)))]
        if len(own) <= _N_PROTOTYPES:
            return np.resize(own, (_N_PROTOTYPES, own.shape[1])).astype(np.float32)
        clusters = MiniBatchKMeans(_N_PROTOTYPES, n_init=1, random_state=seed)
        return np.asarray(clusters.fit(own).cluster_centers_, dtype=np.float32)

    means = np.stack(
        list(
            block_map(
                one, range(frames.n_classes), label="prototypes", names="class {}".format, n_workers=n_workers
            )
        )
    )
    return Prototypes(half_precision(means), _scale(frames), np.log(frames.counts / frames.counts.sum()))


def _scale(frames: LabelledFrames) -> Singles:
    """Return the deviations (D,) of the Gaussians, from those of frames from their class's mean."""
    squares = np.zeros(frames.x.shape[1])
    for k in range(frames.n_classes):
        own = frames.x[frames.codes == k]
        squares += np.square(own - own.mean(axis=0, dtype=np.float64)).sum(axis=0)
    found = np.sqrt(_BROADER * squares / len(frames.x))
    return np.where(found > 0, found, 1.0).astype(np.float32)


def best_classes(scores: Singles, n: int) -> Ints:
    """Return the n classes of highest score of each frame, (T, K) -> (T, N), in the order of classes."""
    if n >= scores.shape[1]:
        return np.tile(np.arange(scores.shape[1], dtype=np.int32), (len(scores), 1))
    return np.sort(np.argpartition(scores, -n, axis=1)[:, -n:], axis=1).astype(np.int32)


def rival_pairs(prototypes: Prototypes, frames: LabelledFrames, share: float, seed: int) -> Ints:
    """Return the fewest pairs i < j of classes that make a share of all meetings, (P, 2), sorted.

    Two classes meet at each frame of whose list both are. As many frames of each class are counted.

    Parameters
    ----------
    prototypes : rank the classes
    frames : frames of known class
    share : above 0, at most 1; all pairs that meet at all make the share 1
    seed : seed of the random choice of frames
    """
    rng, n_classes = np.random.default_rng(seed), frames.n_classes
    rows = [drawn(np.flatnonzero(frames.codes == k), _MEETING_FRAMES, rng) for k in range(n_classes)]
    meetings = np.zeros((n_classes, n_classes))
    for own in rows:
        is_listed = np.zeros((len(own), n_classes), dtype=np.float32)
        np.put_along_axis(is_listed, best_classes(prototypes.scores(frames.x[own]), _N_MEETING), 1.0, axis=1)
        meetings += is_listed.T @ is_listed / max(len(own), 1)
    pairs = all_pairs(n_classes)
    of_pairs = meetings[pairs[:, 0], pairs[:, 1]]
    order = np.argsort(-of_pairs, kind="stable")
    reached = np.cumsum(of_pairs[order])
    n = int(np.searchsorted(reached, share * reached[-1] * (1.0 - 1e-9))) + 1
    return pairs[np.sort(order[:n])]
