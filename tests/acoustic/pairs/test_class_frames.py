"""Frames by class against selections of the frames as they came."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from acoustic.errors import ModelError
from acoustic.pairs.class_frames import ClassFrames
from acoustic.pairs.coupling import all_pairs

COUNTS = [5, 0, 9, 3]


@pytest.fixture
def given():
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat(range(4), COUNTS))
    return rng.normal(size=(len(codes), 2)), codes, rng.uniform(0.5, 2.0, len(codes))


def test_classes_lie_together_in_the_order_they_came(given):
    x, codes, weight = given
    frames = ClassFrames(x, codes, 4, weight)
    assert_array_equal(frames.counts, COUNTS)
    assert_array_equal(frames.starts, np.cumsum([0, *COUNTS]))
    assert frames.x.dtype == np.float32
    for k in range(4):
        own = slice(frames.starts[k], frames.starts[k + 1])
        assert_array_equal(frames.order[own], np.flatnonzero(codes == k))
        assert_array_equal(frames.x[own], x[codes == k].astype(np.float32))
        assert_array_equal(frames.weight[own], weight[codes == k])
        assert frames.weighted_counts[k] == pytest.approx(weight[codes == k].sum(), rel=1e-12)


def test_frames_weigh_one_unless_told(given):
    x, codes, _ = given
    frames = ClassFrames(x, codes, 4, None)
    assert not frames.is_weighted
    assert_array_equal(frames.weight, np.ones(17))
    assert_array_equal(frames.weighted_counts, COUNTS)


def test_rows_of_a_pair_have_its_first_class_first(given):
    x, codes, _ = given
    frames = ClassFrames(x, codes, 4, None)
    for i, j in [(0, 2), (2, 0), (0, 3)]:
        rows = frames.rows(np.array([i, j]))
        assert_array_equal(codes[frames.order[rows]], [i] * COUNTS[i] + [j] * COUNTS[j])


def test_all_pairs_are_asked_for_by_default():
    x = np.zeros((4, 2))
    frames = ClassFrames(x, [0, 1, 2, 3], 4, None)
    assert_array_equal(frames.checked_pairs(None), all_pairs(4))
    assert_array_equal(
        frames.checked_pairs([(2, 0), (1, 3)]), np.array([[2, 0], [1, 3]], np.int32), strict=True
    )


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (None, r"classes \[1\] have no frames, expected at least one each; leave them out of pairs"),
        ([(0, 1)], r"classes \[1\] have no frames"),
        ([], "no pairs of 4 classes, expected at least one"),
        ([(2, 2)], "other than two different classes of 0 … 3"),
        ([(0, 4)], "other than two different classes of 0 … 3"),
        ([(-1, 2)], "other than two different classes of 0 … 3"),
    ],
)
def test_pairs_that_cannot_be_told_apart(given, pairs, message):
    x, codes, _ = given
    with pytest.raises(ModelError, match=message):
        ClassFrames(x, codes, 4, None).checked_pairs(pairs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda x, y, w: (x[:-1], y, w),
            r"x has shape \(16, 2\) and codes \(17,\), expected \(frames, features\)",
        ),
        (lambda x, y, w: (x[:, 0], y, w), r"x has shape \(17,\)"),
        (lambda x, y, w: (x, y + 1, w), "codes lie in 1 … 4, expected 0 … 3"),
        (lambda x, y, w: (x, y - 1, w), "codes lie in -1 … 2, expected 0 … 3"),
        (lambda x, y, w: (x * np.inf, y, w), "not finite in single precision; drop or mend"),
        (lambda x, y, w: (x * 1e39, y, w), "not finite in single precision"),
        (lambda x, y, w: (x, y, w * 0), "sample_weight holds numbers that are not above 0"),
        (lambda x, y, w: (x, y, w * np.nan), "sample_weight holds numbers that are not above 0"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_frames_that_cannot_be_used(given, change, message):
    with pytest.raises(ModelError, match=message):
        ClassFrames(*change(*given)[:2], 4, change(*given)[2])
