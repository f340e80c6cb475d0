"""The table of sinc against the papers' cells and scikit-learn."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from benchmarks.papers import sinc
from benchmarks.papers.datasets import sinc_runs
from benchmarks.papers.path_search import Choice
from benchmarks.papers.width_search import Search, Width


def rows_of(table: str) -> list[list[str]]:
    """Return the cells below the header."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


@pytest.fixture
def fixed_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose the same width and nine centres at once for every method."""
    monkeypatch.setattr(sinc, "choose_width", lambda *_: Width(2.5, 1.0, 0.04))
    monkeypatch.setattr(sinc.PathSearch, "choose", lambda *_: Choice(2.5, 1.0, 1e-3, 18.0, 0.04))


@pytest.mark.usefixtures("fixed_choice")
def test_sinc_beside_the_paper() -> None:
    rows = {(row[0], row[1]): row[2:] for row in rows_of(sinc.sinc_table(2, Search()))}
    papers = {label: cells[0] for (label, _), cells in rows.items()}
    assert papers["SVM"] == "0.0519"
    assert papers["RVM"] == "0.0494"
    assert papers["OROLS, stops by gcv"] == papers["OROLS"] == "0.0431"
    assert rows["OROLS", "σ, centres"][2:] == ["2.50", "0.001", "9", "0.2000"]
    errors = {key: float(cells[1].split()[0]) for key, cells in rows.items()}
    bound = errors.pop(("ridge regression", "nothing: best on test"))
    assert len(errors) == 12
    for error in errors.values():
        assert 0.5 * bound < error < 0.1


def test_the_best_ridge_is_found_by_looking_at_all() -> None:
    splits = sinc_runs(2, 0, 50, 0.1, 200)
    found = [error for error, _ in sinc._best_ridges(splits)]
    for sigma in (2.0, 3.0):
        for ridge in (0.003, 0.1):
            model = KernelRidge(alpha=ridge, kernel="rbf", gamma=0.5 / sigma**2)
            errors = [np.mean((model.fit(s.x, s.y).predict(s.x_test) - s.y_test) ** 2) for s in splits]
            assert np.sqrt(found).mean() <= np.sqrt(errors).mean() + 1e-12
