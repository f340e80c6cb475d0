"""The figures: what is printed beside them is what the drawn machines do."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold

from acoustic.discriminants import NPDClassifier
from benchmarks.papers import planar
from benchmarks.papers.cross_validation import Choice, grid_errors
from benchmarks.papers.datasets import Split, original_partition, two_spirals
from benchmarks.papers.methods import npd
from benchmarks.papers.parts import Request
from benchmarks.papers.width_search import Search, Width

pytest.importorskip("matplotlib", reason="the figures are drawn", exc_type=ImportError)

Blobs = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


def rows_of(table: str) -> list[list[str]]:
    """Return the cells below the header."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


@pytest.fixture(autouse=True)
def fixed_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose the same width at once, and draw few points."""
    monkeypatch.setattr(planar, "choose_width", lambda *_: Width(1.0, 1.0, 0.25))
    monkeypatch.setattr(planar, "_GRID", 30)


def test_ripley(tmp_path: Path, blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    (train, y), (test, y_test) = blobs(rng, 50, 2), blobs(rng, 200, 2)
    (tmp_path / "synth").mkdir()
    np.savez(tmp_path / "synth/synth.npz", X_train=train, y_train=y, X_test=test, y_test=y_test)
    monkeypatch.setattr(planar, "_common_choice", lambda *_: Choice(1.0, 0.5, 0.1, 20.0, 0.25))
    npd, ridge, fisher = rows_of(planar.ripley(Request(tmp_path, figures=tmp_path / "figures")))
    split = original_partition(tmp_path, "synth")
    machine = NPDClassifier(1.0, planar.RIPLEY_CENTERS, epsilon=0.1, block_size=1).fit(split.x, split.y)
    predicted = machine.predict(split.x_test)
    error = 100 * np.mean(predicted != split.y_test)
    assert npd == ["NPD", "9.2", f"{error:.1f}", "–", "–"]
    gram = np.exp(-0.5 * cdist(split.x, split.x, "sqeuclidean"))
    targets = np.where(split.y == 1, 1.0, -1.0)
    alpha = np.linalg.solve(gram + 0.1 * np.eye(50), targets - targets.mean())
    outputs = np.exp(-0.5 * cdist(split.x_test, split.x, "sqeuclidean")) @ alpha + targets.mean()
    same = 100 * np.mean((outputs > 0) == (predicted == 1))
    assert ridge[:2] == ["KFD on K + εI", "9.6"]
    assert ridge[2] == f"{100 * np.mean((outputs > 0) != (split.y_test == 1)):.1f}"
    assert ridge[3] == f"{same:.1f}"
    assert fisher[:2] == ["KFD, S + εI", "9.6"]
    of_fisher = planar._fisher(1.0, 0.1, split).predict(split.x_test)
    assert fisher[3] == f"{100 * np.mean(of_fisher == predicted):.1f}"
    assert (tmp_path / "figures/ripley.png").read_bytes().startswith(b"\x89PNG")


def test_the_common_choice_suits_both(blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planar, "RIPLEY_CENTERS", 4)
    rng = np.random.default_rng(3)
    x, y = blobs(rng, 60, 2)
    y = np.where(rng.random(60) < 0.2, 1 - y, y)
    choice = planar._common_choice(Split(x, y, x, y), Search())
    order = np.random.default_rng(0).permutation(60)
    method = replace(npd((100 * 4 / 60,)), constants=(1.0, 0.1, 0.01, 0.001))
    gram = np.exp(-0.5 * cdist(x, x, "sqeuclidean") / choice.sigma**2)
    errors = []
    for train, held_out in StratifiedKFold(5, shuffle=True, random_state=0).split(x[order], y[order]):
        inner, outer = order[train], order[held_out]
        targets = 2.0 * y[inner] - 1.0
        ridged = gram[np.ix_(inner, inner)] + choice.constant * np.eye(len(inner))
        alpha = np.linalg.solve(ridged, targets - targets.mean())
        outputs = gram[np.ix_(outer, inner)] @ alpha + targets.mean()
        errors.append(np.mean((outputs > 0) != (y[outer] == 1)))
    place = method.widths.index(choice.width), method.constants.index(choice.constant)
    full = grid_errors(replace(method, guess=planar._ridge_codes), x[order], y[order], Search())
    assert full[place][0] == pytest.approx(np.mean(errors), abs=1e-12)
    assert choice.error < 0.5


def test_the_fisher_ridge_is_epsilon_itself(blobs: Blobs) -> None:
    x, y = blobs(np.random.default_rng(2), 40, 2)
    model = planar._fisher(1.0, 0.3, Split(x, y, x, y))
    assert model.ridge_ == pytest.approx(0.3, rel=1e-9)


def test_spirals(tmp_path: Path) -> None:
    rows = rows_of(planar.spirals(Request(tmp_path, figures=tmp_path)))
    x, y = two_spirals()
    for row, n_centers in zip(rows, planar.SPIRAL_CENTERS, strict=True):
        n_wrong = np.sum(NPDClassifier(1.0, n_centers, epsilon=1e-6).fit(x, y).predict(x) != y)
        assert row == [str(n_centers), "0", str(n_wrong), "1.00", "25.0"]
    assert (tmp_path / "two_spirals.png").read_bytes().startswith(b"\x89PNG")
