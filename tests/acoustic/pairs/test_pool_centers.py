"""Centres of pools: how many, of which class, and where."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.pairs.class_frames import LabelledFrames, drawn
from acoustic.pairs.train_pools import pool_centers


@pytest.fixture
def ring():
    """Return a class in the middle of another one, and a third of five frames far away."""
    rng = np.random.default_rng(0)
    inner = rng.normal(size=(300, 2))
    angles = rng.uniform(0, 2 * np.pi, 400)
    outer = 4 * np.column_stack([np.cos(angles), np.sin(angles)]) + rng.normal(scale=0.5, size=(400, 2))
    far = rng.normal(size=(5, 2)) + 40
    x = np.concatenate([inner, outer, far]).astype(np.float32)
    codes = np.repeat(np.arange(3, dtype=np.int32), [300, 400, 5])
    folds = np.arange(len(x), dtype=np.int32) % 2
    return LabelledFrames(x, codes, folds, np.bincount(codes).astype(float))


@pytest.mark.parametrize("name", ["random", "kmeans", "npd", "orols"])
def test_every_class_has_its_own_centers(ring, name):
    x, codes = ring.x, ring.codes
    found = pool_centers(ring, name, 20, 1.5, seed=0, n_workers=1)
    assert [len(c) for c in found] == [20, 20, 5]
    assert_array_equal(found[2], x[codes == 2])
    for k in (0, 1):
        assert found[k].dtype == np.float32
        assert len(np.unique(found[k], axis=0)) == 20
        if name != "kmeans":
            assert {tuple(c) for c in found[k]} <= {tuple(c) for c in x[codes == k]}
    again = pool_centers(ring, name, 20, 1.5, seed=0, n_workers=2)
    for one, two in zip(found, again, strict=True):
        assert_array_equal(one, two)


def test_kmeans_covers_the_class(ring):
    x, codes = ring.x, ring.codes
    radii = {
        name: np.mean(
            np.min(np.linalg.norm(x[codes == 0, None] - pool_centers(ring, name, 20, 1.5, 0)[0], axis=2), 1)
        )
        for name in ("random", "kmeans")
    }
    assert radii["kmeans"] < radii["random"]


def test_selection_prefers_the_border(ring):
    distance = {
        name: np.mean(np.linalg.norm(pool_centers(ring, name, 20, 1.0, 0)[0], axis=1))
        for name in ("random", "npd")
    }
    assert distance["npd"] > distance["random"] + 0.2


def test_rows_are_drawn_in_order():
    rng = np.random.default_rng(0)
    assert_array_equal(drawn(np.arange(3), 5, rng), [0, 1, 2])
    rows = drawn(np.arange(100), 10, rng)
    assert len(set(rows)) == 10
    assert_allclose(np.sort(rows), rows)


def test_centers_are_selected_among_some_of_many_frames():
    """The frames of a class are a thousand copies of each of three; any thousand of them hold all three."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [3.0, 0.0], [2.0, 2.0]], np.float32)
    codes = np.repeat([0, 1], 3000).astype(np.int32)
    frames = LabelledFrames(np.repeat(points, 1000, axis=0), codes, codes * 0, np.array([3000.0, 3000.0]))
    for name in ("npd", "orols"):
        found = pool_centers(frames, name, 3, 1.0, seed=0)
        assert_array_equal(np.unique(found[0], axis=0), np.unique(points[:3], axis=0))
        assert_array_equal(np.unique(found[1], axis=0), np.unique(points[3:], axis=0))
