"""Standardisation of a corpus, a speaker, an utterance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from features import FeatureError, Standardizer, normalize, normalize_groups
from features.normalization import fit_within_groups


def utterances(n=5, n_dims=4, seed=0):
    rng = np.random.default_rng(seed)
    offset = np.linspace(-3.0, 200.0, n_dims)
    lengths = rng.integers(1, 50, n)
    return [(rng.normal(size=(length, n_dims)) * 3 + offset).astype(np.float32) for length in lengths]


def test_standardizer_equals_scikit_learn():
    frames = np.concatenate(utterances())
    ours, theirs = Standardizer().fit(frames), StandardScaler().fit(frames.astype(np.float64))
    assert_allclose(ours.mean_, theirs.mean_, rtol=1e-12, atol=0)
    assert_allclose(ours.scale_, theirs.scale_, rtol=1e-10, atol=0)
    assert ours.transform(frames).dtype == np.float32
    assert_allclose(ours.transform(frames), theirs.transform(frames), rtol=1e-5, atol=1e-5)


def test_pieces_equal_the_stack():
    pieces = utterances(20)
    stacked, by_piece = Standardizer().fit(np.concatenate(pieces)), Standardizer().fit(iter(pieces))
    assert_allclose(by_piece.mean_, stacked.mean_, rtol=1e-12, atol=0)
    assert_allclose(by_piece.scale_, stacked.scale_, rtol=1e-10, atol=0)
    assert by_piece.mean_.dtype == by_piece.scale_.dtype == np.float64


def test_large_offset_keeps_the_variance():
    frames = 1e4 + np.random.default_rng(0).normal(size=(1000, 1))
    by_piece = Standardizer().fit(np.array_split(frames, 10))
    assert_allclose(by_piece.scale_, frames.std(axis=0), rtol=1e-9, atol=0)


def test_constant_feature_gets_scale_one():
    frames = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    frames[:, 0], frames[:, 1] = 0.1, 0.0
    standardizer = Standardizer().fit([frames[:20], frames[20:]])
    assert_array_equal(standardizer.scale_[:2], 1.0)
    assert_allclose(standardizer.transform(frames)[:, :2], 0.0, rtol=0, atol=1e-6)


def test_small_but_real_variation_is_kept():
    frames = np.random.default_rng(0).normal(size=(50, 1)) * 1e-4
    assert_allclose(normalize(frames).std(), 1.0, rtol=1e-5, atol=0)


def test_from_statistics():
    standardizer = Standardizer.from_statistics([1.0, 2.0], [2.0, 4.0])
    assert_array_equal(standardizer.transform(np.array([[3.0, 6.0]])), [[1.0, 1.0]])


def test_normalize_gives_zero_mean_and_unit_variance():
    frames = utterances(1, seed=3)[0]
    normalized = normalize(frames)
    assert normalized.dtype == np.float32
    assert_allclose(normalized.mean(axis=0), 0.0, rtol=0, atol=1e-5)
    assert_allclose(normalized.std(axis=0), 1.0, rtol=1e-5, atol=0)


def test_mean_and_variance_separately():
    frames = utterances(1, seed=3)[0]
    only_mean = normalize(frames, variance=False)
    assert_allclose(only_mean, frames - frames.mean(axis=0, dtype=np.float64), rtol=0, atol=1e-5)
    only_variance = normalize(frames, mean=False)
    assert_allclose(only_variance * frames.std(axis=0, dtype=np.float64), frames, rtol=1e-5, atol=1e-5)
    assert_array_equal(normalize(frames, mean=False, variance=False), frames)


def test_one_frame_becomes_zero():
    assert_array_equal(normalize(np.array([[5.0, -2.0]], dtype=np.float32)), [[0.0, 0.0]])


def test_groups_are_normalised_together_and_apart():
    pieces = utterances(6)
    groups = ["b", "a", "b", "a", "c", "b"]
    normalized = normalize_groups(pieces, groups)
    for group in "abc":
        members = [i for i, g in enumerate(groups) if g == group]
        expected = normalize(np.concatenate([pieces[i] for i in members]))
        assert_allclose(np.concatenate([normalized[i] for i in members]), expected, rtol=0, atol=1e-5)


def test_each_in_its_own_group_equals_normalize():
    pieces = utterances(4)
    for one, piece in zip(normalize_groups(pieces, list("abcd"), variance=False), pieces, strict=True):
        assert_allclose(one, normalize(piece, variance=False), rtol=0, atol=0)


def test_utterance_without_frames():
    empty = np.empty((0, 3), dtype=np.float32)
    assert normalize(empty).shape == (0, 3)
    assert [len(frames) for frames in normalize_groups([empty, np.ones((2, 3))], ["a", "a"])] == [0, 2]


def test_errors():
    with pytest.raises(FeatureError, match=r"^frames: expected ndim = 2 \(T, D\), got shape \(3,\); pass"):
        normalize(np.zeros(3))
    with pytest.raises(
        FeatureError, match=r"^frames: expected at least one frame to learn from, got none; check"
    ):
        Standardizer().fit([])
    with pytest.raises(FeatureError, match=r"^frames: expected 2 columns as before, got 3; compute"):
        Standardizer().fit([np.zeros((2, 2)), np.zeros((2, 3))])
    with pytest.raises(FeatureError, match=r"^frames: expected 2 columns, got 3; use"):
        Standardizer().fit(np.zeros((2, 2))).transform(np.zeros((2, 3)))
    with pytest.raises(FeatureError, match=r"^Standardizer: expected learned statistics, got none; call fit"):
        Standardizer().transform(np.zeros((2, 3)))
    with pytest.raises(FeatureError, match=r"^groups: expected one for each of 1 utterances, got 2; pass"):
        normalize_groups([np.zeros((2, 2))], ["a", "b"])


def test_smoothed_statistics_are_those_with_the_prior_frames_appended():
    rng = np.random.default_rng(3)
    frames, other = rng.normal(2, 3, size=(40, 2)), rng.normal(-1, 2, size=(120, 2))
    prior = Standardizer().fit(other)
    (got,) = normalize_groups([frames], ["a"], prior=prior, prior_frames=len(other))
    both = np.concatenate([frames, other])
    assert_allclose(got, (frames - both.mean(axis=0)) / both.std(axis=0), rtol=1e-5, atol=1e-6)


def test_no_prior_frames_is_no_prior_and_many_are_the_prior_alone():
    frames = np.random.default_rng(4).normal(1, 2, size=(30, 3))
    frames[:, 2] = 5.0  # the scale of a constant component is 1
    prior = Standardizer.from_statistics([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])
    (alone,) = normalize_groups([frames], ["a"])
    (weightless,) = normalize_groups([frames], ["a"], prior=prior, prior_frames=0)
    (swamped,) = normalize_groups([frames], ["a"], prior=prior, prior_frames=1e12)
    assert_allclose(weightless, alone, rtol=1e-6, atol=1e-6)
    assert_allclose(swamped, prior.transform(frames), rtol=1e-5, atol=1e-5)


def test_fit_within_groups_sees_no_difference_between_groups():
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(2, 5000, 1))
    prior = fit_within_groups([noise[0] + 100, noise[1] - 100], ["a", "b"])
    assert_allclose(prior.scale_, 1.0, rtol=0.05, atol=0)
    assert_allclose(prior.mean_, 0.0, rtol=0, atol=0.1)
