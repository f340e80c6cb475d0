"""Which frames of a class become the centres that all its pairs share.

Axes: M frames, D features, K classes, C centres of a class.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from foundation.arrays import Integers, Singles
from foundation.threads import parallel_map

PoolName = Literal["random", "kmeans", "npd", "orols"]

_BLOCK = 8  # centres the selection takes at once
_EPSILON = 1e-3  # on the diagonal of its Gram matrix


def pool_centers(
    x: Singles,
    codes: Integers,
    name: PoolName,
    n_centers: int,
    sigma: float,
    seed: int,
    n_workers: int | None = None,
) -> list[Singles]:
    """Return the centres (C, D) of each class.

    Parameters
    ----------
    x : (M, D) frames
    codes : (M,) their classes, 0 … K − 1, each with some
    name : ``random`` frames; ``kmeans``, the means of clusters; ``npd`` and ``orols``, the class's own among
        the centres that forward selection takes for the class against as many frames of all others
    n_centers : C, at most the frames of the class
    sigma : width of the Gaussian kernel
    seed : of what is drawn
    n_workers : threads; one a core by default. The result does not depend on it.
    """

    def one(k: int) -> Singles:
        rng = np.random.default_rng((seed, k))
        own = np.flatnonzero(codes == k)
        if len(own) <= n_centers:
            return np.asarray(x[own])
        if name == "kmeans":
            clusters = MiniBatchKMeans(n_centers, n_init=1, random_state=int(rng.integers(2**31)))
            return np.asarray(clusters.fit(x[own]).cluster_centers_, dtype=np.float32)
        chosen: Integers = np.zeros(0, dtype=int)
        if name != "random":
            others = drawn(np.flatnonzero(codes != k), len(own), rng)
            chosen = _selected(x, own, others, n_centers, sigma, name == "orols", rng)
        rest = drawn(np.setdiff1d(own, chosen), n_centers - len(chosen), rng)
        return np.asarray(x[np.concatenate([chosen, rest])])

    return list(parallel_map(one, range(int(codes.max()) + 1), n_workers))


def drawn(rows: Integers, n: int, rng: np.random.Generator) -> Integers:
    """Return so many of the rows, or all, in their order."""
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
    """Return the rows of the class's own frames among the centres that tell it from the others."""
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
