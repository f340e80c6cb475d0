"""Rules that choose the centres of a pool: each against a plain computation of what it promises."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pool_choice import depths, similarities
from pool_rules import (
    RIDGE,
    Sample,
    error_reduction,
    held_out_residual,
    largest_residual,
    left_out_misclassification,
)

from acoustic.pairs.class_frames import LabelledFrames


@pytest.fixture
def sample() -> Sample:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(30, 2)), rng.normal(1.5, 1.2, size=(30, 2))]).astype(np.float32)
    return Sample(x, 30, np.arange(60) % 2, np.ones(60, dtype=bool), 1.0)


def least_squares(sample: Sample, centers: list[int], rows: np.ndarray) -> np.ndarray:
    """Return the outputs (M,) of the machine on some centres that is fitted to some rows."""
    columns = sample.columns(np.array(centers, dtype=int)).astype(float)
    columns[centers, np.arange(len(centers))] += RIDGE
    columns = np.column_stack([np.ones(len(columns)), columns])
    return columns @ np.linalg.lstsq(columns[rows], sample.targets[rows].astype(float), rcond=None)[0]


@pytest.mark.parametrize("left_out", [False, True])
def test_the_largest_residual_is_taken(sample: Sample, left_out: bool) -> None:
    everything, order = np.ones(60, dtype=bool), []
    for _ in range(8):
        if left_out:
            residual = np.array(
                [sample.targets[i] - least_squares(sample, order, np.arange(60) != i)[i] for i in range(60)]
            )
        else:
            residual = sample.targets - least_squares(sample, order, everything)
        order.append(int(np.where(np.isin(np.arange(60), order), 0, np.abs(residual)).argmax()))
    found = largest_residual(sample, 4, left_out=left_out)
    own = [p for p in order if p < 30]
    assert_array_equal(found[: len(own)], own[:4])


def test_residuals_are_held_out(sample: Sample) -> None:
    learned = sample.folds == 0
    residual = sample.targets - least_squares(sample, [], learned)
    first = int(np.where(learned, 0, np.abs(residual)).argmax())
    residual = sample.targets - least_squares(sample, [first], learned)
    second = int(np.where(learned | (np.arange(60) == first), 0, np.abs(residual)).argmax())
    found = largest_residual(sample, 10, learned=learned)
    own = [p for p in (first, second) if p < 30]
    assert_array_equal(found[: len(own)], own)
    assert not learned[found].any()
    both = held_out_residual(sample, 10)
    assert_array_equal(np.bincount(sample.folds[both]), [5, 5])


def test_error_reduction_takes_the_column_that_helps_most(sample: Sample) -> None:
    def error(centers: list[int]) -> float:
        columns = sample.columns(np.array(centers)).astype(float)
        columns -= columns.mean(axis=0)
        y = sample.targets - sample.targets.mean()
        # The first column's gain is y²/(κ + λ), the decrease of the penalised squared error.
        return float((columns[:, 0] @ y) ** 2 / (columns[:, 0] @ columns[:, 0] + RIDGE * 30))

    gains = [error([p]) for p in range(30)]
    assert error_reduction(sample, 3)[0] == int(np.argmax(gains))
    assert len(set(error_reduction(sample, 12, n_rivals=10))) == 12


@pytest.mark.parametrize(
    "select",
    [
        largest_residual,
        partial(largest_residual, left_out=True),
        error_reduction,
        held_out_residual,
        left_out_misclassification,
    ],
)
def test_only_candidates_of_the_class_are_chosen(sample: Sample, select) -> None:
    may = (np.arange(60) >= 10) | (np.arange(60) >= 30)
    found = select(Sample(sample.x, 30, sample.folds, may, 1.0), 8)
    assert 4 <= len(found) == len(set(found)) <= 8
    assert found.min() >= 10
    assert found.max() < 30


def test_high_residuals_are_passed_over(sample: Sample) -> None:
    residual = np.abs(sample.targets - least_squares(sample, [], np.ones(60, dtype=bool)))
    assert_allclose(residual, 1, rtol=1e-6, atol=0)  # all alike, so the first frame comes first
    assert largest_residual(sample, 1)[0] == 0
    residual = np.abs(sample.targets - least_squares(sample, [0], np.ones(60, dtype=bool)))
    allowed = np.where((residual > 1) | (np.arange(60) == 0), 0, residual)
    assert residual.argmax() != allowed.argmax()
    assert largest_residual(sample, 2, highest=1.0)[1] == allowed[:30].argmax() == allowed.argmax()


def test_depth_and_similarity() -> None:
    assert_array_equal(depths(np.array([1, 1, 1, 1, 0, 2, 2, 2])), [0, 1, 1, 0, 0, 0, 1, 0])
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(3, dtype=np.int32), 50)
    x = (rng.normal(size=(150, 2)) + np.array([[0, 0], [1, 0], [9, 0]])[codes]).astype(np.float32)
    found = similarities(LabelledFrames(x, codes, np.zeros(150, np.int32), np.full(3, 50.0)))
    assert_allclose(np.diag(found), 0, rtol=0, atol=1e-12)
    assert_allclose(found, found.T, rtol=1e-5, atol=1e-9)
    assert found[0, 1] > 0.5 > 0.3 > found[0, 2]
