"""The choice of the frames of a class that become the centres all its pairs share: the class's pool.

Axes: M training frames, D features, K classes, C centres of a class.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.class_frames import LabelledFrames
from foundation.arrays import Integers, Singles
from foundation.blocks import block_map

Choice = Literal["random", "kmeans", "npd", "orols"]

_BLOCK = 8  # centres that the selection adds at once
_EPSILON = 1e-3  # added to the diagonal of the selection's Gram matrix
_FRAMES = 1000  # of the class among which centres are selected; more cost time and choose no better
_FRAMES_A_CENTER = 5  # if that is more


def pool_centers(
    frames: LabelledFrames,
    choice: Choice,
    n_centers: int,
    sigma: float,
    seed: int,
    n_workers: int | None = None,
) -> list[Singles]:
    """Return the centres (C, D) of each class.

    Parameters
    ----------
    frames : frames of known class; every class has at least one
    choice : ``random`` takes random frames of the class; ``kmeans`` the means of clusters of its frames;
        ``npd`` and ``orols`` run forward selection on the class against as many random frames of all others
        and keep the centres that are frames of the class; if these are too few, the rest is drawn
    n_centers : C; a class with fewer frames has all of them as centres
    sigma : width of the Gaussian kernel
    seed : seed of the random choices
    n_workers : threads; one a core by default. The result does not depend on it.
    """
    x, codes = frames.x, frames.codes

    def one(k: int) -> Singles:
        rng = np.random.default_rng((seed, k))
        own = np.flatnonzero(codes == k)
        if len(own) <= n_centers:
            return np.asarray(x[own])
        if choice == "kmeans":
            clusters = MiniBatchKMeans(n_centers, n_init=1, random_state=int(rng.integers(2**31)))
            return np.asarray(clusters.fit(x[own]).cluster_centers_, dtype=np.float32)
        chosen: Integers = np.zeros(0, dtype=int)
        if choice != "random":
            some = drawn(own, max(_FRAMES, _FRAMES_A_CENTER * n_centers), rng)
            others = drawn(np.flatnonzero(codes != k), len(some), rng)
            chosen = _selected(x, some, others, n_centers, sigma, choice == "orols", rng)
        rest = drawn(np.setdiff1d(own, chosen), n_centers - len(chosen), rng)
        return np.asarray(x[np.concatenate([chosen, rest])])

    return list(
        block_map(one, range(frames.n_classes), label="centres", names="class {}".format, n_workers=n_workers)
    )


def drawn(rows: Integers, n: int, rng: np.random.Generator) -> Integers:
    """Return ``n`` random rows in their order, or all if there are no more than that."""
    return rows if len(rows) <= n else np.sort(rng.choice(rows, n, replace=False))


def _selected(
    x: Singles,
    own: Integers,
    others: Integers,
    n_centers: int,
    sigma: float,
    regularize: bool,
    rng: np.random.Generator,
) -> Integers:
    """Return the rows of those selected centres that are frames of the class itself."""
    rows = np.concatenate([own, others])
    targets = np.where(np.arange(len(rows)) < len(own), 1.0, -1.0)[:, None]
    config = ForwardConfig(
        Kernel("gaussian", sigma),
        (sigma,),
        2 * n_centers,
        epsilon=_EPSILON,
        block_size=_BLOCK,
        regularize=regularize,
    )
    indices = forward_selection(x[rows], targets, config, rng=rng).indices
    return np.asarray(rows[indices[indices < len(own)]][:n_centers])
