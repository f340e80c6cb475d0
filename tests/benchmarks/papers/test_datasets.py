"""The papers' data: partitions, scales and what is made from its definition."""

from pathlib import Path

import numpy as np
import pytest

from asr.errors import CorpusError
from benchmarks.papers.datasets import (
    fixed_split,
    is_there,
    original_partition,
    partitions,
    sinc,
    two_spirals,
)


def test_partitions_are_disjoint_seeded_and_standardised(tmp_path: Path) -> None:
    x = np.column_stack([np.arange(50.0), np.arange(50) % 2])
    (tmp_path / "made").mkdir()
    np.savez(tmp_path / "made" / "made.npz", X=x, y=np.arange(50))
    first, second = partitions(tmp_path, "made", 30, 15, 2, seed=1)
    again = next(partitions(tmp_path, "made", 30, 15, 1, seed=1))
    np.testing.assert_array_equal(first.y, again.y)
    assert set(first.y) != set(second.y)
    assert len(set(first.y) | set(first.y_test)) == 45
    assert first.x[:, 0].mean() == pytest.approx(0.0, abs=1e-12)
    assert first.x[:, 0].std() == pytest.approx(1.0, abs=1e-12)
    assert set(first.x[:, 1]) == {0.0, 1.0}  # codes stay


def test_too_few_points_for_the_papers_sizes(folder: Path) -> None:
    with pytest.raises(CorpusError, match="270 points, expected the paper's 200 \\+ 77"):
        next(partitions(folder, "ida_heart", 200, 77, 1, seed=0))


def test_one_scale_for_all_features_of_a_fixed_split(folder: Path) -> None:
    with np.load(folder / "optdigits" / "optdigits.npz") as file:
        scale = np.abs(file["X_train"]).max()
        expected = file["X_test"] / scale
    split = fixed_split(folder, "optdigits")
    assert split.x.dtype == np.float32
    np.testing.assert_allclose(split.x_test, expected, rtol=1e-6, atol=1e-7)


def test_sinc_has_noise_on_training_points_only() -> None:
    split = sinc(2000, 2000, 0.1, np.random.default_rng(0))
    noise, none = (
        y - np.sin(x[:, 0]) / x[:, 0] for x, y in ((split.x, split.y), (split.x_test, split.y_test))
    )
    assert noise.std() == pytest.approx(0.1, rel=0.05)
    np.testing.assert_allclose(none, 0.0, atol=1e-12)


def test_two_spirals() -> None:
    x, y = two_spirals()
    assert x.shape == (194, 2)
    np.testing.assert_allclose(x[y == 0], -x[y == 1], atol=0.0)
    np.testing.assert_allclose(x[0], [0.0, 6.5], atol=1e-12)


def test_an_original_partition_is_standardised_by_its_training_points(folder: Path) -> None:
    assert not is_there(folder, "made")
    rng = np.random.default_rng(6)
    arrays = {"X_train": rng.normal(3.0, 2.0, (40, 2)), "X_test": rng.normal(3.0, 2.0, (9, 2))}
    (folder / "made").mkdir()
    np.savez(folder / "made/made.npz", y_train=np.arange(40), y_test=np.arange(9), **arrays)
    assert is_there(folder, "made")
    split = original_partition(folder, "made")
    train = arrays["X_train"]
    expected = (arrays["X_test"] - train.mean(axis=0)) / train.std(axis=0)
    np.testing.assert_allclose(split.x_test, expected, rtol=1e-12, atol=1e-12)
    few = split.head(5, 3)
    np.testing.assert_array_equal(few.x, split.x[:5])
    np.testing.assert_array_equal(few.y_test, [0, 1, 2])
