"""Tables of regressors against the papers' cells and scikit-learn."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from recipes.tables import regression
from recipes.tables.datasets import sinc
from recipes.tables.regression import houses_and_shells_table, sinc_table
from recipes.tables.width_search import Search, Width


def rows_of(table: str) -> list[list[str]]:
    """Return the cells below the header."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


@pytest.fixture
def fixed_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose the same width at once for every method."""
    monkeypatch.setattr(regression, "choose_width", lambda *_: Width(2.5, 1.0, 0.04))


@pytest.mark.usefixtures("fixed_width")
def test_sinc_beside_the_paper() -> None:
    rows = {row[0]: row[1:] for row in rows_of(sinc_table(2, Search()))}
    assert rows["SVR"][0] == "0.0519"
    assert rows["OROLS residual gcv"][0] == "0.0431"
    assert rows["OROLS residual size 9"][3:] == ["2.50", "0.2000", "9"]
    bound = float(rows["ridge, best on test"][2].split()[0])
    for name, (_, by_run, once, *_) in rows.items():
        if name.startswith("OROLS") or name == "SVR":
            assert by_run == once  # the width is the same
            assert 0.5 * bound < float(once.split()[0]) < 0.1


def test_the_best_ridge_is_found_by_looking_at_all() -> None:
    splits = [sinc(50, 200, 0.1, np.random.default_rng(run)) for run in range(2)]
    found = [error for error, _ in regression._best_ridges(splits)]
    for sigma in (2.0, 3.0):
        for ridge in (0.003, 0.1):
            model = KernelRidge(alpha=ridge, kernel="rbf", gamma=0.5 / sigma**2)
            errors = [np.mean((model.fit(s.x, s.y).predict(s.x_test) - s.y_test) ** 2) for s in splits]
            assert np.sqrt(found).mean() <= np.sqrt(errors).mean() + 1e-12


@pytest.mark.usefixtures("fixed_width")
def test_houses_beside_the_paper(folder: Path) -> None:
    *houses, shells = rows_of(houses_and_shells_table(folder, ["boston", "abalone"], Search(), is_quick=True))
    assert shells[:2] == ["abalone", "not in the folder"]
    assert [row[2] for row in houses] == [
        "8.35 ± 5.67",
        *["7.92 ± 3.46 (26)"] * 3,
        *["7.66 ± 3.66"] * 2,
    ]
    for _, method, _, error, percent, *_, cv_error in houses:
        assert float(error.split()[0]) < 3.0 / 2  # a sum of three numbers of variance one
        assert cv_error == "0.04*"
        if "centres" in method:
            assert float(percent) == pytest.approx(26, abs=0.5)
        else:
            assert 0 < float(percent) <= 26.5
