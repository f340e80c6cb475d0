"""The compact kernel of the thesis's outlook (chapter 6): its values, and sparse blocks of the Gram matrix.

Points farther apart than ``radius``·σ have k = 0. Where few pairs are nearer and there are few features, a
k-d tree finds them.

Axes: M points, D features, C centres.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from foundation.arrays import Reals

_SAMPLE = 256  # points and centres from which the share of pairs within reach is estimated
_SPARSE = 0.05  # with a larger share of pairs within reach, dense blocks are as fast
_FEW_FEATURES = 8  # with more, a k-d tree finds neighbours no faster than all distances are computed
_MANY_POINTS, _POINTS_PER_CENTER = 8000, 16  # with fewer, a dense basis is as fast


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
    farthest = radius * sigmas.max(initial=0.0)
    pairs = cKDTree(x).sparse_distance_matrix(cKDTree(centers), farthest, output_type="ndarray")
    scaled = np.square(pairs["v"] / sigmas[pairs["j"]])
    values = compact_values(scaled, radius, x.shape[1]).astype(x.dtype)
    return csr_array((values, (pairs["i"], pairs["j"])), shape=(len(x), len(centers)))


def share_within_reach(x: Reals, centers: Reals, reach: float) -> float:
    """Return which share of the pairs of a point (M, D) and a centre (C, D) is nearer than ``reach``.

    It is estimated from some hundred points and centres.
    """
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
