"""The parts as printed and as written into a page, on small synthetic data."""

from pathlib import Path

import pytest

from benchmarks.papers import __main__ as command
from benchmarks.papers.__main__ import PARTS, main
from benchmarks.papers.parts import Part, Request


def counted(request: Request) -> str:
    """Return a text that shows what a part is asked for."""
    return f"{request.n_partitions} partitions, {request.chosen(('usps', 'letter'))}"


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the parts by one that only says what is asked of it."""
    parts = {"made": Part("Made up", "No protocol.", counted, ("usps", "letter"))}
    monkeypatch.setattr(command, "PARTS", parts)


@pytest.mark.usefixtures("counting")
def test_a_section_begins_with_its_command_and_ends_with_its_seconds(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Tables\n\n<!-- begin made -->\nold\n<!-- end made -->\n\nThe end.\n", encoding="utf-8")
    given = [str(tmp_path), "--page", str(page), "--data", "usps", "--partitions", "7"]
    assert main(given) == 0
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line]
    assert lines == [
        "# Tables",
        "<!-- begin made -->",
        "## Made up",
        "`python -m benchmarks.papers FOLDER --only made --data usps --partitions 7`",
        "No protocol.",
        "7 partitions, ['usps']",
        "This took 0 s of one core.",
        "<!-- end made -->",
        "The end.",
    ]


@pytest.mark.usefixtures("counting")
def test_quick_sections_say_that_they_are_no_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path), "--quick"]) == 0
    out = capsys.readouterr().out
    assert "not results" in out
    assert "2 partitions, ['usps', 'letter']" in out
    assert "--only made --quick`" in out


def test_every_part_has_a_section_on_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "results" / "tables.md").read_text(encoding="utf-8")
    found = {name for name in PARTS if f"<!-- begin {name} -->" in page and f"<!-- end {name} -->" in page}
    assert found == set(PARTS)


@pytest.mark.slow
def test_rows_of_regression(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--only", "sinc,houses-and-shells", "--data", "boston,abalone", "--quick"]
    assert main([str(folder), *given]) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    found = {tuple(cell.strip() for cell in row[:2]): [cell.strip() for cell in row[2:]] for row in rows}
    assert ("abalone", "not in the folder") in found
    assert float(found["OROLS, error reduction, stops by loo", "σ"][1].split(" ±")[0]) < 0.1


def test_same_numbers_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for jobs in ("1", "2"):
        given = ["--only", "benchmarks", "--data", "heart", "--quick", "--jobs", jobs]
        assert main([str(folder), *given]) == 0
        printed.append([line for line in capsys.readouterr().out.splitlines() if line.startswith("|")])
    assert printed[0] == printed[1]


def test_unknown_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder), "--only", "characters,mnist"]) == 2
    assert '--only: there is no "mnist"' in capsys.readouterr().err
    assert main([str(folder), "--only", "characters", "--data", "boston"]) == 2
    assert '--data: there is no "boston", expected some of usps, letter' in capsys.readouterr().err


def test_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    figures = folder / "figures"
    assert main([str(folder), "--only", "two-spirals,ripley", "--quick", "--figures", str(figures)]) == 0
    assert (figures / "two_spirals.png").read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert "Ripley's data (synth): not in the folder" in out
    assert "| 120     | 0 " in out
