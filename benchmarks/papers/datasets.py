"""The papers' data: sets read from a folder, and synthetic sets made from their definition.

A file is ``FOLDER/name/name.npz`` with ``X_train, y_train, X_test, y_test`` (a fixed split) or ``X, y`` (to
be split). Axes: M points, D features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asr.errors import CorpusError
from foundation.arrays import Longs, Reals

Generator = Callable[[int, np.random.Generator], tuple[Reals, Longs]]

_NOT_SCALED = ("diabetis", "heart")  # benchmarks whose files have raw units


@dataclass(frozen=True)
class Split:
    """Training and test points; x (M, D), y (M,)."""

    x: Reals
    y: NDArray[Any]
    x_test: Reals
    y_test: NDArray[Any]

    def head(self, n_train: int, n_test: int) -> Split:
        """Return the first points only."""
        return Split(self.x[:n_train], self.y[:n_train], self.x_test[:n_test], self.y_test[:n_test])


def is_there(folder: Path, name: str) -> bool:
    """Return whether the folder has this data."""
    return _path(folder, name).is_file()


def fixed_split(folder: Path, name: str) -> Split:
    """Return the split of a file, float32, all features divided by the largest value of a training feature.

    One factor for all features: pixels keep their relative sizes, and σ absorbs the factor.
    """
    with np.load(_path(folder, name)) as file:
        x, x_test = (file[key].astype(np.float32) for key in ("X_train", "X_test"))
        y, y_test = file["y_train"], file["y_test"]
    scale = np.abs(x).max()
    return Split(x / scale, y, x_test / scale, y_test)


def original_partition(folder: Path, name: str) -> Split:
    """Return the split of a file, every feature standardised by its training points."""
    return _standardized(original_split(folder, name))


def partitions(
    folder: Path, name: str, n_train: int, n_test: int, n_partitions: int, seed: int
) -> Iterator[Split]:
    """Yield random partitions, every continuous feature standardised by its training points.

    Partition p depends on the seed and p alone.
    """
    for split in raw_partitions(folder, name, n_train, n_test, n_partitions, seed):
        yield _standardized(split)


def raw_partitions(
    folder: Path, name: str, n_train: int, n_test: int, n_partitions: int, seed: int
) -> Iterator[Split]:
    """Yield the random partitions with the features as they are in the file."""
    with np.load(_path(folder, name)) as file:
        x, y = file["X"].astype(np.float64), file["y"]
    if len(x) < n_train + n_test:
        raise CorpusError(
            f"{_path(folder, name)}: {len(x)} points, expected the paper's {n_train} + {n_test}; "
            "get the whole set"
        )
    for p in range(n_partitions):
        order = np.random.default_rng([seed, p]).permutation(len(x))
        train, test = order[:n_train], order[n_train : n_train + n_test]
        yield Split(x[train], y[train], x[test], y[test])


def benchmark_partitions(
    folder: Path, name: str, n_train: int, n_test: int, n_partitions: int, seed: int
) -> Iterator[Split]:
    """Yield random partitions of one of the thirteen benchmarks, scaled as in their collection.

    The files have the collection's scales (most sets were standardised there, codes included), but for heart
    and diabetis: every feature of these is standardised by the training points.
    """
    for split in raw_partitions(folder, f"ida_{name}", n_train, n_test, n_partitions, seed):
        yield _standardized(split, also_codes=True) if name in _NOT_SCALED else split


def drawn_partitions(
    generator: Generator, n_train: int, n_test: int, n_partitions: int, seed: int
) -> Iterator[Split]:
    """Yield partitions whose points are drawn anew; partition p depends on the seed and p alone."""
    for p in range(n_partitions):
        rng = np.random.default_rng([seed, p])
        (x, y), (x_test, y_test) = generator(n_train, rng), generator(n_test, rng)
        yield Split(x, y, x_test, y_test)


def original_split(folder: Path, name: str) -> Split:
    """Return the split of a file with its features as they are."""
    with np.load(_path(folder, name)) as file:
        return Split(file["X_train"], file["y_train"], file["X_test"], file["y_test"])


def sinc(n_train: int, n_test: int, noise: float, rng: np.random.Generator) -> Split:
    """Return points of sin(x)/x, x uniform on (−10, 10).

    Gaussian noise is added to the training values, none to the test ones.
    """
    x, x_test = rng.uniform(-10, 10, (n_train, 1)), rng.uniform(-10, 10, (n_test, 1))
    clean, clean_test = (np.sinc(v[:, 0] / np.pi) for v in (x, x_test))
    return Split(x, clean + noise * rng.normal(size=n_train), x_test, clean_test)


def sinc_runs(n_runs: int, seed: int, n_train: int, noise: float, n_test: int = 1000) -> list[Split]:
    """Return several draws of `sinc`; run r depends on the seed and r alone."""
    return [sinc(n_train, n_test, noise, np.random.default_rng([seed, run])) for run in range(n_runs)]


def two_spirals(n_points: int = 97) -> tuple[Reals, Longs]:
    """Return the two spirals of Lang and Witbrock, (2 n_points, 2), and their labels 0 and 1."""
    i = np.arange(n_points)
    radius, angle = 6.5 * (104 - i) / 104, i * np.pi / 16
    spiral = radius[:, None] * np.column_stack([np.sin(angle), np.cos(angle)])
    return np.vstack([spiral, -spiral]), np.repeat([0, 1], n_points)


def _path(folder: Path, name: str) -> Path:
    return folder / name / f"{name}.npz"


def _standardized(split: Split, *, also_codes: bool = False) -> Split:
    """Return the split with zero mean and unit variance of its training points.

    Features of two values stay as they are, unless also codes are scaled.
    """
    n_values = np.array([len(np.unique(feature)) for feature in split.x.T])
    is_scaled = n_values > (1 if also_codes else 2)
    mean = np.where(is_scaled, split.x.mean(axis=0), 0.0)
    deviation = np.where(is_scaled, split.x.std(axis=0), 1.0)
    return Split((split.x - mean) / deviation, split.y, (split.x_test - mean) / deviation, split.y_test)
