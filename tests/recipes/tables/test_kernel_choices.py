"""Several widths and the compact kernel beside one Gaussian, on blobs."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recipes.tables.kernel_choices import FACTORS, kernel_choices
from recipes.tables.parts import Request
from recipes.tables.width_search import Search

Blobs = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


def rows_of(table: str) -> list[list[str]]:
    """Return the cells of all tables, headers too."""
    lines = [line for line in table.splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


@pytest.fixture
def quick(folder: Path) -> Request:
    return Request(folder, Search(is_coarse=True), 2, is_quick=True)


def test_kernels_side_by_side(quick: Request) -> None:
    request = Request(quick.folder, quick.search, 2, True, frozenset({"heart", "thyroid"}))
    _, *rows, absent = rows_of(kernel_choices(request))
    assert absent[:2] == ["thyroid", "not in the folder"]
    assert [row[1] for row in rows] == ["NPD", "OROLS"]
    for _, _, one, three, more, compact, other in rows:
        errors = [float(cell.split()[0]) for cell in (one, three, compact)]
        assert max(errors) < 10.0
        assert float(more.split()[0]) == pytest.approx(errors[1] - errors[0], abs=0.11)
        assert float(other.split()[0]) == pytest.approx(errors[2] - errors[0], abs=0.11)
    assert FACTORS[1] == 1.0  # the one width is among the three
