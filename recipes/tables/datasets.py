"""The papers' data: sets read from a folder, and synthetic sets made from their definition.

A file is ``FOLDER/name/name.npz`` with ``X_train, y_train, X_test, y_test`` (a fixed split) or ``X, y`` (to
be split). Axes: M points, D features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asr.errors import CorpusError
from foundation.arrays import Longs, Reals


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
    with np.load(_path(folder, name)) as file:
        return _standardized(file["X_train"], file["y_train"], file["X_test"], file["y_test"])


def partitions(
    folder: Path, name: str, n_train: int, n_test: int, n_partitions: int, seed: int
) -> Iterator[Split]:
    """Yield random partitions, every continuous feature standardised by its training points.

    Partition p depends on the seed and p alone.
    """
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
        yield _standardized(x[train], y[train], x[test], y[test])


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


def _standardized(x: Reals, y: NDArray[Any], x_test: Reals, y_test: NDArray[Any]) -> Split:
    """Return the split with zero mean and unit variance; features of two values stay as they are."""
    is_continuous = np.array([len(np.unique(feature)) > 2 for feature in x.T])
    mean = np.where(is_continuous, x.mean(axis=0), 0.0)
    deviation = np.where(is_continuous, x.std(axis=0), 1.0)
    return Split((x - mean) / deviation, y, (x_test - mean) / deviation, y_test)
