"""The classification tables on blobs that no method should get wrong."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.svm import SVC

from acoustic.discriminants import OROLSClassifier
from recipes.tables import characters as characters_part
from recipes.tables.benchmarks import benchmarks
from recipes.tables.characters import characters
from recipes.tables.cross_validation import Choice, Method
from recipes.tables.datasets import Split, benchmark_partitions
from recipes.tables.kernel_choices import FACTORS, kernel_choices
from recipes.tables.leave_one_out import leave_one_out
from recipes.tables.outcomes import Result, evaluate
from recipes.tables.parts import Kept, Request
from recipes.tables.width_search import Search

Blobs = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


def rows_of(table: str) -> list[list[str]]:
    """Return the cells of all tables, headers too."""
    lines = [line for line in table.splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


@pytest.fixture
def quick(folder: Path) -> Request:
    return Request(folder, Search(is_coarse=True), 2, is_quick=True)


def test_distinct_centres_are_those_of_all_machines_together(blobs: Blobs) -> None:
    rng = np.random.default_rng(5)
    x, y = blobs(rng, 120, 3)
    outcome = evaluate(OROLSClassifier(2.0, 10, block_size=1, multiclass="ovr"), Split(x, y, x, y))
    model = OROLSClassifier(2.0, 10, block_size=1, multiclass="ovr").fit(x, y)
    assert outcome.n_centers == 10
    assert (
        outcome.n_distinct
        == model.n_distinct_centers_
        == len({*np.concatenate(model.machine_center_indices_)})
    )


def test_centres_of_other_models(blobs: Blobs) -> None:
    x, y = blobs(np.random.default_rng(6), 80, 2)
    split = Split(x, y, x, y)
    n_vectors = len(SVC().fit(x, y).support_)
    assert evaluate(SVC(), split).n_centers == n_vectors
    stumps = evaluate(AdaBoostClassifier(n_estimators=3, random_state=0), split)
    assert (stumps.n_centers, stumps.n_distinct) == (0.0, 0)


def test_a_cell_is_mean_deviation_and_the_papers_error() -> None:
    result = Result(Choice(1.0, 1.0, 0.1, 5.0, 0.2), (10.0, 12.0), (5.0, 5.0))
    assert result.cell(11.5) == "11.0 ± 1.0 (11.5)"
    assert result.cell() == "11.0 ± 1.0"


def test_benchmarks_beside_the_paper(quick: Request) -> None:
    request = Request(quick.folder, quick.search, 2, True, frozenset({"heart", "thyroid", "twonorm"}))
    rows = {(row[0], row[1]): row[2:] for row in rows_of(benchmarks(request))[:4]}
    papers = ["(16)", "(15.8)", "(16.1)", "(16.1)", "(16.2)", "(16.1)"]
    assert [cell.split()[-1] for cell in rows["heart", "2 of the file"]] == papers
    assert ("thyroid", "not in the folder") in rows
    for cell in rows["heart", "2 of the file"]:
        assert float(cell.split()[0]) < 10.0  # two blobs four deviations apart
    for cell in rows["twonorm", "2 drawn"]:
        assert 1.0 < float(cell.split()[0]) < 12.0  # the least possible error is 2.3, of few points more


def test_characters_beside_the_paper(quick: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    choose = characters_part.choose

    def counting(method: Method, sets: list[tuple[np.ndarray, np.ndarray]], search: Search) -> Choice:
        seen.extend(len(x) for x, _ in sets)
        return choose(method, sets, search)

    monkeypatch.setattr(characters_part, "choose", counting)
    monkeypatch.setattr(characters_part, "MOST_TUNED", 60)
    request = Request(quick.folder, quick.search, 2, True, frozenset({"optdigits", "usps"}))
    header, absent, *rows = rows_of(characters(request))
    assert absent[:2] == ["usps", "not in the folder"]
    assert seen == [60, 60, 60]  # of 90 points
    cells = {row[1]: dict(zip(header, row, strict=True)) for row in rows}
    assert [row["paper"] for row in cells.values()] == ["2.73 (12.1)", "1.11 (10.2)", "1.2 (10.4)"]
    for row in cells.values():
        assert float(row["ours"]) < 10.0
    for name in ("OROLS", "NPD"):
        n_centers, n_distinct = float(cells[name]["centres %"]), float(cells[name]["distinct %"])
        assert n_centers == pytest.approx(10.2, abs=1.0)
        assert n_centers <= n_distinct <= 3 * n_centers + 0.1


def test_slides_beside_ours(quick: Request) -> None:
    request = Request(quick.folder, quick.search, 2, True, frozenset({"heart", "diabetis"}))
    header, absent, *rows = rows_of(leave_one_out(request))
    assert absent[:2] == ["diabetis", "not in the folder"]
    cells = {row[1]: dict(zip(header, row, strict=True)) for row in rows}
    assert cells["RBF"]["slides"] == "17.6 ± 3.3"
    assert cells["RBF"]["ours"] == "not run"
    for name in ("LOO forward selection, defaults", "LOO forward selection, tuned"):
        assert (cells[name]["slides"], cells[name]["slides: size"]) == ("15.8 ± 3.7", "10 ± 3")
        assert float(cells[name]["ours"].split()[0]) < 10.0
        assert 1 <= float(cells[name]["ours: centres"].split()[0]) <= 20
    for name in ("SVM", "KFD", "AdaBoost, stumps"):
        assert float(cells[name]["ours"].split()[0]) < 10.0


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


def test_kept_results_make_the_same_table(quick: Request, tmp_path: Path) -> None:
    def text() -> str:
        kept = Kept(tmp_path / "kept")
        return benchmarks(Request(quick.folder, quick.search, 2, True, frozenset({"heart"}), kept=kept))

    first = text()
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()}
    assert text() == first
    assert times == {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()}
    assert len(times) == 6


def test_raw_benchmarks_are_standardised_codes_included(folder: Path) -> None:
    rng = np.random.default_rng(8)
    x = np.column_stack([rng.normal(3.0, 9.0, 60), np.arange(60) % 2])
    for name in ("heart", "german"):
        (folder / f"ida_{name}").mkdir(exist_ok=True)
        np.savez(folder / f"ida_{name}" / f"ida_{name}.npz", X=x, y=np.arange(60) % 2)
    heart = next(benchmark_partitions(folder, "heart", 40, 20, 1, seed=0))
    np.testing.assert_allclose(heart.x.mean(axis=0), 0.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(heart.x.std(axis=0), 1.0, rtol=1e-12, atol=0)
    german = next(benchmark_partitions(folder, "german", 40, 20, 1, seed=0))
    assert set(german.x[:, 1]) == {0.0, 1.0}  # as in the file
