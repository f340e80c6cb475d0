"""Thesis table 5.3 on blobs that no method should get wrong."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.papers.benchmarks import benchmarks
from benchmarks.papers.datasets import benchmark_partitions
from benchmarks.papers.parts import Kept, Request

Rows = Callable[[str], list[list[str]]]


def test_benchmarks_beside_the_paper(quick: Request, rows_of: Rows) -> None:
    request = Request(quick.folder, quick.search, 2, True, frozenset({"heart", "thyroid", "twonorm"}))
    rows = {(row[0], row[1]): row[2:] for row in rows_of(benchmarks(request))[:4]}
    papers = ["(16)", "(15.8)", "(16.1)", "(16.1)", "(16.2)", "(16.1)"]
    assert [cell.split()[-1] for cell in rows["heart", "2 of the file"]] == papers
    assert ("thyroid", "not in the folder") in rows
    for cell in rows["heart", "2 of the file"]:
        assert float(cell.split()[0]) < 10.0  # two blobs four deviations apart
    for cell in rows["twonorm", "2 drawn"]:
        assert 1.0 < float(cell.split()[0]) < 12.0  # the least possible error is 2.3, of few points more


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
