"""Generated frames and models: whose they are, where they lie, and what they answer, by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.pairs.coupling import all_pairs
from asr.planning.generated import (
    class_means,
    curves_of,
    equal_priors,
    frames_of,
    labelled_frames,
    one_vs_rest_model,
    pooled_machines,
    rival_machines,
    sparse_machines,
    speech_like_frames,
)
from foundation.arrays import Floats, Reals

SIGMA = 5.0


def gaussian(x: Reals, y: Reals) -> Floats:
    """Return exp(−‖x − y‖² / (2σ²)) of each row of x with each of y, (T, C)."""
    distances = np.square(x[:, None].astype(float) - y[None].astype(float)).sum(axis=2)
    return np.asarray(np.exp(-distances / (2 * SIGMA**2)))


def test_means_differ_less_in_each_next_direction() -> None:
    deviations = class_means(20_000, 5).std(axis=0)
    assert_allclose(deviations, [1.5, 1.35, 1.215, 1.0935, 0.98415], rtol=0.02, atol=0)


def test_frames_lie_around_their_means() -> None:
    means = np.array([[10.0, 0.0], [0.0, -10.0]])
    frames = frames_of(means, np.repeat([1, 0], 20_000))
    assert_allclose(frames[:20_000].mean(axis=0), means[1], rtol=0, atol=0.02)
    assert_allclose(frames[20_000:].mean(axis=0), means[0], rtol=0, atol=0.02)
    assert_allclose(frames[:20_000].std(axis=0), 0.85, rtol=0.02, atol=0)


def test_labelled_frames() -> None:
    frames = labelled_frames(np.array([5, 1, 3]), 4)
    assert frames.codes.tolist() == [0, 0, 0, 0, 0, 1, 2, 2, 2]
    assert frames.folds.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert frames.counts.tolist() == [5.0, 1.0, 3.0]
    assert_array_equal(frames.x, frames_of(class_means(3, 4), frames.codes))


def test_speech_stays_in_a_class_for_seven_frames() -> None:
    noise = frames_of(np.zeros((1, 6)), np.zeros(100, dtype=int))  # the same each time
    clean = speech_like_frames(100, 4, 6) - noise
    distances = np.square(clean[:, None] - class_means(4, 6)).sum(axis=2)
    nearest = distances.argmin(axis=1)
    assert_allclose(distances.min(axis=1), 0.0, rtol=0, atol=1e-9)
    runs = nearest[::7]
    assert_array_equal(nearest, np.repeat(runs, 7)[:100])
    assert set(runs.tolist()) == {0, 1, 2, 3}


def test_equal_priors_and_curves() -> None:
    priors = equal_priors(4, 0.5, -3.0)
    # log ¼ − ½ log ¼ = −log 2; below the floor −3 + ½ log 4
    scores = priors.scores(np.log([[0.25, 0.25, 0.5 - 1e-9, 1e-9]]))
    assert_allclose(scores[0], [-np.log(2), -np.log(2), 0.0, -3 + np.log(2)], rtol=0, atol=1e-6)
    assert curves_of(2).tolist() == [[0.0, 3.0, 0.0], [0.0, 3.0, 0.0]]


class TestRivals:
    def test_they_are_the_nearest_classes(self) -> None:
        machines, means = rival_machines(12, 5, 6, 20, SIGMA), class_means(12, 6)
        assert (machines.n_classes, machines.n_pairs, machines.n_centers) == (12, 20, 60)
        distances = {(i, j): np.sum((means[i] - means[j]) ** 2) for i, j in all_pairs(12).tolist()}
        nearest = sorted(distances, key=lambda pair: float(distances[pair]))[:20]
        assert [tuple(pair) for pair in machines.pairs.tolist()] == sorted(nearest)

    def test_outputs(self) -> None:
        machines, frames = rival_machines(5, 3, 4, 6, SIGMA), speech_like_frames(9, 5, 4)
        values, weights = gaussian(frames, machines.centers), machines.weights.reshape(6, 2, 3)
        for p, (i, j) in enumerate(machines.pairs.tolist()):
            expected = (
                values[:, 3 * i : 3 * i + 3] @ weights[p, 0] + values[:, 3 * j : 3 * j + 3] @ weights[p, 1]
            )
            assert_allclose(machines.outputs(frames)[:, p], expected, rtol=0, atol=1e-5)

    def test_prototypes_surround_the_means(self) -> None:
        prototypes = rival_machines(50, 1, 4, 10, SIGMA).prototypes
        deviations = prototypes.means - class_means(50, 4)[:, None]
        assert_allclose(deviations.std(), 0.85 / 2, rtol=0.05, atol=0)
        assert_allclose(prototypes.scale, 0.85 * np.sqrt(2), rtol=1e-6, atol=0)
        assert_allclose(prototypes.log_priors, np.log(1 / 50), rtol=1e-12, atol=0)


def test_pooled_outputs() -> None:
    machines, frames = pooled_machines(4, 2, 3, SIGMA), speech_like_frames(9, 4, 3)
    values = gaussian(frames, machines.centers)
    outputs = machines.outputs(frames)
    for p, (i, j) in enumerate(all_pairs(4).tolist()):
        first, second = slice(2 * i, 2 * i + 2), slice(2 * j, 2 * j + 2)
        expected = (
            values[:, first] @ machines.weights[first, j] - values[:, second] @ machines.weights[second, i]
        )
        assert_allclose(outputs[:, p], expected, rtol=0, atol=1e-5)


class TestSparse:
    @pytest.mark.parametrize(("a_pair", "counts"), [(6, [3, 3]), (5, [3, 2])])
    def test_each_pair_has_centres_of_both_its_classes(self, a_pair: int, counts: list[int]) -> None:
        machines = sparse_machines(4, a_pair, 40, 3, SIGMA)
        own = np.arange(40) * 4 // 40
        assert_array_equal(machines.pairs, all_pairs(4))
        for pair, slots in zip(machines.pairs, machines.slots, strict=True):
            assert np.bincount(own[slots], minlength=4)[pair].tolist() == counts

    def test_outputs(self) -> None:
        machines, frames = sparse_machines(3, 4, 12, 3, SIGMA), speech_like_frames(9, 3, 3)
        values = gaussian(frames, machines.centers)
        expected = np.einsum("tpc,pc->tp", values[:, machines.slots], machines.weights)
        assert_allclose(machines.outputs(frames), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_one_vs_rest_scores(n_classes: int) -> None:
    model, frames = one_vs_rest_model(n_classes, 8, 4, SIGMA), speech_like_frames(10, n_classes, 4)
    odds = 1 / (1 + np.exp(-3 * gaussian(frames, model.centers) @ model.weights.astype(float)))
    posteriors = odds / odds.sum(axis=1, keepdims=True)
    # a prior of 1/K is divided out
    assert_allclose(model.log_likelihoods(frames), np.log(posteriors * n_classes), rtol=0, atol=1e-5)
