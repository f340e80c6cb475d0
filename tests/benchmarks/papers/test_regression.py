"""The table of Boston and Abalone against the papers' cells and what the regressors can do."""

from pathlib import Path

import pytest

from benchmarks.papers import regression
from benchmarks.papers.parts import Kept
from benchmarks.papers.path_search import Choice, PathSearch
from benchmarks.papers.regression import houses_and_shells_table
from benchmarks.papers.width_search import Search, Width


def rows_of(table: str) -> list[list[str]]:
    """Return the cells below the header."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


@pytest.fixture
def fixed_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose at once, for every method the same width."""

    def choose(_: PathSearch, epsilons: tuple[int, ...], percents: tuple[float, ...] | None = None) -> Choice:
        return Choice(2.5, 1.0, 10.0 ** (epsilons[0] / 2), 12.0 if percents is None else percents[0], 0.04)

    monkeypatch.setattr(regression.PathSearch, "choose", choose)
    monkeypatch.setattr(regression, "choose_width", lambda *_: Width(2.5, 1.0, 0.04))


@pytest.mark.usefixtures("fixed_choice")
def test_houses_beside_the_paper(folder: Path) -> None:
    *houses, svm, shells = rows_of(
        houses_and_shells_table(folder, ["boston", "abalone"], Search(), is_quick=True)
    )
    assert shells[:2] == ["abalone", "not in the folder"]
    assert [row[1:4] for row in houses] == [
        ["QR", "σ, centres", "8.35 ± 5.67"],
        ["OROLS", "σ", "7.92 ± 3.46 (26)"],
        ["OROLS", "σ, ε", "7.92 ± 3.46 (26)"],
        ["OROLS", "σ, ε, centres", "7.92 ± 3.46 (26)"],
        ["NPD", "σ, centres", "7.66 ± 3.66"],
        ["NPD", "σ, ε, centres", "7.66 ± 3.66"],
    ]
    assert svm[1:4] == ["SVM", "σ, C", "8.7 ± 6.8"]
    assert float(svm[4].split()[0]) < 3.0 / 2
    assert svm[7] == "–"
    for row in houses:
        assert float(row[4].split()[0]) < 3.0 / 2  # a sum of three numbers of variance one
        assert row[5] == ("26" if row[2] in ("σ", "σ, ε") else "12")
        assert row[7] == ("–" if row[1] == "QR" else "0.001" if "ε" in row[2] else "1e-06")
        assert row[8] == "0.04*"
    assert houses[0][4] == houses[4][4]  # QR selects as the NPD does


@pytest.mark.usefixtures("fixed_choice")
def test_kept_rows_are_the_same(folder: Path, tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept")
    first = houses_and_shells_table(folder, ["boston"], Search(), kept, is_quick=True)
    assert len(list((tmp_path / "kept").iterdir())) == 4  # one for each method
    assert houses_and_shells_table(folder, ["boston"], Search(), kept, is_quick=True) == first
