"""What is asked of a part, and results that are kept."""

from pathlib import Path

from benchmarks.papers.parts import Kept, Request


def test_kept_results_are_not_computed_again(tmp_path: Path) -> None:
    calls: list[int] = []

    def compute() -> list[int]:
        calls.append(1)
        return [3, 4]

    settings = {"data": "usps", "seed": 0}
    kept = Kept(tmp_path / "kept")
    assert kept.result(settings, compute) == [3, 4]
    again = Kept(tmp_path / "kept")
    assert again.result({"seed": 0, "data": "usps"}, compute) == [3, 4]
    assert len(calls) == 1
    assert again.result(settings | {"seed": 1}, compute) == [3, 4]
    assert len(calls) == 2
    assert Kept(None).result(settings, compute) == [3, 4]
    assert len(calls) == 3


def test_pictures_are_found_from_the_page(tmp_path: Path) -> None:
    request = Request(tmp_path, figures=tmp_path / "figures", page=tmp_path / "results" / "tables.md")
    assert request.picture("a.png", "A figure") == "![A figure](../figures/a.png)"
    assert Request(tmp_path, figures=tmp_path / "figures").picture("a.png", "A") == "![A](figures/a.png)"
    assert Request(tmp_path).picture("a.png", "A figure") == ""
