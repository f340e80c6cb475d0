"""Splicing and LDA against brute force and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from threadpoolctl import threadpool_limits

from features import FeatureError, LinearProjection, fit_lda, splice

N_CLASSES = 4


def labelled_utterances(n=8, n_dims=5, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(N_CLASSES, n_dims)) * 2
    mixing = rng.normal(size=(n_dims, n_dims))
    labels = [np.repeat(rng.integers(-1, N_CLASSES, 12), 5) for _ in range(n)]
    frames = [means[y] + rng.normal(size=(y.size, n_dims)) @ mixing + offset for y in labels]
    return [x.astype(np.float32) for x in frames], labels


def within_covariance(frames, labels):
    deviations = [frames[labels == c] - frames[labels == c].mean(axis=0) for c in range(N_CLASSES)]
    stacked = np.concatenate(deviations)
    return stacked.T @ stacked / len(stacked)


def projected(projection, utterances, labels):
    frames = np.concatenate([projection.transform(x) for x in utterances]).astype(np.float64)
    stacked = np.concatenate(labels)
    return frames[stacked >= 0], stacked[stacked >= 0]


def test_splice_against_a_loop():
    frames = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    for context in (0, 1, 3, 10):
        expected = [
            np.concatenate([frames[min(max(t + k, 0), 6)] for k in range(-context, context + 1)])
            for t in range(7)
        ]
        spliced = splice(frames, context)
        assert spliced.dtype == np.float32
        assert_array_equal(spliced, expected)


def test_splice_of_nothing():
    nothing = np.empty((0, 3), dtype=np.float32)
    assert_array_equal(splice(nothing, 2), np.empty((0, 15), dtype=np.float32), strict=True)


def test_projection_is_affine_in_the_spliced_frames():
    rng = np.random.default_rng(0)
    matrix, offset = rng.normal(size=(9, 2)).astype(np.float32), np.array([1.0, -1.0], dtype=np.float32)
    frames = rng.normal(size=(6, 3)).astype(np.float32)
    projection = LinearProjection(matrix, offset, context=1)
    assert projection.n_components == 2
    assert projection.transform(frames).dtype == np.float32
    assert_allclose(projection.transform(frames), splice(frames, 1) @ matrix + offset, rtol=1e-6, atol=1e-6)


def test_one_projection_after_another_is_one_projection():
    rng = np.random.default_rng(5)
    first = LinearProjection(*(rng.normal(size=s).astype(np.float32) for s in ((9, 4), (4,))), context=1)
    second = LinearProjection(*(rng.normal(size=s).astype(np.float32) for s in ((4, 2), (2,))))
    frames = rng.normal(size=(7, 3))
    both = first.then(second)
    assert both.context == 1
    assert_allclose(both.transform(frames), second.transform(first.transform(frames)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_within_class_covariance_is_the_identity(offset):
    utterances, labels = labelled_utterances(offset=offset)
    projection = fit_lda(
        utterances, labels, context=1, n_components=3, n_classes=N_CLASSES, eigenvalue_exponent=0
    )
    frames, y = projected(projection, utterances, labels)
    assert_allclose(within_covariance(frames, y), np.eye(3), rtol=0, atol=5e-3)
    assert_allclose(frames.mean(axis=0), 0.0, rtol=0, atol=5e-3)


def test_dimensions_are_scaled_by_their_eigenvalue():
    utterances, labels = labelled_utterances()
    arguments = {"context": 1, "n_components": 3, "n_classes": N_CLASSES}
    plain = fit_lda(utterances, labels, **arguments, eigenvalue_exponent=0)
    scaled = fit_lda(utterances, labels, **arguments)
    frames, y = projected(plain, utterances, labels)
    means = np.stack([frames[y == c].mean(axis=0) for c in range(N_CLASSES)])
    eigenvalues = (np.bincount(y) / y.size) @ np.square(
        means - frames.mean(axis=0)
    )  # within-class variance is 1
    assert (np.diff(eigenvalues) < 0).all()
    expected = plain.matrix * (eigenvalues / (1 + eigenvalues)) ** 0.25
    assert_allclose(scaled.matrix, expected, rtol=1e-3, atol=1e-6)


def test_same_space_as_scikit_learn():
    utterances, labels = labelled_utterances()
    projection = fit_lda(
        utterances, labels, context=0, n_components=3, n_classes=N_CLASSES, eigenvalue_exponent=0
    )
    x, y = np.concatenate(utterances).astype(np.float64), np.concatenate(labels)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(x[y >= 0], y[y >= 0]).scalings_[:, :3]
    cosine = np.abs(np.sum(projection.matrix * theirs, axis=0))
    cosine /= np.linalg.norm(projection.matrix, axis=0) * np.linalg.norm(theirs, axis=0)
    assert_allclose(cosine, 1.0, rtol=0, atol=1e-4)


def test_unlabelled_frames_count_for_nothing():
    utterances, labels = labelled_utterances()
    spoiled = [np.where(y[:, None] < 0, np.float32(1e4), x) for x, y in zip(utterances, labels, strict=True)]
    arguments = {"context": 0, "n_components": 3, "n_classes": N_CLASSES}
    assert_array_equal(
        fit_lda(spoiled, labels, **arguments).matrix, fit_lda(utterances, labels, **arguments).matrix
    )


def test_sign_is_fixed_and_the_result_repeats():
    utterances, labels = labelled_utterances()
    arguments = {"context": 2, "n_components": 3, "n_classes": N_CLASSES}
    first = fit_lda(iter(utterances), iter(labels), **arguments)
    second = fit_lda(utterances, labels, **arguments)
    assert_array_equal(first.matrix, second.matrix)
    assert_array_equal(first.offset, second.offset)
    largest = np.abs(first.matrix).argmax(axis=0)
    assert (first.matrix[largest, np.arange(3)] > 0).all()


def test_the_number_of_threads_changes_no_bit():
    utterances, labels = labelled_utterances(n_dims=40)
    arguments = {"context": 3, "n_components": 3, "n_classes": N_CLASSES}
    matrix = fit_lda(utterances, labels, **arguments).matrix
    with threadpool_limits(limits=1):
        assert fit_lda(utterances, labels, **arguments).matrix.tobytes() == matrix.tobytes()


def test_rank_deficient_features_stay_finite():
    utterances, labels = labelled_utterances(n_dims=3)
    doubled = [np.hstack([x, x, np.full((len(x), 1), 7.0, dtype=np.float32)]) for x in utterances]
    projection = fit_lda(doubled, labels, context=1, n_components=9, n_classes=N_CLASSES)
    assert projection.n_components == 3
    assert all(np.isfinite(projection.transform(x)).all() for x in doubled)


def test_no_more_components_than_directions_that_separate():
    utterances, labels = labelled_utterances()
    without_class_two = [np.where(y == 2, -1, y) for y in labels]
    arguments = {"context": 1, "n_classes": N_CLASSES}
    projection = fit_lda(utterances, without_class_two, n_components=15, **arguments)
    assert projection.n_components == 2
    two = fit_lda(utterances, without_class_two, n_components=2, **arguments)
    assert_array_equal(projection.transform(utterances[0]), two.transform(utterances[0]))


def test_constant_classes_do_not_divide_by_zero():
    frames = np.repeat(np.eye(2, dtype=np.float32), 5, axis=0)
    projection = fit_lda([frames], [np.repeat([0, 1], 5)], context=0, n_components=1, n_classes=2)
    assert np.isfinite(projection.transform(frames)).all()


def test_errors():
    utterances, labels = labelled_utterances(2)
    with pytest.raises(
        FeatureError, match=r"^n_components: expected 1 to 15 \(the spliced columns\), got 16; change"
    ):
        fit_lda(utterances, labels, context=1, n_components=16, n_classes=N_CLASSES)
    with pytest.raises(
        FeatureError, match=r"^labels: utterance 1: expected one for each of 60 frames, got shape"
    ):
        fit_lda(utterances, [labels[0], labels[1][:-1]], n_classes=N_CLASSES)
    with pytest.raises(
        FeatureError, match=r"^labels: utterance 0: expected -1 to 1, got -?\d to \d; check n_classes"
    ):
        fit_lda(utterances, labels, n_classes=2)
    with pytest.raises(FeatureError, match=r"^labels: expected frames of at least 2 classes, got 0; check"):
        fit_lda(utterances, [np.full(60, -1)] * 2, n_classes=N_CLASSES)
    with pytest.raises(FeatureError, match=r"^utterances: expected as many as labels"):
        fit_lda(utterances, labels[:1], n_classes=N_CLASSES)
    with pytest.raises(FeatureError, match=r"^context: expected 0 or more frames on each side, got -1"):
        splice(utterances[0], -1)
    with pytest.raises(FeatureError, match=r"^frames: expected 3 columns, got 5"):
        LinearProjection(np.zeros((9, 2)), np.zeros(2), context=1).transform(utterances[0])
