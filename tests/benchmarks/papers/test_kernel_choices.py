"""Several widths and the compact kernel beside one Gaussian, on blobs."""

from collections.abc import Callable

import pytest

from benchmarks.papers.kernel_choices import FACTORS, kernel_choices
from benchmarks.papers.parts import Request

Rows = Callable[[str], list[list[str]]]


def test_kernels_side_by_side(quick: Request, rows_of: Rows) -> None:
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
