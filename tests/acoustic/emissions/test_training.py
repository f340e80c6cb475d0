"""Which frames discriminants are trained on, and how recordings are halved."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from acoustic.emissions.aligned_frames import aligned_frames, halves
from acoustic.errors import TrainingError


def task(seed=0, n=30):
    """Return frames whose first column counts all frames, and the states of each utterance."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(5, 40, n)
    starts = np.cumsum([0, *lengths])
    frames = [np.column_stack([np.arange(a, b), rng.normal(size=b - a)]) for a, b in pairwise(starts)]
    labels = [rng.integers(-1, 4, length).astype(np.int32) for length in lengths]
    return [f.astype(np.float32) for f in frames], labels, rng.integers(2, size=n)


def test_frames_are_those_of_their_states_whatever_order_they_come_in():
    frames, labels, folds = task()
    order = np.random.default_rng(1).permutation(len(frames))
    found = aligned_frames(
        lambda: ((n, frames[n]) for n in order), labels, folds, 4, max_frames=50, min_frames=1
    )
    rows = found.x[:, 0].astype(int)
    assert_array_equal(np.concatenate(labels)[rows], found.codes)
    assert_array_equal(np.repeat(folds, [len(f) for f in frames])[rows], found.folds)
    assert_array_equal(found.x, np.concatenate(frames)[rows])
    assert_array_equal(np.bincount(found.codes), [50] * 4)
    assert len(np.unique(rows)) == 200
    assert_array_equal(found.counts, np.bincount(np.concatenate(labels) + 1)[1:])


def test_what_was_drawn_depends_on_the_seed_alone():
    frames, labels, folds = task()
    drawn = [
        aligned_frames(lambda: enumerate(frames), labels, folds, 4, max_frames=20, min_frames=1, seed=seed)
        for seed in (0, 0, 1)
    ]
    assert_array_equal(drawn[0].x, drawn[1].x)
    assert not np.array_equal(drawn[0].x, drawn[2].x)


def test_frames_are_asked_for_one_utterance_at_a_time():
    """Held together are only those that were drawn."""
    alive = []

    class Counted(np.ndarray):
        def __del__(self):
            alive.append(-1)

    def source():
        for n, f in enumerate(frames):
            alive.append(1)
            assert sum(alive) <= 2
            yield n, f.copy().view(Counted)

    frames, labels, folds = task()
    found = aligned_frames(source, labels, folds, 4, max_frames=3, min_frames=1)
    assert found.x.shape == (12, 2)
    assert type(found.x) is np.ndarray


def test_a_rare_state_shares_the_class_of_the_nearest_mean():
    rng = np.random.default_rng(0)
    labels = [np.repeat([0, 1, 2, 3], [20, 20, 3, 20]).astype(np.int32) for _ in range(5)]
    centers = np.array([[0.0, 0.0], [9.0, 0.0], [8.0, 1.0], [0.0, 9.0]])
    frames = [(centers[y] + rng.normal(size=(len(y), 2))).astype(np.float32) for y in labels]
    found = aligned_frames(
        lambda: enumerate(frames), labels, np.zeros(5, int), 5, max_frames=100, min_frames=20
    )
    assert_array_equal(found.class_of_state, [0, 1, 1, 2, -1])
    assert_array_equal(found.counts, [100, 115, 100])


class TestHalves:
    def test_of_speakers_where_there_are_several(self):
        speakers = ["b", "a", "b", "c", "a"]
        assert_array_equal(halves(speakers, list("12345")), [1, 0, 1, 0, 0])

    @pytest.mark.parametrize("n", [4, 5])
    def test_of_the_recordings_of_one_speaker(self, n):
        recordings = [f"r{k}" for k in range(n)]
        found = halves(["one"] * n, recordings)
        assert_array_equal(found, np.arange(n) % 2)

    def test_parts_of_a_recording_stay_together(self):
        found = halves(["one"] * 4, ["x", "x", "y", "y"], ["x1", "x2", "y1", "y2"])
        assert_array_equal(found, [0, 0, 1, 1])

    def test_of_the_parts_of_one_recording(self):
        assert_array_equal(halves(["one"] * 3, ["x"] * 3, ["x1", "x2", "x3"]), [0, 1, 0])

    def test_of_a_single_utterance(self):
        assert_array_equal(halves(["one"], ["x"], ["x1"]), [0])


def test_frames_and_labels_that_do_not_fit_are_refused():
    frames, labels, folds = task()
    options = {"max_frames": 50, "min_frames": 1}
    with pytest.raises(TrainingError, match=r"frames of 29 utterances, expected .*30"):
        aligned_frames(lambda: list(enumerate(frames))[1:], labels, folds, 4, **options)
    with pytest.raises(TrainingError, match=r"utterance 0: \d+ frames, expected \d+, one for each label"):
        aligned_frames(lambda: ((n, f[:-1]) for n, f in enumerate(frames)), labels, folds, 4, **options)
