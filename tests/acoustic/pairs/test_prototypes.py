"""Prototypes against Gaussians written out, and the pairs of classes that meet against a loop."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.rivals import Prototypes, best_classes, fit_prototypes, rival_pairs


def row_of_classes(n_classes: int, n_frames: int = 60) -> LabelledFrames:
    """Return frames of classes that stand in a row, each overlapping its neighbours alone."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(n_classes), n_frames).astype(np.int32)
    x = rng.normal(size=(len(codes), 2)) + np.column_stack([3.0 * codes, np.zeros(len(codes))])
    folds = (np.arange(len(codes)) % 2).astype(np.int32)
    return LabelledFrames(x.astype(np.float32), codes, folds, np.full(n_classes, float(n_frames)))


def test_scores_are_those_of_the_nearest_prototype() -> None:
    rng = np.random.default_rng(1)
    means, scale = rng.normal(size=(3, 4, 2)).astype(np.float32), np.array([0.5, 2.0], np.float32)
    prototypes, x = Prototypes(means, scale, np.log([0.2, 0.3, 0.5])), rng.normal(size=(20, 2))
    found = prototypes.scores(x)
    for t, frame in enumerate(x):
        distances = (((frame - means) / scale) ** 2).sum(axis=2).min(axis=1)
        expected = np.log([0.2, 0.3, 0.5]) - distances / 2
        assert_allclose(found[t] - found[t, 0], expected - expected[0], rtol=0, atol=1e-4)


def test_prototypes_lie_amid_their_class() -> None:
    frames = row_of_classes(5)
    prototypes = fit_prototypes(frames, seed=0)
    assert prototypes.means.shape == (5, 8, 2)
    assert_allclose(prototypes.means[:, :, 0].mean(axis=1), 3.0 * np.arange(5), rtol=0, atol=0.7)
    assert_allclose(prototypes.scale, np.sqrt(2), rtol=0, atol=0.15)
    accuracy = np.mean(prototypes.scores(frames.x).argmax(axis=1) == frames.codes)
    assert accuracy > 0.85  # the best there is: 0.89 of the frames of five such classes


@pytest.mark.parametrize("n_workers", [1, 3])
def test_few_frames_and_constant_ones(n_workers: int) -> None:
    x = np.array([[1.0, 0.0], [2.0, 0.0], [9.0, 0.0]], np.float32)
    codes = np.array([0, 0, 1], np.int32)
    frames = LabelledFrames(x, codes, np.zeros(3, np.int32), np.array([2.0, 1.0]))
    found = fit_prototypes(frames, seed=0, n_workers=n_workers)
    assert_array_equal(np.unique(found.means[0], axis=0), x[:2])
    assert_array_equal(found.scale[1], 1.0)
    assert_array_equal(found.scores(x).argmax(axis=1), codes)


@pytest.mark.parametrize("n", [1, 3, 6, 9])
def test_the_best_classes_of_each_frame(n: int) -> None:
    scores = np.random.default_rng(2).normal(size=(40, 6)).astype(np.float32)
    expected = np.sort(np.argsort(-scores, axis=1)[:, :n], axis=1)
    assert_array_equal(best_classes(scores, n), expected)


class TestRivals:
    frames = row_of_classes(30)
    prototypes = fit_prototypes(frames, seed=0)

    def test_neighbours_are_rivals_and_far_classes_are_not(self) -> None:
        pairs = rival_pairs(self.prototypes, self.frames, 0.9, seed=0)
        assert {(k, k + 1) for k in range(29)} <= {tuple(pair) for pair in pairs.tolist()}
        assert np.diff(pairs, axis=1).max() < 10  # ten classes meet at a frame

    def test_the_fewest_pairs_that_make_the_share(self) -> None:
        lists = best_classes(self.prototypes.scores(self.frames.x), 10)
        met = np.zeros((30, 30))
        for classes in lists:
            for i, j in combinations(classes, 2):
                met[i, j] += 1
        for share in (0.3, 0.8):
            pairs = rival_pairs(self.prototypes, self.frames, share, seed=0)
            reached = met[tuple(pairs.T)]
            assert reached.sum() >= share * met.sum() > reached.sum() - reached.min()
            is_left_out = np.triu(np.ones((30, 30)), 1) == 1
            is_left_out[tuple(pairs.T)] = False
            assert met[is_left_out].max() <= reached.min()

    def test_all_that_meet(self) -> None:
        pairs = rival_pairs(self.prototypes, self.frames, 1.0, seed=0)
        lists = best_classes(self.prototypes.scores(self.frames.x), 10)
        expected = {pair for classes in lists.tolist() for pair in combinations(classes, 2)}
        assert {tuple(pair) for pair in pairs.tolist()} == expected
        assert_array_equal(pairs, np.array(sorted(expected)))
