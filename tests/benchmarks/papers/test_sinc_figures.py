"""The figures of sinc, drawn and in numbers, from few runs."""

from pathlib import Path

import numpy as np
import pytest

from acoustic.discriminants import OROLSRegressor
from benchmarks.papers import sinc_figures
from benchmarks.papers.datasets import sinc_runs
from benchmarks.papers.parts import Request
from benchmarks.papers.width_search import Search, Width

QUICK = Search(is_coarse=True)


@pytest.fixture
def fixed_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinc_figures, "choose_width", lambda *_: Width(2.5, 1.0, 0.04))


@pytest.mark.usefixtures("fixed_width")
def test_runs_are_those_of_the_estimator() -> None:
    splits = sinc_runs(4, 0, 50, 0.1, 300)
    found = sinc_figures.tuned_runs(splits, QUICK)
    models = [OROLSRegressor(2.5, 50, stopping="gcv", block_size=1).fit(s.x, s.y) for s in splits]
    expected = [
        np.sqrt(np.mean((m.predict(s.x_test) - s.y_test) ** 2)) for m, s in zip(models, splits, strict=True)
    ]
    assert found.errors == pytest.approx(expected, rel=1e-9)
    assert found.n_centers == pytest.approx(np.mean([len(m.center_indices_) for m in models]))


@pytest.mark.usefixtures("fixed_width")
@pytest.mark.parametrize(
    ("part", "picture", "first"),
    [("sinc-fit", "sinc_fit.png", "0.0269"), ("sinc-sizes", "sinc_sizes.png", "20"),
     ("sinc-noise", "sinc_noise.png", "0.1")],
)  # fmt: skip
def test_figures_are_drawn_beside_their_numbers(part: str, picture: str, first: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    request = Request(tmp_path, QUICK, is_quick=True, figures=tmp_path / "figures")
    text = sinc_figures.PARTS[part].make(request)
    assert (tmp_path / "figures" / picture).read_bytes().startswith(b"\x89PNG")
    assert f"(figures/{picture})" in text
    assert f"| {first} " in text
    rows = [line.split("|") for line in text.splitlines() if "±" in line and line.startswith("|")]
    errors = [float(row[2].split("±")[0]) for row in rows]
    if part == "sinc-sizes":
        assert errors[0] > errors[1]  # more points
    if part == "sinc-noise":
        assert errors[0] < errors[1]  # more noise
        assert f"slope {(errors[1] - errors[0]) / 0.3:.2f}" in text
