"""The papers' numbers as the tables print them."""

import pytest

from benchmarks.papers.published import BENCHMARKS, CHARACTERS, HOUSES_AND_SHELLS, Cell


def test_published_sparsity_is_turned_into_centres() -> None:
    assert BENCHMARKS["banana"].npd.centers == 13
    assert str(BENCHMARKS["banana"].kfd) == "10.8 ± 0.5"
    assert str(CHARACTERS["optdigits"][1]) == "1.11 (10.2)"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell(4.3), "4.3"),
        (Cell(2.75, None, 7), "2.75 (7)"),
        (Cell(8.35, 5.67), "8.35 ± 5.67"),
        (Cell(7.92, 3.46, 26), "7.92 ± 3.46 (26)"),
    ],
)
def test_cells_are_printed_as_in_the_papers(cell: Cell, text: str) -> None:
    assert str(cell) == text


def test_partitions_are_of_whole_sets() -> None:
    # Points of the IDA sets, by their definition; Boston has 506, Abalone 4,177.
    for name, n_points in {"banana": 5300, "heart": 270, "titanic": 2201, "twonorm": 7400}.items():
        assert BENCHMARKS[name].n_train + BENCHMARKS[name].n_test == n_points
    assert [sum(HOUSES_AND_SHELLS[name][:2]) for name in ("boston", "abalone")] == [506, 4177]
