"""Tables of classifiers on blobs that no method should get wrong."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from acoustic.discriminants import OROLSClassifier
from recipes.tables import classification
from recipes.tables.classification import benchmarks_table, evaluate, leave_one_out_table
from recipes.tables.datasets import Split
from recipes.tables.width_search import Search, Width

Blobs = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


def rows_of(table: str) -> list[list[str]]:
    """Return the cells below the header."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


def test_large_sets_are_tuned_on_a_part(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def choose(make: object, sets: list[tuple[np.ndarray, np.ndarray]], search: Search) -> Width:
        seen.extend(len(x) for x, _ in sets)
        return Width(1.0, 1.0, 0.0)

    monkeypatch.setattr(classification, "choose_width", choose)
    monkeypatch.setattr(classification, "MOST_TUNED", 60)
    classification.characters_table(folder, ["optdigits"], Search())
    assert seen == [60] * 6
    monkeypatch.setattr(classification, "MOST_TUNED", 90)
    classification.characters_table(folder, ["optdigits"], Search())
    assert seen[6:] == [90] * 6 * classification.N_ORDERS


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


@pytest.fixture
def fixed_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose the same width at once for every method."""
    monkeypatch.setattr(classification, "choose_width", lambda *_: Width(2.0, 1.0, 0.0))


@pytest.mark.usefixtures("fixed_width")
def test_benchmarks_beside_the_paper(folder: Path) -> None:
    heart, thyroid = rows_of(benchmarks_table(folder, ["heart", "thyroid"], 2, Search()))
    assert thyroid[:2] == ["thyroid", "not in the folder"]
    assert heart[:2] == ["heart", "2 of ours, 170 / 100"]
    assert heart[2::2] == ["15.8 ± 3.4 (2)", "16.1 ± 3.4 (9)", "16.2 ± 3.4 (9)", "16.1 ± 3.4"]
    for ours, n_percent in zip(heart[3::2], ("2", "9", "9", "100"), strict=True):
        assert float(ours.split()[0]) < 10.0  # two blobs four deviations apart
        assert ours.endswith(f"({n_percent})")


@pytest.mark.usefixtures("fixed_width")
def test_leave_one_out_beside_the_slides(folder: Path) -> None:
    heart, diabetis = rows_of(leave_one_out_table(folder, ["heart", "diabetis"], 2, Search()))
    assert diabetis[:2] == ["diabetis", "not in the folder"]
    assert heart[:4] == ["heart", "2 of ours, 170 / 100", "15.8 ± 3.7", "10 ± 3"]
    assert float(heart[4].split()[0]) < 10.0
    assert 1 <= float(heart[5].split()[0]) <= 20
