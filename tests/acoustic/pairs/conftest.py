"""Overlapping clouds of frames with centres, and the pairs of their classes as training sees them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from acoustic.kernels.kernel import CenteredGaussian, mean_point
from acoustic.pairs.train_pools import PoolClass, PoolPair


def draw_clouds():
    """Return frames (M, 3) of three classes, their codes and folds, and centres of each class."""
    rng = np.random.default_rng(0)
    sizes = (60, 40, 50)
    x = np.concatenate([rng.normal(size=(n, 3)) + 1.2 * k for k, n in enumerate(sizes)]).astype(np.float32)
    codes = np.repeat(np.arange(3), sizes)
    folds = rng.integers(2, size=len(x))
    centers = [x[codes == k][:n] for k, n in enumerate((8, 5, 6))]
    order = rng.permutation(len(x))
    return x[order], codes[order], folds[order], centers


def pair_of_classes(x, codes, folds, centers, i, j, sigma):
    """Return the pair (i, j), the frames of each class fold by fold, and where they lie in x."""
    kernel = CenteredGaussian(sigma, mean_point(np.concatenate(centers)))

    def one(k):
        rows = np.flatnonzero(codes == k)
        rows = rows[np.argsort(folds[rows], kind="stable")]
        bounds = np.searchsorted(folds[rows], np.arange(folds.max() + 2))
        left, right = kernel.left(x[rows]), kernel.right(centers[k])
        own = kernel.values(left, right)
        grams = np.stack([own[a:b].T @ own[a:b] for a, b in pairwise(bounds)])
        return rows, PoolClass(left, bounds, right, own, grams, kernel)

    (first_rows, first), (second_rows, second) = one(i), one(j)
    return PoolPair.of(first, second), np.concatenate([first_rows, second_rows])


@pytest.fixture
def clouds():
    return draw_clouds()


@pytest.fixture(scope="session")
def pool_pair():
    return pair_of_classes
