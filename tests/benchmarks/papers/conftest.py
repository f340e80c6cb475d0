"""Small data sets in the files of the papers' tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers.parts import Request
from benchmarks.papers.width_search import Search

Rows = Callable[[str], list[list[str]]]
Blobs = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


def draw_blobs(rng: np.random.Generator, n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of the plane in blobs four deviations apart, and the blob of each."""
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 2)) + 4.0 * np.column_stack([y, y % 2]), y


@pytest.fixture(scope="session")
def blobs() -> Blobs:
    return draw_blobs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    train, test = draw_blobs(rng, 90, 3), draw_blobs(rng, 60, 3)
    values = rng.normal(size=(506, 3))
    files = {
        "optdigits": {"X_train": train[0], "y_train": train[1], "X_test": test[0], "y_test": test[1]},
        "ida_heart": dict(zip(("X", "y"), draw_blobs(rng, 270, 2), strict=True)),
        "boston": {"X": values, "y": values.sum(axis=1)},
    }
    for name, arrays in files.items():
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / f"{name}.npz", **arrays)
    return tmp_path


@pytest.fixture
def quick(folder: Path) -> Request:
    return Request(folder, Search(is_coarse=True), 2, is_quick=True)


@pytest.fixture(scope="session")
def rows_of() -> Rows:
    """Return the function from Markdown to the cells of all its tables, headers too."""

    def rows(text: str) -> list[list[str]]:
        lines = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]

    return rows
